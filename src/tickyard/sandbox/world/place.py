"""Putting contracts where mainnet has them, by writing code and storage, so that the service needs no
configuration of its own for the sandbox."""

from collections.abc import Iterable
from typing import Any

from tickyard.kernel.ids import ZERO_ADDRESS, Address
from tickyard.sandbox.contracts import build
from tickyard.sandbox.node.abi import call_data, derived_address, encode
from tickyard.sandbox.node.process import Node
from tickyard.sandbox.node.transact import QueuedCall
from tickyard.sandbox.world.listing import Listed
from tickyard.sandbox.world.wallets import MAKER

FACTORY = Address("0x1f7d7550b1b028f7571e69a784071f0205fd2efa")
QUOTER = Address("0x33e885ed0ec9bf04ecfb19341582aadcb4c8a9e7")
ROUTER = Address("0xcaf681a66d020601342297493863e78c959e5cb2")
MULTICALL3 = Address("0xca11bde05977b3631167028862be2a173976ca11")
PERMIT2 = Address("0x000000000022d473030f116ddee9f6b43ac78ba3")
PERMIT2_PROXY = Address("0x402085c248eea27d92e8b30b2c58ed07f9e20001")
USDG = Address("0x5fc5360d0400a0fd4f2af552add042d716f1d168")
USDC = Address("0x833589fcd6edb6e08f4c7c32d4f71b54bda02913")
WETH = Address("0x0bd7d308f8e1639fab988df18a8011f41eacad73")
STOCK_IMPLEMENTATION = Address("0xb35490d6f9163de4f80d88dc75c3516eb64c5ae2")
SERVICE_TOKEN = derived_address("tickyard sandbox service token")
TRADING_DESK = derived_address("tickyard sandbox desk")

TICK_SPACINGS = {100: 1, 500: 10, 3000: 60, 10000: 200}

CONTRACTS = {
    "factory": FACTORY,
    "quoter": QUOTER,
    "router": ROUTER,
    "multicall3": MULTICALL3,
    "permit2": PERMIT2,
    "spender": PERMIT2_PROXY,
    "usdg": USDG,
    "weth": WETH,
    "serviceToken": SERVICE_TOKEN,
    "tradingDesk": TRADING_DESK,
}

# The factory's storage: three slots of pool parameters come before its owner.
_FACTORY_OWNER_SLOT = "0x3"
_SUPPLY = 50_000 * 10**18


async def unlock_maker(node: Node) -> None:
    await node.call("hardhat_impersonateAccount", [MAKER])
    # Our own node begins at zero and stays there; one that somebody else started may not.
    await node.call("hardhat_setNextBlockBaseFeePerGas", ["0x0"])


async def place_contracts(node: Node) -> None:
    """Write the code of everything pinned; nothing is initialised yet."""
    creations = [
        build.creation_code(build.FACTORY),
        build.creation_code(build.QUOTER) + encode(FACTORY, WETH).hex(),
        # The first factory (v2) and the position manager are not part of this market.
        build.creation_code(build.ROUTER) + encode(ZERO_ADDRESS, FACTORY, ZERO_ADDRESS, WETH).hex(),
        build.multicall3_creation(),
    ]
    # A creation that is only called, not sent, answers with the runtime code it would leave behind.
    deployed = await node.batch([("eth_call", [{"from": MAKER, "data": code}, "latest"]) for code in creations])
    factory, quoter, router, multicall3 = deployed
    code = {
        FACTORY: _rewrite_self(build.runtime_template(build.FACTORY), factory, FACTORY),
        QUOTER: quoter,
        ROUTER: router,
        MULTICALL3: multicall3,
        PERMIT2: build.permit2_runtime(),
        PERMIT2_PROXY: build.compiled("permit2_proxy"),
        USDG: build.compiled("dollar"),
        WETH: build.compiled("weth"),
        STOCK_IMPLEMENTATION: build.compiled("stock_token"),
        SERVICE_TOKEN: build.compiled("service_token"),
        TRADING_DESK: build.compiled("trading_desk"),
    }
    await node.batch([("hardhat_setCode", [address, runtime]) for address, runtime in code.items()])
    owner = "0x" + MAKER[2:].rjust(64, "0")
    await node.call("hardhat_setStorageAt", [FACTORY, _FACTORY_OWNER_SLOT, owner])
    # The router's constructor, which placing code skips, fills this slot so that exact-output swaps never pay for it.
    await node.call("hardhat_setStorageAt", [ROUTER, "0x0", "0x" + "f" * 64])


def _rewrite_self(template: str, runtime: str, address: Address) -> str:
    """Replace the factory's own address, its only immutable, which guards it against delegate calls.

    The template has zeros where the constructor wrote it, so the first difference shows the old one.
    """
    first = next(i for i, (a, b) in enumerate(zip(template, runtime, strict=True)) if a != b)
    # Differences begin at the address's first digit that is not zero: look back to the word's start.
    start = runtime.rindex("7f" + "0" * 24, 0, first) + 2
    old = runtime[start + 24 : start + 64]
    return runtime.replace("0" * 24 + old, "0" * 24 + address[2:])


async def place_tokens(node: Node, listing: Iterable[Listed]) -> None:
    """A minimal proxy to the one implementation at every listed address."""
    proxy = f"0x363d3d373d3d3d363d73{STOCK_IMPLEMENTATION[2:]}5af43d82803e903d91602b57fd5bf3"
    await node.batch([("hardhat_setCode", [listed.address, proxy]) for listed in listing if listed.address])


def first_steps() -> list[QueuedCall]:
    """What the maker sends before any token exists."""
    tiers = [
        QueuedCall(FACTORY, call_data("enableFeeAmount(uint24,int24)", fee, spacing))
        for fee, spacing in TICK_SPACINGS.items()
    ]
    return [
        *tiers,
        QueuedCall(TRADING_DESK, call_data("initialise()")),
        QueuedCall(SERVICE_TOKEN, call_data("initialise()")),
        dollar_step(USDG, name="Global Dollar", symbol="USDG", version="1", shows_version=False),
    ]


def dollar_step(address: str, *, name: str, symbol: str, version: str, shows_version: bool) -> QueuedCall:
    signature = "initialise(string,string,string,bool,address)"
    texts = [text.encode() for text in (name, symbol, version)]
    return QueuedCall(address, call_data(signature, *texts, shows_version, TRADING_DESK))


def token_step(listed: Listed) -> QueuedCall:
    """Some tokens have no supply at all, as on mainnet: those without a market."""
    assert listed.address
    supply = _SUPPLY if listed.pools else 0
    name = f"{listed.name} • Robinhood Token".encode()
    uid = int.from_bytes(listed.uid, "big")
    values: list[Any] = [name, listed.symbol.encode(), uid, listed.multiplier_e18, TRADING_DESK, supply]
    return QueuedCall(listed.address, call_data("initialise(string,string,bytes32,uint256,address,uint256)", *values))


def mint_step(token: str, receiver: str, amount: int) -> QueuedCall:
    return QueuedCall(token, call_data("mint(address,uint256)", receiver, amount))
