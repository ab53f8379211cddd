"""Each deliberate breakage of the protocol is caught by the simulation that the whole one passes."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from paid.sabotage import SABOTAGES as OF_PAYMENTS
from proof import MODE, SEED, count
from simulated.sabotage import SABOTAGES as OF_REWARDS

HERE = Path(__file__).parent
KINDS = [("simulated", OF_REWARDS, 30), ("paid", OF_PAYMENTS, 20)]


def test_every_sabotage_still_finds_what_it_breaks():
    for each in (*OF_PAYMENTS, *OF_REWARDS):
        assert each.texts()


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("kind", "sabotages", "at_least"), [KINDS[SEED % 2]] if MODE == "quick" else KINDS)
def test_every_sabotage_is_caught(kind, sabotages, at_least):
    assert len(sabotages) >= at_least
    # `make prove` tries all of them, `make test` a third, of which luck says: after some runs all were tried.
    chosen = random.Random(SEED).sample(sabotages, count(len(sabotages), tenth=len(sabotages) // 3, quick=1))
    command = [sys.executable, "-m", "simulated.breaking", kind, *(each.name for each in chosen)]
    run = subprocess.run(command, cwd=HERE, capture_output=True, text=True, timeout=1000, check=True)
    told = [json.loads(line) for line in run.stdout.splitlines()]
    assert {each["name"] for each in told} >= {each.name for each in chosen}
    missed = [f"{each['name']}: {each['text'][-300:]}" for each in told if each["ended"] != 1]
    assert missed == []
