"""Figures of real filers that something else contradicts: they give way to what is borne out, or nothing is answered."""

from datetime import date

import pytest

from tickyard.features.research.study import study
from yards.filings import cases

CASES = {case["id"]: case for case in cases()}


def ask(name, facts=None, today=None):
    case = CASES[name]
    return study(case.filer.company, facts or case.filer.facts, date.fromisoformat(today) if today else case.today)


# A landlord that tagged other profits as the owners' part, another one every year.
@pytest.mark.parametrize(
    ("day", "value"), [("2012-03-01", 131_418_000), ("2013-03-01", 102_126_000), ("2014-04-01", 136_217_000)]
)
def test_an_owners_part_that_nothing_bears_out_gives_way_to_the_whole_less_the_minority(day, value):
    found = ask("ARE@2021", today=day)
    assert found.net_income.value == value
    assert "less the minority owners' part" in found.note


# Here only one of several minorities is tagged under the general name; profit per share bears out the owners' part.
@pytest.mark.parametrize(("day", "value"), [("2013-03-01", 841_719_000), ("2015-03-01", 631_308_000)])
def test_an_owners_part_that_profit_per_share_bears_out_stays(day, value):
    assert ask("EQR@2021", today=day).net_income.value == value
