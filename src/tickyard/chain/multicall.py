"""Many calls in one, at one block: Multicall3 `aggregate3` with failure allowed per call.

A call that failed is None. When every call of a request failed, the node is in trouble (a throttled node
looks just like that), and that is never reported as "no balances" or "no pools".
"""

import asyncio
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from tickyard.chain.aggregate3 import CallPart, Piece, cut, decode, encode, encode_pieces
from tickyard.chain.rpc.client import Block, Rpc
from tickyard.chain.rpc.trouble import RpcError
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address

LIGHT_CALLS = 3000
"""Getters per request: about 20 M gas, far below the 50 M that nodes allow."""
HEAVY_CALLS = 60
"""Quotes per request."""


class Call(NamedTuple):
    to: Address
    data: bytes


async def aggregate(
    rpc: Rpc,
    multicall: Address,
    calls: Sequence[Call],
    *,
    block: Block = "latest",
    max_calls_per_chunk: int = LIGHT_CALLS,
    all_may_fail: bool = False,
    deadline: float | None = None,
) -> list[bytes | None]:
    """Return data per call, None where the call failed, all from one block.

    `all_may_fail`: reverting is an answer (a quote that cannot be filled), so all of them may.
    """
    deadline = deadline or rpc.deadline()
    chunks = _evenly(calls, max_calls_per_chunk)
    if len(chunks) > 1 and block == "latest":
        block = await rpc.block_number(deadline=deadline)
    answers = await asyncio.gather(
        *(_read_chunk(rpc, multicall, chunk, block, all_may_fail, deadline) for chunk in chunks),
        return_exceptions=True,
    )
    results: list[bytes | None] = []
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
        results += answer
    return results


async def aggregate_pieces(
    rpc: Rpc,
    multicall: Address,
    pieces: Sequence[Piece],
    *,
    block: Block,
    calls_max: int,
    deadline: float | None = None,
) -> list[CallPart]:
    """What each piece is answered at a block that is named, in requests of at most so many calls."""
    answers = await asyncio.gather(
        *(_read_pieces(rpc, multicall, part, block, deadline) for part in _bearable(pieces, calls_max)),
        return_exceptions=True,
    )
    told: list[CallPart] = []
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
        told += answer
    return told


def _bearable(pieces: Sequence[Piece], calls_max: int) -> list[list[Piece]]:
    """In their order. A piece is never cut: one that is larger goes alone."""
    parts: list[list[Piece]] = []
    room = 0
    for piece in pieces:
        room -= len(piece.sizes)
        if not parts or room < 0:
            parts.append([])
            room = calls_max - len(piece.sizes)
        parts[-1].append(piece)
    return parts


async def _read_pieces(
    rpc: Rpc, multicall: Address, pieces: Sequence[Piece], block: Block, deadline: float | None
) -> list[CallPart]:
    """Halved where all of it is too much for the node."""
    try:
        answer = await rpc.eth_call(multicall, encode_pieces(pieces), block=block, deadline=deadline)
    except RpcError as error:
        if not error.is_too_heavy or len(pieces) == 1:
            raise UpstreamDown("the chain node could not run the call") from error
    else:
        return cut(answer, pieces)
    middle = len(pieces) // 2
    first = await _read_pieces(rpc, multicall, pieces[:middle], block, deadline)
    return first + await _read_pieces(rpc, multicall, pieces[middle:], block, deadline)


async def _read_chunk(
    rpc: Rpc, multicall: Address, calls: Sequence[Call], block: Block, all_may_fail: bool, deadline: float
) -> list[bytes | None]:
    results = await _read_or_halve(rpc, multicall, calls, block, deadline)
    return results if all_may_fail else _not_all_failed(results)


async def _read_or_halve(
    rpc: Rpc, multicall: Address, calls: Sequence[Call], block: Block, deadline: float
) -> list[bytes | None]:
    try:
        answer = await rpc.eth_call(multicall, encode(calls), block=block, deadline=deadline)
    except RpcError as error:
        if not error.is_too_heavy or len(calls) == 1:
            raise UpstreamDown("the chain node could not run the call") from error
    else:
        return decode(answer, len(calls))
    if block == "latest":
        # Two requests can only agree on a block that is named.
        block = await rpc.block_number(deadline=deadline)
    middle = len(calls) // 2
    first = await _read_or_halve(rpc, multicall, calls[:middle], block, deadline)
    return first + await _read_or_halve(rpc, multicall, calls[middle:], block, deadline)


def _not_all_failed(results: list[bytes | None]) -> list[bytes | None]:
    if all(result is None for result in results):
        raise UpstreamDown("the chain node failed every call")
    return results


def _evenly(calls: Sequence[Call], most: int) -> list[Sequence[Call]]:
    """Chunks of nearly equal size: a last chunk of one call could all too easily be all failures."""
    if not calls:
        return []
    pieces = -(-len(calls) // most)
    bounds = [len(calls) * piece // pieces for piece in range(pieces + 1)]
    return [calls[start:end] for start, end in pairwise(bounds)]
