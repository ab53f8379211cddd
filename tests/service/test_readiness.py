"""`/readyz` tells the truth within a second, from a look that all who ask share."""

import asyncio
import resource
import sqlite3
import time

import pytest

from tickyard.kernel.clock import WallClock
from yards import paperyard, rpcnode
from yards.patience import STUCK_S


class SkippedClock(WallClock):
    """So many seconds seem to have passed, without the chain falling behind."""

    skipped = 0

    def monotonic(self):
        return super().monotonic() + self.skipped


def live(scenario, folder):
    async def run():
        async with asyncio.timeout(STUCK_S), paperyard.open_yard(folder, clock=SkippedClock()) as yard:
            await scenario(yard)

    asyncio.run(run())


async def look(yard):
    """A look of its own: the one before is let grow old first, older than what is still believed."""
    yard.deps.clock.skipped += 5
    began = time.monotonic()
    answer = await yard.get("/readyz")
    assert time.monotonic() - began < 1.0, "nobody waits longer than a second"
    return answer.status, answer.json()


async def reason(yard):
    status, body = await look(yard)
    assert status == 503
    assert body["error"]["code"] == "upstream_error"
    return body["error"]["message"]


@pytest.mark.slow
def test_who_is_ready_says_how_old_things_are(tmp_path):
    async def scenario(yard):
        answer = await yard.get("/readyz")
        assert answer.status == 200
        body = answer.json()
        assert body["status"] == "ready"
        assert 0 <= body["headAgeSeconds"] < 60
        assert 0 <= body["registryAgeSeconds"] < 60
        assert set(body["tasks"]) == {"registry", "pools"}

    live(scenario, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["500", "hang", "html", "truncated", "wrong-id", "reset", "rpc-throttle"])
def test_a_node_that_is_of_no_use_is_told_and_so_is_its_return(tmp_path, mode):
    async def scenario(yard):
        yard.node.mode = mode
        assert "chain node" in await reason(yard)
        yard.node.mode = "ok"
        await recovered(yard)

    live(scenario, tmp_path)


async def recovered(yard):
    """Also the look that was still under way must have come to its end."""
    while (await look(yard))[0] != 200:
        await yard.deps.clock.sleep(0.05)


@pytest.mark.slow
def test_a_node_that_takes_a_second_is_slow_and_one_that_is_silent_for_longer_is_told(tmp_path):
    async def scenario(yard):
        await recovered(yard)
        yard.node.mode, yard.node.delay_s = "slow", 1.2
        yard.deps.clock.skipped += 1
        for _ in range(5):
            assert (await yard.get("/readyz")).status == 200
        yard.node.mode = "hang"
        # First the look that is under way comes to its end, and the next one hangs.
        while (await yard.get("/readyz")).status == 200:
            yard.deps.clock.skipped += 1
        assert "the chain node does not answer" in (await yard.get("/readyz")).json()["error"]["message"]

    live(scenario, tmp_path)


@pytest.mark.slow
def test_what_was_well_before_it_failed_is_not_well_while_it_is_asked_again(tmp_path):
    async def scenario(yard):
        await recovered(yard)
        yard.node.mode = "html"
        yard.deps.clock.skipped += 1
        assert (await yard.get("/readyz")).status == 503
        yard.node.mode = "hang"
        yard.deps.clock.skipped += 1
        assert (await yard.get("/readyz")).status == 503

    live(scenario, tmp_path)


@pytest.mark.slow
def test_a_node_that_knows_the_newest_block_and_runs_no_call_is_told(tmp_path):
    async def scenario(yard):
        status, _ = await look(yard)
        assert status == 200
        well = yard.node.results["eth_call"]

        def refuse(_):
            raise rpcnode.Refused(-32011, "no backend is currently healthy to serve traffic")

        yard.node.results["eth_call"] = refuse
        yard.deps.clock.skipped += 10
        for _ in range(2):
            assert await reason(yard) == "not ready: the chain node refused the call"
        yard.node.results["eth_call"] = well
        status, _ = await look(yard)
        assert status == 200

    live(scenario, tmp_path)


@pytest.mark.slow
def test_a_frozen_node_is_told(tmp_path):
    async def scenario(yard):
        yard.chain.time -= 250
        assert "chain node" in await reason(yard)
        yard.chain.time += 250
        await recovered(yard)

    live(scenario, tmp_path)


@pytest.mark.slow
def test_a_store_that_cannot_be_read_is_told(tmp_path):
    async def scenario(yard):
        with sqlite3.connect(tmp_path / "tickyard.db") as books:
            books.execute("ALTER TABLE alembic_version RENAME TO gone")
            books.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        books.close()
        data = (tmp_path / "tickyard.db").read_bytes()
        await yard.deps.store.close()
        (tmp_path / "tickyard.db").write_bytes(b"\0" * len(data))
        assert "the store does not answer" in await reason(yard)

    live(scenario, tmp_path)


@pytest.mark.slow
def test_a_store_that_takes_no_write_is_told_and_so_is_its_return(tmp_path):
    async def scenario(yard):
        await recovered(yard)
        yard.deps.clock.skipped += 60
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        # A file that may not grow is the same to us as a disk without room.
        resource.setrlimit(resource.RLIMIT_FSIZE, (1, limit[1]))
        try:
            assert "the store does not answer" in await reason(yard)
            assert "the store does not answer" in await reason(yard)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        assert (await look(yard))[0] == 200

    live(scenario, tmp_path)


@pytest.mark.slow
def test_who_asks_often_does_not_make_the_store_write_often(tmp_path):
    async def scenario(yard):
        await recovered(yard)
        before = written(tmp_path)
        for _ in range(3):
            yard.deps.clock.skipped += 2
            await yard.get("/readyz")
        await asyncio.gather(*(yard.get("/readyz") for _ in range(480)))
        assert written(tmp_path) == before
        yard.deps.clock.skipped += 60
        await asyncio.gather(*(yard.get("/readyz") for _ in range(480)))
        assert written(tmp_path) == before + 1

    live(scenario, tmp_path)


@pytest.mark.slow
def test_a_long_write_of_somebody_else_is_no_trouble_of_the_store(tmp_path):
    async def scenario(yard):
        await recovered(yard)
        yard.deps.clock.skipped += 60
        async with yard.deps.store.begin():
            assert (await look(yard))[0] == 200

    live(scenario, tmp_path)


def written(folder):
    """How often a look has written."""
    books = sqlite3.connect(folder / "tickyard.db")
    ((times,),) = books.execute("SELECT fence FROM lease WHERE owner = ''").fetchall()
    books.close()
    return times


@pytest.mark.slow
def test_five_hundred_who_ask_at_once_are_one_question_to_the_node(tmp_path):
    async def scenario(yard):
        await look(yard)
        before = len(yard.node.seen)
        yard.deps.clock.skipped += 2
        answers = await asyncio.gather(*(yard.get("/readyz") for _ in range(480)))
        assert {answer.status for answer in answers} == {200}
        assert len(yard.node.seen) - before == 1
        yard.node.mode = "hang"
        yard.deps.clock.skipped += 5
        before = len(yard.node.seen)
        answers = await asyncio.gather(*(yard.get("/readyz") for _ in range(480)))
        assert {answer.status for answer in answers} == {503}
        assert len(yard.node.seen) - before <= 2

    live(scenario, tmp_path)


@pytest.mark.slow
def test_a_registry_that_nobody_has_confirmed_for_a_day_is_told_and_an_hour_is_not(tmp_path):
    async def scenario(yard):
        yard.issuer.is_down = True
        yard.deps.clock.skipped += 3600
        assert (await look(yard))[0] == 200
        yard.deps.clock.skipped += 24 * 3600
        assert "the asset registry was confirmed 25 hours ago" in await reason(yard)

    live(scenario, tmp_path)


@pytest.mark.slow
def test_a_task_that_is_down_is_told(tmp_path):
    async def scenario(yard):
        async def dies():
            raise KeyError

        yard.deps.tasks.start("frail", dies)
        await yard.deps.clock.sleep(0)
        await yard.deps.clock.sleep(0.01)
        assert "the task frail is down" in await reason(yard)

    live(scenario, tmp_path)
