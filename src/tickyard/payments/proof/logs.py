"""Reading the logs that speak of payments, from the moment each was taken to its deadline and no further.

A node that lags answers a range it does not have with silence. So the block at the end is asked for in the same
request, which goes to one node: who cannot show it cannot say that nothing happened before it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
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
from tickyard.payments.signed.key import Key

_TRIES: Final = 8
_GUESSES: Final = 3
_WIDEST: Final = 1_000_000
_CROWDED_MAX: Final = 32
"""How many blocks may each hold too many logs. More than that, and it is the node that shows nothing."""

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

    @property
    def size(self) -> int:
        return self.last - self.first + 1


@dataclass(slots=True)
class _Reading:
    times: _Times
    """Of the blocks at the ends: what is remembered of them may be forgotten by then."""
    entries: list[ReadLog] = field(default_factory=list)
    crowded: set[int] = field(default_factory=set)
    """Blocks that were not shown even alone."""
    hidden: set[Key] = field(default_factory=set)
    """Payments of which some block was not shown, whatever was asked."""
    shown: int = 0
    """How many blocks were shown at once."""
    is_cut: bool = False
    """Whether that was less than was asked for."""


class TransferReader:
    def __init__(self, rpc: Rpc, times: BlockTimes, *, is_eip3009: bool) -> None:
        self._rpc = rpc
        self._times = times
        self._is_eip3009 = is_eip3009
        self._widest = _WIDEST
        """How many blocks the node shows at once, as far as it has told. Who asks for more each time then asks for the
        parts one after the other, and loses all of them with any one that fails."""

    async def read(self, spans: Sequence[Span], head: int) -> list[ReadLog]:
        """Every log of these payments up to the block `head` that the node shows: it may leave some out, and then their
        nonces are used and nothing here says how."""
        if not spans:
            return []
        for tries in range(_TRIES):
            ranges = self._ranges(spans, head, tries)
            reading = await self._read(ranges)
            if _are_wide_enough(spans, ranges, reading.times, head):
                return reading.entries
        raise UpstreamDown("the chain node shows no block before a payment")

    async def blocks(self, wanted: Sequence[tuple[PaymentRow, int]]) -> tuple[list[ReadLog], set[Key]]:
        """The logs of single blocks, each with the payments that are looked for in it; and those payments whose block
        the node does not show."""
        rows: dict[int, list[PaymentRow]] = {}
        for row, number in wanted:
            rows.setdefault(number, []).append(row)
        ranges = [_Range(number, number, tuple(here)) for number, here in rows.items()]
        reading = await self._read(ranges)
        return reading.entries, reading.hidden

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

    async def _read(self, ranges: Sequence[_Range]) -> _Reading:
        reading = _Reading(dict.fromkeys(number for each in ranges for number in (each.first, each.last)))
        try:
            await self._read_all([part for each in ranges for part in _cut(each, self._widest)], reading)
        finally:
            self._note(reading)
        return reading

    def _note(self, reading: _Reading) -> None:
        """What was refused may have been one crowded block: what was shown beside it says what the node can do. It may
        have been busy, too, or be another by now."""
        widest = min(self._widest, reading.shown) if reading.is_cut and reading.shown else self._widest
        self._widest = min(widest + widest // 8 + 1, _WIDEST)

    async def _read_all(self, parts: list[_Range], reading: _Reading) -> None:
        while parts:
            refused = await self._read_parts(parts, reading)
            reading.crowded |= {each.first for each in refused if each.size == 1}
            if len(reading.crowded) > _CROWDED_MAX:
                raise UpstreamDown("the chain node refused to show logs")
            parts = []
            for each in refused:
                halves = _halves(each)
                parts += halves
                reading.hidden |= set() if halves else {row.key for row in each.rows}
        if reading.hidden and not reading.shown:
            raise UpstreamDown("the chain node refused to show logs")

    async def _read_parts(self, parts: Sequence[_Range], reading: _Reading) -> list[_Range]:
        """Those that the node would not show."""
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
        refused: list[_Range] = []
        for n, each in enumerate(parts):
            first, last, *logs, again = answers[n * size : (n + 1) * size]
            if any(isinstance(answer, TooManyLogs) for answer in logs):
                refused.append(each)
                logs = []
                reading.is_cut = reading.is_cut or each.size > 1
            else:
                reading.shown = max(reading.shown, each.size)
            reading.entries += self._take(each, first, last, logs, again, reading.times)
        return refused

    def _take(self, asked: _Range, first: Any, last: Any, logs: list[Any], again: Any, times: _Times) -> list[ReadLog]:
        """Only the times of the blocks in `times` are learned: those of every part would crowd out the ones that are
        needed."""
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


def _halves(whole: _Range) -> list[_Range]:
    """Fewer blocks, or of a single one fewer payers: anybody can fill a block with transfers of nothing in one payer's
    name, and that is no trouble of the others'. None: nothing smaller can be asked."""
    if whole.size > 1:
        return _cut(whole, whole.size // 2)
    payers = sorted({row.key.payer for row in whole.rows})
    if len(payers) == 1:
        return []
    some = set(payers[: len(payers) // 2])
    parts = [tuple(row for row in whole.rows if (row.key.payer in some) is is_in) for is_in in (True, False)]
    return [_Range(whole.first, whole.last, rows) for rows in parts]


def _cut(whole: _Range, size: int) -> list[_Range]:
    starts = range(whole.first, whole.last + 1, size)
    return [_Range(first, min(first + size - 1, whole.last), whole.rows) for first in starts]
