"""What filings say of the periods that they have in common.

A report repeats the years before it. Where it repeats them a thousand times off what others said of them, it is in a
wrong scale from its first line to its last, and nothing inside it tells: only its neighbours do.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.amounts import are_close, slip
from tickyard.sources.filings.border import Entry

_FIGURES = (*concepts.REVENUE, *concepts.NET_INCOME)
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


def votes_of(by_concept: Mapping[str, Sequence[Entry]]) -> dict[str, Vote]:
    """The votes on each filing with which another one disagrees; the others have nothing to fear."""
    shared = [group for name in _FIGURES for group in _shared(by_concept.get(name, ()))]
    if not any(_is_apart(group) for group in shared):
        return {}
    pairs: dict[tuple[str, str], int] = {}
    for group in shared:
        for one in group:
            for other in group:
                if one.accession != other.accession and (weight := _weight(one, other)):
                    pair = (one.accession, other.accession)
                    pairs[pair] = pairs.get(pair, 0) + weight
    per_share = _shared(row for name in concepts.PER_SHARE for row in by_concept.get(name, ()))
    odd = {row.accession for group in per_share if _is_apart(group, _MORE_THAN_A_SPLIT) for row in group}
    found: dict[str, Vote] = {}
    for (one_accession, _), weight in pairs.items():
        vote = found.get(one_accession, Vote(0, 0))
        agree, against = vote.agree + (weight > 0), vote.against + (weight <= -_LINES)
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


def _weight(one: Entry, other: Entry) -> int:
    if one.value is None or other.value is None:
        return 0
    if slip(one.value, other.value):
        return -1
    return int(are_close(concepts.size(one.value), concepts.size(other.value)))
