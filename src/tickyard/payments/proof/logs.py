"""Reading the logs that speak of payments, from the moment each was taken to its deadline and no further.

A node that lags answers a range it does not have with silence. So the block at the end is asked for in the same
request, which goes to one node: who cannot show it cannot say that nothing happened before it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from tickyard.chain.abi import address_word, malformed
from tickyard.chain.blocks import read_header
from tickyard.chain.rpc.client import Rpc
from tickyard.chain.rpc.trouble import RpcError, TooManyLogs
from tickyard.chain.transfers import TRANSFER, ChainMoved
from tickyard.config import pinned
from tickyard.kernel.errors import UpstreamDown
from tickyard.payments.books.row import PaymentRow
from tickyard.payments.proof.span import BlockTimes
from tickyard.payments.proof.transfer import (
    AUTHORIZATION_CANCELED,
    AUTHORIZATION_USED,
    NONCES_INVALIDATED,
    ReadLog,
    owner_topic,
    read_entry,
    topic,
)

_TRIES: Final = 8
_GUESSES: Final = 3
_WIDEST: Final = 1_000_000

_Times = dict[int, int | None]
"""When the blocks at the ends of ranges were; None until one is shown."""


@dataclass(frozen=True, slots=True)
class Span:
    """A payment, and between which moments its transfer can be."""

    since: int
    until: int
    row: PaymentRow


@dataclass(frozen=True, slots=True)
class _Range:
    first: int
    last: int
    rows: tuple[PaymentRow, ...]


class TransferReader:
    def __init__(self, rpc: Rpc, times: BlockTimes, *, is_eip3009: bool) -> None:
        self._rpc = rpc
        self._times = times
        self._is_eip3009 = is_eip3009
        self._widest = _WIDEST
        """How many blocks the node shows at once, as far as it has told. Who asks for more each time then asks for the
        parts one after the other, and loses all of them with any one that fails."""

    async def read(self, spans: Sequence[Span], head: int) -> list[ReadLog]:
        """Every log of these payments up to the block `head`."""
        if not spans:
            return []
        for tries in range(_TRIES):
            ranges = self._ranges(spans, head, tries)
            entries, times = await self._read(ranges)
            if _are_wide_enough(spans, ranges, times, head):
                return entries
        raise UpstreamDown("the chain node shows no block before a payment")

    async def blocks(self, wanted: Sequence[tuple[PaymentRow, int]]) -> list[ReadLog]:
        """The logs of single blocks, each with the payments that are looked for in it."""
        rows: dict[int, list[PaymentRow]] = {}
        for row, number in wanted:
            rows.setdefault(number, []).append(row)
        ranges = [_Range(number, number, tuple(here)) for number, here in rows.items()]
        return (await self._read(ranges))[0] if ranges else []

    def _ranges(self, spans: Sequence[Span], head: int, tries: int) -> list[_Range]:
        """Ranges of blocks that hold all spans, one for all that overlap."""
        ranges: list[_Range] = []
        for span in sorted(spans, key=lambda each: each.since):
            first = min(self._times.before(span.since, tries=tries), head)
            last = max(first, min(self._times.after(span.until, is_sure=tries >= _GUESSES), head))
            if ranges and first <= ranges[-1].last + 1:
                before = ranges.pop()
                ranges.append(_Range(min(before.first, first), max(before.last, last), (*before.rows, span.row)))
            else:
                ranges.append(_Range(first, last, (span.row,)))
        return ranges

    async def _read(self, ranges: Sequence[_Range]) -> tuple[list[ReadLog], _Times]:
        """The logs, and the times of the blocks at the ends: what is remembered of them may be forgotten by then."""
        times: _Times = dict.fromkeys(number for each in ranges for number in (each.first, each.last))
        entries = await self._read_parts([part for each in ranges for part in _cut(each, self._widest)], times)
        # A node may have been busy, or be another by now.
        self._widest = min(self._widest + self._widest // 8, _WIDEST)
        return entries, times

    async def _read_parts(self, parts: Sequence[_Range], times: _Times) -> list[ReadLog]:
        """Only the times of the blocks in `times` are learned: those of every part would crowd out the ones that are
        needed."""
        calls: list[tuple[str, Sequence[Any]]] = []
        for each in parts:
            around: list[tuple[str, Sequence[Any]]] = [
                ("eth_getBlockByNumber", [hex(each.first), False]),
                ("eth_getBlockByNumber", [hex(each.last), False]),
            ]
            queries = self._queries(each.rows)
            where = {"fromBlock": hex(each.first), "toBlock": hex(each.last)}
            calls += [*around, *(("eth_getLogs", [{**where, **query}]) for query in queries), around[1]]
        answers = await self._rpc.batch(calls)
        size = len(calls) // len(parts)
        entries: list[ReadLog] = []
        smaller: list[_Range] = []
        for n, each in enumerate(parts):
            first, last, *logs, again = answers[n * size : (n + 1) * size]
            if any(isinstance(answer, TooManyLogs) for answer in logs) and each.first < each.last:
                self._widest = max(1, min(self._widest, (each.last - each.first + 1) // 2))
                smaller += _cut(each, max(1, (each.last - each.first + 1) // 2))
            else:
                entries += self._take(each, first, last, logs, again, times)
        return entries + (await self._read_parts(smaller, times) if smaller else [])

    def _take(self, asked: _Range, first: Any, last: Any, logs: list[Any], again: Any, times: _Times) -> list[ReadLog]:
        if any(isinstance(answer, RpcError) for answer in (first, last, *logs, again)):
            raise UpstreamDown("the chain node refused to show logs")
        begin, end = read_header(first), read_header(last)
        if read_header(again).hash != end.hash:
            raise ChainMoved("the chain was reorganised while it was read")
        for each in (begin, end):
            if each.number in times:
                times[each.number] = each.timestamp
                self._times.learn(each.number, each.timestamp)
        entries = []
        for found in logs:
            if not isinstance(found, list):
                raise malformed()
            entries += [read_entry(log) for log in found]
        if not all(asked.first <= entry.place.block <= asked.last for entry in entries):
            raise malformed()
        return entries

    def _queries(self, rows: Sequence[PaymentRow]) -> list[dict[str, Any]]:
        owners = sorted({owner_topic(row.key) for row in rows})
        payees = sorted({topic(address_word(row.pay_to)) for row in rows})
        assets = sorted({row.key.asset for row in rows})
        if self._is_eip3009:
            # Who is paid and which nonce is used stand in the same place of the events.
            either = [*payees, *sorted({row.key.nonce for row in rows})]
            kinds = [TRANSFER, AUTHORIZATION_USED, AUTHORIZATION_CANCELED]
            return [{"address": assets, "topics": [kinds, owners, either]}]
        return [
            {"address": assets, "topics": [TRANSFER, owners, payees]},
            {"address": [pinned.MAINNET.permit2], "topics": [NONCES_INVALIDATED, owners]},
        ]


def _are_wide_enough(spans: Sequence[Span], ranges: Sequence[_Range], times: _Times, head: int) -> bool:
    """Whether the bounds, whose times are known by now, are what they were taken for."""
    bounds = {row.key: (each.first, each.last) for each in ranges for row in each.rows}
    for span in spans:
        first, last = bounds[span.row.key]
        first_s, last_s = times[first], times[last]
        if first_s is None or (first_s >= span.since and first > 0):
            return False
        if last < head and (last_s is None or last_s <= span.until):
            return False
    return True


def _cut(whole: _Range, size: int) -> list[_Range]:
    starts = range(whole.first, whole.last + 1, size)
    return [_Range(first, min(first + size - 1, whole.last), whole.rows) for first in starts]
