"""How often the mirror looks where a node tells it when to: at once, and in an hour never more than so often."""

from tickyard.market.mirror.follow import FED_STEP_S, StepBudget


def steps_in_an_hour(news_after_s):
    """News comes so long after each step."""
    budget, now, steps = StepBudget(), 0.0, 0
    while now < 3600:
        pause = min(news_after_s, FED_STEP_S) if budget.has_spare else FED_STEP_S
        budget.spend_one_after(pause)
        now, steps = now + pause, steps + 1
    return steps


def test_whatever_happens_an_hour_has_no_more_than_four_thousand_steps():
    for news_after_s in (0.01, 0.1, 0.3, 0.8, 1.0, 5.0):
        assert steps_in_an_hour(news_after_s) <= 4_000 + 5


def test_what_two_steps_cost_pays_for_the_one_and_for_a_spare_one():
    budget = StepBudget()
    budget.spend_one_after(2 * StepBudget.EARNED_S)
    assert budget.has_spare
    budget.spend_one_after(0)
    assert not budget.has_spare


def test_a_quiet_market_saves_up_for_a_busy_moment():
    budget = StepBudget()
    for _ in range(40):
        budget.spend_one_after(FED_STEP_S)
    at_once = 0
    while budget.has_spare:
        budget.spend_one_after(0.05)
        at_once += 1
    assert at_once == 5
