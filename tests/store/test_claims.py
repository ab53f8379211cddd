"""Claims of transfers where a block that was seen is replaced: each goes with its payment, and stands in nobody's way."""

import asyncio
from collections import Counter
from dataclasses import replace as changed_copy
from itertools import permutations

import pytest
from msgspec.structs import replace
from sqlalchemy import select, text

from tickyard.kernel.clock import breathe
from tickyard.kernel.ids import Address
from tickyard.payments.books.ledger import Ledger
from tickyard.payments.books.tables import payment, payment_transfer
from tickyard.payments.proof.booking import credit
from tickyard.payments.proof.transfer import permit_words
from tickyard.store.opening import open_store
from tickyard.store.revenue import revenue
from yards.bookkeeping import KEY, SEEN, after, claim, run

OTHER = claim(2).key
STRANGER = replace(claim(2), key=replace(OTHER, payer=Address("0x" + "4" * 40)))


def at(index, **changes):
    return changed_copy(SEEN, log_index=index, **changes)


BOTH = "".join(permit_words(claim(n).key, 7, 2_000) for n in (1, 2))
"""What a transaction was asked that carries the permits of both."""


async def claimed(book):
    async with book.store.read() as tx:
        found = await tx.execute(select(payment_transfer.c.nonce, payment_transfer.c.log_index))
        return {each.nonce: each.log_index for each in found}


def parked(index):
    """Where the claim waits that was at this place before somebody else was seen there."""
    return -1 - index


async def waiting(book):
    """How many statements wait for somebody else's transaction."""
    found = text(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    )
    async with book.store.read() as tx:
        return (await tx.execute(found)).scalar_one()


async def one_that_is_settled(book):
    return await book.settle_by(await book.unknown(), [SEEN], "")


async def another(book, made=None):
    return await book.doubt(await book.settling(made or claim(2)))


def test_a_claim_is_where_its_payment_was_seen_last_and_nowhere_when_that_is_gone(where):
    async def scenario(book, _clock):
        row = await one_that_is_settled(book)
        await book.see(row, [at(6)])
        assert await claimed(book) == {KEY.nonce: 6}
        # Whoever comes back with an old row in their hands moves nothing.
        await book.see(replace(row, holder="another"), [at(9)])
        await book.unsettle(replace(row, holder="another"))
        assert await claimed(book) == {KEY.nonce: 6}
        await book.unsettle(row)
        assert await claimed(book) == {}

    run(where, scenario)


def test_a_payment_that_claimed_nothing_claims_nothing_when_it_is_seen(where):
    async def scenario(book, _clock):
        row = await book.settled()
        await book.see(row, [SEEN])
        assert await credit(book, await book.find(row.key), [SEEN])
        assert await claimed(book) == {}

    run(where, scenario)


def test_what_is_credited_elsewhere_leaves_the_place_where_it_was(where):
    async def scenario(book, _clock):
        row = await one_that_is_settled(book)
        assert await credit(book, row, [at(6)])
        assert await claimed(book) == {KEY.nonce: 6}

    run(where, scenario)


@pytest.mark.parametrize(
    ("made", "calldata"),
    [(claim(2), None), (STRANGER, permit_words(OTHER, 7, 2_000))],
    ids=["its log names it", "its payer is another"],
)
def test_a_transfer_that_can_be_nobody_elses_is_taken_from_who_was_there_before(where, made, calldata):
    async def scenario(book, clock):
        first = await one_that_is_settled(book)
        await book.watch(first)
        clock.at = after(1)
        found = await book.settle_by(await another(book, made), [at(4, calldata=calldata)], "taken")
        assert (found.state, found.mined_index) == ("settled", 4)
        assert await claimed(book) == {made.key.nonce: 4, KEY.nonce: parked(4)}
        # And who was there before is looked at again, now: what is gone for good leaves nothing.
        assert (await book.find(KEY)).look_at == after(1)
        await book.unsettle(await book.find(KEY))
        assert await claimed(book) == {made.key.nonce: 4}

    run(where, scenario)


def test_a_place_that_is_of_another_amount_by_now_is_taken_from_a_neighbour_of_the_same_payer(where):
    """A batch whose logs all moved by one place: who is seen first finds their new place still held by the next."""

    async def scenario(book, _clock):
        dear = replace(claim(2), amount_raw=9)
        words = permit_words(KEY, 7, 2_000) + permit_words(dear.key, 9, 2_000)
        first = await book.settle_by(await book.unknown(), [at(4, calldata=words)], "")
        second = await book.settle_by(await another(book, dear), [at(5, calldata=words)], "")
        await book.see(first, [at(5, calldata=words)])
        assert await claimed(book) == {KEY.nonce: 5, dear.key.nonce: parked(5)}
        await book.see(second, [at(6, calldata=words)])
        assert await claimed(book) == {KEY.nonce: 5, dear.key.nonce: 6}

    run(where, scenario)


@pytest.mark.parametrize("order", list(permutations(range(3))), ids=str)
def test_a_batch_that_moves_by_one_place_takes_every_claim_with_it_whoever_is_seen_first(where, order):
    """Cheap, dear, cheap: each new place is still held by a neighbour, of another amount or of the same."""

    async def scenario(book, _clock):
        batch = [claim(1), replace(claim(2), amount_raw=9), claim(3)]
        words = "".join(permit_words(each.key, each.amount_raw, 2_000) for each in batch)
        rows = []
        for n, each in enumerate(batch):
            doubtful = await another(book, each) if n else await book.unknown()
            rows.append(await book.settle_by(doubtful, [at(4 + n, calldata=words)], ""))
        # A block of the same transaction: its places are those of the equal payments, as they are seen now.
        now = {0: [at(5, calldata=words), at(7, calldata=words)], 1: [at(6, calldata=words)]}
        for _ in range(2):
            for n in order:
                await book.see(await book.find(rows[n].key), now[n % 2])
        found = await claimed(book)
        assert found[batch[1].key.nonce] == 6
        assert {found[batch[n].key.nonce] for n in (0, 2)} == {5, 7}

    run(where, scenario)


def test_of_equal_transfers_that_nothing_names_none_is_taken_from_who_has_it(where):
    async def scenario(book, _clock):
        await book.settle_by(await book.unknown(), [at(4, calldata=BOTH)], "")
        second = await another(book)
        assert (await book.settle_by(second, [at(4, calldata=BOTH)], "")).state == "unknown"
        both = [at(4, calldata=BOTH), at(5, calldata=BOTH)]
        assert (await book.settle_by(second, both, "taken")).state == "settled"
        assert await claimed(book) == {KEY.nonce: 4, OTHER.nonce: 5}

    run(where, scenario)


def test_who_finds_their_new_place_held_by_an_equal_payment_has_it_as_soon_as_that_one_is_gone(where):
    """A batch of two that went through for one: the other's transfer is not there any more, and looked for later."""

    async def scenario(book, _clock):
        first = await book.settle_by(await book.unknown(), [at(4, calldata=BOTH)], "")
        second = await book.settle_by(await another(book), [at(5, calldata=BOTH)], "")
        alone = at(5, calldata=BOTH)
        await book.see(first, [alone])
        assert await claimed(book) == {KEY.nonce: parked(4), OTHER.nonce: 5}
        second = await book.unsettle(second)
        assert await credit(book, await book.find(KEY), [alone])
        assert await claimed(book) == {KEY.nonce: 5}
        assert (await book.settle_by(second, [alone], "taken")).state == "failed"

    run(where, scenario)


def test_what_is_in_the_books_is_taken_from_nobody(where):
    async def scenario(book, _clock):
        assert await credit(book, await one_that_is_settled(book), [SEEN])
        second = await book.settle_by(await another(book), [SEEN], "")
        assert second.state == "settled"
        assert not await credit(book, second, [SEEN])
        assert await credit(book, second, [at(6)])
        async with book.store.read() as tx:
            assert len((await tx.execute(select(revenue))).all()) == 2

    run(where, scenario)


@pytest.mark.parametrize("turn", range(5))
def test_two_processes_that_exchange_the_places_of_two_payments_do_not_stand_in_each_others_way(where, turn):
    async def scenario(book, clock):
        first = await one_that_is_settled(book)
        second = await book.settle_by(await another(book), [at(6)], "")
        third = await another(book, claim(3))
        other = Ledger(open_store(where, clock), clock)
        try:
            moves = [
                book.see(first, [at(6)]),
                other.see(second, [at(4)]),
                other.settle_by(third, [at(4 if turn % 2 else 6)], "taken"),
                book.settle_by(replace(second, state="unknown"), [at(4)], "taken"),
            ]
            await asyncio.gather(*moves)
        finally:
            await other.store.close()
        assert (await book.find(third.key)).state == "settled"
        places = await claimed(book)
        assert len(set(places.values())) == len(places)
        for row, index in ((first, 6), (second, 4), (third, 8)):
            assert await credit(book, await book.find(row.key), [at(index)])
        async with book.store.read() as tx:
            assert len((await tx.execute(select(revenue))).all()) == 3

    run(where, scenario)


def test_of_words_for_one_transaction_that_are_given_in_the_same_moment_one_is_good(where):
    async def scenario(book, clock):
        rows = [await book.settling(claim(n)) for n in range(1, 9)]
        others = [Ledger(open_store(where, clock), clock) for _ in range(2)]
        try:
            async with book.store.begin() as tx:
                # All of them have begun by the time that the first may go on.
                await tx.execute(select(payment.c.nonce).with_for_update())
                words = [asyncio.create_task(others[n % 2].settle(row, "0x01")) for n, row in enumerate(rows)]
                while where.startswith("postgresql") and await waiting(book) < len(rows):
                    await breathe()
            ends = await asyncio.gather(*words)
            assert Counter(row.state for row in ends) == {"settled": 1, "settling": 7}
            (first,) = (row for row in ends if row.state == "settled")
            # It is that payment's for good: also when its block is replaced, and it is mined there again.
            again = await book.settle(await book.unsettle(first), "0x01")
            assert again.state == "settled"
        finally:
            for other in others:
                await other.store.close()

    run(where, scenario)


def test_a_transaction_in_which_another_was_seen_is_no_word_for_a_payment(where):
    async def scenario(book, _clock):
        # Its receipt names another one than the chain has.
        await book.see(await book.settled(1), [SEEN])
        second = await book.settling(claim(2))
        assert (await book.settle(second, SEEN.transaction)).state == "settling"
        # Nor does that word stand in the way of the one that it is true of.
        assert (await book.settle_by(second, [at(6)], "")).state == "settled"

    run(where, scenario)
