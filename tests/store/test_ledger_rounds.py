"""What the ledger finds: whose a row is by now, what is due, what is old, what nobody would look at any more."""

from datetime import timedelta

import pytest
from msgspec.structs import replace
from sqlalchemy import update

from tickyard.kernel.errors import BadRequest, NotFound, UpstreamDown
from tickyard.observe.metrics import REGISTRY
from tickyard.payments.books import ledger
from tickyard.payments.books.operations import PaymentAsk, get_payment, read_transaction
from tickyard.payments.books.stock import show_stock
from tickyard.payments.books.tables import payment
from tickyard.payments.refusal import IDENTIFIER_USED, Refusal
from tickyard.payments.selling.pickup import Pickup
from yards.bookkeeping import ANSWER, KEY, MICRO, NETWORK, OTHER_NETWORK, PAYER, SEEN, after, claim, run

DAY_S = 86_400


def nonces(rows):
    return [int(row.key.nonce, 16) for row in rows]


async def put(book, n, **values):
    """A payment that may have been taken, as it would be later."""
    await book.settling(claim(n))
    async with book.store.begin() as tx:
        await tx.execute(update(payment).where(payment.c.nonce == claim(n).key.nonce).values(**values))


def test_whoever_comes_late_is_told_how_it_is_by_now(where):
    async def scenario(book, clock):
        slow = await book.settling()
        clock.at = after(60)
        unknown = await book.expire(slow)
        mine = await book.resume(unknown, "other")
        assert await book.doubt(slow) == await book.refuse(slow, "no") == await book.expire(slow) == mine
        assert await book.unsettle(slow) == mine
        settled = await book.settle(mine, "0x01")
        assert await book.settle(mine, "0x02") == settled
        assert await book.find(KEY) == settled
        # Of what nobody knows there is only what one has.
        stranger = replace(mine, key=claim(9).key)
        for found in (
            await book.doubt(stranger),
            await book.refuse(stranger, "no"),
            await book.unsettle(stranger),
            await book.settle(stranger, "0x01"),
            await book.settle_by(stranger, [], ""),
            await book.expire(replace(stranger, lease_until=after(0))),
        ):
            assert found.key == stranger.key
        assert await book.find(stranger.key) is None

    run(where, scenario)


def test_the_longest_due_come_first_and_never_what_is_running(where):
    async def scenario(book, clock):
        for n, due_s in ((1, 30), (2, 10), (3, 20)):
            await book.settling(claim(n))
            async with book.store.begin() as tx:
                mine = payment.c.nonce == claim(n).key.nonce
                await tx.execute(update(payment).where(mine).values(look_at=after(due_s)))
        await book.held(claim(4))
        await book.settling(claim(5, network=OTHER_NETWORK))
        clock.at = after(20)
        assert nonces(await book.due(NETWORK, 10)) == [2, 3]
        assert nonces(await book.due(NETWORK, 1)) == [2]
        assert nonces(await book.due(NETWORK, 10, is_forced=True)) == [2, 3, 1]
        clock.at = after(20) - MICRO
        assert nonces(await book.due(NETWORK, 10)) == [2]
        assert nonces(await book.due(OTHER_NETWORK, 10, is_forced=True)) == [5]

    run(where, scenario)


def test_what_was_looked_at_often_does_not_stand_before_what_is_new(where):
    async def scenario(book, clock):
        for n in range(1, 9):
            await put(book, n, look_at=after(n), looks=9)
        # Settled a moment ago: its block's state is forgotten within minutes.
        await put(book, 20, look_at=after(50), state="settled", looks=0)
        # In doubt, and looked at once.
        await put(book, 21, look_at=after(40), looks=1)
        # Not due yet, as new as it may be.
        await put(book, 22, look_at=after(70))
        clock.at = after(60)
        assert nonces(await book.due(NETWORK, 4)) == [1, 2, 20, 21]
        assert nonces(await book.due(NETWORK, 6)) == [1, 2, 3, 20, 21, 4]
        assert nonces(await book.due(NETWORK, 1)) == [1]
        assert nonces(await book.due(NETWORK, 100)) == [1, 2, 3, 4, 5, 6, 7, 8, 21, 20]

    run(where, scenario)


def test_what_no_node_answers_for_does_not_stay_new(where):
    async def scenario(book, _clock):
        row = await book.unknown()
        seen = []
        for _ in range(6):
            await book.watch(row, has_looked=False)
            row = await book.find(KEY)
            seen.append((row.looks, row.look_at))
        # It is not put off for long either: the node may be back any moment.
        assert seen == [(looks, after(2**looks)) for looks in (1, 2, 3, 4, 4, 4)]
        await book.force(looks=7)
        await book.watch(await book.find(KEY), has_looked=False)
        assert (await book.find(KEY)).looks == 7

    run(where, scenario)


def test_what_an_older_version_began_is_counted_as_new(where):
    async def scenario(book, _clock):
        row = await book.unknown()
        await book.force(looks=None)
        await book.adopt([OTHER_NETWORK])
        assert (await book.find(KEY)).looks is None
        await book.adopt([NETWORK])
        assert await book.find(KEY) == row
        # One that nobody waits for stays as it is.
        await book.force(state="settled", proof="credited", look_at=None, looks=None)
        await book.adopt([NETWORK])
        assert (await book.find(KEY)).looks is None

    run(where, scenario)


def test_what_is_old_has_its_turn_whatever_comes_in(where):
    async def scenario(book, clock):
        for n in range(1, 4):
            await put(book, n, look_at=after(n), looks=9)
        for n in range(10, 20):
            await put(book, n, look_at=after(30 + n))
        clock.at = after(60)
        assert nonces(await book.due(NETWORK, 4)) == [1, 2, 10, 11]

    run(where, scenario)


@pytest.mark.parametrize(
    ("begun_s", "settled_s", "proof", "is_old"),
    [
        (0, 0, "credited", False),
        (-1, -1, "credited", True),
        (-1, 0, "credited", False),
        (0, -1, "credited", False),
        (-1, -1, "waiting", False),
        (-1, -1, "missing", True),
    ],
)
def test_an_answer_is_forgotten_more_than_a_day_after_it_was_settled(where, begun_s, settled_s, proof, is_old):
    async def scenario(book, clock):
        await book.settled()
        await book.force(begun_at=after(begun_s), settled_at=after(settled_s), proof=proof)
        clock.at = after(DAY_S)
        assert await book.forget_answers() == is_old
        row = await book.find(KEY)
        assert (row.reply, row.client) == ((None, None) if is_old else (ANSWER, "c"))
        assert await book.forget_answers() == 0

    run(where, scenario)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("state", "values", "adopted"),
    [
        ("settling", {"look_at": None}, {"look_at": 0}),
        ("unknown", {"look_at": None}, {"look_at": 0}),
        ("settled", {"look_at": None, "proof": "waiting"}, {"look_at": 0}),
        ("settled", {"look_at": None, "proof": "credited"}, {}),
        ("failed", {"look_at": None}, {}),
        ("running", {"look_at": None}, {}),
        ("settling", {"look_at": 600, "lease_until": 600}, {}),
        ("settling", {"look_at": 601}, {"look_at": 60}),
        ("running", {"look_at": None, "lease_until": 601}, {"lease_until": 60}),
        ("settled", {"look_at": 601, "lease_until": 601}, {"look_at": 60}),
    ],
)
def test_what_nobody_would_look_at_is_taken_in_and_nothing_else(where, state, values, adopted):
    async def scenario(book, _clock):
        await book.settling()
        moments = {name: after(at) if isinstance(at, int) else at for name, at in values.items()}
        await book.force(state=state, **moments)
        before = await book.find(KEY)
        await book.adopt([OTHER_NETWORK])
        if "look_at" in adopted and values["look_at"] is not None:
            assert await book.find(KEY) == before, "another network's"
        await book.adopt([NETWORK])
        assert await book.find(KEY) == replace(before, **{name: after(at) for name, at in adopted.items()})

    run(where, scenario)


def test_a_name_that_belongs_to_another_payment_is_refused_by_its_word(where):
    async def scenario(book, _clock):
        await book.held(claim(1, identifier="n"))
        with pytest.raises(Refusal) as refused:
            await book.held(claim(2, identifier="n"))
        assert refused.value.reason == IDENTIFIER_USED
        assert await book.held(claim(3, identifier="m")) is not None

    run(where, scenario)


def test_one_transaction_is_named_for_one_payment_by_word(where):
    async def scenario(book, _clock):
        assert (await book.settle(await book.settling(claim(1)), "0x01")).state == "settled"
        second = await book.settling(claim(2))
        assert (await book.settle(second, "0x01")).state == "settling"
        assert (await book.settle(await book.settling(claim(3, network=OTHER_NETWORK)), "0x01")).state == "settled"
        assert (await book.settle(second, "0x02")).state == "settled"
        # Nor one that pays for another on the chain, whatever its receipt says.
        third = await book.doubt(await book.settling(claim(4)))
        await book.settle_by(replace(third, transaction="0x09"), [SEEN], "")
        fourth = await book.settling(claim(5))
        assert (await book.settle(fourth, SEEN.transaction)).state == "settling"

    run(where, scenario)


def pick_up(book, clock, *, is_under_way=False):
    pickup = Pickup(book, clock, lambda _payer, _fingerprint: is_under_way)
    return pickup.find(PAYER, [NETWORK], "f")


@pytest.mark.parametrize(
    ("delivered_s", "after_s", "is_there"),
    [(None, DAY_S - 1, True), (None, DAY_S, False), (0, 59, True), (0, 60, False), (DAY_S - 2, DAY_S - 1, True)],
)
def test_an_answer_can_be_had_for_a_day_and_once_it_has_left_for_a_minute_more(where, delivered_s, after_s, is_there):
    async def scenario(book, clock):
        row = await book.settled()
        if delivered_s is not None:
            await book.force(delivered_at=after(delivered_s))
        clock.at = after(after_s)
        found = await pick_up(book, clock)
        assert (found and found.key) == (row.key if is_there else None)
        assert await Pickup(book, clock, lambda *_: False).find(PAYER, [OTHER_NETWORK], "f") is None
        if not is_there:
            with pytest.raises(UpstreamDown, match="still running"):
                await pick_up(book, clock, is_under_way=True)

    run(where, scenario)


def test_while_a_payment_may_yet_be_settled_nobody_is_told_that_there_is_none(where):
    async def scenario(book, clock):
        held = await book.held()
        for moment, message in ((0, "still running"), (29, "still running")):
            clock.at = after(moment)
            with pytest.raises(UpstreamDown, match=message):
                await pick_up(book, clock)
        clock.at = after(30)
        assert await pick_up(book, clock) is None
        # Whoever hears that may pay anew: what it would have paid for twice is not settled after that.
        assert await book.start_settling(held, ANSWER, "far") is None
        clock.at = after(29)
        settling = await book.start_settling(held, ANSWER, "far")
        for state in ("settling", "unknown"):
            await book.force(state=state)
            with pytest.raises(UpstreamDown, match="not known yet"):
                await pick_up(book, clock)
        await book.force(state="settling")
        await book.refuse(settling, "no")
        assert await pick_up(book, clock) is None

    run(where, scenario)


@pytest.mark.parametrize("text", ["", "0x12", "ab" * 32, "0x" + "g" * 64, "0x" + "ab" * 33])
def test_what_is_no_hash_is_a_bad_request(text):
    with pytest.raises(BadRequest):
        read_transaction(text)
    assert read_transaction("0x" + "AB" * 32) == "0x" + "ab" * 32


def test_a_payment_is_looked_up_by_either_transaction_and_only_where_money_came(where):
    async def scenario(book, clock):
        for n in (2, 1):
            await book.settled(n)
            clock.at += timedelta(seconds=1)
        await book.force(mined="0x0c")
        for name, route in (("0x01", claim(1)), ("0x0c", claim(2))):
            found = await get_payment(book, PaymentAsk(transaction=name))
            assert (found.transaction, found.status) == (f"0x{int(route.key.nonce, 16):02}", "settled")
        for values in ({"proof": "missing"}, {"proof": "waiting", "state": "unknown"}):
            await book.force(**values)
            with pytest.raises(NotFound):
                await get_payment(book, PaymentAsk(transaction="0x01"))

    run(where, scenario)


def test_the_stock_is_shown_by_the_age_of_the_oldest_doubt_and_by_counts(where):
    def shown():
        # By the names that the alarms know.
        names = ("payment_unknown_age_seconds", "payments_uncredited", "payment_orphans")
        return [REGISTRY.get_sample_value(f"tickyard_{name}", {"network": NETWORK}) for name in names]

    async def scenario(book, clock):
        await show_stock(book, [NETWORK])
        assert shown() == [0, 0, 0]
        await book.doubt(await book.settling(claim(1)))
        await book.settle(await book.settling(claim(2)), "0x02")
        await book.see(await book.find(claim(2).key), [SEEN])
        clock.at = after(299.9)
        await show_stock(book, [NETWORK])
        assert shown() == [299, 1, 0]
        clock.at = after(300.1)
        await show_stock(book, [NETWORK])
        assert shown() == [300, 1, 1]

    run(where, scenario)


def test_a_mountain_of_old_answers_is_forgotten_a_few_at_a_time(where, monkeypatch):
    """All at once was too much for a store's patience, round after round, and nobody could pay meanwhile."""
    monkeypatch.setattr(ledger, "FORGOTTEN_AT_ONCE", 2)

    async def scenario(book, clock):
        for n in range(1, 26):
            await put(book, n, state="settled", settled_at=after(0), begun_at=after(0), proof="credited", look_at=None)
        clock.at = after(DAY_S + 1)
        assert [await book.forget_answers() for _ in range(3)] == [20, 5, 0]
        rows = [await book.find(claim(n).key) for n in range(1, 26)]
        assert {(row.reply, row.client, row.state) for row in rows} == {(None, None, "settled")}

    run(where, scenario)
