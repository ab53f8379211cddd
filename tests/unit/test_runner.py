"""Which worker does a job: one that can."""

import asyncio
from datetime import timedelta
from random import Random
from types import SimpleNamespace

import pytest

from tickyard.features.history.store import record
from tickyard.kernel.clock import SLOT_S, WallClock
from tickyard.kernel.errors import UpstreamDown
from tickyard.market.sampling.rounds import Round, slot_number
from tickyard.observe import metrics
from tickyard.payments.books import stock
from tickyard.store import leases
from tickyard.store.opening import open_store
from tickyard.supervisor import Supervisor
from tickyard.worker import runner
from tickyard.worker.jobs import Job, Sampler
from tickyard.worker.jobs import jobs as all_jobs
from tickyard.worker.runner import Runner
from yards.clocks import MovedClock
from yards.patience import STUCK_S
from yards.schema import lay

CLOCK = WallClock()


def test_a_worker_that_cannot_do_a_job_lets_another_have_it(tmp_path, monkeypatch):
    """One that had lost its way to the node, or the time, held the lease of the samples for ever, beside a sound one."""
    monkeypatch.setattr(runner, "_NO_LUCK_S", 0.05)
    monkeypatch.setattr(runner, "_TROUBLE_S", 0.01)
    monkeypatch.setattr(leases, "RENEW_S", 0.02)
    tried, done = asyncio.Event(), asyncio.Event()

    async def fails(_deps, _lease):
        tried.set()
        raise UpstreamDown("the chain node does not answer")

    async def works(_deps, _lease):
        done.set()

    async def go():
        stores = [open_store(tmp_path / "tickyard.db", CLOCK, Random(1)) for _ in range(2)]
        await lay(stores[0])
        runners = [
            Runner(
                SimpleNamespace(store=store, clock=CLOCK, tasks=Supervisor(CLOCK, Random(1))), [Job("tick", 60, run)]
            )
            for store, run in zip(stores, (fails, works), strict=True)
        ]
        async with asyncio.timeout(STUCK_S), asyncio.TaskGroup() as group:
            group.create_task(runners[0].run())
            await tried.wait()
            group.create_task(runners[1].run())
            await done.wait()
            for each in runners:
                each.stop()
        for store in stores:
            await store.close()

    asyncio.run(go())


def test_one_failure_after_a_long_pause_is_no_reason_to_step_aside(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "_NO_LUCK_S", 0.05)
    monkeypatch.setattr(runner, "_TROUBLE_S", 0.001)
    ends, fences = iter(("well", "ill", "well")), []

    async def go():
        store = open_store(tmp_path / "tickyard.db", CLOCK, Random(1))
        await lay(store)

        async def run(_deps, lease):
            fences.append(lease.fence)
            end = next(ends, None)
            if end == "ill":
                raise UpstreamDown("the chain node does not answer")
            if end is None:
                worker.stop()

        deps = SimpleNamespace(store=store, clock=CLOCK, tasks=Supervisor(CLOCK, Random(1)))
        worker = Runner(deps, [Job("tick", 0.1, run)])
        async with asyncio.timeout(STUCK_S):
            await worker.run()
        await store.close()

    asyncio.run(go())
    assert fences == [fences[0]] * 4


def test_who_stands_by_forgets_what_it_told_while_it_did_the_job(tmp_path, monkeypatch):
    """An age of before the take-over rang for ever, beside the worker that knew better."""
    monkeypatch.setattr(runner, "_NO_LUCK_S", 0.05)
    monkeypatch.setattr(runner, "_TROUBLE_S", 0.01)
    monkeypatch.setattr(leases, "RENEW_S", 0.02)
    tried, done, forgot = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def fails(_deps, _lease):
        assert not forgot.is_set(), "nobody else had the job"
        tried.set()
        raise UpstreamDown("the chain node does not answer")

    async def works(_deps, _lease):
        done.set()

    async def go():
        stores = [open_store(tmp_path / "tickyard.db", CLOCK, Random(1)) for _ in range(2)]
        await lay(stores[0])
        jobs = (Job("earn", 0.01, fails, forgot.set), Job("earn", 60, works))
        runners = [
            Runner(SimpleNamespace(store=store, clock=CLOCK, tasks=Supervisor(CLOCK, Random(1))), [job])
            for store, job in zip(stores, jobs, strict=True)
        ]
        async with asyncio.timeout(STUCK_S), asyncio.TaskGroup() as group:
            group.create_task(runners[0].run())
            await tried.wait()
            group.create_task(runners[1].run())
            await done.wait()
            await forgot.wait()
            for each in runners:
                each.stop()
        for store in stores:
            await store.close()

    asyncio.run(go())


def test_what_is_told_of_common_books_is_forgotten_by_whoever_looked_after_them():
    told = (metrics.earn_late_epochs, metrics.earn_owed, metrics.earn_balance, metrics.earn_allowance)
    ages = [stock.unknown_age_s.labels(network) for network in ("eip155:4663", "eip155:8453")]
    for gauge in (*told, *ages):
        gauge.set(700)
    deps = SimpleNamespace(settings=SimpleNamespace(is_sandbox=False, has_earn=True, sample_spread_s=0))
    for job in all_jobs(deps, SimpleNamespace(payments=None), Random(1)):
        job.forget()
    assert [gauge._value.get() for gauge in told] == [0] * len(told)
    assert next(iter(stock.unknown_age_s.collect())).samples == []


def test_a_worker_tells_the_newest_slot_before_it_has_recorded_one(tmp_path):
    """After a restart that could record none, nothing told how old the newest was: the alarm for it did not ring."""
    now = CLOCK.now()
    metrics.last_slot.set(0)

    async def go():
        store = open_store(tmp_path / "tickyard.db", CLOCK, Random(1))
        await lay(store)
        old = Round(slot_number(now) - 9, 1, "0x" + "1" * 64, {}, 0, now, {})
        async with store.begin() as tx:
            await record(tx, old, history_start=now - timedelta(days=1))

        async def silent():
            raise UpstreamDown("the chain node does not answer")

        market = SimpleNamespace(registry=SimpleNamespace(all=list))
        deps = SimpleNamespace(store=store, clock=CLOCK, market=market, rpc=SimpleNamespace(head=silent))
        with pytest.raises(UpstreamDown):
            await Sampler(Random(1), 0).do_due(deps, None)
        await store.close()
        return old.slot

    assert asyncio.run(go()) * SLOT_S == metrics.last_slot._value.get()


def test_a_worker_on_a_fresh_store_tells_since_when_it_has_recorded_nothing(tmp_path):
    """It told 0, as who records none does: the alarm on a missed slot leaves those out, so it never rang."""
    metrics.last_slot.set(0)
    clock = MovedClock()

    async def go():
        store = open_store(tmp_path / "tickyard.db", CLOCK, Random(1))
        await lay(store)

        async def silent():
            raise UpstreamDown("the chain node does not answer")

        market = SimpleNamespace(registry=SimpleNamespace(all=list))
        deps = SimpleNamespace(store=store, clock=clock, market=market, rpc=SimpleNamespace(head=silent))
        sampler, began = Sampler(Random(1), 0), slot_number(clock.now())
        for _ in range(3):
            with pytest.raises(UpstreamDown):
                await sampler.do_due(deps, None)
            assert metrics.last_slot._value.get() in (began * SLOT_S, (began + 1) * SLOT_S)
            clock.move(SLOT_S)
        assert metrics.last_slot._value.get() <= (began + 1) * SLOT_S
        await store.close()

    asyncio.run(go())


def test_a_job_that_never_succeeds_is_told_by_its_age(tmp_path, monkeypatch):
    """Each failure was a line in the log, and the task was up."""
    monkeypatch.setattr(runner, "_TROUBLE_S", 0.001)
    clock, tries = MovedClock(), []
    began = clock.timestamp()

    def done_at(name):
        return metrics.REGISTRY.get_sample_value("tickyard_job_done_timestamp_seconds", {"task": f"job {name}"})

    async def go():
        store = open_store(tmp_path / "tickyard.db", CLOCK, Random(1))
        await lay(store)

        async def fails(_deps, _lease):
            tries.append(done_at("sick"))
            if len(tries) > 2 and done_at("sound") > began + 900:
                worker.stop()
            raise UpstreamDown("the chain node does not answer")

        async def works(_deps, _lease):
            clock.move(1000)

        deps = SimpleNamespace(store=store, clock=clock, tasks=Supervisor(CLOCK, Random(1)))
        worker = Runner(deps, [Job("sick", 0.001, fails), Job("sound", 0.001, works)])
        async with asyncio.timeout(STUCK_S):
            await worker.run()
        await store.close()

    asyncio.run(go())
    assert all(began <= told < began + 900 for told in tries), "from the start on, and not later"
    assert done_at("sick") == tries[0]
    assert done_at("sound") > began + 900
