"""Each deliberate breakage of the protocol is caught by the simulation that the whole one passes."""

import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from proof import MODE, SEED
from simulated.sabotage import SABOTAGES

HERE = Path(__file__).parent
DAYS = 6
WORLDS = 40
"""At most: the first one that shows it is the last."""


def _run(sabotage, folder):
    environ = {**os.environ, "PYTHONPATH": str(sabotage.apply(folder)), "PYTHONDONTWRITEBYTECODE": "1"}
    worlds = ["--seed", str(sabotage.seed), "--worlds", str(WORLDS), "--days", str(DAYS)]
    command = [sys.executable, "-m", "simulated.run", *worlds]
    return subprocess.run(command, cwd=HERE, env=environ, capture_output=True, text=True, timeout=900)


@pytest.mark.timeout(1200)
def test_every_sabotage_is_caught(tmp_path):
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
    assert len(SABOTAGES) >= 30
