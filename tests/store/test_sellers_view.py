"""The seller's own view of the books, row by row: what an accountant, an alarm and a refund are told."""

import asyncio
from datetime import UTC, datetime, timedelta
from random import Random

import eth_abi
import pytest
from sqlalchemy import insert

from tickyard.kernel.clock import WallClock
from tickyard.payments.books.sellers_view import (
    Filter,
    answer_until,
    book_entry,
    find_orphans,
    find_payment,
    find_payments,
    find_settled,
    life_of,
    refund_of,
    take_stock,
)
from tickyard.payments.books.tables import payment
from tickyard.store.opening import open_store
from yards.schema import lay

NOON = datetime(2026, 11, 14, 12, tzinfo=UTC)
FIRST, SECOND = "eip155:4663", "eip155:8453"
PAYER, OTHER = "0xde709f2102306220921060314715629080e2fb77", "0x" + "22" * 20
ASSET, PAY_TO = "0x27b1fdb04752bbc536007a920d24acb045561c26", "0x" + "44" * 20


def word(number):
    return f"0x{number:064x}"


def row(number, state, **more):
    """A payment that began so many minutes after noon."""
    begun = NOON + timedelta(minutes=number)
    base = {
        "network": FIRST, "asset": ASSET, "payer": PAYER, "nonce": word(number), "state": state, "holder": "h",
        "lease_until": begun, "fingerprint": f"f{number}", "route": "GET /v1/x402/quote/AAPL", "amount_raw": 12_345,
        "pay_to": PAY_TO, "valid_before": 2_000_000_000, "network_time": 1_900_000_000, "begun_at": begun, "settles": 1,
        "signature": "s", "digest": "d",
    }  # fmt: skip
    if state == "settled":
        settled = {"settled_at": begun + timedelta(seconds=2), "transaction": word(100 + number), "proof": "credited"}
        base |= settled | {"mined": word(100 + number), "mined_block": 7, "delivered_at": begun + timedelta(seconds=3)}
    return base | more


BOOKS = [
    row(1, "settled"),
    row(2, "settled", delivered_at=None, proof="waiting"),
    row(3, "settled", delivered_at=None, mined=None, mined_block=None, proof="missing"),
    row(4, "unknown", look_at=NOON + timedelta(hours=1), looks=3),
    row(5, "unknown", look_at=NOON + timedelta(hours=1)),
    row(6, "unknown", begun_at=NOON, look_at=None),
    row(7, "failed", reason="insufficient_funds"),
    row(8, "settled", network=SECOND, payer=OTHER, mined=word(900), delivered_at=None, proof="waiting"),
    row(9, "settled", delivered_at=None, signature=None),
    row(10, "running", payer=OTHER),
]


@pytest.fixture
def ask(where):
    async def opened(work):
        store = open_store(where, WallClock(), Random(1))
        try:
            return await work(store)
        finally:
            await store.close()

    async def fill(store):
        await lay(store)
        async with store.begin() as tx:
            await tx.execute(insert(payment), [{c.name: each.get(c.name) for c in payment.c} for each in BOOKS])

    asyncio.run(opened(fill))
    return lambda question: asyncio.run(opened(question))


def numbers(rows):
    return [int(each.key.nonce, 16) for each in rows]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("which", "found"),
    [
        (Filter(), [10, 9, 8, 7, 5, 4, 3, 2, 1, 6]),
        (Filter(state="unknown"), [5, 4, 6]),
        (Filter(network=SECOND), [8]),
        (Filter(payer=OTHER.upper().replace("X", "x")), [10, 8]),
        (Filter(since=NOON + timedelta(minutes=8)), [10, 9, 8]),
        (Filter(until=NOON + timedelta(minutes=2)), [1, 6]),
        (Filter(state="settled", since=NOON + timedelta(minutes=2), until=NOON + timedelta(minutes=9)), [8, 3, 2]),
    ],
)
def test_payments_are_listed_newest_first_by_every_filter(ask, which, found):
    assert numbers(ask(lambda store: find_payments(store, which, 100))) == found
    assert numbers(ask(lambda store: find_payments(store, which, 1))) == found[:1]


def test_a_payment_is_found_by_its_nonce_and_by_either_transaction(ask):
    for name, found in (
        (word(4), [4]),
        (word(108), [8]),
        (word(900).upper().replace("X", "x"), [8]),
        (word(5_000), []),
    ):
        assert numbers(ask(lambda store, name=name: find_payment(store, name))) == found


def test_an_accountant_gets_what_was_settled_in_its_order_and_nothing_that_never_came(ask):
    first = NOON + timedelta(minutes=1, seconds=2)
    assert numbers(ask(lambda store: find_settled(store, NOON, NOON + timedelta(days=1)))) == [1, 2, 8, 9]
    assert numbers(ask(lambda store: find_settled(store, first, first + timedelta(minutes=1)))) == [1]
    assert ask(lambda store: find_settled(store, first + timedelta(seconds=1), first + timedelta(minutes=1))) == []


def test_books_of_any_size_are_read_page_by_page_and_without_the_answers(ask):
    """A day of answers is gigabytes: one question for all of it was too much for a store's patience, and for memory."""
    twins = [
        row(n, "settled", payer=f"0x{n:040x}", settled_at=NOON, begun_at=NOON, body=b"answer", request=b"asked")
        | {"status": 200, "content_type": "application/json"}
        for n in range(20, 27)
    ]

    async def question(store):
        async with store.begin() as tx:
            await tx.execute(insert(payment), [{c.name: each.get(c.name) for c in payment.c} for each in twins])
        inside, paged, listed = (NOON, NOON + timedelta(days=1)), [], []
        while page := await find_settled(store, *inside, limit=2, after=paged[-1] if paged else None):
            paged += page
        while page := await find_payments(store, Filter(), 2, after=listed[-1] if listed else None):
            listed += page
        return paged, await find_settled(store, *inside), listed, await find_payments(store, Filter(), 100)

    paged, settled, listed, newest = ask(question)
    assert numbers(paged) == numbers(settled) == [*range(20, 27), 1, 2, 8, 9]
    assert listed == newest
    assert len({each.key for each in listed}) == len(BOOKS) + 7
    assert [(each.reply, each.request) for each in settled] == [(None, None)] * 11


def test_money_without_a_delivered_answer_is_an_orphan_once_it_has_been_seen(ask):
    later = NOON + timedelta(days=1)
    assert numbers(ask(lambda store: find_orphans(store, later))) == [2, 8]
    assert numbers(ask(lambda store: find_orphans(store, NOON + timedelta(minutes=8, seconds=2)))) == [2]


def test_an_alarm_is_told_of_each_network_apart(ask):
    later = NOON + timedelta(days=1)
    stock = ask(lambda store: take_stock(store, FIRST, later))
    assert (stock.oldest_unknown, stock.uncredited, stock.orphans) == (NOON + timedelta(minutes=4), 1, 1)
    stock = ask(lambda store: take_stock(store, SECOND, later))
    assert (stock.oldest_unknown, stock.uncredited, stock.orphans) == (None, 1, 1)
    seen = NOON + timedelta(minutes=8, seconds=2)
    for until, orphans in ((seen, 0), (seen + timedelta(microseconds=1), 1)):
        assert ask(lambda store, until=until: take_stock(store, SECOND, until)).orphans == orphans
    stock = ask(lambda store: take_stock(store, "eip155:1", later))
    assert (stock.oldest_unknown, stock.uncredited, stock.orphans) == (None, 0, 0)


def test_an_entry_of_the_export_has_what_an_accountant_needs(ask):
    first, second, eighth, _ = ask(lambda store: find_settled(store, NOON, NOON + timedelta(days=1)))
    assert book_entry(first, "2026-11-15") == {
        "time": "2026-11-14T12:01:02Z", "network": FIRST, "asset": "0x27b1fdb04752bbc536007a920d24acb045561c26",
        "amount": "0.012345", "payer": "0xde709f2102306220921060314715629080e2fb77", "route": "GET /v1/x402/quote/AAPL",
        "transaction": word(101), "block": 7, "creditedDay": "2026-11-15",
    }  # fmt: skip
    assert book_entry(second, "2026-11-15")["creditedDay"] == ""
    # The mined one, where it differs from the receipt's.
    assert book_entry(eighth, "")["transaction"] == word(900)
    (unseen,) = ask(lambda store: find_payment(store, word(3)))
    assert (book_entry(unseen, "")["transaction"], book_entry(unseen, "")["block"]) == (word(103), "")


def test_the_life_of_a_payment_is_told_with_its_times_and_without_its_answer(ask):
    (settled,) = ask(lambda store: find_payment(store, word(1)))
    assert life_of(settled) == {
        "id": word(1), "network": FIRST, "payer": "0xde709f2102306220921060314715629080e2fb77", "amount": "0.012345",
        "route": "GET /v1/x402/quote/AAPL", "state": "settled", "proof": "credited", "reason": None,
        "begunAt": "2026-11-14T12:01:00Z", "settledAt": "2026-11-14T12:01:02Z",
        "deliveredAt": "2026-11-14T12:01:03Z", "nextLookAt": None, "validBefore": 2_000_000_000,
        "facilitator": None, "settles": 1, "looks": 0, "transaction": word(101), "mined": word(101), "block": 7,
    }  # fmt: skip
    assert answer_until(settled) == "2026-11-15T12:01:02Z"
    (unknown,) = ask(lambda store: find_payment(store, word(4)))
    assert (life_of(unknown)["looks"], life_of(unknown)["nextLookAt"]) == (3, "2026-11-14T13:00:00Z")
    assert answer_until(unknown) is None
    (failed,) = ask(lambda store: find_payment(store, word(7)))
    assert (life_of(failed)["state"], life_of(failed)["reason"]) == ("failed", "insufficient_funds")


def test_a_refund_gives_the_payer_the_same_amount_back_on_its_own_chain(ask):
    first, second = ask(lambda store: find_orphans(store, NOON + timedelta(days=1)))
    for orphan, chain, payer in ((first, 4663, PAYER), (second, 8453, OTHER)):
        refund = refund_of(orphan)
        assert (refund["chainId"], refund["from"], refund["value"]) == (chain, "0x" + "44" * 20, "0")
        assert refund["to"].lower() == ASSET
        assert refund["data"] == "0xa9059cbb" + eth_abi.encode(["address", "uint256"], [payer, 12_345]).hex()
