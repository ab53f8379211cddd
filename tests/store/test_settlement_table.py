"""Settling: what a facilitator says against what the chain says, and what becomes of the payment."""

from itertools import product
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from tickyard.kernel.errors import UpstreamDown
from tickyard.payments.facilitators.facilitator import FacilitatorRefused, Settled, Unknown
from tickyard.payments.proof.finding import Paid, Spent, Tip, Unclear, Unused
from tickyard.payments.refusal import EXPIRED, NONCE_SPENT
from tickyard.payments.selling.settlement import Settlement
from yards.bookkeeping import KEY, NETWORK, PAYER, SEEN, after, claim, run

DEADLINE = claim().valid_before
BELIEVED, WORD = FacilitatorRefused("permit2_allowance_required"), FacilitatorRefused("transaction_failed")
TOLD, UNTOLD = Spent(is_told=True), Spent(is_told=False)


class Far:
    """A till whose facilitator and chain say what they are told to. A chain that says nothing is None."""

    def __init__(self, outcome=None, found=None, now=0, tip_s=0):
        self.outcome, self.found, self.tip_s = outcome, found, tip_s
        self.clock = SimpleNamespace(seconds=lambda: now)
        self.proof = self
        self.settles, self.looks = [], 0

    async def settle(self, request, key, name, *, is_seen):
        assert key == KEY
        self.settles.append((request, name, is_seen))
        return self.outcome

    async def tip(self):
        if self.found is None:
            raise UpstreamDown("no")
        return Tip(2_000, self.tip_s, 2_000)

    async def examine(self, rows, _tip):
        self.looks += 1
        return {row.key: self.found for row in rows}


def settlement(book, clock, far, **how):
    return Settlement(book, {NETWORK: far}, clock, **how)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("outcome", "found", "state", "reason"),
    [
        (Settled("0x01", PAYER), None, "settled", None),
        (Settled("0x01", None), TOLD, "settled", None),
        (Settled("0x01", "0xother"), None, "unknown", None),
        (Settled("0x01", "0xother"), Paid((SEEN,)), "settled", None),
        (BELIEVED, None, "failed", BELIEVED.reason),
        (BELIEVED, Unused(), "failed", BELIEVED.reason),
        (BELIEVED, Unclear(), "unknown", None),
        (BELIEVED, Unclear(Unused()), "unknown", None),
        (BELIEVED, UNTOLD, "unknown", None),
        (BELIEVED, TOLD, "failed", NONCE_SPENT),
        (BELIEVED, Paid((SEEN,)), "settled", None),
        (FacilitatorRefused(BELIEVED.reason, "0x05"), Unused(), "unknown", None),
        *product([WORD, Unknown("timeout")], [None, Unused(), Unclear(), UNTOLD], ["unknown"], [None]),
        *product([WORD, Unknown("timeout")], [Paid((SEEN,))], ["settled"], [None]),
        *product([WORD, Unknown("timeout")], [TOLD], ["failed"], [NONCE_SPENT]),
    ],
)
def test_a_settlement_ends_by_the_table(where, outcome, found, state, reason):
    async def scenario(book, clock):
        far = Far(outcome, found)
        row = await settlement(book, clock, far).settle(await book.settling(), is_seen=True)
        assert (row.state, row.reason) == (state, reason)
        assert await book.find(KEY) == row
        assert far.settles == [(b"request", "far", True)]
        told = isinstance(outcome, Settled) and outcome.payer in (None, PAYER)
        assert row.transaction == (None if state != "settled" else "0x01" if told else SEEN.transaction)
        assert far.looks == (0 if told or found is None else 1), "whose word is enough"

    run(where, scenario)


def test_a_transaction_that_pays_for_another_is_looked_for_on_the_chain(where):
    async def scenario(book, clock):
        await book.settled(2)
        far = Far(Settled("0x02", PAYER), Unused())
        assert (await settlement(book, clock, far).settle(await book.settling(), is_seen=True)).state == "unknown"
        assert far.looks == 1

    run(where, scenario)


def test_past_its_deadline_what_is_unused_has_failed(where):
    async def scenario(book, clock):
        far = Far(Unknown("timeout"), Unused(), tip_s=DEADLINE + 31)
        row = await settlement(book, clock, far).settle(await book.settling(), is_seen=True)
        assert (row.state, row.reason) == ("failed", EXPIRED)

    run(where, scenario)


def test_a_second_refusal_proves_nothing(where):
    async def scenario(book, clock):
        doubted = await book.unknown()
        clock.at = after(2)
        again = await book.resume(doubted, "other")
        assert (await settlement(book, clock, Far(BELIEVED)).settle(again, is_seen=True)).state == "unknown"

    run(where, scenario)


@pytest.mark.parametrize(
    ("found", "now", "settles", "state"),
    [
        (None, 0, 0, "unknown"),
        (Paid((SEEN,)), 0, 0, "settled"),
        (TOLD, 0, 0, "failed"),
        (Unused(), DEADLINE - 1, 1, "settled"),
        (Unclear(), DEADLINE - 1, 1, "settled"),
        (Unused(), DEADLINE, 0, "unknown"),
    ],
)
def test_who_comes_back_in_doubt_has_the_chain_read_and_only_then_the_facilitator_asked(
    where, found, now, settles, state
):
    async def scenario(book, clock):
        await book.unknown()
        clock.at = after(2)
        far = Far(Settled("0x01"), found, now)
        row = await settlement(book, clock, far).reconcile(await book.find(KEY), "back", is_seen=False)
        assert (row.state, len(far.settles)) == (state, settles)
        assert await book.find(KEY) == row

    run(where, scenario)


def test_it_is_not_asked_before_its_pause_nor_without_a_request_nor_for_what_is_no_longer_in_doubt(where):
    async def scenario(book, clock):
        doubted = await book.unknown()
        far = Far(Settled("0x01"), Unused())
        assert await settlement(book, clock, far).reconcile(doubted, "back", is_seen=False) == doubted
        clock.at = after(2)
        bare = replace(doubted, request=None)
        assert await settlement(book, clock, far).reconcile(bare, "back", is_seen=False) == bare
        assert far.settles == []
        settled = await book.settle(doubted, "0x07")
        far.looks = 0
        assert await settlement(book, clock, far).reconcile(settled, "back", is_seen=False) == settled
        assert far.looks == 0

    run(where, scenario)


@pytest.mark.parametrize(
    ("found", "is_there", "state"),
    [
        (None, False, "failed"),
        (Unused(), False, "failed"),
        (TOLD, True, "failed"),
        (Paid((SEEN,)), True, "settled"),
    ],
)
def test_a_look_at_what_failed_says_whether_its_nonce_is_used(where, found, is_there, state):
    async def scenario(book, clock):
        row = await book.failed()
        looked = await settlement(book, clock, Far(found=found)).look(row)
        assert (looked is not None) is is_there
        assert (looked or row).state == state == (await book.find(KEY)).state

    run(where, scenario)


@pytest.mark.parametrize("found", [Unclear(), UNTOLD])
def test_what_failed_is_in_doubt_while_nothing_says_how_its_nonce_was_used(where, found):
    async def scenario(book, clock):
        row = await book.failed()
        with pytest.raises(UpstreamDown, match="not known yet"):
            await settlement(book, clock, Far(found=found)).look(row)
        assert (await book.find(KEY)).state == "failed"

    run(where, scenario)


def test_a_payer_has_the_chain_read_so_often_and_then_hears_what_they_have_heard(where):
    async def scenario(book, clock):
        doubted = await book.unknown()
        far = Far(found=Unclear(), now=DEADLINE)
        house = settlement(book, clock, far, looks_per_minute=2)
        for _ in range(2):
            await house.reconcile(doubted, "back", is_seen=False)
        for ask in (house.reconcile(doubted, "back", is_seen=False), house.look(doubted)):
            with pytest.raises(UpstreamDown, match="not known yet") as told:
                await ask
            assert 50 < told.value.retry_after_s <= 61
        assert far.looks == 2

    run(where, scenario)
