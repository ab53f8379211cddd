"""The cashier, with a shop of one answer and a facilitator of one word: whose places are taken, what is let go."""

import asyncio
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from tickyard.kernel.clock import WallClock, breathe
from tickyard.kernel.errors import UpstreamDown
from tickyard.payments.books.reply import Reply
from tickyard.payments.facilitators.facilitator import FacilitatorRefused, Settled, Unknown, Valid, VerifierDown
from tickyard.payments.proof.finding import Tip, Unused
from tickyard.payments.refusal import ALREADY_USED, BadPayment, NotSettled, Refusal, TooManyPayments
from tickyard.payments.selling.cashier import Cashier
from tickyard.payments.selling.sale import claim_of
from tickyard.payments.selling.standing import Bearer, PaidRequest
from tickyard.payments.signed.authorization import Payment
from yards.bookkeeping import ANSWER, KEY, NETWORK, PAY_TO, after, run
from yards.patience import STUCK_S

BAD = Reply(404, b"{}", "application/json")
USED = "invalid_exact_evm_nonce_already_used"


@dataclass
class Far:
    """A till: its facilitator, and its chain, on which nothing is used."""

    verdict: object = field(default_factory=Valid)
    outcome: object = field(default_factory=lambda: Settled("0x01"))
    verifies: int = 0
    seen: list = field(default_factory=list)
    """For each settling, whether the payer's own key made the signature that is settled."""
    clock: object = field(default_factory=lambda: SimpleNamespace(seconds=lambda: 1_900))

    @property
    def proof(self):
        return self

    async def verify(self, _request, _key, *, is_seen):
        self.verifies += 1
        await breathe()
        if self.verdict is None:
            raise VerifierDown("no facilitator")
        return self.verdict, "far"

    async def settle(self, _request, _key, _name, *, is_seen):
        self.seen.append(is_seen)
        await breathe()
        return self.outcome

    async def tip(self):
        return Tip(1, 1_900, 1)

    async def examine(self, rows, _tip):
        return {row.key: Unused() for row in rows}


class Place:
    """In the budget of bad payments."""

    said = ""

    def give_back(self):
        self.said = self.said or "back"


class Shop:
    """One request at a time is asked for; `runs` counts what was made."""

    def __init__(self, book, clock, **how):
        self.far, self.runs, self.checked, self.gate = Far(), 0, 0, asyncio.Event()
        self.gate.set()
        self.answer, self.is_gone, self.signed = ANSWER, False, None
        options = {"unsettled_per_minute": None, "wait_s": 0.05} | how
        self.cashier = Cashier(book, {NETWORK: self.far}, clock, **options)
        self.places = []

    async def run(self):
        self.runs += 1
        await self.gate.wait()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    async def check_signature(self):
        self.checked += 1
        if self.signed is False:
            raise BadPayment("not signed")

    async def say_gone(self):
        return self.is_gone

    async def takes(self):
        return False

    def order(
        self, fingerprint="f", *, client="c", signature="s", is_seen=True, valid_before=2_000, digest=b"d", **how
    ):
        entry = SimpleNamespace(
            closed=None, method="eip3009", clock=self.far.clock, amount_raw=7, pay_to=PAY_TO, network=NETWORK
        )
        payment = Payment(KEY, entry, 0, valid_before, b"s", digest, {}, None)
        bearer = Bearer(digest.hex(), signature, is_seen, client, None, **({"is_signed_in": False} | how))
        self.places.append(Place())
        asks = (self.run, self.check_signature, self.takes, self.say_gone, self.places[-1])
        return PaidRequest(payment, bearer, client or "nobody", fingerprint, "GET /x", b"request", *asks)

    async def sell(self, *a, **how):
        return await self.cashier.sell(self.order(*a, **how))


def sell(where, scenario, **how):
    async def opened(book, clock):
        shop = Shop(book, clock, **how)
        try:
            await scenario(shop, book, clock)
        finally:
            shop.gate.set()
            await shop.cashier.drain()

    run(where, opened)


def test_a_sale_is_verified_run_settled_and_had_again(where):
    async def scenario(shop, book, clock):
        sold = await shop.sell()
        assert (sold.reply, sold.transaction, sold.settled_at) == (ANSWER, "0x01", clock.at)
        assert await shop.sell() == sold
        assert (shop.runs, shop.far.verifies, shop.checked) == (1, 1, 1)
        assert [place.said for place in shop.places] == ["back", ""]
        with pytest.raises(Refusal, match=ALREADY_USED):
            await shop.sell("g")
        held = (await book.find(KEY)).holder
        assert held.endswith("-1")

    sell(where, scenario)


@pytest.mark.parametrize("answer", [BAD, RuntimeError("it broke"), UpstreamDown("it is down")])
def test_what_is_not_answered_is_not_charged_and_costs_its_payer_a_place(where, answer):
    async def scenario(shop, book, _clock):
        shop.answer = answer
        for _ in range(2):
            if isinstance(answer, Reply):
                sold = await shop.sell()
                assert (sold.reply, sold.transaction) == (BAD, None)
            else:
                with pytest.raises(type(answer)):
                    await shop.sell()
            assert await book.find(KEY) is None
        with pytest.raises(TooManyPayments):
            await shop.sell()
        assert shop.runs == 2

    sell(where, scenario, unsettled_per_minute=2)


@pytest.mark.parametrize("kind", ["refused", "down", "unsigned", "late"])
def test_what_is_not_good_takes_nothing_and_no_place(where, kind):
    async def scenario(shop, book, _clock):
        shop.far.verdict = {"refused": FacilitatorRefused("no"), "down": None}.get(kind, Valid())
        shop.signed = kind != "unsigned"
        refusal = UpstreamDown if kind == "down" else Refusal
        for _ in range(3):
            with pytest.raises(refusal):
                await shop.sell(valid_before=1_909 if kind == "late" else 2_000)
        assert (shop.runs, await book.find(KEY)) == (0, None)
        assert {place.said for place in shop.places} == {""}
        shop.far.verdict, shop.signed = Valid(), True
        assert (await shop.sell()).reply == ANSWER

    sell(where, scenario, unsettled_per_minute=1)


def test_what_is_not_wanted_any_more_takes_nothing_and_costs_its_payer_a_place(where):
    """The facilitator was asked: whoever may hang up for ever has it work for nothing."""

    async def scenario(shop, book, _clock):
        shop.is_gone = True
        with pytest.raises(UpstreamDown, match="still running"):
            await shop.sell()
        with pytest.raises(TooManyPayments):
            await shop.sell()
        assert (shop.runs, shop.far.verifies, await book.find(KEY)) == (0, 1, None)

    sell(where, scenario, unsettled_per_minute=1)


def test_who_has_signed_in_does_not_share_what_a_copy_of_their_payment_is_told(where):
    async def scenario(shop, _book, _clock):
        sold = await shop.sell()
        shop.far.verdict, asked, go = FacilitatorRefused(USED), asyncio.Event(), asyncio.Event()

        async def verify(*_asked, **_how):
            asked.set()
            await go.wait()
            return shop.far.verdict, "far"

        shop.far.verify = verify
        thief = asyncio.create_task(shop.sell(client="thief"))
        await asked.wait()
        assert await shop.sell(client="elsewhere", is_signed_in=True) == sold
        go.set()
        with pytest.raises(BadPayment):
            await thief

    sell(where, scenario, wait_s=5)


@pytest.mark.parametrize("is_seen", [True, False])
def test_a_settled_sale_takes_nobodys_place_and_an_unsettled_one_does(where, is_seen):
    async def scenario(shop, book, clock):
        shop.far.outcome = FacilitatorRefused("permit2_allowance_required")
        with pytest.raises(NotSettled) as refused:
            await shop.sell(is_seen=is_seen)
        assert (refused.value.reason, refused.value.key) == ("permit2_allowance_required", KEY)
        with pytest.raises(TooManyPayments):
            await shop.sell()
        clock.monotonic = lambda: WallClock().monotonic() + 61
        shop.far.outcome = Settled("0x01")
        assert (await shop.sell(is_seen=is_seen)).transaction == "0x01"
        assert not shop.cashier._unsettled._taken
        assert len(shop.cashier._unsettled._spent) <= 1

    sell(where, scenario, unsettled_per_minute=1)


def test_who_only_names_a_payer_takes_none_of_the_payers_places(where):
    async def scenario(shop, _book, _clock):
        shop.far.verdict = FacilitatorRefused("no")
        shop.answer = BAD
        with pytest.raises(BadPayment, match="no"):
            await shop.sell(is_seen=False)
        shop.far.verdict = Valid()
        await shop.sell(is_seen=False)
        # By then it was found good, and counts against the payer from wherever it comes.
        with pytest.raises(TooManyPayments):
            await shop.sell(client="other")

    sell(where, scenario, unsettled_per_minute=1)


def test_copies_go_along_and_wait_no_longer_than_they_may(where):
    async def scenario(shop, _book, _clock):
        shop.gate.clear()
        first = asyncio.create_task(shop.sell())
        while not shop.runs:
            await breathe()
        with pytest.raises(UpstreamDown, match="still running"):
            await shop.sell()
        # The next ones are there when it ends, however slow the books are.
        shop.cashier._wait_s = 5
        copy = asyncio.create_task(shop.sell())
        stranger = asyncio.create_task(shop.sell(client="thief"))
        await breathe()
        shop.gate.set()
        assert await first == await copy == await stranger, "while it is surely not on the chain the bytes are enough"
        assert shop.runs == 1
        assert [place.said for place in shop.places] == ["back"] * 4

    sell(where, scenario)


def test_a_copy_from_elsewhere_does_not_join_a_sale_that_may_be_on_the_chain(where):
    async def scenario(shop, _book, _clock):
        asked, go = asyncio.Event(), asyncio.Event()

        async def settle(*_asked, **_how):
            asked.set()
            await go.wait()
            return Settled("0x01")

        shop.far.settle = settle
        first = asyncio.create_task(shop.sell())
        await asked.wait()
        copy, thief = asyncio.create_task(shop.sell()), asyncio.create_task(shop.sell(client="thief"))
        with pytest.raises(NotSettled) as refused:
            await thief
        assert refused.value.reason == USED
        go.set()
        assert await first == await copy
        assert shop.runs == 2

    sell(where, scenario, wait_s=5)


@pytest.mark.parametrize(
    ("first", "again", "seen"),
    [
        ({}, {}, [True, True]),
        ({"is_seen": False}, {"is_seen": False}, [False, False]),
        # What is settled is what came first, whatever its payer shows by now.
        ({"is_seen": False, "signature": "wrapped"}, {}, [False, False]),
    ],
)
def test_who_settles_knows_whether_somebodys_code_has_a_say_in_the_signature(where, first, again, seen):
    async def scenario(shop, _book, clock):
        shop.far.outcome = Unknown("timeout")
        for how in (first, again):
            with pytest.raises(UpstreamDown, match="not known yet"):
                await shop.sell(**how)
            clock.at = after(2)
        assert shop.far.seen == seen

    sell(where, scenario)


def test_a_stranger_is_judged_as_if_nobody_knew_the_payment(where):
    async def scenario(shop, book, _clock):
        await shop.sell()
        with pytest.raises(NotSettled) as refused:
            await shop.sell(client="thief")
        assert (refused.value.reason, shop.runs, shop.far.verifies, shop.checked) == (USED, 2, 2, 2)
        # A second run costs what it costs anybody; nothing of the payment has changed.
        with pytest.raises(TooManyPayments):
            await shop.sell(client="thief")
        shop.far.verdict = FacilitatorRefused("no")
        for _ in range(2):
            with pytest.raises(BadPayment, match="no"):
                await shop.sell(client="other")
        with pytest.raises(Refusal, match="valid_before"):
            await shop.sell(client="third", valid_before=1_909)
        shop.far.verdict, shop.answer = Valid(), BAD
        assert (await shop.sell(client="other")).reply == BAD
        assert (await book.find(KEY)).transaction == "0x01"

    sell(where, scenario, unsettled_per_minute=1)


@pytest.mark.parametrize("state", ["running", "settling"])
def test_what_another_process_holds_is_waited_for_and_no_longer(where, state):
    async def scenario(shop, book, clock):
        held = await book.reserve(claim_of(shop.order()), "other")
        if state == "settling":
            held = await book.start_settling(held, ANSWER, "far")
        with pytest.raises(UpstreamDown, match="still running"):
            await shop.sell()
        # Who waits for as long as it takes: how fast this machine writes is not the question.
        patient = Shop(book, clock, wait_s=STUCK_S)
        waiting = asyncio.create_task(patient.sell())
        await breathe()
        if state == "settling":
            await book.settle(held, "0x09")
            assert (await waiting).transaction == "0x09"
        else:
            await book.release(held)
            assert (await waiting).transaction == "0x01"
        await patient.cashier.drain()

    sell(where, scenario)


@pytest.mark.parametrize(("reason", "is_doubt"), [(USED, True), ("no", False)])
def test_who_failed_once_and_is_now_told_that_the_nonce_is_used_does_not_pay_again(where, reason, is_doubt):
    async def scenario(shop, _book, clock):
        shop.far.outcome = FacilitatorRefused("permit2_allowance_required")
        with pytest.raises(NotSettled):
            await shop.sell()
        clock.at = after(1)
        shop.far.verdict = FacilitatorRefused(reason)
        with pytest.raises(UpstreamDown if is_doubt else BadPayment):
            await shop.sell()
        assert shop.runs == 1

    sell(where, scenario)
