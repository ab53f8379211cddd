"""Choosing facts, for any set of reported numbers in any order, and for documents that are not what they should be."""

import copy
from datetime import date, timedelta

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.periods import ANNUAL_FORMS, fiscal_year
from tickyard.features.research.filed.settling import latest
from tickyard.features.research.study import study
from tickyard.sandbox.filings.rows import company_facts, rows_of
from tickyard.sources.filings.border import Broken, Company, CompanyFacts, Entry, read_facts

# Examples are small but the machine may be busy: time is not what these tests are about.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
TODAY = date(2026, 9, 16)
COMPANY = Company(cik=1, name="Example", fiscal_year_end="1231")

ENDS = st.sampled_from(
    [date(2023, 12, 31), date(2024, 12, 28), date(2024, 12, 31), date(2026, 1, 3), date(2025, 6, 30)]
)
LENGTHS = st.sampled_from([365, 364, 371, 350, 380, 349, 381, 182])
FORMS = ("10-K", "10-K/A", "10-KT", "20-F", "10-Q")


@st.composite
def entries(draw):
    end, form = draw(ENDS), draw(st.sampled_from(FORMS))
    filed = end + timedelta(days=draw(st.sampled_from([-5, 40, 41, 120, 500])))
    # One filing has one form and one day, and there may be two of a kind on one day.
    number = filed.toordinal() % 10_000 * 100 + FORMS.index(form) * 10 + draw(st.integers(1, 2))
    return Entry(
        start=end - timedelta(days=draw(LENGTHS) - 1),
        end=end,
        value=draw(st.integers(-1000, 10**6) | st.integers(1, 10**6) | st.none()),
        accession=f"0000000001-26-{number:06d}",
        form=form,
        filed=filed,
    )


def documents(money):
    rows = st.lists(entries(), max_size=5).map(tuple)
    return st.dictionaries(
        st.sampled_from(money),
        st.dictionaries(st.sampled_from(["USD", "TWD"]), rows, min_size=1, max_size=2),
        max_size=3,
    ).map(lambda chosen: CompanyFacts(1, chosen))


def is_annual(entry):
    days = (entry.end - entry.start).days + 1
    return entry.form in ANNUAL_FORMS and 350 <= days <= 380 and entry.end <= entry.filed <= TODAY


def annual_entries(facts, wanted, unit=None):
    return [
        (concept, entry)
        for concept in wanted
        for name, rows in facts.units(concept).items()
        for entry in rows
        if is_annual(entry) and unit in (None, name)
    ]


def filing_of(entry):
    return entry.filed, entry.accession


def is_whole(facts, unit, end, filing):
    """Whether a filing tells both of a year: one line alone, told later, may be outvoted."""
    return all(
        any(filing_of(entry) == filing and entry.end == end for _, entry in annual_entries(facts, wanted, unit))
        for wanted in (concepts.REVENUE, concepts.NET_INCOME)
    )


def told(filed, form, number, value):
    return Entry(date(2024, 1, 2), date(2024, 12, 31), value, f"0000000001-26-{number}", form, filed)


# A lone profit of a later filing is quite another one than the whole statement tells.
WHOLE = told(date(2025, 2, 9), "10-KT", 929121, 0)
LONE = told(date(2025, 2, 10), "10-K", 929201, 1)
AMENDED = CompanyFacts(
    1,
    {"us-gaap:RevenuesNetOfInterestExpense": {"USD": (WHOLE,)}, "us-gaap:NetIncomeLoss": {"USD": (LONE, WHOLE)}},
)


@PATIENT
@given(documents([*concepts.REVENUE, *concepts.NET_INCOME]))
@example(AMENDED)
def test_a_chosen_figure_is_of_the_newest_whole_year_and_of_its_latest_filing(facts):
    found = study(COMPANY, facts, TODAY)
    for fact, wanted in ((found.revenue, concepts.REVENUE), (found.net_income, concepts.NET_INCOME)):
        if fact is None:
            continue
        candidates = annual_entries(facts, wanted, fact.unit)
        assert fact.period_end == max(entry.end for _, entry in candidates)
        same_year = [entry for concept, entry in candidates if concept == fact.concept and entry.end == fact.period_end]
        filing = (fact.filed, fact.accession)
        newer = {each for each in map(filing_of, same_year) if each > filing}
        assert not newer or is_whole(facts, fact.unit, fact.period_end, filing)
        assert not any(is_whole(facts, fact.unit, fact.period_end, each) for each in newer)
        of_the_filing = [entry for entry in same_year if (entry.filed, entry.accession) == filing]
        assert any((entry.start, entry.value) == (fact.period_start, fact.value) for entry in of_the_filing)


@PATIENT
@given(documents([*concepts.REVENUE, *concepts.NET_INCOME]))
def test_a_figure_is_missing_only_for_a_reason_that_is_said(facts):
    found = study(COMPANY, facts, TODAY)
    assert (found.revenue is None) == ("revenue:" in str(found.note) or "revenue and netIncome:" in str(found.note))
    assert (found.net_income is None) == ("netIncome:" in str(found.note))
    assert found.shares is None
    assert "sharesOutstanding:" in found.note


@PATIENT
@given(documents([*concepts.REVENUE, *concepts.NET_INCOME, *concepts.PARTS]), st.randoms(use_true_random=False))
def test_the_order_of_the_document_changes_nothing(facts, rng):
    def shuffled(items):
        items = list(items)
        rng.shuffle(items)
        return items

    other = CompanyFacts(
        1,
        {
            concept: {unit: tuple(shuffled(rows)) for unit, rows in shuffled(units.items())}
            for concept, units in shuffled(facts.concepts.items())
        },
    )
    assert study(COMPANY, facts, TODAY) == study(COMPANY, other, TODAY)


@PATIENT
@given(st.lists(entries(), min_size=1))
def test_the_latest_filing_wins_or_nothing_does(rows):
    chosen = latest(rows)
    assert (chosen.filed, chosen.accession) == max((row.filed, row.accession) for row in rows)
    assert chosen.value is None or any(row.value == chosen.value for row in rows)


@PATIENT
@given(st.integers(2001, 2098), st.integers(-7, 7), st.dates(date(2024, 1, 8), date(2024, 12, 31)))
def test_a_wandering_year_end_keeps_its_year(year, drift, nominal):
    on = nominal.replace(year=year, day=min(nominal.day, 28))
    assert fiscal_year(on + timedelta(days=drift), f"{on:%m%d}") == year


@PATIENT
@given(documents([*concepts.REVENUE, concepts.COVER_COUNT]))
def test_facts_survive_being_stored_as_json(facts):
    assert msgspec.json.decode(msgspec.json.encode(facts), type=CompanyFacts) == facts


GOOD = msgspec.json.decode(
    company_facts(
        1,
        "Example",
        rows_of("""
            Revenues USD 90m 2024-01-01 2024-12-31 10-K 2025-02-14
            Revenues USD 90m 2024-01-01 2024-12-31 10-K 2026-02-14
            Revenues USD 100m 2025-01-01 2025-12-31 10-K 2026-02-14
            NetIncomeLoss USD 9m 2024-01-01 2024-12-31 10-K 2026-02-14
            NetIncomeLoss USD 10m 2025-01-01 2025-12-31 10-K 2026-02-14
            cover shares 50m - 2026-08-01 10-Q 2026-08-10
            cover shares 49m - 2026-02-01 10-K 2026-02-14
        """),
    )
)
RIGHT = study(COMPANY, read_facts(msgspec.json.encode(GOOD), 1), TODAY)
JUNK = st.sampled_from(
    [
        None,
        True,
        "",
        "12",
        "NaN",
        "9" * 40,
        "\u202e",
        -1e300,
        10**30,
        [],
        [[[]]],
        {},
        {"a": {"a": {"a": []}}},
        "2025-02-30",
    ]
)


def places(node, path=()):
    yield path
    if isinstance(node, dict | list):
        for key, child in node.items() if isinstance(node, dict) else enumerate(node):
            yield from places(child, (*path, key))


PLACES = [path for path in places(GOOD) if path]


@pytest.mark.slow
@settings(PATIENT, max_examples=400)
@given(st.lists(st.tuples(st.sampled_from(PLACES), JUNK | st.just(...)), min_size=1, max_size=3))
def test_a_damaged_document_gives_the_right_figure_or_says_why_not(damage):
    document = copy.deepcopy(GOOD)
    for path, junk in damage:
        spoil(document, path, junk)
    try:
        found = study(COMPANY, read_facts(msgspec.json.encode(document), 1), TODAY)
    except Broken:
        return
    for name in ("revenue", "net_income", "shares"):
        figure, right = getattr(found, name), getattr(RIGHT, name)
        if figure is not None and figure != right:
            # Never a number that was not filed; an older one only with a word about what is missing.
            assert figure.value in (90 * 10**6, 9 * 10**6, 49 * 10**6)
            assert found.note is not None
        if figure is None:
            assert found.note is not None


def spoil(node, path, junk):
    """Put junk in a place, or take the place away. Nothing, when other damage has removed it already."""
    *parents, last = path
    try:
        for key in parents:
            node = node[key]
        if junk is not ...:
            node[last] = copy.deepcopy(junk)
        elif isinstance(node, dict):
            del node[last]
    except (KeyError, IndexError, TypeError):
        return


@settings(PATIENT, max_examples=200)
@given(st.binary(max_size=200) | st.text(alphabet='{}[]":,0123456789abcfiksu-.eE', max_size=200).map(str.encode))
def test_noise_is_refused(body):
    try:
        read_facts(body, 1)
    except Broken:
        return
    # Whatever was let in had the outline of a document of this very filer.
    assert msgspec.json.decode(body, type=dict[str, msgspec.Raw]).keys() >= {"cik", "facts"}
