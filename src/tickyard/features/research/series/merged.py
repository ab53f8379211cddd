"""The series of a company that merged: what was told before is another company's, and says so."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Final

from tickyard.features.research.filed.mergers import Merger
from tickyard.features.research.series.items import Item, Period, unknown

_OF_OTHER: Final = "It was told before the report of {filed}, of the company with which this one merged."
NO_YEAR: Final = "The report of {filed} tells of a merger: the quarters before it are another company's."


def told_apart(periods: Sequence[Period], merger: Merger) -> list[Period]:
    """The periods, those told before the merger with a remark."""
    remark = _OF_OTHER.format(filed=merger.filed)
    return [
        replace(
            each,
            revenue=_remarked(each.revenue, remark, merger.filed),
            net_income=_remarked(each.net_income, remark, merger.filed),
            diluted_eps=_remarked(each.diluted_eps, remark, merger.filed),
            shares=_remarked(each.shares, remark, merger.filed),
        )
        for each in periods
    ]


def without_newest(annual: Sequence[Period], merger: Merger) -> list[Period]:
    """The years, the newest without the figures that are not answered for either."""
    newest, *others = annual
    revenue, income = (
        unknown(item, merger.note(name, newest.end)) if item.value is not None else item
        for name, item in (("revenue", newest.revenue), ("netIncome", newest.net_income))
    )
    return told_apart([replace(newest, revenue=revenue, net_income=income), *others], merger)


def _remarked(item: Item, remark: str, filed: date) -> Item:
    if item.value is None or item.filed is None or item.filed >= filed:
        return item
    return replace(item, reason=f"{item.reason} {remark}" if item.reason is not None else remark)
