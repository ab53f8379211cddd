"""The contracts and tokens of the production world, pinned by address.

The sandbox places its own copies at the very same addresses, so that no setting differs between them.
"""

from typing import Final

import msgspec

from tickyard.kernel.ids import Address

CHAIN_ID: Final = 4663
SECOND_CHAIN_ID: Final = 8453


class Contracts(msgspec.Struct, frozen=True, kw_only=True):
    """What the service trusts on the chain. Besides these only tokens and pools are called, found through them."""

    factory: Address
    quoter: Address
    router: Address
    multicall3: Address
    permit2: Address
    usdg: Address
    weth: Address


MAINNET = Contracts(
    factory=Address("0x1f7d7550b1b028f7571e69a784071f0205fd2efa"),
    quoter=Address("0x33e885ed0ec9bf04ecfb19341582aadcb4c8a9e7"),
    router=Address("0xcaf681a66d020601342297493863e78c959e5cb2"),
    multicall3=Address("0xca11bde05977b3631167028862be2a173976ca11"),
    permit2=Address("0x000000000022d473030f116ddee9f6b43ac78ba3"),
    usdg=Address("0x5fc5360d0400a0fd4f2af552add042d716f1d168"),
    weth=Address("0x0bd7d308f8e1639fab988df18a8011f41eacad73"),
)

USDC_8453: Final = Address("0x833589fcd6edb6e08f4c7c32d4f71b54bda02913")
SPENDER: Final = Address("0x402085c248eea27d92e8b30b2c58ed07f9e20001")

ISSUER_URL: Final = "https://api.robinhood.com/rhj"
FILINGS_URL: Final = "https://data.sec.gov"
FILINGS_FILES_URL: Final = "https://www.sec.gov/files"
