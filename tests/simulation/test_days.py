"""Simulated days over the real code. `python -m simulated.run --seed N` in this folder replays a failure."""

import asyncio
import gc
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from proof import MODE, SEED, count
from simulated.run import CALM_DAYS, DAYS_PER_WORLD, live_on, read_progress, shard, tell, total
from tickyard.kernel.clock import WallClock
from tickyard.store.opening import open_store
from yards.patience import STUCK_S
from yards.schema import lay

HERE = Path(__file__).parent
DAYS = count(10_000, tenth=24, quick=5)
WORLDS = -(-DAYS // (DAYS_PER_WORLD + CALM_DAYS))


@pytest.mark.slow
@pytest.mark.timeout(4 * 3600 if DAYS > 1000 else 600)
def test_no_wallet_is_paid_twice_and_the_books_balance_whatever_crashes():
    answered = 0
    days = 1 if MODE == "quick" else DAYS_PER_WORLD
    for text, answers, violations in shard(tell, range(SEED, SEED + WORLDS), [days] * WORLDS):
        assert not violations, text
        answered += answers
    # Worlds in which nobody is ever paid prove nothing.
    assert answered > (2 * days if WORLDS > 20 else 2) * WORLDS


@pytest.mark.database
@pytest.mark.timeout(3600 if MODE == "full" else 300)
# Who is killed while it connects closes nothing.
@pytest.mark.filterwarnings("ignore:.*was deleted while still open:ResourceWarning")
def test_the_same_holds_on_a_real_postgresql(postgres_server):
    for seed in range(SEED, SEED + count(20, tenth=1)):
        url = postgres_server.new_database()
        asyncio.run(_lay(url))
        text, _, violations = tell(seed, 2, None, url)
        assert not violations, text
        gc.collect()
        postgres_server.take_back(url)


async def _lay(url):
    store = open_store(url, WallClock())
    await lay(store)
    await store.close()


@pytest.mark.slow
def test_a_seed_replays_exactly_in_any_process():
    first = 4 if MODE == "quick" else 3
    worlds = ["--days", "1", "--seed", str(first), "--worlds", str(5 - first)]
    command = [sys.executable, "-m", "simulated.run", *worlds]
    environ = {**os.environ, "PYTHONHASHSEED": "1"}
    shown = subprocess.run(command, cwd=HERE, env=environ, capture_output=True, text=True, timeout=STUCK_S, check=True)
    here = tell(4, 1)[0]
    assert "trace" in here
    # Not even what lived in the same process before it makes a difference.
    assert shown.stdout.splitlines()[-1] == here


@pytest.mark.slow
def test_an_interrupted_run_goes_on_where_it_was_and_believes_no_torn_line(tmp_path):
    progress = tmp_path / "progress.jsonl"
    first = list(live_on(range(4, 5), progress))
    # The power went while the second world was being written down.
    progress.write_bytes(progress.read_bytes() + b'\n{"seed":5,"days":10')
    assert list(read_progress(progress)) == [4]
    kept = progress.read_bytes()
    assert list(live_on(range(4, 5), progress)) == first
    assert progress.read_bytes() == kept, "what was lived through is not lived through again"
    wrong = msgspec.structs.replace(first[0], seed=6, violations=["paid twice"])
    progress.write_bytes(kept + b"\n" + msgspec.json.encode(wrong))
    assert 6 not in read_progress(progress), "a world with a violation is lived through again"
    assert total(first).startswith(
        f"1 worlds, {DAYS_PER_WORLD + CALM_DAYS} days, seeds 4 to 4: {first[0].claims} claims"
    )
