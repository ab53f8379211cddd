"""What each move of the ledger leaves in the row, to the second: what it returns is what stands in the books."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from tickyard.payments.books.row import PaymentRow
from yards.bookkeeping import (
    ANSWER,
    KEY,
    MICRO,
    NOON,
    NOTHING_SEEN,
    PAY_TO,
    SEEN,
    SEEN_AS,
    UNNAMED,
    after,
    changed,
    claim,
    run,
)


def test_a_reservation_holds_for_half_a_minute(where):
    async def scenario(book, clock):
        row = PaymentRow(
            key=KEY, state="running", holder="me", lease_until=after(30), fingerprint="f", route="GET /x",
            amount_raw=7, pay_to=PAY_TO, valid_before=2_000, network_time=1_900, begun_at=NOON, settles=0,
            request=b"request", reply=None, digest="d", signature="s", client="c", identifier=None,
        )  # fmt: skip
        assert await book.held() == row
        assert await book.find(KEY) == replace(row, request=None)
        clock.at = after(30) - MICRO
        assert await book.held(claim(fingerprint="g")) is None
        assert await book.release_abandoned() == 0
        clock.at = after(30)
        taken = await book.held(claim(fingerprint="g"))
        assert changed(row, taken) == {"fingerprint": "g", "begun_at": after(30), "lease_until": after(60)}
        clock.at = after(60)
        assert await book.release_abandoned() == 1
        assert await book.find(KEY) is None

    run(where, scenario)


def test_settling_is_begun_doubted_and_resumed_with_its_pauses(where):
    async def scenario(book, clock):
        held = await book.held()
        row = await book.start_settling(held, ANSWER, "far")
        begun = {"state": "settling", "lease_until": after(60), "look_at": after(60), "settles": 1}
        assert changed(held, row) == begun | {"facilitator": "far", "reply": ANSWER, "looks": 0}
        assert await book.find(KEY) == row
        for settles, pause_s in ((1, 2), (2, 4), (3, 8), (4, 16), (5, 30), (6, 30)):
            now = clock.at
            until = now + timedelta(seconds=pause_s)
            doubted = await book.doubt(row)
            assert changed(row, doubted) == {"state": "unknown", "lease_until": until, "look_at": until}
            assert await book.find(KEY) == doubted
            clock.at = until - MICRO
            assert await book.resume(doubted, "other") is None
            clock.at = until
            row = await book.resume(doubted, f"other {settles}")
            lease = {"lease_until": until + timedelta(seconds=60), "look_at": until + timedelta(seconds=60)}
            assert changed(doubted, row) == lease | {
                "state": "settling",
                "holder": f"other {settles}",
                "settles": settles + 1,
            }
            assert await book.find(KEY) == row

    run(where, scenario)


def test_no_money_is_asked_for_when_the_lease_of_a_run_is_over(where):
    """Of a machine that stood still: by then its buyer may be gone, and nobody else may have been there to let go."""

    async def scenario(book, clock):
        held = await book.held()
        clock.at = after(30)
        assert await book.start_settling(held, ANSWER, "far") is None
        assert await book.find(KEY) == replace(held, request=None)
        clock.at = after(30) - MICRO
        assert await book.start_settling(held, ANSWER, "far") is not None

    run(where, scenario)


def test_a_settling_is_over_when_its_lease_is(where):
    async def scenario(book, clock):
        row = await book.settling()
        clock.at = after(60) - MICRO
        assert await book.expire(row) == row == await book.find(KEY)
        clock.at = after(60)
        expired = await book.expire(row)
        assert changed(row, expired) == {"state": "unknown"}
        assert await book.find(KEY) == expired == await book.expire(expired)

    run(where, scenario)


def test_what_is_settled_by_word_or_by_the_chain_is_due_at_once_and_has_its_place(where):
    async def scenario(book, clock):
        row = await book.settling()
        await book.watch(row)
        clock.at = after(5)
        by_word = await book.settle(row, "0x01")
        word = {"state": "settled", "transaction": "0x01", "settled_at": after(5), "proof": "waiting"}
        assert changed(row, by_word) == word | {"look_at": after(5)}
        assert by_word.looks == 0
        assert changed(await book.find(KEY), by_word) == {"unexplained": None}
        clock.at = after(6)
        await book.see(by_word, [SEEN])
        seen = await book.find(KEY)
        assert changed(by_word, seen) == SEEN_AS | {"look_at": after(7), "unexplained": 0}
        await book.deliver([KEY])
        clock.at = after(9)
        await book.deliver([KEY])
        unsettled = await book.unsettle(seen)
        gone = NOTHING_SEEN | {"settled_at": None, "proof": None, "state": "unknown"}
        assert changed(seen, unsettled) == gone | {"lease_until": after(9), "look_at": after(9)}
        kept = await book.find(KEY)
        assert changed(unsettled, kept) == {"delivered_at": after(6), "unexplained": None}
        clock.at = after(10)
        by_chain = await book.settle_by(kept, [SEEN], "")
        again = SEEN_AS | {"state": "settled", "settled_at": after(10), "proof": "waiting", "look_at": after(10)}
        assert changed(kept, by_chain) == again

    run(where, scenario)


def test_a_settlement_that_only_the_chain_knows_has_the_chains_transaction(where):
    async def scenario(book, _clock):
        row = await book.unknown()
        assert (await book.settle_by(row, [SEEN], "")).transaction == SEEN.transaction

    run(where, scenario)


@pytest.mark.parametrize(
    ("reason", "state", "unexplained"), [("taken", "failed", None), ("", "unknown", 1)], ids=["sure", "unsure"]
)
def test_a_payment_whose_transfers_are_all_others_is_refused_when_that_is_sure(where, reason, state, unexplained):
    async def scenario(book, _clock):
        first = await book.doubt(await book.settling(claim(2)))
        assert (await book.settle_by(first, [UNNAMED], "")).state == "settled"
        row = await book.settle_by(await book.unknown(), [UNNAMED], reason)
        assert (row.state, row.reason, row.unexplained) == (state, reason or None, unexplained)
        assert await book.find(KEY) == row

    run(where, scenario)


@pytest.mark.parametrize(
    ("reason", "left"),
    [("taken", {"look_at": None, "reply": None}), ("", {"look_at": after(11), "looks": 1, "unexplained": 1})],
    ids=["sure", "unsure"],
)
def test_what_has_failed_already_is_not_refused_again_and_watched_until_it_is_sure(where, reason, left):
    async def scenario(book, clock):
        first = await book.doubt(await book.settling(claim(2)))
        await book.settle_by(first, [UNNAMED], "")
        row = await book.failed()
        clock.at = after(9)
        assert changed(row, await book.settle_by(row, [UNNAMED], reason)) == left

    run(where, scenario)


def test_a_refusal_keeps_the_answer_and_closing_it_does_not(where):
    async def scenario(book, _clock):
        row = await book.settling()
        refused = await book.refuse(row, "no")
        left = {"state": "failed", "reason": "no", "look_at": after(1), "request": None}
        assert changed(row, refused) == left
        assert await book.find(KEY) == refused
        again = await book.held()
        assert await book.release(again)
        back = await book.find(KEY)
        assert (back.state, back.look_at, back.reply) == ("failed", after(1), ANSWER)
        await book.close(back)
        assert changed(back, await book.find(KEY)) == {"look_at": None, "reply": None}

    run(where, scenario)


def test_looks_are_twice_as_far_apart_each_time_up_to_five_minutes(where):
    async def scenario(book, clock):
        await book.settled()
        for looks, pause_s in enumerate((2, 4, 8, 16, 32, 64, 128, 256, 300, 300), start=1):
            row = await book.find(KEY)
            await book.watch(row, is_unexplained=looks > 8)
            seen = await book.find(KEY)
            assert (seen.looks, seen.look_at) == (looks, clock.at + timedelta(seconds=pause_s))
            assert seen.unexplained == max(0, looks - 8)
            clock.at = seen.look_at
        await book.watch(seen, has_looked=False)
        assert await book.find(KEY) == replace(seen, look_at=clock.at + timedelta(seconds=300))
        await book.force(looks=10_000)
        await book.watch(await book.find(KEY))
        assert (await book.find(KEY)).look_at == clock.at + timedelta(seconds=300)

    run(where, scenario)
