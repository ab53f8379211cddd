"""Which claims the agent pays and how much, and where a wallet's share is found in books of many."""

from datetime import UTC, datetime, timedelta

import pytest
from eth_account import Account
from eth_account.messages import encode_defunct, encode_typed_data

from tickyard.features.earn.books.desk import FAILED, PAID, SKIPPED, read_event
from tickyard.features.earn.books.digest import Books
from tickyard.features.earn.books.pools import Pools
from tickyard.features.earn.claims.message import EarnTerms, claim_message, claim_typed_data
from tickyard.kernel.ids import Address
from tickyard.payout.agent import Did
from tickyard.payout.judge import Allowance, CapReached, Claim, ClaimRefused, PayoutCaps, amount_of
from tickyard.payout.lines import Ended

EPOCH = 20261114
OPENS = datetime(2026, 11, 15, tzinfo=UTC)
TERMS = EarnTerms(4663, Address("0x" + "a1" * 20), Address("0x" + "b2" * 20))
WALLET, OTHER, POOR = (Account.from_key("0x" + digit * 64) for digit in "123")
ADDRESS = Address(WALLET.address.lower())
MICROSECOND = timedelta(microseconds=1)


def books(**held):
    found = Books(EPOCH, 1000, sum(held.values()))
    found.add(sorted((address, balance) for address, balance in held.items()))
    return found


def signed(key=WALLET, address=ADDRESS, epoch=EPOCH):
    return key.sign_message(encode_defunct(text=claim_message(TERMS, epoch, address))).signature.hex()


def claim(signature=None, at=OPENS, address=ADDRESS):
    return Claim(EPOCH, address, 0, signature or signed(), at)


BOOKS = books(**{WALLET.address.lower(): 999_999, POOR.address.lower(): 1})


def test_a_claim_is_worth_its_share_with_or_without_a_prefix_and_in_either_form():
    plain = signed().removeprefix("0x")
    typed = WALLET.sign_message(encode_typed_data(full_message=claim_typed_data(TERMS, EPOCH, ADDRESS))).signature
    for form in (plain, "0x" + plain, typed.hex()):
        assert amount_of(claim(form), BOOKS, TERMS) == 999
    assert amount_of(claim(at=OPENS + timedelta(hours=1) - MICROSECOND), BOOKS, TERMS) == 999


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (claim(at=OPENS - MICROSECOND), "window"),
        (claim(at=OPENS + timedelta(hours=1)), "window"),
        (claim("0xno signature"), "not a signature"),
        (claim("0x"), "somebody else"),
        (claim(signed(OTHER)), "somebody else"),
        (claim(signed(epoch=EPOCH + 1)), "somebody else"),
        (claim(signed(OTHER, OTHER.address.lower()), address=Address(OTHER.address.lower())), "no share"),
        (claim(signed(POOR, POOR.address.lower()), address=Address(POOR.address.lower())), "no share"),
    ],
)
def test_a_claim_that_the_api_cannot_have_written_is_refused(made, why):
    with pytest.raises(ClaimRefused, match=why):
        amount_of(made, BOOKS, TERMS)


@pytest.mark.parametrize(
    ("caps", "pool", "amount", "cap"),
    [
        ((100, 10**9, 10**9), 10**9, 100, None),
        ((99, 10**9, 10**9), 10**9, 100, "claim"),
        ((100, 130, 10**9), 10**9, 100, None),
        ((100, 129, 10**9), 10**9, 100, "epoch"),
        ((100, 10**9, 10**9), 130, 100, None),
        ((100, 10**9, 10**9), 129, 100, "epoch"),
        ((100, 10**9, 140), 10**9, 100, None),
        ((100, 10**9, 139), 10**9, 100, "day"),
    ],
)
def test_a_cap_is_reached_one_unit_above_it(caps, pool, amount, cap):
    allowance = Allowance(PayoutCaps(*caps), pool, epoch_raw=30, day_raw=40)
    if cap is None:
        allowance.spend(amount)
        assert (allowance.epoch_raw, allowance.day_raw) == (130, 140)
    else:
        with pytest.raises(CapReached, match=cap):
            allowance.spend(amount)
        assert (allowance.epoch_raw, allowance.day_raw) == (30, 40)


def test_an_address_whose_bytes_stand_across_two_others_is_not_taken_for_one():
    first = "0xabcd" + "00" * 8 + "abcd" + "11" * 8
    second = "0xabcd" + "00" * 8 + "ff" * 10
    across = "0xabcd" + "11" * 8 + "abcd" + "00" * 8
    without, with_it = books(**{first: 1, second: 4}), books(**{first: 1, second: 4, across: 5})
    assert [without.share_of(each) for each in (first, second, across)] == [200, 800, 0]
    assert [with_it.share_of(each) for each in (first, second, across)] == [100, 400, 500]


def test_books_of_which_something_is_missing_are_not_whole():
    found = Books(EPOCH, 1000, 5)
    assert not found.is_whole
    found.add([("0x" + "ab" * 20, 4)])
    assert not found.is_whole
    # Asked between two portions: what comes after is found all the same.
    assert (found.share_of("0x" + "ab" * 20), found.share_of("0x" + "cd" * 20)) == (800, 0)
    found.add([("0x" + "cd" * 20, 1)])
    assert found.is_whole
    assert (found.share_of("0x" + "ab" * 20), found.share_of("0x" + "cd" * 20)) == (800, 200)


@pytest.mark.parametrize(("topic", "word"), [(PAID, "paid"), (SKIPPED, "skipped"), (FAILED, "failed")])
def test_an_event_is_read_to_its_place_and_transaction(topic, word):
    desk = Address("0x" + "de" * 20)
    told = read_event(
        {
            "address": desk.upper().replace("X", "x"), "topics": [topic, f"0x{EPOCH:064x}", "0x" + "00" * 12 + "ab" * 20],
            "data": f"0x{7:064x}", "blockNumber": "0x10", "logIndex": "0x3", "transactionHash": "0x" + "cd" * 32,
        },
        desk,
    )  # fmt: skip
    assert told == (16, 3, word, EPOCH, "0x" + "ab" * 20, 7, "0x" + "cd" * 32)


@pytest.mark.parametrize(
    ("settlement", "hour", "newest", "first", "day"),
    [
        ("in a pool", 5, EPOCH, EPOCH, "2026-11-16"),
        ("new", 5, EPOCH, EPOCH, "2026-11-15"),
        ("new", 0, EPOCH, EPOCH, "2026-11-15"),
        ("new", 5, EPOCH + 1, EPOCH, ""),
        ("new", -1, EPOCH, EPOCH, ""),
        ("new", -1, 0, EPOCH, "2026-11-14"),
        ("new", -1, 0, EPOCH + 1, ""),
        ("new", -1, 0, 0, "2026-11-14"),
    ],
)
def test_a_settlement_is_of_its_own_days_pool_unless_that_is_fixed_without_it(settlement, hour, newest, first, day):
    pools = Pools({"in a pool": EPOCH + 2}, newest, first)
    assert pools.day(settlement, OPENS + timedelta(hours=hour)) == day


def test_a_round_is_idle_that_sent_ended_and_refused_nothing():
    assert Did(held=1, batches=1).is_idle
    assert Did(ended=Ended(again=1)).is_idle
    for did in ({"opened": 1}, {"sent": 1}, {"replaced": 1}, {"refused": 1}):
        assert not Did(**did).is_idle
    for ended in ({"confirmed": 1}, {"failed": 2}):
        did = Did(ended=Ended(**ended))
        assert not did.is_idle
        assert {"confirmed": did.confirmed, "failed": did.failed} == {"confirmed": 0, "failed": 0} | ended
