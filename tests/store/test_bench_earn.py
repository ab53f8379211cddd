"""The measurements of the reward program, in small: a bench that nobody runs is found broken on the day it is needed."""

import asyncio

import pytest

from bench import earn
from bench.payouts import payouts

pytestmark = pytest.mark.slow


def test_a_day_of_a_few_holders_is_measured_whole():
    assert set(earn.measure(300)) == set(earn.GOALS)


def test_every_claim_of_the_measured_ones_is_paid_and_final():
    assert set(asyncio.run(payouts(paid=150))) == {"payouts per hour", "node calls per payout"}
