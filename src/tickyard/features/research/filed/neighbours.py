"""What filings say of the periods that they have in common.

A report repeats the years before it. Where it repeats them a thousand times off what others said of them, it is in a
wrong scale from its first line to its last, and nothing inside it tells: only its neighbours do.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.amounts import are_close, slip
from tickyard.sources.filings.border import Entry

_FIGURES = (*concepts.REVENUE, *concepts.NET_INCOME)
_SOLD = frozenset(concepts.REVENUE)
# A real number is repeated by the two reports after it and their amendments.
_REPEATED_MAX = 16
# The factor of a slip is a thousand or more, the figures under it may have grown.
_APART = 500
_MORE_THAN_A_SPLIT = 100
# One line may have slipped by itself.
_LINES = 2


@dataclass(frozen=True, slots=True)
class Vote:
    """How many filings tell what this one tells too in the same scale, and how many in another."""

    agree: int
    against: int
    is_per_share_odd: bool = False
    """Whether its profits per share are in another scale too: then they are no witness for the profits."""


@dataclass(slots=True)
class _Tally:
    """What two filings say of the lines that they share. One amount under two names is one line."""

    alike: list[tuple[Entry, Entry]] = field(default_factory=list)
    slipped: list[tuple[Entry, Entry]] = field(default_factory=list)
    unlike: list[tuple[Entry, Entry]] = field(default_factory=list)
    """Revenue that is neither the same nor in another scale: of a company that became another one."""

    def count(self, one: Entry, other: Entry, *, is_sold: bool) -> None:
        if one.value is None or other.value is None:
            return
        if slip(one.value, other.value):
            self.slipped.append((one, other))
        elif are_close(concepts.size(one.value), concepts.size(other.value)):
            self.alike.append((one, other))
        elif is_sold:
            self.unlike.append((one, other))

    @property
    def is_alike(self) -> bool:
        return _lines(self.alike) > _lines(self.slipped)

    @property
    def is_apart(self) -> bool:
        return _lines(self.slipped) >= _LINES + _lines(self.alike) + _lines(self.unlike)


def _lines(pairs: list[tuple[Entry, Entry]]) -> int:
    if len(pairs) < _LINES:
        return len(pairs)
    return min(len({(pair[side].start, pair[side].end, pair[side].value) for pair in pairs}) for side in (0, 1))


def votes_of(by_concept: Mapping[str, Sequence[Entry]]) -> dict[str, Vote]:
    """The votes on each filing with which another one disagrees; the others have nothing to fear."""
    shared = [(name in _SOLD, group) for name in _FIGURES for group in _shared(by_concept.get(name, ()))]
    if not any(_is_apart(group) for _, group in shared):
        return {}
    pairs: dict[tuple[str, str], _Tally] = {}
    for is_sold, group in shared:
        for one in group:
            for other in group:
                if one.accession != other.accession:
                    pairs.setdefault((one.accession, other.accession), _Tally()).count(one, other, is_sold=is_sold)
    per_share = _shared(row for name in concepts.PER_SHARE for row in by_concept.get(name, ()))
    odd = {row.accession for group in per_share if _is_apart(group, _MORE_THAN_A_SPLIT) for row in group}
    found: dict[str, Vote] = {}
    for (one_accession, _), tally in pairs.items():
        vote = found.get(one_accession, Vote(0, 0))
        agree, against = vote.agree + tally.is_alike, vote.against + tally.is_apart
        found[one_accession] = Vote(agree, against, one_accession in odd)
    return {accession: vote for accession, vote in found.items() if vote.against}


def _shared(rows: Iterable[Entry]) -> list[list[Entry]]:
    groups: dict[tuple[date | None, date], list[Entry]] = {}
    for row in rows:
        if row.value:
            groups.setdefault((row.start, row.end), []).append(row)
    return [_newest(group) for group in groups.values() if len(group) > 1]


def _newest(group: list[Entry]) -> list[Entry]:
    if len(group) <= _REPEATED_MAX:
        return group
    return sorted(group, key=lambda row: (row.filed, row.accession, row.value or 0), reverse=True)[:_REPEATED_MAX]


def _is_apart(group: Sequence[Entry], factor: int = _APART) -> bool:
    sizes = [concepts.size(row.value) for row in group if row.value]
    return max(sizes) >= factor * min(sizes)
