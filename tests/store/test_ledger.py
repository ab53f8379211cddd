"""The ledger's conditional writes, and sales over several processes, on both databases."""

import asyncio
import sqlite3

import pytest
from msgspec.structs import replace
from sqlalchemy import select, update

from tickyard.config import pinned
from tickyard.kernel.errors import NotFound
from tickyard.payments.books.operations import PaymentAsk, get_payment
from tickyard.payments.books.reply import Reply
from tickyard.payments.books.row import Reservation
from tickyard.payments.books.tables import payment
from tickyard.payments.offer.terms import FIRST, SECOND
from tickyard.payments.proof.credit import verify_settlements
from tickyard.payments.proof.transfer import PaidTransfer
from tickyard.payments.refusal import Refusal
from tickyard.payments.signed.key import Key
from tickyard.store.revenue import revenue
from yards import paying
from yards.patience import STUCK_S
from yards.selling import PAY_TO

URL = "/v1/x402/item/AAPL"
KEY = Key(SECOND, pinned.USDC_8453, "0x" + "cd" * 20, "0x" + "01" * 32)
CLAIM = Reservation(
    KEY, "f1", "GET /x", 10_000, PAY_TO, 2_000_000_000, 1_900_000_000, b"request", "d1", "s1", "c1", None
)
ANSWER = Reply(200, b'{"a":1}', "application/json")
HASH = "0x" + "99" * 32


def run(where, scenario, **options):
    async def bounded():
        async with asyncio.timeout(STUCK_S), paying.World(where, **options) as world:
            await scenario(world, *(process.ledger for process in world.processes))

    asyncio.run(bounded())


def test_of_many_that_reserve_a_payment_one_gets_it(where):
    async def scenario(_world, first, second):
        taken = await asyncio.gather(*((first, second)[n % 2].reserve(CLAIM, f"h{n}") for n in range(10)))
        (held,) = [row for row in taken if row is not None]
        # What facilitators are sent is written down when there is something to settle.
        assert await first.find(KEY) == replace(held, request=None) == await second.find(KEY)

    run(where, scenario, processes=2)


def test_a_released_payment_is_as_new(where):
    async def scenario(_world, ledger):
        held = await ledger.reserve(CLAIM, "a")
        assert await ledger.release(held)
        assert not await ledger.release(held)
        assert await ledger.find(KEY) is None
        assert await ledger.reserve(replace(CLAIM, fingerprint="f2"), "b") is not None

    run(where, scenario)


def test_a_run_left_by_a_process_whose_clock_was_hours_ahead_is_taken_over(where):
    async def scenario(world, ledger):
        world.clock.misset(hours=2)
        assert await ledger.reserve(CLAIM, "gone") is not None
        world.clock.misset(0)
        await ledger.adopt([SECOND])
        # Its holder may be alive: it keeps the payment for as long as any.
        assert await ledger.reserve(CLAIM, "other") is None
        world.clock.move(61)
        assert await ledger.reserve(CLAIM, "other") is not None

    run(where, scenario)


def test_a_payment_in_doubt_that_was_dated_by_a_clock_hours_ahead_is_looked_at_within_a_minute(where):
    async def scenario(world, ledger):
        world.clock.misset(hours=2)
        held = await ledger.reserve(CLAIM, "gone")
        assert await ledger.start_settling(held, ANSWER, "far") is not None
        world.clock.misset(0)
        assert await ledger.due(SECOND, 10) == []
        await ledger.adopt([FIRST, SECOND])
        world.clock.move(61)
        (row,) = await ledger.due(SECOND, 10)
        assert (await ledger.expire(row)).state == "unknown"

    run(where, scenario)


def test_a_run_left_by_a_dead_process_is_taken_over_and_its_holder_can_do_no_more(where):
    async def scenario(world, ledger):
        slow = await ledger.reserve(CLAIM, "slow")
        assert await ledger.reserve(CLAIM, "fast") is None
        world.clock.move(31)
        fast = await ledger.reserve(replace(CLAIM, fingerprint="f2"), "fast")
        assert fast.fingerprint == "f2"
        assert await ledger.start_settling(slow, ANSWER, "far") is None
        assert not await ledger.release(slow)
        assert await ledger.start_settling(fast, ANSWER, "far") is not None

    run(where, scenario)


def test_a_name_that_comes_back_after_a_release_belongs_to_nobody_else(where):
    async def scenario(world, ledger):
        slow = await ledger.reserve(CLAIM, "slow")
        world.clock.move(31)
        await ledger.release(await ledger.reserve(CLAIM, "fast"))
        await ledger.reserve(CLAIM, "third")
        assert await ledger.start_settling(slow, ANSWER, "far") is None

    run(where, scenario)


def test_a_settling_left_by_a_dead_process_becomes_unknown_and_never_free(where):
    async def scenario(world, ledger):
        held = await ledger.start_settling(await ledger.reserve(CLAIM, "a"), ANSWER, "far")
        assert await ledger.expire(held) == held
        world.clock.move(100)
        assert await ledger.reserve(CLAIM, "b") is None
        assert await ledger.release_abandoned() == 0
        assert [row.key for row in await ledger.due(SECOND, 10)] == [KEY]
        assert await ledger.due(FIRST, 10) == []
        unknown = await ledger.expire(held)
        assert (unknown.state, unknown.reply) == ("unknown", ANSWER)
        assert await ledger.reserve(CLAIM, "b") is None
        # The one who was only slow brings the news after all.
        settled = await ledger.settle(held, HASH)
        # Until its transfer is final a reorganisation may undo it.
        assert (settled.state, settled.transaction, settled.request) == ("settled", HASH, b"request")
        assert (await ledger.settle(unknown, "0x" + "77" * 32)).transaction == HASH

    run(where, scenario)


def test_of_many_that_resume_one_settles_again_and_not_before_its_pause(where):
    async def scenario(world, first, second):
        held = await first.start_settling(await first.reserve(CLAIM, "a"), ANSWER, "far")
        unknown = await first.doubt(held)
        assert await first.resume(unknown, "b") is None
        world.clock.move(2)
        taken = await asyncio.gather(*((first, second)[n % 2].resume(unknown, f"r{n}") for n in range(6)))
        (again,) = [row for row in taken if row is not None]
        assert again.settles == 2
        assert (await first.refuse(again, "no")).state == "failed"
        assert (await first.find(KEY)).request is None

    run(where, scenario, processes=2)


def test_a_refused_payment_may_be_taken_again_for_the_same_request(where):
    async def scenario(_world, ledger):
        held = await ledger.start_settling(await ledger.reserve(CLAIM, "a"), ANSWER, "far")
        refused = await ledger.refuse(held, "no_balance")
        # The pauses between looks begin anew: it is only now that there is something to look for.
        assert (refused.reason, refused.looks) == ("no_balance", 0)
        assert (await ledger.find(KEY)).looks == 0
        # Not for another request: the first one's answer may still be asked for.
        assert await ledger.reserve(replace(CLAIM, fingerprint="f2"), "b") is None
        again = await ledger.reserve(replace(CLAIM, client="c2", network_time=2_000_000_000), "b")
        # It may have been on the chain since its first life.
        assert (again.reason, again.network_time, again.may_be_public) == ("no_balance", CLAIM.network_time, True)
        assert (await ledger.find(KEY)).reply == ANSWER
        assert await ledger.release(again)
        back = await ledger.find(KEY)
        assert (back.state, back.reason, back.reply) == ("failed", "no_balance", ANSWER)

    run(where, scenario)


def test_an_identifier_belongs_to_one_payment_until_it_is_released(where):
    async def scenario(_world, first, second):
        named = replace(CLAIM, identifier="x" * 16)
        other = replace(named, key=Key(KEY.network, KEY.asset, KEY.payer, "0x" + "02" * 32))
        held = await first.reserve(named, "a")
        with pytest.raises(Refusal):
            await second.reserve(other, "b")
        assert await second.find(other.key) is None
        await first.release(held)
        assert await second.reserve(other, "b") is not None
        stranger = replace(named, key=Key(KEY.network, KEY.asset, "0x" + "ee" * 20, KEY.nonce))
        assert await first.reserve(stranger, "c") is not None

    run(where, scenario, processes=2)


def test_a_payment_whose_holder_died_comes_again_with_its_identifier_or_leaves_it_to_others(where):
    async def scenario(world, ledger):
        named = replace(CLAIM, identifier="x" * 16)
        for _ in range(2):
            assert await ledger.reserve(named, "a") is not None
            world.clock.move(3_600)
        assert await ledger.reserve(replace(CLAIM, identifier="y" * 16), "b") is not None
        other = Key(KEY.network, KEY.asset, KEY.payer, "0x" + "02" * 32)
        assert await ledger.reserve(replace(named, key=other), "c") is not None

    run(where, scenario)


def test_a_transfer_that_was_seen_is_looked_for_as_if_for_the_first_time(where):
    async def scenario(_world, ledger):
        held = await ledger.start_settling(await ledger.reserve(CLAIM, "a"), ANSWER, "far")
        settled = await ledger.settle(held, HASH)
        for _ in range(3):
            await ledger.watch(await ledger.find(KEY))
        assert (await ledger.find(KEY)).looks == 3
        await ledger.see(settled, [PaidTransfer("0x" + "77" * 32, 4, 1_000, "0x" + "88" * 32)])
        row = await ledger.find(KEY)
        assert (row.looks, row.mined, row.mined_index, row.mined_block) == (0, "0x" + "77" * 32, 4, 1_000)
        assert (row.mined_hash, row.transaction) == ("0x" + "88" * 32, HASH)

    run(where, scenario)


def test_answers_are_forgotten_a_day_after_settling_and_books_never(where):
    async def scenario(world, ledger):
        held = await ledger.start_settling(await ledger.reserve(CLAIM, "a"), ANSWER, "far")
        world.clock.move(90_000)
        assert await ledger.forget_answers() == 0
        await ledger.settle(held, HASH)
        world.clock.move(86_399)
        assert await ledger.forget_answers() == 0
        world.clock.move(2)
        assert await ledger.forget_answers() == 0, "the chain may still take it back"
        async with ledger.store.begin() as tx:
            await tx.execute(update(payment).values(proof="credited"))
        assert await ledger.forget_answers() == 1
        row = await ledger.find(KEY)
        assert (row.reply, row.state, row.transaction) == (None, "settled", HASH)

    run(where, scenario)


@pytest.mark.slow
def test_copies_over_two_processes_settle_once_and_are_credited_once(where):
    async def scenario(world, *_):
        for turn in range(4):
            payment = world.payment()
            answers = await asyncio.gather(
                *(paying.call(world.processes[n % 2].app, "GET", URL, payment) for n in range(30))
            )
            assert {answer.status for answer in answers} == {200}
            assert len({answer.body for answer in answers}) == 1
            assert world.deps.runs == world.settles() == world.transfers() == turn + 1
        both = await asyncio.gather(
            *(verify_settlements(p.store, p.proofs, world.clock, finality=0) for p in world.processes)
        )
        assert all(ended["missing"] == 0 for ended in both)
        async with world.processes[0].store.read() as tx:
            counted = (await tx.execute(select(revenue.c.amount_raw))).scalars().all()
        assert counted == [10_000] * 4

    run(where, scenario, processes=2)


def test_a_settled_payment_can_be_looked_up_by_its_transaction(where):
    async def scenario(world, _ledger):
        receipt = (await paying.call(world.app, "GET", URL, world.payment())).receipt
        process = world.processes[0]
        ask = PaymentAsk(transaction=receipt["transaction"])
        found = await get_payment(process, ask)
        assert (found.network, found.amount_usd, found.payer) == (SECOND, "0.010000", receipt["payer"])
        assert (found.route, found.status) == ("GET /v1/x402/item/{symbol}", "settled")
        await verify_settlements(process.store, process.proofs, world.clock, finality=0)
        assert (await get_payment(process, ask)).status == "confirmed"
        with pytest.raises(NotFound):
            await get_payment(process, PaymentAsk(transaction=HASH))

    run(where, scenario)


def test_what_a_sale_writes_is_planned_once_and_not_for_each_payment(tmp_path):
    """SQLite asks for leave whenever it plans a statement. A partial index whose condition names a value that a
    statement compares with one of its own makes it do so for every row, which costs more than the row."""

    async def scenario(_world, ledger):
        planned = []

        def note(action, *what):
            if action != sqlite3.SQLITE_TRANSACTION:
                planned.append(what)
            return sqlite3.SQLITE_OK

        async with ledger.store.begin() as tx:
            await tx.run_sync(lambda connection: connection.connection.driver_connection.set_authorizer(note))
        for nonce in ("0x" + "11" * 32, "0x" + "22" * 32):
            planned.clear()
            held = await ledger.reserve(replace(CLAIM, key=replace(KEY, nonce=nonce)), nonce)
            await ledger.settle(await ledger.start_settling(held, ANSWER, "far"), nonce)
            await ledger.deliver([held.key])
            assert bool(planned) == (nonce == "0x" + "11" * 32), "the first time, and never again"

    run(tmp_path / "x.db", scenario)
