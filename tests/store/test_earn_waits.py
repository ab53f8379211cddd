"""For how long claims have waited, by what became of them: the table behind two alarms."""

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import insert

from tickyard.features.earn import rules
from tickyard.features.earn.tables import earn_claim, earn_epoch, earn_line
from tickyard.observe import metrics
from tickyard.payout.telling import Waits
from yards.reward_days import ALICE, BOB, EPOCH, live_in_town

PAYER, OTHER = "0x" + "77" * 20, "0x" + "88" * 20


@pytest.fixture
def run(tmp_path):
    return lambda work: asyncio.run(live_in_town(str(tmp_path / "tickyard.db"), tmp_path, work))


def told():
    return metrics.payout_oldest_s._value.get(), metrics.payout_unpaid_s._value.get()


async def write(town, wallet=ALICE, epoch=EPOCH, state=None, payer=PAYER, nonce=5, waited_s=600, attempt=0):
    """A claim of one wallet, and what became of it."""
    at = town.clock.now() - timedelta(seconds=waited_s)
    mine = {"epoch": epoch, "address": wallet.address, "attempt": attempt}
    async with town.store.begin() as tx:
        await tx.execute(insert(earn_claim), {**mine, "signature": "0x", "reserved_at": at})
        if state is not None:
            line = {"state": state, "amount_raw": 1, "payer": payer, "nonce": nonce, "sent_at": at}
            await tx.execute(insert(earn_line), {**mine, **line})


async def begin(town, epoch=EPOCH, state="open", digest="d"):
    async with town.store.begin() as tx:
        await tx.execute(insert(earn_epoch), {"id": epoch, "state": state, "digest": digest})


@pytest.mark.parametrize(
    ("line", "mined", "is_off_chain", "is_unpaid"),
    [
        pytest.param({}, 6, True, True, id="nothing was done"),
        pytest.param({"state": "due"}, 6, True, True, id="to be sent again"),
        pytest.param({"state": "sent"}, 6, False, True, id="mined"),
        pytest.param({"state": "sent"}, 5, True, True, id="next to be mined"),
        pytest.param({"state": "sent", "nonce": 10**9}, None, False, True, id="nobody has asked the chain"),
        pytest.param({"state": "sent", "payer": OTHER}, 5, False, True, id="by an earlier payer"),
        pytest.param({"state": "confirmed"}, 5, False, False, id="paid"),
        pytest.param({"state": "failed"}, 5, False, False, id="failed for good"),
        pytest.param({"state": "refused"}, 5, False, False, id="refused"),
    ],
)
def test_which_claims_wait_for_the_chain_and_which_to_be_final(run, line, mined, is_off_chain, is_unpaid):
    async def work(town):
        await begin(town)
        await write(town, **line)
        await Waits(town.store, PAYER).tell(set(), mined)
        off_chain, unpaid = told()
        assert (600 <= off_chain < 660, 600 <= unpaid < 660) == (is_off_chain, is_unpaid)
        assert (off_chain > 0, unpaid > 0) == (is_off_chain, is_unpaid)

    run(work)


def test_the_longest_waiting_is_told_of_once_in_ten_seconds(run):
    async def work(town):
        await begin(town)
        await write(town, waited_s=600)
        await write(town, BOB, waited_s=3600)
        waits = Waits(town.store, PAYER)
        await waits.tell(set(), None)
        assert 3600 <= told()[0] < 3700
        town.clock.move(town.clock.now() + timedelta(hours=1))
        await town.clock.sleep(9)
        await waits.tell(set(), None)
        assert 3600 <= told()[0] < 3700
        await town.clock.sleep(1)
        await waits.tell(set(), None)
        assert 7200 <= told()[0] < 7300

    run(work)


def test_a_clock_that_was_set_back_makes_nobody_wait_less_than_nothing(run):
    async def work(town):
        await begin(town)
        await write(town, waited_s=-60)
        await Waits(town.store, PAYER).tell(set(), None)
        assert told() == (0, 0)

    run(work)


@pytest.mark.parametrize(
    ("epoch", "rings"),
    [
        ({}, True),
        ({"state": "sealed"}, True),
        ({"state": "closed"}, True),
        ({"state": "closing"}, False),
        ({"digest": None}, False),
    ],
)
def test_only_days_that_can_be_paid_are_looked_through_and_not_those_that_are_finished(run, epoch, rings):
    async def work(town):
        await begin(town, **epoch)
        await write(town)
        await Waits(town.store, PAYER).tell(set(), None)
        assert (told()[0] > 0) is rings
        await Waits(town.store, PAYER).tell({EPOCH}, None)
        assert told() == (0, 0)

    run(work)


def test_the_newest_seven_days_are_looked_through(run):
    async def work(town):
        days = [EPOCH]
        for _ in range(7):
            days.append(rules.next_epoch(days[-1]))
        for day in reversed(days):
            await begin(town, day, state="closed")
        await write(town, epoch=days[0], waited_s=9_000)
        await write(town, BOB, epoch=days[1], waited_s=600)
        await Waits(town.store, PAYER).tell(set(), None)
        assert 600 <= told()[0] < 700

    run(work)
