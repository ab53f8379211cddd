"""Running calls one after another as an account would send them, at one block, without sending anything.

The node is asked to believe, for this one call, that the account's own code is Multicall3: whatever it then calls
sees the account as its caller. Between the steps a contract of nine bytes, which exists only there as well, tells how
much gas is left. No contract of ours is needed, and no transaction.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

from tickyard.chain import aggregate3
from tickyard.chain.abi import WORD
from tickyard.chain.multicall import Call
from tickyard.chain.quantity import bytes_of
from tickyard.chain.rpc.client import Block, block_param
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address

# An address that nobody can have the key of: of the hash of "tickyard: how much gas is left".
_PROBE: Final = Address("0xa806569ebd7fa68fdf06878d20d3c874f415c632")
_PROBE_CODE: Final = "0x5a60005260206000f3"  # GAS, stored and returned
_GAS_MOST: Final = 1 << 48


class Outcome(NamedTuple):
    has_succeeded: bool
    data: bytes
    """What it returned, or reverted with."""
    gas: int
    """Between the probes before and after it, the cost of making the call included."""


class Rehearsed(NamedTuple):
    steps: list[Outcome]
    after: list[Outcome]
    """Calls after the last step, without a measure."""
    between: int
    """What two probes cost that have nothing between them."""


def request(
    account: Address, multicall_code: str, steps: Sequence[Call], after: Sequence[Call], block: Block
) -> tuple[str, list[Any]]:
    """The JSON-RPC call."""
    data = "0x" + aggregate3.encode(_calls(steps, after))
    overrides = {account: {"code": multicall_code}, _PROBE: {"code": _PROBE_CODE}}
    return "eth_call", [{"from": account, "to": account, "data": data}, block_param(block), overrides]


def read(answer: object, steps: int, after: int) -> Rehearsed | None:
    """None: the node did not do as it was asked. One that ignores overrides returns nothing at all."""
    try:
        told = aggregate3.outcomes(bytes_of(answer), 2 + 2 * steps + after)
    except UpstreamDown:
        return None
    probes = [told[0], *told[1 : 2 + 2 * steps : 2]]
    left = [int.from_bytes(data, "big") for has_succeeded, data in probes if has_succeeded and len(data) == WORD]
    if len(left) != len(probes) or left[0] >= _GAS_MOST or any(late >= early for early, late in pairwise(left)):
        return None
    # A probe is itself called, and a call is given all but a 64th of the gas that is left.
    used = [(early - late) * 64 // 63 for early, late in pairwise(left)]
    done = [Outcome(*told[2 + 2 * index], used[1 + index]) for index in range(steps)]
    rest = [Outcome(*outcome, 0) for outcome in told[2 + 2 * steps :]]
    return Rehearsed(done, rest, used[0])


def _calls(steps: Sequence[Call], after: Sequence[Call]) -> list[Call]:
    probe = Call(_PROBE, b"")
    return [probe, probe, *(call for step in steps for call in (step, probe)), *after]
