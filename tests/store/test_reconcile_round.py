"""The worker's round: which payments are looked at closely, which only wait, and what becomes of each."""

from dataclasses import replace as changed_copy

import pytest
from msgspec.structs import replace
from sqlalchemy import select

from tickyard.kernel.errors import UpstreamDown
from tickyard.payments.books.tables import payment_proof, payment_transfer
from tickyard.payments.proof.claim import claim as claim_transfer
from tickyard.payments.proof.finding import Paid, Spent, Tip, Unclear, Unused
from tickyard.payments.proof.reconcile import look_after
from tickyard.store.revenue import revenue
from yards.bookkeeping import KEY, NETWORK, SEEN, SEEN_AS, after, claim, run

DEADLINE = claim().valid_before
TOLD = Spent(is_told=True)
AS_IT_IS = {"state": "settling"}


class Far:
    """A chain that says what it is told to, and notes what it was asked."""

    def __init__(self, found=None, *, tip_s=DEADLINE - 1, final=SEEN.block, final_s=0, gone=(), bears=100):
        self.network, self.bears = NETWORK, bears
        self.found, self.tip_, self.final_s, self.is_gone = found, Tip(2_000, tip_s, final), final_s, set(gone)
        self.asked, self.rounds = [], []

    async def tip(self, finality):
        assert finality == 7
        if self.found is None:
            raise UpstreamDown("no")
        return self.tip_

    async def gone(self, rows, *beside):
        self.asked.append(("gone", len(rows), *beside))
        return self.is_gone

    async def examine(self, rows, _tip):
        self.asked.append(("examine", len(rows)))
        return {row.key: self.found for row in rows}

    async def time_of(self, block):
        self.asked.append(("time", block))
        return self.final_s

    def note_round(self, rows, *, is_done):
        self.rounds.append((rows, is_done))


async def go_round(book, far, **how):
    return dict(await look_after(book, {NETWORK: far}, finality=7, is_forced=True, **how))


async def credited(book):
    async with book.store.read() as tx:
        return (await tx.execute(select(revenue.c.amount_raw))).scalars().all()


def test_nobody_to_look_at_costs_no_question(where):
    async def scenario(book, _clock):
        far = Far(Unused())
        await book.held()
        await book.settling(claim(2))
        assert await go_round(book, far) == {}
        assert (far.asked, far.rounds) == ([], [])

    run(where, scenario)


def test_looks_that_no_chain_has_answered_count_up_to_four(where):
    async def scenario(book, _clock):
        before = await book.unknown()
        await book.doubt(await book.settling(claim(2)))
        far = Far(None)
        assert await go_round(book, far) == {"waiting": 2}
        row = await book.find(KEY)
        assert (row.looks, row.look_at, before.looks) == (1, after(2), 0)
        for _ in range(9):
            await book.watch(await book.find(KEY), has_looked=False)
        assert (await book.find(KEY)).looks == 4
        assert far.rounds == [(2, False)]

    run(where, scenario)


@pytest.mark.parametrize(("limit", "bears", "looked"), [(1, 100, 1), (100, 2, 2), (3, 3, 3)])
def test_no_more_are_looked_at_than_are_asked_for_and_the_node_bears(where, limit, bears, looked):
    async def scenario(book, _clock):
        for n in range(1, 4):
            await book.doubt(await book.settling(claim(n)))
        far = Far(Unclear(), bears=bears)
        assert await go_round(book, far, limit=limit) == {"waiting": looked}
        assert far.rounds == [(looked, True)]

    run(where, scenario)


@pytest.mark.parametrize(
    ("final", "tip_s", "is_gone", "asked", "ended"),
    [
        # Seen, not final, there: it waits.
        (SEEN.block - 1, DEADLINE - 1, False, [("gone", 1), ("examine", 0)], "waiting"),
        # Seen and final, or gone: looked at.
        (SEEN.block, DEADLINE - 1, False, [("gone", 0), ("examine", 1)], "credited"),
        (SEEN.block - 1, DEADLINE - 1, True, [("gone", 1), ("examine", 1)], "waiting"),
        # After its deadline it is not asked for again, and the time of what is final is.
        (SEEN.block - 1, DEADLINE, False, [("gone", 0), ("examine", 0)], "waiting"),
        (
            SEEN.block - 1,
            DEADLINE + 1,
            False,
            [("gone", 0, SEEN.block - 1), ("examine", 0), ("time", SEEN.block - 1)],
            "waiting",
        ),
    ],
)
def test_what_was_seen_waits_until_it_is_final_or_gone(where, final, tip_s, is_gone, asked, ended):
    async def scenario(book, clock):
        await book.settled()
        await book.force(**SEEN_AS, looks=3)
        far = Far(Paid((SEEN,)), tip_s=tip_s, final=final, gone=[KEY] if is_gone else [])
        clock.at = after(9)
        assert await go_round(book, far) == {ended: 1}
        assert far.asked == asked
        row = await book.find(KEY)
        if ended == "waiting":
            assert (row.looks, row.look_at, row.proof) == (4, after(25), "waiting")
        assert await credited(book) == ([7] if ended == "credited" else [])

    run(where, scenario)


def test_one_payment_past_its_deadline_is_enough_to_ask_when_the_final_block_was(where):
    async def scenario(book, _clock):
        await book.failed()
        await book.doubt(await book.settling(claim(2, valid_before=DEADLINE + 900)))
        far = Far(Unused(), tip_s=DEADLINE + 1, final_s=DEADLINE + 1)
        assert await go_round(book, far) == {"closed": 1, "waiting": 1}
        assert ("time", SEEN.block) in far.asked

    run(where, scenario)


def test_what_is_credited_is_so_once_with_the_place_of_its_transfer(where):
    async def scenario(book, _clock):
        await book.settled(1)
        await book.settled(2)
        # One transfer for two payments: the first that claims it has it, and the other is looked at again.
        assert await go_round(book, Far(Paid((SEEN,)))) == {"credited": 1, "waiting": 1}
        rows = [await book.find(claim(n).key) for n in (1, 2)]
        done, waiting = sorted(rows, key=lambda row: row.proof)
        assert (done.proof, done.look_at, done.request) == ("credited", None, None)
        assert {name: getattr(done, name) for name in SEEN_AS} == SEEN_AS
        assert (waiting.proof, waiting.looks) == ("waiting", 1)
        assert await credited(book) == [7]
        other = changed_copy(SEEN, log_index=5)
        assert await go_round(book, Far(Paid((SEEN, other)))) == {"credited": 1}
        assert await credited(book) == [7, 7]

    run(where, scenario)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("state", "found", "final_s", "ended", "row_state", "proof"),
    [
        ("unknown", Paid((SEEN,)), 0, "settled", "settled", "waiting"),
        ("unknown", TOLD, 0, "failed", "failed", None),
        ("unknown", Unclear(), 0, "waiting", "unknown", None),
        ("failed", Unused(), DEADLINE + 1, "closed", "failed", None),
        ("failed", Unused(), DEADLINE, "waiting", "failed", None),
        ("failed", Paid((SEEN,)), 0, "settled", "settled", "waiting"),
        ("settled", Unused(), DEADLINE + 1, "missing", "settled", "missing"),
        ("settled", Unused(), DEADLINE, "waiting", "settled", "waiting"),
        ("seen", Unused(), 0, "unknown", "unknown", None),
    ],
)
def test_every_verdict_is_carried_out_and_counted_by_its_name(where, state, found, final_s, ended, row_state, proof):
    async def scenario(book, _clock):
        await {"unknown": book.unknown, "failed": book.failed}.get(state, book.settled)()
        if state == "seen":
            await book.force(**SEEN_AS)
        far = Far(found, tip_s=DEADLINE + 1, final_s=final_s)
        assert await go_round(book, far) == {ended: 1}
        row = await book.find(KEY)
        assert (row.state, row.proof) == (row_state, proof)
        assert row.is_watched is (ended not in ("closed", "missing"))
        assert ended != "missing" or row.request is None
        assert far.rounds == [(1, True)]

    run(where, scenario)


def test_a_transfer_that_is_not_final_is_noted_and_counted_as_waiting(where):
    async def scenario(book, _clock):
        await book.settled()
        assert await go_round(book, Far(Paid((SEEN,)), final=SEEN.block - 1)) == {"waiting": 1}
        row = await book.find(KEY)
        assert {name: getattr(row, name) for name in SEEN_AS} == SEEN_AS

    run(where, scenario)


def words(made):
    """A permit as it stands in calldata."""
    asset = made.key.asset[2:].rjust(64, "0")
    return f"{asset}{made.amount_raw:064x}{made.key.nonce[2:]}{made.valid_before:064x}"


@pytest.mark.parametrize(
    ("calldata", "other", "is_taken"),
    [
        # Its own permit is named, or nobody's.
        (words(claim(1)), AS_IT_IS, True),
        ("00", AS_IT_IS, True),
        # Another payment of the same payer is named, and was good when this one was taken.
        (words(claim(2)), AS_IT_IS, False),
        (words(claim(2, valid_before=1_900)), {"valid_before": 1_900}, False),
        (words(claim(2, valid_before=1_899)), {"valid_before": 1_899}, True),
        # As many receipts name the transaction as it has transfers.
        ("00", {"state": "settled", "transaction": SEEN.transaction}, False),
        ("00", {"state": "unknown", "transaction": SEEN.transaction}, True),
        ("00", {"state": "settled", "transaction": "0x09"}, True),
    ],
)
def test_a_transfer_is_claimed_unless_it_is_anothers(where, calldata, other, is_taken):
    async def scenario(book, _clock):
        await book.settling(claim(2))
        await book.force(**other)
        row = await book.settling()
        transfer = changed_copy(SEEN, calldata=calldata)
        async with book.store.begin() as tx:
            found = await claim_transfer(tx, payment_transfer, row, [transfer])
            assert found == (transfer if is_taken else None)

    run(where, scenario)


def test_a_claim_stays_with_its_transfer_and_moves_only_when_that_is_gone(where):
    async def scenario(book, _clock):
        row = await book.settling()
        second, third = changed_copy(SEEN, log_index=5), changed_copy(SEEN, log_index=6)
        async with book.store.begin() as tx:
            assert await claim_transfer(tx, payment_proof, row, [SEEN, second]) == SEEN
            assert await claim_transfer(tx, payment_proof, row, [second, SEEN]) == SEEN
            other = replace(row, key=claim(2).key)
            assert await claim_transfer(tx, payment_proof, other, [SEEN]) is None
            assert await claim_transfer(tx, payment_proof, row, [third]) == third
            assert await claim_transfer(tx, payment_proof, other, [third, SEEN]) == SEEN
            kept = (await tx.execute(select(payment_proof.c.nonce, payment_proof.c.log_index))).all()
        assert sorted(kept) == [(claim(1).key.nonce, 6), (claim(2).key.nonce, 4)]

    run(where, scenario)
