"""Killed at any await of a claim, everything goes on as if nothing had happened."""

import random

import pytest

from proof import SEED, count
from simulated.crash import run_claim
from simulated.run import shard


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_claim_survives_a_kill_at_every_await():
    points, found = run_claim()
    assert found == []
    assert points > 100
    # Each time from another one on: after some runs all of them have been tried.
    apart = count(1, tenth=12, quick=100)
    killed = range(1 + SEED % apart, points + 1, apart)
    for at, (_, found) in zip(killed, shard(run_claim, killed), strict=True):
        assert found == [], f"killed at await {at} of {points}"


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_claim_survives_kills_at_pairs_of_awaits():
    points, _ = run_claim()
    rng = random.Random(SEED)
    firsts = [rng.randrange(1, points + 1) for _ in range(count(1000, tenth=12, quick=2))]
    # The second falls into the life after the first.
    seconds = [first + rng.randrange(1, points) for first in firsts]
    for first, second, (_, found) in zip(firsts, seconds, shard(run_claim, firsts, seconds), strict=True):
        assert found == [], f"killed at awaits {first} and {second}"
