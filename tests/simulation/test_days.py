"""Simulated days over the real code. `python -m simulated.run --seed N --days 10` in this folder replays a failure."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from simulated.run import CALM_DAYS, DAYS_PER_WORLD

HERE = Path(__file__).parent
DAYS = 10_000 if os.environ.get("TICKYARD_PROVE") == "full" else 300
PER_WORLD = DAYS_PER_WORLD + CALM_DAYS
SHARDS = max(2, os.cpu_count() or 2)


def _start(seed, worlds, **environ):
    return subprocess.Popen(
        [sys.executable, "-m", "simulated.run", "--seed", str(seed), "--worlds", str(worlds)],
        cwd=HERE,
        env={**os.environ, **environ},
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.timeout(3 * 3600 if DAYS > 1000 else 600)
def test_no_wallet_is_paid_twice_and_the_books_balance_whatever_crashes(capsys):
    seed = int(os.environ.get("TICKYARD_SEED") or random.SystemRandom().randrange(10**9))
    worlds = -(-DAYS // PER_WORLD // SHARDS)
    with capsys.disabled():
        print(f" [TICKYARD_SEED={seed}]", end="", flush=True)
    shards = [_start(seed + worlds * shard, worlds) for shard in range(SHARDS)]
    texts = [shard.communicate()[0] for shard in shards]
    failed = [text for shard, text in zip(shards, texts, strict=True) if shard.returncode]
    assert not failed, "\n".join(failed)
    # A world in which nobody is ever paid proves nothing.
    answered = [int(line.split(" answered")[0].split()[-1]) for text in texts for line in text.splitlines()]
    assert len(answered) == worlds * SHARDS
    assert sum(answered) > 20 * len(answered)


def test_a_seed_replays_exactly():
    lives = [_start(4, 1, PYTHONHASHSEED=salt) for salt in ("1", "2")]
    first, second = (life.communicate()[0] for life in lives)
    assert "trace" in first
    assert first == second
