"""Which step of a day is due at which moment, when one is late, and what claims must wait for before they open."""

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import insert, select

from simulated.chain import Refusal
from tickyard.features.earn import rules
from tickyard.features.earn.days.epochs import Done, _tell_late, run_due
from tickyard.features.earn.days.opening import open_claims
from tickyard.features.earn.tables import earn_epoch, earn_gate
from tickyard.kernel.errors import UpstreamDown
from tickyard.observe import metrics
from yards.reward_days import EPOCH, live_in_town

MICROSECOND = timedelta(microseconds=1)
SNAPSHOT, OPENS, CLOSES = timedelta(hours=23), timedelta(hours=24), timedelta(hours=25)
DIGEST, POOL = "ab" * 32, 30_000


@pytest.fixture
def run(tmp_path):
    return lambda work: asyncio.run(live_in_town(str(tmp_path / "tickyard.db"), tmp_path, work))


async def write(town, state, wallets=2, **more):
    row = {"id": EPOCH, "state": state, "pool_raw": POOL, "eligible_wallets": wallets, "digest": DIGEST, **more}
    async with town.store.begin() as tx:
        await tx.execute(insert(earn_epoch), row)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("state", "at", "waits_for"),
    [
        ("accruing", SNAPSHOT - MICROSECOND, None),
        ("accruing", SNAPSHOT, "snapshot: not final yet"),
        ("taken", SNAPSHOT, None),
        ("taken", OPENS - MICROSECOND, None),
        ("taken", OPENS, "seal: an earlier epoch is not closed"),
        ("sealed", OPENS - MICROSECOND, None),
        ("sealed", OPENS, "open: the desk has no books of it yet"),
        ("sealed", CLOSES - MICROSECOND, "open: the desk has no books of it yet"),
        ("sealed", CLOSES, "close: somebody was faster"),
        ("open", OPENS, None),
        ("open", CLOSES - MICROSECOND, None),
        ("open", CLOSES, "close: somebody was faster"),
        ("closing", CLOSES - MICROSECOND, None),
        ("closing", CLOSES, "close: somebody was faster"),
        ("closed", CLOSES, None),
        ("skipped", CLOSES, None),
    ],
)
def test_each_state_has_its_step_and_the_step_its_moment(run, state, at, waits_for):
    """The store's clock stands at noon, so that nothing that is due can be done."""

    async def work(town):
        await write(town, state)
        done = await run_due(town, rules.starts_at(EPOCH) + at)
        assert done.waiting == ({} if waits_for is None else {EPOCH: waits_for})
        assert (done.taken, done.sealed, done.opened, done.closed) == ([], [], [], [])

    run(work)


@pytest.mark.parametrize(
    ("step", "hours", "minutes"), [("snapshot", 23, 30), ("seal", 24, 1), ("open", 24, 1), ("close", 25, 5)]
)
def test_a_step_is_late_from_its_minute_on_and_is_told_of_once(run, step, hours, minutes):
    async def work(town):
        why = f"{step}: for a test"
        due = rules.starts_at(EPOCH) + timedelta(hours=hours, minutes=minutes)
        for now, late in ((due - MICROSECOND, set()), (due, {(EPOCH, why)}), (due + OPENS, {(EPOCH, why)})):
            _tell_late(town, now, Done(waiting={EPOCH: why}))
            assert (town.earn.late, metrics.earn_late_epochs._value.get()) == (late, len(late))

    run(work)


def test_a_round_is_idle_that_did_nothing():
    assert Done(waiting={EPOCH: "open: not solvent"}).is_idle
    for name in ("began", "taken", "sealed", "opened", "closed"):
        assert not Done(**{name: [EPOCH]}).is_idle


def test_every_day_gets_its_row_once(run):
    async def work(town):
        noon = rules.starts_at(EPOCH) + timedelta(hours=12)
        assert (await run_due(town, noon)).began == [EPOCH]
        assert (await run_due(town, noon)).began == []
        assert (await run_due(town, noon - timedelta(days=2))).began == []
        third = [EPOCH + 1, EPOCH + 2, EPOCH + 3]
        # A worker whose clock is ahead of the store's begins no day for all.
        assert (await run_due(town, noon + timedelta(days=3))).began == []
        town.clock.move(noon + timedelta(days=3))
        assert (await run_due(town, town.clock.now())).began == third
        async with town.store.read() as tx:
            rows = (await tx.execute(select(earn_epoch.c.id, earn_epoch.c.state).order_by(earn_epoch.c.id))).all()
        assert [tuple(row) for row in rows] == [(day, "accruing") for day in (EPOCH, *third)]

    run(work)


def gas_for(wallets, batches):
    """Twice the block's fee for all lines and batches, and four times for the largest batch."""
    return 2 * 10**8 * (wallets * 70_000 + batches * 450_000) + 4 * 10**8 * (min(wallets, 100) * 70_000 + 450_000)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changed", "outcome"),
    [
        ({}, "opened"),
        ({"held": POOL}, "opened"),
        ({"held": POOL - 1}, "not solvent"),
        ({"allowed": POOL}, "opened"),
        ({"allowed": POOL - 1}, "not solvent"),
        ({"wallets": 100, "eth": gas_for(100, 2)}, "opened"),
        ({"wallets": 100, "eth": gas_for(100, 2) - 1}, "not solvent"),
        ({"wallets": 101, "eth": gas_for(101, 3)}, "opened"),
        ({"wallets": 101, "eth": gas_for(101, 3) - 1}, "not solvent"),
        ({"paused": True}, "the desk is paused"),
        ({"books": None}, "the desk has no books of it yet"),
        ({"books": "cd" * 32}, "the desk has other books"),
        ({"pool": POOL + 1}, "the desk has other books"),
        ({"state": "open"}, "somebody was faster"),
        ({"at": OPENS - MICROSECOND}, "outside the window"),
        ({"at": CLOSES - MICROSECOND}, "opened"),
        ({"at": CLOSES}, "outside the window"),
    ],
)
def test_claims_open_when_all_of_it_can_be_paid_and_the_desk_has_the_same_books(run, changed, outcome):
    told = {"held": 10**12, "allowed": 10**12, "books": DIGEST, "pool": POOL, "at": OPENS, "state": "sealed"} | changed

    async def work(town):
        await write(town, told["state"], told.get("wallets", 2))
        payer = town.signer.address

        def change(state):
            state.usdg[payer], state.allowances[payer] = told["held"], told["allowed"]
            state.paused = told.get("paused", False)
            if told["books"]:
                state.books[EPOCH], state.pools[EPOCH] = told["books"], told["pool"]

        town.chain.edit(change)
        town.chain.eth = told.get("eth", town.chain.eth)
        moment = rules.starts_at(EPOCH) + told["at"]
        town.clock.now = lambda: moment
        assert await open_claims(town, EPOCH) == outcome
        async with town.store.read() as tx:
            row = (await tx.execute(select(earn_epoch))).one()
            gates = (await tx.execute(select(earn_gate.c.epoch))).scalars().all()
        is_opened = outcome == "opened"
        assert (row.state, row.opened_at) == (("open", moment) if is_opened else (told["state"], None))
        assert gates == ([EPOCH] if is_opened else [])

    run(work)


def test_a_node_that_shows_no_balance_opens_nothing(run):
    async def work(town):
        await write(town, "sealed")

        def refuse(*_):
            raise Refusal("not served here")

        town.chain.eth_getBalance = refuse
        with pytest.raises(UpstreamDown, match="balance"):
            await open_claims(town, EPOCH)

    run(work)
