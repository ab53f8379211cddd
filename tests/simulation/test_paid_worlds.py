"""Worlds of payments over the real code. `python -m paid.run --seed N` in this folder replays a failure."""

import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from paid.run import tell
from paid.sabotage import SABOTAGES
from proof import MODE, SEED, count
from simulated.run import shard

HERE = Path(__file__).parent
WORLDS = count(2000, tenth=60, quick=3)
BROKEN_WORLDS = 40
"""At most: the first one that shows it is the last."""


@pytest.mark.timeout(4 * 3600 if WORLDS > 100 else 900)
def test_nobody_pays_twice_nobody_steals_and_every_transfer_is_counted_once():
    answered = 0
    for text, answers, violations in shard(tell, range(SEED, SEED + WORLDS)):
        assert not violations, text
        answered += answers
    # Worlds in which nobody ever gets an answer prove nothing.
    assert answered > 5 * WORLDS


def test_a_world_of_payments_replays_exactly_in_any_process():
    command = [sys.executable, "-m", "paid.run", "--seed", "3"]
    environ = {**os.environ, "PYTHONHASHSEED": "1"}
    shown = subprocess.run(command, cwd=HERE, env=environ, capture_output=True, text=True, timeout=100, check=True)
    assert shown.stdout.strip() == tell(3)[0]


def _run(sabotage, folder):
    environ = {**os.environ, "PYTHONPATH": str(sabotage.apply(folder)), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "paid.run", "--seed", str(sabotage.seed), "--worlds", str(BROKEN_WORLDS)]
    return subprocess.run(command, cwd=HERE, env=environ, capture_output=True, text=True, timeout=900)


@pytest.mark.timeout(1800)
def test_every_sabotage_of_payments_is_caught(tmp_path):
    chosen = random.Random(SEED).sample(SABOTAGES, 1) if MODE == "quick" else SABOTAGES
    folders = [tmp_path / str(n) for n in range(len(chosen))]
    with ThreadPoolExecutor(max(2, os.cpu_count() or 2)) as pool:
        runs = list(pool.map(_run, chosen, folders))
    missed = [
        f"{sabotage.name}: {run.stdout[-300:]}{run.stderr[-300:]}"
        for sabotage, run in zip(chosen, runs, strict=True)
        if run.returncode != 1 or "VIOLATION" not in run.stdout
    ]
    assert missed == []
    assert len(SABOTAGES) >= 20
