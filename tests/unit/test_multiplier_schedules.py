"""What the token contracts say about their multipliers, and what is left out."""

import pytest

from tickyard.market.listing.asset import MultiplierSchedule

ONE, FOUR = 10**18, 4 * 10**18


@pytest.mark.parametrize(
    ("second", "value", "pending"),
    [(99, ONE, FOUR), (100, FOUR, None), (101, FOUR, None), (10**6, FOUR, None)],
)
def test_a_scheduled_multiplier_flips_by_itself_at_its_second(second, value, pending):
    schedule = MultiplierSchedule(ONE, FOUR, effective_at=100, read_at=50)
    assert (schedule.at(second), schedule.pending_at(second)) == (value, pending)


@pytest.mark.parametrize("read_at", [100, 101, 500])
def test_a_schedule_read_after_its_flip_is_what_the_contract_said(read_at):
    """The contract never clears the time of a flip that is over."""
    schedule = MultiplierSchedule(FOUR, FOUR, effective_at=100, read_at=read_at)
    assert [schedule.at(second) for second in (read_at, read_at + 1000)] == [FOUR, FOUR]
    cancelled = MultiplierSchedule(ONE, FOUR, effective_at=100, read_at=read_at)
    assert cancelled.at(read_at + 1) == ONE
