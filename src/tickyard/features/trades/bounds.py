"""Slippage bounds and recipients: the rules that keep a signer safe."""

from tickyard.config.pinned import Contracts
from tickyard.kernel.errors import BadRequest, NoLiquidity
from tickyard.kernel.ids import EXAMPLE_WALLET, ZERO_ADDRESS, Address

_BPS = 10_000
# The router takes 1 for the sender and 2 for itself, where anybody may collect what arrives.
_SENTINELS = frozenset({ZERO_ADDRESS, Address("0x" + "0" * 39 + "1"), Address("0x" + "0" * 39 + "2")})


def minimum_out(quoted_out: int, slippage_bps: int) -> int:
    """The least the caller accepts, rounded up: never looser than asked."""
    least = -(-quoted_out * (_BPS - slippage_bps) // _BPS)
    if least == 0:
        raise NoLiquidity("this amount is so small that nothing would come out of the swap")
    return least


def maximum_in(quoted_in: int, slippage_bps: int) -> int:
    """The most the caller pays, rounded down: never looser than asked."""
    return quoted_in * (_BPS + slippage_bps) // _BPS


def check_recipient(recipient: Address, token: Address, pools: list[Address], contracts: Contracts) -> None:
    """Refuse recipients whose tokens would be lost or up for grabs."""
    if recipient == EXAMPLE_WALLET.lower():
        raise BadRequest("put your own wallet here: this recipient is the example of the documentation, without a key")
    if recipient in _SENTINELS:
        raise BadRequest("recipient must be a wallet: this address means something else to the router")
    ours = {getattr(contracts, name) for name in contracts.__struct_fields__}
    if recipient in ours or recipient == token or recipient in pools:
        raise BadRequest("recipient must be a wallet: this is a contract from which nothing comes back")
