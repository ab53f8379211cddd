"""An average counts every class where the covers tell one only, year after year."""

import pytest

from yards.filings import study_small

COVERS = """
    cover shares {before} - 2019-12-31 20-F 2020-04-28
    average shares {then} 2019-01-01 2019-12-31 20-F 2020-04-28
    cover shares {cover} - 2020-12-31 20-F 2021-04-28
    average shares 80932m 2020-01-01 2020-12-31 20-F 2021-04-28
    ifrs-full:ProfitLossAttributableToOwnersOfParent CNY 20850m 2020-01-01 2020-12-31 20-F 2021-04-28
    ifrs-full:BasicEarningsLossPerShare CNY/shares {per_share} 2020-01-01 2020-12-31 20-F 2021-04-28
"""
ONE_CLASS = {"before": 67_054_958_321, "cover": 67_054_958_321, "then": "80932m", "per_share": "0.26"}


def test_the_average_of_all_classes_is_taken_where_both_covers_leave_one_out():
    found = study_small(COVERS.format(**ONE_CLASS))
    assert found.shares.value == 80_932_000_000
    assert "weighted average" in found.note


@pytest.mark.parametrize("change", [
    {"then": "67055m"},  # more since: the cover may be the newer count
    {"per_share": "0.38"},  # another number shared the profit
    {"cover": 5_260},  # a daughter, in one report with its mother
])  # fmt: skip
def test_an_average_that_the_covers_contradict_is_none_otherwise(change):
    found = study_small(COVERS.format(**{**ONE_CLASS, **change}))
    assert found.shares is None or found.shares.value == 67_054_958_321
