"""Worlds of payments over the real code. `python -m paid.run --seed N` in this folder replays a failure."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from paid.run import tell
from proof import SEED, count
from simulated.run import shard
from yards.patience import STUCK_S

HERE = Path(__file__).parent
WORLDS = count(2000, tenth=60, quick=1)


@pytest.mark.slow
@pytest.mark.timeout(4 * 3600 if WORLDS > 100 else 900)
def test_nobody_pays_twice_nobody_steals_and_every_transfer_is_counted_once():
    answered = 0
    for text, answers, violations in shard(tell, range(SEED, SEED + WORLDS)):
        assert not violations, text
        answered += answers
    # Worlds in which nobody ever gets an answer prove nothing.
    assert answered > (5 if WORLDS > 20 else 1) * WORLDS


@pytest.mark.slow
def test_a_world_of_payments_replays_exactly_in_any_process():
    command = [sys.executable, "-m", "paid.run", "--seed", "3"]
    environ = {**os.environ, "PYTHONHASHSEED": "1"}
    shown = subprocess.run(command, cwd=HERE, env=environ, capture_output=True, text=True, timeout=STUCK_S, check=True)
    assert shown.stdout.strip() == tell(3)[0]
