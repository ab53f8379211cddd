"""The real processes over a chain of paper: each of their long-lived tasks is killed once, and all of it goes on."""

import asyncio
import os
import signal
from contextlib import asynccontextmanager

import aiohttp
import pytest

from tickyard.chain.abi import address_word
from tickyard.chain.keccak import keccak256
from tickyard.config.pinned import MAINNET
from tickyard.config.reading import read_settings
from tickyard.deps import Deps
from tickyard.kernel.clock import WallClock
from tickyard.kernel.ids import Address
from tickyard.payout.deploy import deployed_code
from tickyard.processes.api import serve
from tickyard.processes.payout import pay_out
from tickyard.processes.worker import work
from tickyard.sandbox.world.holders import write_payout_keystore
from tickyard.store.migrate import migrate
from tickyard.store.opening import open_store
from tickyard.supervisor import GaveUp
from tickyard.worker.jobs import Job
from tickyard.worker.runner import Runner
from yards import house, paperyard, running
from yards.patience import STUCK_S

CLOCK = WallClock()
SERVICE_TOKEN, DESK = "0x" + "5e" * 20, "0x" + "de" * 20
TASKS = {
    "api": {"registry", "pools", "mirror", "rounds", "stream"},
    "worker": {"registry", "pools", "mirror", "courier"}
    | {"job tick", "job payments", "job actions", "job tidy", "job earn", "job holders"},
    "payout": {"payout"},
}
PROCESSES = {"api": serve, "worker": work, "payout": pay_out}


def put_desk(far):
    """The agent pays through nothing but a desk of ours, to the last byte."""
    owner = Address("0x" + "0e" * 20)
    code = deployed_code(MAINNET.usdg, owner)
    far.node.results["eth_getCode"] = lambda params: code if params[0].lower() == DESK else "0x6001"
    said = {"payer()": owner, "owner()": owner, "token()": MAINNET.usdg}
    for signature, address in said.items():
        far.chain.says[DESK, keccak256(signature.encode())[:4].hex()] = address_word(address)


@asynccontextmanager
async def living(process, folder, far):
    put_desk(far)
    port = running.free_port()
    keystore, password = write_payout_keystore(folder)
    environ = house.environment(folder / "data", far.node.url, far.issuer_url, MIRROR="on")
    environ |= {"TICKYARD_PORT": str(port), "TICKYARD_SERVICE_TOKEN": SERVICE_TOKEN, "TICKYARD_PAYOUT_DESK": DESK}
    environ |= {"TICKYARD_PAYOUT_KEYSTORE": str(keystore), "TICKYARD_PAYOUT_PASSWORD_FILE": str(password)}
    settings = read_settings(environ)
    store = open_store(settings.store_url, CLOCK)
    await migrate(store)
    await store.close()
    task = asyncio.create_task(PROCESSES[process](settings))
    try:
        yield task, f"http://127.0.0.1:{port}"
    finally:
        # A process that has ended by itself no longer minds the signal, and it would end the tests.
        if not task.done():
            os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(task, 20)


async def find(name, process, *, other_than=None):
    """The task of this name, which lives. Coming back may take the pause after a first death."""
    while True:
        assert not process.done(), "the process ended"
        for task in asyncio.all_tasks():
            if task.get_name() == name and task is not other_than:
                return task
        await CLOCK.sleep(0.02)


@pytest.mark.slow
@pytest.mark.parametrize("process", PROCESSES)
def test_each_task_of_a_process_is_killed_once_and_comes_back(process, tmp_path):
    async def go():
        async with (
            asyncio.timeout(STUCK_S),
            paperyard.open_far_ends() as far,
            living(process, tmp_path, far) as (life, base),
        ):
            for name in sorted(TASKS[process]):
                victim = await find(name, life)
                victim.cancel()
                reborn = await find(name, life, other_than=victim)
                assert not reborn.done()
            if process == "api":
                await ready(base)

    asyncio.run(go())


async def ready(base):
    async with aiohttp.ClientSession() as session:
        while True:
            async with session.get(base + "/readyz") as response:
                if response.status == 200:
                    assert set((await response.json())["tasks"]) == TASKS["api"]
                    return
            await CLOCK.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("process", PROCESSES)
def test_the_tasks_named_here_are_all_that_are_looked_after(process, tmp_path):
    async def go():
        async with (
            asyncio.timeout(STUCK_S),
            paperyard.open_far_ends() as far,
            living(process, tmp_path, far) as (life, _),
        ):
            for name in TASKS[process]:
                await find(name, life)
            supervised = {t.get_name()[14:] for t in asyncio.all_tasks() if t.get_name().startswith("supervisor of ")}
            assert supervised == TASKS[process]

    asyncio.run(go())


@pytest.mark.slow
def test_a_job_that_fails_leaves_the_others_to_their_work(tmp_path):
    """One KeyError, of an asset that was delisted, once ended samples, payments and everything."""
    ran = {"bad": 0, "good": 0}

    async def bad(_deps, _lease):
        ran["bad"] += 1
        raise KeyError("0x1234")

    async def good(_deps, _lease):
        ran["good"] += 1

    async def go():
        async with asyncio.timeout(STUCK_S), paperyard.open_yard(tmp_path) as yard:
            deps: Deps = yard.deps
            runner = Runner(deps, [Job("bad", 0.01, bad), Job("good", 0.01, good)])
            running_ = asyncio.create_task(runner.run())
            while ran["bad"] < 3 or ran["good"] < 3:
                await CLOCK.sleep(0.01)
            # Its lease is free while it rests: another worker may have better luck.
            answer = await yard.get("/readyz")
            assert answer.status == 503
            assert "the task job bad is down" in answer.json()["error"]["message"]
            runner.stop()
            await running_
            assert (await yard.get("/readyz")).status == 200

    asyncio.run(go())


@pytest.mark.slow
@pytest.mark.parametrize("end", ["gives up", "is told to stop"])
def test_a_worker_ends_also_while_it_waits_for_its_first_look_at_the_pools(end, tmp_path, monkeypatch):
    """It waited for what its tasks would bring about, and had not yet said whom to tell that they never will."""
    monkeypatch.setattr("tickyard.supervisor._PAUSE_MOST_S", 0.01)
    lives = 0

    async def never(*_):
        nonlocal lives
        lives += 1
        if end == "gives up":
            raise KeyError("0x1234")
        await asyncio.Event().wait()

    monkeypatch.setattr("tickyard.market.swaps.pools.PoolBook.keep_fresh", never)

    async def go():
        async with asyncio.timeout(STUCK_S), paperyard.open_far_ends() as far:
            if end == "gives up":
                with pytest.raises(GaveUp, match="pools"):
                    async with living("worker", tmp_path, far) as (life, _):
                        await asyncio.wait({life})
                return
            async with living("worker", tmp_path, far) as (life, _):
                await find("pools", life)
                while not lives or signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
                    await CLOCK.sleep(0.02)

    asyncio.run(go())
