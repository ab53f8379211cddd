"""Blocks of the chain: which one is final, and which was the last before a moment."""

from dataclasses import dataclass
from typing import Any, Literal, Protocol

from tickyard.chain.abi import malformed
from tickyard.chain.quantity import hash_text, quantity
from tickyard.chain.rpc.client import Rpc

Finality = Literal["finalized"] | int
"""The node's own word, or a number of blocks behind the newest."""


@dataclass(frozen=True, slots=True)
class Header:
    number: int
    hash: str
    timestamp: int
    base_fee: int


class Dated(Protocol):
    """Any block of which we know where and when it is."""

    @property
    def number(self) -> int: ...
    @property
    def timestamp(self) -> int: ...


def read_header(block: Any) -> Header:
    if not isinstance(block, dict):
        raise malformed()
    return Header(
        quantity(block.get("number")),
        hash_text(block.get("hash")),
        quantity(block.get("timestamp")),
        quantity(block.get("baseFeePerGas", "0x0")),
    )


async def header(rpc: Rpc, which: int | str) -> Header:
    """One block by number or tag. A node that does not have it is a failure like any other."""
    named = hex(which) if isinstance(which, int) else which
    return read_header(await rpc.call("eth_getBlockByNumber", [named, False]))


async def final_header(rpc: Rpc, finality: Finality) -> Header:
    """The newest block that money may be decided by."""
    if isinstance(finality, int):
        head = await rpc.block_number()
        return await header(rpc, max(0, head - finality))
    return await header(rpc, finality)


async def last_before(rpc: Rpc, moment_s: int, high: Dated) -> Header | None:
    """The last block with a timestamp under the moment. `high` must not be under it; None: the chain is younger.

    Several blocks may share one second, so blocks are compared by timestamp and told apart by number.
    """
    if high.timestamp < moment_s:
        raise ValueError("the search must begin at or after the moment")
    late: Dated = high
    step = 1024
    while True:
        early = await header(rpc, max(0, late.number - step))
        if early.timestamp < moment_s:
            break
        if early.number == 0:
            return None
        late, step = early, step * 4
    while late.number - early.number > 1:
        middle = await header(rpc, (early.number + late.number) // 2)
        if middle.timestamp < moment_s:
            early = middle
        else:
            late = middle
    return early
