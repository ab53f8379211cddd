"""Quarters held against the year and the months they make up. What does not add up is unknown, with the reason.

A filer tells a quarter several times: in its own report, a year later for comparison, in a table of the annual report.
They differ when one is mistagged or the past was recast, and only their sum shows which of them belong together.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta

from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.concepts import Number
from tickyard.features.research.filed.statement import Years
from tickyard.features.research.revenue.total import ONLY_A_PART
from tickyard.features.research.series.items import FIGURES, Item, Period, Said, StatementLine, unknown

GAP = timedelta(days=4)
_FOUR = 4
_UNTOLD = "The first three quarters are not all reported."
_APART = "What the filings say of the quarters of the year ended {end} does not add up to it."
_RECAST = "The filing of {filed} recast it; the year ended {end} and its other quarters are as they were told before."
_BEFORE = "With the other quarters it makes the year ended {end} as it was told before the year was restated."
_UNRESTATED = "Told before the year ended {end} was restated: with the others it is more than that year says now."
_PART = "Only a part of revenue: in the report of the year ended {end} it is no total."
_SINCE = "With the quarters after it, it does not make up what the filing of {filed} says of the months to {end}."


def adds_up(parts: Sequence[Number], whole: Number) -> bool:
    """To two thousandths, or to half of the last digit for each: every part is rounded by itself."""
    off, size = concepts.size(sum(parts) - whole), concepts.size(whole)
    if off * 500 <= size:
        return True
    return off * 50 <= size and off * 2 <= len(parts) * min(map(_last_digit, (*parts, whole)))


def _last_digit(value: Number) -> int:
    """What one in the last digit is worth that is not zero."""
    text = str(int(concepts.size(value)))
    return 10 ** (len(text) - len(text.rstrip("0"))) if int(value) else 10**18


def last_quarter(
    year: Period, quarters: dict[date, Period], nine_months: Years, lines: Sequence[StatementLine]
) -> Period | None:
    """The quarter that ends with a year; None when nothing can be said about it. What the filer tags for it must be
    borne out: some put the year's amount into the quarter."""
    tagged = quarters.get(year.end)
    ends = [end for end in nine_months.ends(FIGURES) if year.start < end < year.end]
    end = max(ends, default=year.start)
    three = [each for each in quarters.values() if year.start - GAP <= each.start and each.end <= end]
    found = [Item(None, year.revenue.unit, reason=_UNTOLD) for _ in lines]
    if ends and len(three) == _FOUR - 1:
        found = [
            _rest(line, line.of(year), line.item(nine_months, end, "nine months"), list(map(line.of, three)))
            for line in lines
        ]
    elif tagged is None:
        return None
    none = "A fourth quarter's cannot be had by subtraction."
    revenue, income = (
        _borne_out(line.of(tagged) if tagged is not None else None, rest, line.of(year))
        for line, rest in zip(lines, found, strict=True)
    )
    return Period(
        tagged.start if tagged is not None else end + timedelta(days=1),
        year.end,
        None,
        revenue,
        income,
        tagged.diluted_eps if tagged is not None else Item(None, year.diluted_eps.unit, reason=none),
        tagged.shares if tagged is not None else Item(None, "shares", reason=none),
    )


def _borne_out(tagged: Item | None, rest: Item, year: Item) -> Item:
    """The fourth quarter as tagged, unless the year less nine months comes to something else."""
    if tagged is None or tagged.value is None:
        return rest
    if rest.value is not None:
        return tagged if concepts.size(rest.value - tagged.value) * 50 <= concepts.size(rest.value) else rest
    if year.value is not None and tagged.value == year.value and year.value != 0:
        return Item(None, year.unit, reason="The filing tags the amount of the year for the quarter too.")
    return tagged


def _rest(line: StatementLine, year: Item, nine: Item, quarters: Sequence[Item]) -> Item:
    """A year less its first nine months."""

    def no(reason: str) -> Item:
        return Item(None, year.unit, reason=reason)

    if year.value is None or nine.value is None:
        return no("The year or its first nine months are not known.")
    if not year.alike & nine.alike:
        return no("The year and its first nine months stand under different concepts.")
    if year.earlier:
        return no("The year was restated after its first nine months were reported.")
    # As the quarters were first told, or as they are now: a later year may have restated one of them for comparison,
    # and the nine months one that came before them.
    known = [item for item in quarters if item.value is not None]
    ways = [[item.earlier[-1].value if item.earlier else item.value for item in known], [item.value for item in known]]
    if len(known) < len(quarters) or not any(adds_up([each for each in way if each], nine.value) for way in ways):
        return no("The first three quarters do not make up the nine months.")
    if _is_absurd(line, year.value, nine.value):
        return no("The first nine months are more than the year, which revenue cannot be.")
    return _difference(year, nine.value)


def _is_absurd(line: StatementLine, year: Number, nine: Number) -> bool:
    """Whether a fourth quarter would have taken revenue back."""
    return line.is_never_taken_back and 0 < year < nine


def _difference(year: Item, nine: Number) -> Item:
    assert year.value is not None
    name = f"{year.concept} (year less nine months)"
    return Item(
        year.value - nine, year.unit, name, year.form, year.accession, year.filed, year.reason, alike=year.alike
    )


def settle_year(
    year: Period, quarters: dict[date, Period], line: StatementLine, years: Years, spans: Years, nine: Years
) -> dict[date, Item]:
    """The items of a year's quarters that must be other than the newest filings say, by the end of the quarter."""
    whole = line.of(year)
    inside = _inside(year, quarters)
    found = _settled_as_four(year, quarters, line, years, spans, nine)
    reason = _APART.format(end=year.end)
    for end in inside:
        # Of a shell, before what told the year was put into it.
        if whole.value and quarters[end].revenue.value == 0 == quarters[end].net_income.value and end not in found:
            found[end] = unknown(line.of(quarters[end]), reason)
    now = {end: found.get(end, line.of(quarters[end])) for end in inside}
    if not line.is_never_taken_back or not _is_over(now.values(), whole.value, whole.filed):
        return found
    first = {end: next(line.told(spans, end, "quarter", is_oldest_first=True), item) for end, item in now.items()}
    if not _is_over(first.values(), whole.value, whole.filed):
        before = {end: now[end] for end in now if now[end].value is not None and now[end].value != first[end].value}
        return found | {end: _instead(item, first[end], whole, year.end) for end, item in before.items()}
    known = {end: item for end, item in now.items() if item.value is not None}
    if whole.earlier and not _is_over(known.values(), max(said.value for said in whole.earlier), whole.filed):
        told = _UNRESTATED.format(end=year.end)
        return found | {end: replace(item, reason=item.reason or told) for end, item in known.items()}
    return found | {end: unknown(item, reason) for end, item in known.items()}


def _inside(year: Period, quarters: dict[date, Period]) -> list[date]:
    return sorted(end for end, each in quarters.items() if year.start - GAP <= each.start and end <= year.end)


def _is_over(items: Iterable[Item], whole: Number | None, by: date | None) -> bool:
    """Whether what was said of some quarters by then, without a word, is clearly more than their year."""
    told = (item for item in items if item.reason is None and item.filed and by and item.filed <= by)
    parts = [item.value for item in told if item.value is not None]
    return whole is not None and whole > 0 and all(part >= 0 for part in parts) and sum(parts) * 50 > whole * 51


def _settled_as_four(
    year: Period, quarters: dict[date, Period], line: StatementLine, years: Years, spans: Years, nine: Years
) -> dict[date, Item]:
    whole = line.of(year)
    inside = _inside(year, quarters)
    newest = [line.of(quarters[end]) for end in inside]
    if whole.value is None or len(inside) != _FOUR or _makes(newest, whole.value):
        return {}
    for told in _ways(whole, inside, line, spans, nine):
        if _makes(told, whole.value):
            return {
                end: _instead(before, after, whole, year.end)
                for end, before, after in zip(inside, newest, told, strict=True)
                if before.value != after.value
            }
    # The newest year is what the trailing one is made of: it is as restated, or unknown.
    is_past = year.end != years.newest_end(FIGURES)
    if is_past and (first := _as_first_told(whole, inside, newest, line, spans, nine)):
        return first
    if any(item.value is None for item in newest):
        return {}
    tellings = [said.value for said in line.told(years, year.end, "year") if said.value is not None]
    before, reason = _BEFORE.format(end=year.end), _APART.format(end=year.end)
    if any(_makes(newest, value) for value in tellings):
        return {end: replace(item, reason=before) for end, item in zip(inside, newest, strict=True)}
    # Where some stand under another name than the year, they are the ones that do not belong; but those that do must
    # make up the year like any others.
    kin = [
        item if item.alike & whole.alike else _kin(line.told(spans, end, "quarter"), whole) or unknown(item, reason)
        for end, item in zip(inside, newest, strict=True)
    ]
    if _makes(kin, whole.value) or any(item.value is None for item in kin):
        return {end: item for end, item in zip(inside, kin, strict=True) if item not in newest}
    if any(_makes(kin, value) for value in tellings):
        return {end: replace(item, reason=before) for end, item in zip(inside, kin, strict=True)}
    return {end: unknown(item, reason) for end, item in zip(inside, kin, strict=True)}


def _as_first_told(
    whole: Item, ends: Sequence[date], newest: Sequence[Item], line: StatementLine, spans: Years, nine: Years
) -> dict[date, Item]:
    """The quarters of a restated year that is made of several lines, as they made it up before: which of their later
    tellings are made of the same lines is not known, unless they make up the nine months."""
    months = list(line.told(nine, ends[-2], "nine months", is_oldest_first=True))
    if not whole.earlier or whole.concept in FIGURES or not months:
        return {}
    first = whole.earlier[-1]
    year = replace(whole, value=first.value, form=first.form, accession=first.accession, filed=first.filed, earlier=())
    told = [next(line.told(spans, end, "quarter", is_oldest_first=True), None) for end in ends[:-1]]
    way = next(_whole_ways([*told, None], year, line, months[:1]), None)
    changed = [(end, before, after) for end, before, after in zip(ends, newest, way or (), strict=False)]
    changed = [(end, before, after) for end, before, after in changed if before.value != after.value]
    is_restated = any(each.value is not None and _makes(newest[:-1], each.value) for each in months)
    if is_restated and any(end != ends[-1] for end, _, _ in changed):
        return {}
    reason = _BEFORE.format(end=ends[-1])
    return {end: replace(_instead(before, after, whole, ends[-1]), reason=reason) for end, before, after in changed}


def _kin(told: Iterator[Item], whole: Item) -> Item | None:
    """What another filing says of the quarter under the name of the year."""
    return next((item for item in told if item.alike & whole.alike), None)


def _makes(items: Sequence[Item], whole: Number) -> bool:
    known = [item.value for item in items if item.value is not None]
    return len(known) == len(items) and adds_up(known, whole)


def _ways(whole: Item, ends: Sequence[date], line: StatementLine, spans: Years, nine: Years) -> Iterator[list[Item]]:
    """Ways to tell the four quarters that hang together: under the year's own name, or each as it was told first."""
    # A year that was restated is no longer the one that those nine months were a part of.
    months = list(line.told(nine, ends[-2], "nine months")) if not whole.earlier else []
    if whole.concept is not None:
        yield from _whole_ways([line.named(spans, end, whole.concept) for end in ends], whole, line, months)
    first = [next(line.told(spans, end, "quarter", is_oldest_first=True), None) for end in ends]
    yield from _whole_ways(first, whole, line, months)


def _whole_ways(
    told: Sequence[Item | None], whole: Item, line: StatementLine, months: Sequence[Item]
) -> Iterator[list[Item]]:
    three = [item for item in told[:-1] if item is not None]
    if len(three) < _FOUR - 1:
        return
    for each in months:
        if each.value is None or whole.value is None or _is_absurd(line, whole.value, each.value):
            continue
        if whole.alike & each.alike and _makes(three, each.value):
            yield [*three, _difference(whole, each.value)]
    if told[-1] is not None:
        yield [*three, told[-1]]


def _instead(before: Item, after: Item, whole: Item, end: date) -> Item:
    """The telling that adds up; but what a later filing than the year's says of a quarter is no mistake of a table, but
    a recast of something of the same size, and the newest filing of a period speaks."""
    if before.value is None or after.value is None or before.filed is None or before.accession is None:
        return after
    is_later = whole.filed is not None and before.filed > whole.filed
    if is_later and _is_comparable(before.value, after.value):
        return replace(before, reason=_RECAST.format(filed=before.filed, end=end))
    said = Said(before.value, before.form or "", before.accession, before.filed)
    return replace(after, earlier=(said, *(each for each in before.earlier if each.value != after.value)))


def _is_comparable(one: Number, other: Number) -> bool:
    return (one > 0) == (other > 0) and concepts.size(one) <= 3 * concepts.size(other) <= 9 * concepts.size(one)


def parts_of_year(year: Period, quarters: Sequence[Period], line: StatementLine, years: Years) -> dict[date, Item]:
    """The items of quarters under a name that is only a part in a report of their year, or of the one before: a
    quarterly report may tag nothing beside it that would tell."""
    whole, told = line.of(year), years.statements(line.wanted, year.end)
    if (whole.reason or "").startswith(ONLY_A_PART):
        parts = {name for statement in told for name in statement.values}
    elif whole.value is not None and line.is_never_taken_back:
        parts = {name for each in told for name, part in each.values.items() if 0 < part * 2 < whole.value}
    else:
        return {}
    items = {quarter.end: line.of(quarter) for quarter in quarters}
    reason = _PART.format(end=year.end)
    return {
        end: unknown(item, reason)
        for end, item in items.items()
        if item.value is not None and item.concept in parts - whole.alike
    }


def settle_since(quarters: Sequence[Period], line: StatementLine, to_date: Years | None) -> dict[date, Item]:
    """The same for the quarters since the last year's end, the newest first: together they make the months to date."""
    newest = line.of(quarters[0])
    told = line.item(to_date, quarters[0].end, "months") if to_date is not None else None
    if told is None or told.value is None or told.accession != newest.accession or not told.alike & newest.alike:
        return {}
    items = [line.of(each) for each in quarters]
    if any(item.value is None for item in items) or _makes(items, told.value):
        return {}
    reason = _SINCE.format(filed=told.filed, end=quarters[0].end)
    return {each.end: unknown(item, reason) for each, item in zip(quarters[1:], items[1:], strict=True)}
