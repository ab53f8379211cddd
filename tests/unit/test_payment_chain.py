"""What payments ask of a chain, and what they make of its answers."""

import asyncio
from datetime import UTC, datetime

import pytest

from tickyard.chain.rpc.trouble import RpcError
from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.payments.books.row import PaymentRow
from tickyard.payments.offer.terms import FIRST, SECOND
from tickyard.payments.proof.chain import AT_ONCE, ChainProof
from tickyard.payments.proof.finding import Paid, Spent, Tip, Unclear, Unused
from tickyard.payments.signed.key import Key
from yards.askable import Askable
from yards.facilitator import Chain
from yards.selling import PAY_TO

NOW = 1_800_000_000
PAYER = Address("0x" + "5c" * 20)
BOTH = pytest.mark.parametrize("network", [FIRST, SECOND])


class Noon(WallClock):
    at = NOW

    def seconds(self):
        return self.at

    def now(self):
        return datetime.fromtimestamp(self.at, UTC)


class Yard:
    """A chain of one network, and the eyes on it."""

    def __init__(self, network):
        self.chain = Chain(network, Noon())
        self.rpc = Askable(self.chain)
        self.proof = ChainProof(network, self.rpc)

    def row(self, nonce, *, state="unknown", amount=10_000, **more):
        key = Key(self.chain.network, self.chain.asset, PAYER, f"0x{nonce:064x}")
        moment = datetime.fromtimestamp(NOW, UTC)
        self.chain.deadlines[PAYER, nonce] = NOW + 300
        fixed = (key, state, "h", moment, "f", "r", amount, PAY_TO, NOW + 300, NOW, moment, 1, None, None)
        return PaymentRow(*fixed, **more)

    async def look(self, *rows):
        tip = await self.proof.tip()
        found = await self.proof.examine(rows, tip)
        return [found[row.key] for row in rows]

    def refuse(self, method, which):
        """Refuse the calls that `which` says of their parameters."""
        self.rpc.refused[method] = lambda params: RpcError(-32000, "no") if which(params) else ...


def run(network, scenario):
    return asyncio.run(scenario(Yard(network)))


def test_a_node_is_given_half_after_a_failure_and_twice_as_many_after_each_success():
    proof = Yard(SECOND).proof
    assert proof.bears == AT_ONCE == 100
    seen = []
    for rows, is_done in (
        (100, False),
        (40, False),
        (1, False),
        (1, False),
        (1, True),
        (2, True),
        (1, True),
        (60, True),
    ):
        proof.note_round(rows, is_done=is_done)
        seen.append(proof.bears)
    assert seen == [50, 20, 1, 1, 2, 4, 4, 100]


@pytest.mark.parametrize(("finality", "final"), [(0, 1000), (10, 990), (2000, 0), ("finalized", 993)])
def test_the_tip_is_the_newest_block_and_what_is_final_behind_it(finality, final):
    async def scenario(yard):
        yard.chain.final_after = 7
        assert await yard.proof.tip(finality) == Tip(1000, NOW, final)
        asked = len(yard.rpc.asked)
        assert await yard.proof.time_of(1000) == NOW
        assert len(yard.rpc.asked) == asked, "what came by need not be asked for"
        assert [await yard.proof.time_of(900) for _ in range(2)] == [NOW - 200] * 2
        assert len(yard.rpc.asked) == asked + 1

    run(SECOND, scenario)


def test_nothing_is_final_that_is_newer_than_the_newest_block():
    """Two nodes behind one address, of which one lags: what is unused at its newest block may be used by then."""

    async def scenario(yard):
        behind = yard.chain._block([hex(993)])
        yard.rpc.refused["eth_getBlockByNumber"] = lambda params: behind if params[0] == "latest" else ...
        assert await yard.proof.tip("finalized") == Tip(993, NOW - 14, 993)

    run(SECOND, scenario)


@pytest.mark.parametrize("refused", ["latest", "finalized"])
def test_a_node_that_does_not_say_what_is_final_says_nothing(refused):
    async def scenario(yard):
        yard.refuse("eth_getBlockByNumber", lambda params: params[0] == refused)
        with pytest.raises(UpstreamDown, match="newest blocks"):
            await yard.proof.tip("finalized")

    run(SECOND, scenario)


def test_gone_is_what_was_in_a_block_that_is_another_now_or_none():
    async def scenario(yard):
        hash_of = lambda number: yard.chain._block([hex(number)])["hash"]  # noqa: E731
        there = yard.row(1, mined_block=990, mined_hash=hash_of(990))
        other = yard.row(2, mined_block=991, mined_hash=hash_of(990))
        ahead = yard.row(3, mined_block=1001, mined_hash=hash_of(1))
        assert await yard.proof.gone([there, other, ahead]) == {other.key, ahead.key}
        assert await yard.proof.gone([]) == set()
        assert await yard.proof.gone([there], 900, 2000) == set()
        assert [params[0] for _, params in yard.rpc.asked] == [
            *(hex(number) for number in (990, 991, 1001)),
            *(hex(number) for number in (900, 990, 2000)),
        ]
        yard.rpc.asked.clear()
        # The block beside is known from then on, and one that is not there is none.
        assert await yard.proof.time_of(900) == NOW - 200
        assert await yard.proof.gone([], 900) == set()
        assert yard.rpc.asked == []
        yard.refuse("eth_getBlockByNumber", lambda params: params[0] == hex(990))
        with pytest.raises(UpstreamDown, match="show a block"):
            await yard.proof.gone([other, there])

    run(SECOND, scenario)


@BOTH
def test_of_several_payments_each_is_found_by_its_own(network):
    async def scenario(yard):
        rows = [yard.row(nonce) for nonce in (1, 300, 77, 256, 4)]
        transactions = [yard.chain.pay(PAYER, nonce, 10_000) for nonce in (77, 1)]
        with yard.chain.one_block():
            for nonce in (300, 256):
                yard.chain.pay(PAYER, nonce, 10_000, moves=False)
        first, crossed, second, also_crossed, unused = await yard.look(*rows)
        assert [each.transaction for found in (first, second) for each in found.transfers] == transactions[::-1]
        assert (crossed, also_crossed, unused) == (Spent(is_told=True), Spent(is_told=True), Unused())

    run(network, scenario)


@BOTH
def test_a_nonce_that_was_used_before_the_payment_was_taken_is_not_its(network):
    async def scenario(yard):
        yard.chain.clock.at = NOW - 100_000
        yard.chain.pay(PAYER, 5, 10_000)
        yard.chain.clock.at = NOW - 90_000
        yard.chain.grow(3_000)
        yard.chain.clock.at = NOW
        yard.chain.grow(3)
        assert await yard.look(yard.row(5)) == [Spent(is_told=True)]

    run(network, scenario)


@BOTH
def test_a_use_that_no_log_explains_is_told_of_as_such(network):
    async def scenario(yard):
        yard.chain.pay(PAYER, 5, 10_000)
        yard.chain.mined.clear()
        assert await yard.look(yard.row(5)) == [Spent(is_told=False)]

    run(network, scenario)


def test_a_use_whose_transfer_is_not_shown_is_not_told_of_either():
    """A node that cuts its logs between the two would have it that nobody was paid."""

    async def scenario(yard):
        mined = yard.chain.mined[yard.chain.pay(PAYER, 5, 10_000)]
        mined.logs, hidden = mined.logs[:1], mined.logs
        assert await yard.look(yard.row(5)) == [Spent(is_told=False)]
        mined.logs = hidden
        assert [type(found) for found in await yard.look(yard.row(5))] == [Paid]

    run(SECOND, scenario)


@BOTH
def test_a_payment_of_another_amount_is_not_this_one(network):
    async def scenario(yard):
        yard.chain.pay(PAYER, 5, 10_001)
        (found,) = await yard.look(yard.row(5))
        assert isinstance(found, Spent)

    run(network, scenario)


@BOTH
def test_what_cannot_be_read_closely_is_unclear_and_the_others_are_known(network):
    async def scenario(yard):
        yard.chain.pay(PAYER, 1, 10_000)
        yard.chain.pay(PAYER, 2, 10_000, moves=False)
        yard.chain.grow(100)
        yard.chain.keeps_states = 3
        paid, crossed, unused = await yard.look(
            yard.row(1, mined_hash=yard.chain._hash(1001)), yard.row(2), yard.row(3)
        )
        assert (type(paid), crossed, unused) == (Paid, Unclear(), Unused())

    run(network, scenario)


def test_a_transfer_whose_transaction_is_not_shown_proves_nothing_yet():
    async def scenario(yard):
        with yard.chain.one_block():
            shown = yard.chain.pay(PAYER, 1, 10_000)
            hidden = yard.chain.pay(PAYER, 2, 10_000)
        first, second = yard.row(1), yard.row(2)
        yard.rpc.refused["eth_getTransactionByHash"] = lambda params: None if params[0] == hidden else ...
        one, other = await yard.look(first, second)
        assert [each.transaction for each in one.transfers] == [shown]
        assert other == Unclear()
        yard.rpc.refused["eth_getTransactionByHash"] = None
        assert await yard.look(first, second) == [Unclear(), Unclear()]

    run(FIRST, scenario)


def test_what_a_payer_asked_the_token_for_by_hand_is_no_permits():
    async def scenario(yard):
        with yard.chain.one_block():
            yard.chain.pay(PAYER, 999, 10_000, is_foreign=True)
            yard.chain.pay(PAYER, 7, 0, moves=False, is_silent=True)
        assert await yard.look(yard.row(7)) == [Spent(is_told=True)]
        with yard.chain.one_block():
            yard.chain.pay(PAYER, 999, 10_000, is_foreign=True)
            hidden = yard.chain.pay(PAYER, 8, 10_000, is_hidden=True)
        (found,) = await yard.look(yard.row(8))
        assert [each.transaction for each in found.transfers] == [hidden]

    run(FIRST, scenario)


def test_the_spenders_own_call_for_another_payment_hides_none():
    """Somebody else's sale to the same payer at the same address, in the block in which a nonce was burnt over nothing."""

    async def scenario(yard):
        with yard.chain.one_block():
            yard.chain.pay(PAYER, 999, 10_000)
            yard.chain.pay(PAYER, 7, 0, moves=False, is_silent=True)
        assert await yard.look(yard.row(7)) == [Spent(is_told=False)]
        with yard.chain.one_block():
            yard.chain.pay(PAYER, 1000, 10_000)
            hidden = yard.chain.pay(PAYER, 8, 10_000, is_hidden=True)
        (found,) = await yard.look(yard.row(8))
        assert [each.transaction for each in found.transfers] == [hidden]

    run(FIRST, scenario)


def test_the_transfer_that_a_receipt_names_is_looked_at_before_many_others():
    async def scenario(yard):
        named = yard.chain.pay(PAYER, 7, 10_000, is_hidden=True)
        for nonce in range(20, 30):
            yard.chain.pay(PAYER, nonce, 10_000)
        (found,) = await yard.look(yard.row(7, transaction=named))
        assert [each.transaction for each in found.transfers] == [named]
        states = [params[1] for method, params in yard.rpc.asked if method == "eth_call"]
        assert states == [hex(1000), hex(1001)]

    run(FIRST, scenario)


def old(yard):
    """From now on the node shows the states of long ago, whatever block it is asked for."""
    yard.chain.answers_state_of = lambda block: block - 400


@pytest.mark.parametrize(("state", "age_s"), [("unknown", 0), ("failed", 0), ("settled", 301)])
def test_states_that_deny_what_a_transaction_names_or_may_name_make_nothing_of_it_clear(state, age_s):
    async def scenario(yard):
        own, other = (yard.chain.pay(PAYER, nonce, 10_000) for nonce in (7, 8))
        yard.chain.clock.at = NOW + age_s
        yard.chain.grow(1)
        old(yard)
        row, unused = yard.row(7, state=state), yard.row(9, state=state)
        assert await yard.look(row, unused) == [Unclear(), Unused()]
        for hidden, of_unused in ((own, Unclear()), (other, Unclear()), ("", Unused())):
            yard.rpc.refused["eth_getTransactionByHash"] = lambda params, name=hidden: (
                None if params[0] == name else ...
            )
            assert await yard.look(row, unused) == [Unclear(), of_unused]

    run(FIRST, scenario)


def test_a_settled_payment_before_its_deadline_is_not_sought_in_others_transactions():
    async def scenario(yard):
        yard.chain.pay(PAYER, 7, 10_000)
        old(yard)
        assert await yard.look(yard.row(8, state="settled")) == [Unused()]
        assert not [method for method, _ in yard.rpc.asked if method == "eth_getTransactionByHash"]

    run(FIRST, scenario)


@pytest.mark.parametrize(("age_s", "most"), [(0, 300), (301, 1_000)])
@pytest.mark.parametrize("more", [0, 1])
def test_of_a_payment_with_more_transfers_than_are_read_only_the_states_speak(age_s, most, more):
    """Before its deadline nothing is given up, so fewer are read."""

    async def scenario(yard):
        yard.chain.pay(PAYER, 7, 10_000)
        with yard.chain.one_block():
            for nonce in range(1_000, 999 + most + more):
                yard.chain.pay(PAYER, nonce, 10_000)
        yard.chain.clock.at = NOW + age_s
        yard.chain.grow(1)
        old(yard)
        told = [Unclear(Unused())] * 2 if more else [Unused(), Unclear()]
        assert await yard.look(yard.row(9), yard.row(7)) == told
        assert sum(method == "eth_getTransactionByHash" for method, _ in yard.rpc.asked) == most

    run(FIRST, scenario)


@pytest.mark.parametrize("kind", ["own", "batch", "padded"])
def test_a_transaction_that_is_a_payments_own_call_outweighs_every_state(kind):
    """What only stands in one of another's may be a batch of which it failed, or a lie: there the states have a word."""

    async def scenario(yard):
        row = yard.row(7)
        if kind == "own":
            yard.chain.pay(PAYER, 7, 10_000)
            old(yard)
        else:
            lost = [(PAYER, 7, 10_000)]
            yard.chain.pay_together([(PAYER, 8, 10_000)], failed=lost, is_padded=kind == "padded")
        assert await yard.look(row) == [Unclear() if kind == "own" else Unclear(Unused())]

    run(FIRST, scenario)


def test_the_own_call_of_a_payment_is_one_of_the_spender_that_is_configured():
    async def scenario(yard):
        yard.proof = ChainProof(FIRST, yard.rpc, Address("0x" + "5e" * 20))
        yard.chain.pay(PAYER, 7, 10_000)
        old(yard)
        assert await yard.look(yard.row(7)) == [Unclear(Unused())]

    run(FIRST, scenario)
