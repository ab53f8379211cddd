"""Killed at any await of a claim, everything goes on as if nothing had happened."""

import os
import random

import pytest
from simulated.crash import run_claim

IS_FULL = os.environ.get("TICKYARD_PROVE") == "full"


@pytest.mark.timeout(600)
def test_a_claim_survives_a_kill_at_every_await():
    points, found = run_claim()
    assert found == []
    assert points > 100
    for at in range(1, points + 1):
        _, found = run_claim(at)
        assert found == [], f"killed at await {at} of {points}"


@pytest.mark.timeout(3600)
def test_a_claim_survives_kills_at_pairs_of_awaits():
    points, _ = run_claim()
    rng = random.Random(os.environ.get("TICKYARD_SEED") or random.SystemRandom().random())
    for _ in range(1000 if IS_FULL else 50):
        pair = sorted(rng.sample(range(1, points + 60), 2))
        _, found = run_claim(*pair)
        assert found == [], f"killed at awaits {pair}"
