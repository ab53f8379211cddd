"""Real filings: every figure is the one that was found by hand. The score is printed (`pytest -s`)."""

from collections import Counter

import pytest

from tickyard.features.research.company.worth import market_cap
from tickyard.features.research.portrait import describe
from tickyard.kernel.units import Price
from yards.filings import cases

CASES = {case["id"]: case for case in cases()}
SKIPPED = "SKIP"


def judge(case):
    """What is judged about a case, and whether it is right: (fact, is right, what was said)."""
    profile = describe(case.ticker, case.filer, case.today)
    found = profile.study
    if case.told.get("noUnderlying"):
        yield "underlying", profile.company is None, profile.company
        return
    yield "underlying", profile.company is not None, profile.notes
    yield from judge_amount(case, "revenue", found.revenue)
    yield from judge_amount(case, "netIncome", found.net_income)
    if case["shares"] != SKIPPED:
        yield "shares", is_right_count(case["shares"], found.shares), found.shares
    if case.told.get("adr") is not None:
        worth = market_cap(
            found.shares,
            Price(100, 1),
            case.ticker,
            is_foreign=found.is_foreign,
            tagged_ratio=found.tagged_ratio,
            public_float=found.public_float,
        )
        right = found.shares.value * 100 // case["adr"] if found.shares else None
        yield "marketCap", (worth.market_cap.value if worth.market_cap else None) == right, worth


def judge_amount(case, name, fact):
    told = case[name]
    if told == SKIPPED:
        return
    if told is None or fact is None:
        yield name, fact is None and (told is None or bool(told.get("nullOk"))), fact
        return
    year = case["revenue"]
    # The figure that includes minority owners ("caveat") is not among the right ones.
    is_right = fact.value in (told["value"], *told.get("also", ()))
    period = (fact.period_start.isoformat(), fact.period_end.isoformat())
    is_right = is_right and fact.unit == year["unit"] and period == (year["periodStart"], year["periodEnd"])
    yield name, is_right, fact
    if case["fiscalYear"] is not None:
        yield f"{name}.fiscalYear", fact.fiscal_year in case["fiscalYear"], fact.fiscal_year


def is_right_count(told, shares):
    if told is None or shares is None:
        return shares is None and (told is None or bool(told.get("nullOk")))
    if "about" in told:
        return abs(shares.value - told["about"]) <= told["about"] * told["within"]
    return shares.value in (told["value"], *told.get("also", ())) and shares.as_of.isoformat() == told["asOf"]


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_every_figure_of_a_real_filer_is_the_one_found_by_hand(name):
    for fact, is_right, said in judge(CASES[name]):
        assert is_right, f"{name} {fact}: {said}"


def test_the_score_is_printed_and_full():
    right, asked = Counter(), Counter()
    for case in CASES.values():
        for fact, is_right, _ in judge(case):
            right[fact] += is_right
            asked[fact] += 1
    line = ", ".join(f"{fact} {right[fact]}/{asked[fact]}" for fact in asked)
    print(f"\n{len(CASES)} real filers, {right.total()} of {asked.total()} facts right: {line}")
    assert len(CASES) == 72
    assert right == asked
