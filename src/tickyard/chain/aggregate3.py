"""The bytes of Multicall3 `aggregate3((address,bool,bytes)[]) returns ((bool,bytes)[])`.

Written as joined templates and fixed strides, because a general codec costs milliseconds on 200 calls.
Calldata is made as hex text, the form in which it travels.
The stride is trusted only after the whole head of the answer was compared with the one it must have.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from struct import Struct
from typing import Final, NamedTuple, Protocol

from tickyard.chain.abi import WORD, malformed, uint_word
from tickyard.kernel.ids import Address

AGGREGATE3: Final = bytes.fromhex("82ad56cb")
_ALLOW_FAILURE: Final = uint_word(1) + uint_word(3 * WORD)
_ONE_WORD_OK: Final = uint_word(1) + uint_word(2 * WORD) + uint_word(WORD)
_OK: Final = uint_word(1) + uint_word(2 * WORD)
_FAILED: Final = uint_word(0) + uint_word(2 * WORD)
_CLEAN_PREFIX: Final = "00" * 12
_STRIDE: Final = 4 * WORD


class CallLike(Protocol):
    @property
    def to(self) -> Address: ...
    @property
    def data(self) -> bytes: ...


def encode(calls: Sequence[CallLike]) -> str:
    """Calldata for calls of any shape, as hex digits."""
    heads, bodies = [], []
    offset = len(calls) * WORD
    for call in calls:
        tail = _tail(call.data)
        heads.append(f"{offset:064x}")
        bodies.append(f"{_CLEAN_PREFIX}{call.to[2:]}{tail}")
        offset += WORD + len(tail) // 2
    return f"{AGGREGATE3.hex()}{WORD:064x}{len(calls):064x}{''.join(heads)}{''.join(bodies)}"


class Piece(NamedTuple):
    """Calls that are asked together again and again, written once."""

    sizes: tuple[int, ...]
    """Of each call, in bytes."""
    body: str


def piece_of(calls: Sequence[CallLike]) -> Piece:
    tails = [_tail(call.data) for call in calls]
    bodies = [f"{_CLEAN_PREFIX}{call.to[2:]}{tail}" for call, tail in zip(calls, tails, strict=True)]
    return Piece(tuple([WORD + len(tail) // 2 for tail in tails]), "".join(bodies))


def encode_pieces(pieces: Sequence[Piece]) -> str:
    """The same calldata as `encode` makes of all their calls."""
    sizes = [size for piece in pieces for size in piece.sizes]
    starts = list(accumulate(sizes, initial=len(sizes) * WORD))[:-1]
    heads = ("%064x" * len(starts)) % tuple(starts)
    return f"{AGGREGATE3.hex()}{WORD:064x}{len(sizes):064x}{heads}{''.join([piece.body for piece in pieces])}"


class CallPart:
    """What one piece was answered. The same bytes say the same, whatever the other pieces were."""

    __slots__ = ("_at", "_count", "_data", "raw")

    def __init__(self, data: bytes, at: int, count: int, raw: bytes) -> None:
        self._data, self._at, self._count = data, at, count
        self.raw = raw

    def results(self) -> list[bytes | None]:
        """Return data per call, None for a failed one."""
        return [told if has_succeeded else None for has_succeeded, told in _outcomes(self._data, self._at, self._count)]


def cut(data: bytes, pieces: Sequence[Piece]) -> list[CallPart]:
    """The answer to `encode_pieces`, piece by piece. No piece may be empty."""
    base, counts = 2 * WORD, [len(piece.sizes) for piece in pieces]
    heads = list(accumulate(counts, initial=0))
    _check_front(data, heads.pop())
    at = [base + head * WORD for head in heads]
    starts = [base + int.from_bytes(data[head : head + WORD], "big") for head in at]
    ends = [*starts[1:], len(data)]
    if any(start >= end for start, end in zip(starts, ends, strict=True)):
        raise malformed()
    return [
        CallPart(data, head, count, data[start:end])
        for head, count, start, end in zip(at, counts, starts, ends, strict=True)
    ]


def decode(data: bytes, count: int) -> list[bytes | None]:
    """Return data per call, None for a failed one. Anything misshapen is the node's failure."""
    body = 2 * WORD + count * WORD
    if count and len(data) == body + count * _STRIDE and data[:body] == _head(count, _STRIDE):
        parts = _stride_reader(count).unpack_from(data, body)
        if parts[::2].count(_ONE_WORD_OK) == count:
            return list(parts[1::2])
    return decode_by_offsets(data, count)


def decode_by_offsets(data: bytes, count: int) -> list[bytes | None]:
    return [returned if has_succeeded else None for has_succeeded, returned in outcomes(data, count)]


def outcomes(data: bytes, count: int) -> list[tuple[bool, bytes]]:
    """Whether each call succeeded, with what it returned or reverted with. Follow every offset, believe none of
    them: each read is checked against the end of the data."""
    _check_front(data, count)
    return _outcomes(data, 2 * WORD, count)


def _check_front(data: bytes, count: int) -> None:
    if len(data) < (2 + count) * WORD or data[: 2 * WORD] != uint_word(WORD) + uint_word(count):
        raise malformed()


def _outcomes(data: bytes, first: int, count: int) -> list[tuple[bool, bytes]]:
    """Of so many calls, whose offsets stand from there on."""
    end = len(data)
    base = 2 * WORD
    number = int.from_bytes
    returned = 0
    results: list[tuple[bool, bytes]] = []
    for at in range(first, first + count * WORD, WORD):
        item = base + number(data[at : at + WORD], "big")
        front = data[item : item + 2 * WORD]
        has_succeeded = front == _OK
        payload = item + 2 * WORD
        if not has_succeeded and front != _FAILED:
            # Legal, but no compiler writes it so: read the flag and the offset as numbers.
            flag = number(front[:WORD], "big")
            if len(front) != 2 * WORD or flag > 1:
                raise malformed()
            has_succeeded = flag == 1
            payload = item + number(front[WORD:], "big")
        start = payload + WORD
        stop = start + number(data[payload:start], "big")
        returned += stop - start
        # A slice never fails, it comes back short: the farthest end speaks for all before it. And results
        # may not share bytes: a small answer could otherwise be made to fill the memory.
        if stop > end or returned > end:
            raise malformed()
        results.append((has_succeeded, data[start:stop]))
    return results


@lru_cache(maxsize=16_384)
def _tail(data: bytes) -> str:
    """What follows the address in one call: allow failure, where the bytes are, how many, the bytes."""
    return (_ALLOW_FAILURE + uint_word(len(data)) + data + bytes(-len(data) % WORD)).hex()


@lru_cache(maxsize=64)
def _head(count: int, stride: int) -> bytes:
    """An array of `count` equally long items: where it is, its length, where each item is."""
    first = count * WORD
    return b"".join(map(uint_word, [WORD, count, *range(first, first + count * stride, stride)]))


@lru_cache(maxsize=64)
def _stride_reader(count: int) -> Struct:
    return Struct(f"{3 * WORD}s{WORD}s" * count)
