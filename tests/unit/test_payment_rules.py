"""The small rules of a sale, each by its whole table: whose a payment is, what is done with it, how far its bounds go."""

import asyncio
import base64
import json
from datetime import UTC, datetime, timedelta
from itertools import product
from types import SimpleNamespace

import pytest

from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.kernel.units import UsdgAmount
from tickyard.payments.books.reply import Reply
from tickyard.payments.books.row import PaymentRow
from tickyard.payments.facilitators.facilitator import FacilitatorRefused, Settled, Unknown, Valid, VerifierDown
from tickyard.payments.facilitators.till import Till
from tickyard.payments.offer.terms import FIRST, NOT_OFFERED, SECOND, PaymentSettings, Terms
from tickyard.payments.refusal import Refusal
from tickyard.payments.selling import identity
from tickyard.payments.selling.identity import PayerIdentity
from tickyard.payments.selling.sale import is_any_of
from tickyard.payments.selling.standing import Bearer, is_payer, may_be_payer, shows_more
from tickyard.payments.selling.steps import is_free, next_step
from tickyard.payments.signed.authorization import check_times, read_authorization
from tickyard.payments.signed.key import Key
from tickyard.payments.signed.payload import Given, choose, payment_header
from tickyard.payments.signed.spelling import decode
from yards.payer import Wallet

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
NOW = int(NOON.timestamp())
PAY_TO, OTHER = Address("0x" + "ab" * 20), Address("0x" + "cd" * 20)
ENTRIES = Terms(PaymentSettings("https://api.example", PAY_TO), WallClock()).entries(UsdgAmount(10_000))
ANSWER = Reply(200, b"{}", "application/json")
KEY = Key(SECOND, Address("0x" + "11" * 20), Address("0x" + "22" * 20), "0x" + "33" * 32)
DAY = timedelta(hours=24)
WALLET = Wallet(b"\x07" * 32)


def row(state="unknown", *, lease_s=0, reply=ANSWER, **more):
    lease = NOON + timedelta(seconds=lease_s)
    return PaymentRow(KEY, state, "h", lease, "f", "r", 7, PAY_TO, NOW, NOW, NOON, 1, None, reply, **more)


@pytest.mark.parametrize(("status", "is_good"), [(199, False), (200, True), (299, True), (300, False), (402, False)])
def test_only_a_plain_success_is_worth_its_money(status, is_good):
    assert Reply(status, b"", "").is_good is is_good


@pytest.mark.parametrize(
    ("what", "for_same", "for_other"),
    [
        (None, "take", "take"),
        (row("running", lease_s=1), "wait", "refuse"),
        (row("running", lease_s=0), "take", "take"),
        (row("running", lease_s=0, reason="no"), "take", "refuse"),
        (row("running", lease_s=1, reason="no"), "wait", "refuse"),
        (row("settling", lease_s=1), "wait", "refuse"),
        (row("settling", lease_s=0), "reconcile", "refuse"),
        (row("unknown", lease_s=1), "reconcile", "refuse"),
        (row("failed", lease_s=1, reason="no"), "take", "refuse"),
        (row("settled", settled_at=NOON - DAY + timedelta(seconds=1)), "replay", "refuse"),
        (row("settled", settled_at=NOON - DAY), "refuse", "refuse"),
        (row("settled", settled_at=NOON, reply=None), "refuse", "refuse"),
    ],
)
def test_what_a_request_does_with_a_payment_hangs_on_its_row(what, for_same, for_other):
    assert (next_step(what, "f", NOON), next_step(what, "g", NOON)) == (for_same, for_other)
    assert is_free(what, NOON) is (for_other == "take")


def test_who_may_hear_of_a_payment_has_signed_it_and_shows_what_the_chain_does_not():
    known = row(digest="d", signature="s", client="c", identifier="i")
    for digest, signature, is_seen, client, name, is_in, is_early in product(
        ("d", "x"), ("s", "x"), (True, False), ("c", "x", None), ("i", "x", None), (True, False), (True, False)
    ):
        bearer = Bearer(digest, signature, is_seen, client, name, is_in)
        more = is_in or client == "c" or name == "i"
        assert shows_more(bearer, "c", "i") is more
        shown, same = is_early or more, digest == "d"
        assert is_payer(bearer, known, is_early) is (same and (signature == "s" or is_seen) and shown)
        assert may_be_payer(bearer, known, is_early) is (same and shown)
        # Who showed nothing the first time is known by nothing.
        assert shows_more(bearer, None, None) is is_in


def flight(fingerprint, payer, is_seen):
    order = SimpleNamespace(
        fingerprint=fingerprint,
        payment=SimpleNamespace(key=SimpleNamespace(payer=payer)),
        bearer=SimpleNamespace(is_signature_seen=is_seen),
    )
    return SimpleNamespace(order=order)


def test_a_payment_is_under_way_for_whoever_signed_it():
    for print_, payer, is_seen in product(("f", "g"), (PAY_TO, OTHER), (True, False)):
        here = [flight("g", OTHER, is_seen=False), flight(print_, payer, is_seen)]
        assert is_any_of(here, PAY_TO, "f") is ((print_, payer, is_seen) == ("f", PAY_TO, True))


def paid(entry, terms=None, **how):
    """A payment on the terms of an entry, or on others, in the entry's words."""
    terms = terms or entry.wire
    envelope = {"x402Version": 2, "accepted": terms, "payload": WALLET.pay(terms, NOW, **how)}
    return read_authorization(choose(Given(encoded(envelope), is_legacy=False), ENTRIES))


def encoded(value):
    return base64.b64encode(value if isinstance(value, bytes) else json.dumps(value).encode())


@pytest.mark.parametrize("entry", ENTRIES, ids=["permit2", "eip3009"])
@pytest.mark.parametrize(
    ("after_s", "before_s", "is_good"),
    [(0, 300, True), (1, 300, False), (0, 10, True), (0, 9, False), (0, 86_400, True), (0, 86_401, False)],
)
def test_a_payment_is_good_from_its_first_second_for_ten_seconds_to_a_day(entry, after_s, before_s, is_good):
    payment = paid(entry, valid_after=NOW + after_s, valid_s=before_s)
    assert (payment.valid_after, payment.valid_before) == (NOW + after_s, NOW + before_s)
    if is_good:
        check_times(payment, NOW)
    else:
        with pytest.raises(Refusal):
            check_times(payment, NOW)


@pytest.mark.parametrize("entry", ENTRIES, ids=["permit2", "eip3009"])
@pytest.mark.parametrize("change", [{"amount": "9000"}, {"payTo": "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"}])
def test_a_payment_on_terms_that_we_once_had_is_read_and_not_taken_anew(entry, change):
    terms = entry.wire | change
    payment = paid(entry, terms)
    assert (payment.key.network, payment.entry.wire, json.loads(payment.entry.text)) == (entry.network, terms, terms)
    assert (payment.entry.amount_raw, payment.entry.pay_to) == (int(terms["amount"]), terms["payTo"].lower())
    with pytest.raises(Refusal) as refused:
        check_times(payment, NOW)
    assert refused.value.reason == NOT_OFFERED


def test_a_spender_that_we_once_had_is_one_of_the_terms():
    entry = ENTRIES[0]
    spender = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
    terms = entry.wire | {"extra": entry.wire["extra"] | {"spender": spender}}
    payment = paid(entry, terms)
    assert (payment.entry.spender, payment.entry.wire, payment.entry.closed) == (spender.lower(), terms, NOT_OFFERED)


@pytest.mark.parametrize(("name", "is_good"), [("a" * 15, 0), ("a" * 16, 1), ("_-9Z" * 32, 1), ("a" * 129, 0)])
def test_a_name_has_sixteen_to_a_hundred_and_twenty_eight_letters(name, is_good):
    entry = ENTRIES[1]
    envelope = {"x402Version": 2, "accepted": entry.wire, "payload": {}}
    envelope["extensions"] = {"payment-identifier": {"info": {"id": name}}}
    given = Given(encoded(envelope), is_legacy=False)
    if is_good:
        assert choose(given, ENTRIES).identifier == name
    else:
        with pytest.raises(Refusal):
            choose(given, ENTRIES)


def test_blanks_around_a_header_are_no_part_of_it():
    assert payment_header([(b"x-payment", b" \te30=\t ")]) == Given(b"e30=", is_legacy=True)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b'{"a":"' + b"x" * (12_288 - 8) + b'"}', None),
        (b'{"a":"' + b"x" * (12_288 - 7) + b'"}', "over 16 KiB"),
        (b'{"a":[' + b"[],{}," * 99 + b"1]}", None),
        (b'{"a":[' + b"[],{}," * 99 + b"{}]}", "more than 200"),
        (b'{"a":' + b"9" * 100 + b"}", None),
        (b'{"a":' + b"9" * 101 + b"}", "too long"),
        (b'{"a":1.5,"b":1e400}', None),
        (b'{"a":Infinity}', "not JSON"),
    ],
)
def test_a_header_may_be_as_long_and_as_deep_and_no_more(text, reason):
    if reason is None:
        assert "a" in decode(encoded(text))
    else:
        with pytest.raises(Refusal, match=reason):
            decode(encoded(text))


class Far:
    """A facilitator that says one thing, or nothing."""

    def __init__(self, name, says):
        self.name, self.says, self.asked, self.is_wary = name, says, 0, False

    async def verify(self, _request, *, is_plain):
        self.asked += 1
        if self.says is None:
            raise VerifierDown(f"{self.name} is down")
        return self.says

    async def settle(self, _request, *, is_plain):
        self.asked += 1
        return Settled(self.name)


class Eyes:
    """A chain of which one thing is asked."""

    def __init__(self, says):
        self.says, self.asked = says, []

    async def is_used(self, _key):
        if self.says is None:
            raise UpstreamDown("the chain is down")
        return self.says

    async def has_code(self, account):
        self.asked.append(account)
        return await self.is_used(None)


def test_who_verifies_is_the_first_that_answers_and_who_settles_the_one_it_was_begun_by():
    async def scenario():
        down, good, third = Far("a", None), Far("b", Valid()), Far("c", FacilitatorRefused("no"))
        till = Till([down, good, third], Eyes(says=False), WallClock())
        assert await till.verify(b"", KEY, is_seen=True) == (Valid(), "b")
        assert third.asked == 0
        assert await till.settle(b"", KEY, "c", is_seen=True) == Settled("c")
        assert await till.settle(b"", KEY, None, is_seen=True) == Settled("a")
        assert await till.settle(b"", KEY, "gone", is_seen=True) == Unknown("withdrawn")
        with pytest.raises(UpstreamDown, match="a is down"):
            await Till([down, Far("b", None)], Eyes(says=False), WallClock()).verify(b"", KEY, is_seen=True)

    asyncio.run(scenario())


@pytest.mark.parametrize("network", [FIRST, SECOND])
@pytest.mark.parametrize("says", [Valid(), FacilitatorRefused("no")])
@pytest.mark.parametrize("is_used", [True, False, None])
def test_a_permit_that_is_used_is_refused_though_a_facilitator_finds_it_good(network, says, is_used):
    key = Key(network, KEY.asset, KEY.payer, KEY.nonce)
    found = asyncio.run(Till([Far("a", says)], Eyes(is_used), WallClock()).verify(b"", key, is_seen=True))
    is_turned = network == FIRST and is_used is True and says == Valid()
    assert found == (FacilitatorRefused("permit2_invalid_nonce") if is_turned else says, "a")


def test_only_contracts_are_remembered_as_what_they_are_and_those_asked_for_least_lately_forgotten(monkeypatch):
    monkeypatch.setattr(identity, "_ACCOUNTS_KEPT", 2)
    eyes = Eyes(says=False)
    payers = PayerIdentity({SECOND: eyes})

    async def check(account, size=65):
        payment = paid(ENTRIES[1])
        key = Key(SECOND, payment.key.asset, account, payment.key.nonce)
        await payers.check(
            SimpleNamespace(key=key, signature=bytes(size), entry=payment.entry), is_seen=account == "seen"
        )

    async def scenario():
        for _ in range(2):
            with pytest.raises(Refusal) as refused:
                await check("a")
            assert refused.value.reason == "invalid_exact_evm_payload_signature"
        assert eyes.asked == ["a", "a"], "what is no contract today may be one tomorrow"
        await check("a", size=64)
        await check("seen")
        eyes.says = None
        await check("a")
        eyes.says = True
        eyes.asked.clear()
        for account in ("a", "b", "a", "c", "a", "c", "b"):
            await check(account)
        assert eyes.asked == ["a", "b", "c", "b"]

    asyncio.run(scenario())
