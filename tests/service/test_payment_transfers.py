"""Whose a transfer is, where one payer's payments come together: in one transaction, in one block, under cover."""

import asyncio
from collections import Counter

import pytest
from sqlalchemy import select

from tickyard.payments.books.operations import PaymentAsk, get_payment
from tickyard.payments.books.tables import payment as rows
from tickyard.payments.facilitators.facilitator import Facilitator
from tickyard.payments.offer.terms import FIRST, SECOND
from tickyard.payments.proof.reconcile import look_after
from tickyard.payments.refusal import NONCE_SPENT
from tickyard.store.revenue import revenue
from yards import paying
from yards.payer import Wallet

call, run = paying.call, paying.run
URL = "/v1/x402/item/AAPL"
BOTH = pytest.mark.parametrize("network", [FIRST, SECOND])


async def in_doubt(world, network, count=2, wallets=()):
    """So many payments whose settlements got no answer, and what the facilitator was asked for each."""
    far, payments = world.facilitators[network], []
    for wallet in wallets or [world.wallet] * count:
        payment = world.payment(network=network, wallet=wallet)
        far.script["settle"] = ["cut"]
        assert (await call(world.app, "GET", URL, payment)).is_retry_advice
        payments.append((payment, far._parts(far.asked["settle"][-1])))
    world.clock.move(9)
    return payments


async def worker(world, finality):
    process = world.processes[0]
    return await look_after(process.ledger, process.proofs, finality=finality, is_forced=True)


async def statuses(world, payments):
    return [(await call(world.app, "GET", URL, payment)).status for payment, _ in payments]


@BOTH
def test_two_payments_in_one_transaction_are_both_paid(tmp_path, network):
    async def scenario(world):
        payments = await in_doubt(world, network)
        world.chains[network].pay_together([parts for _, parts in payments])
        assert await statuses(world, payments) == [200, 200]
        process = world.processes[0]
        assert (await look_after(process.ledger, process.proofs, finality=0, is_forced=True))["credited"] == 2

    run(tmp_path, scenario)


@BOTH
def test_a_facilitator_that_settles_many_at_once_names_one_transaction_for_all(tmp_path, network):
    async def scenario(world):
        far, chain = world.facilitators[network], world.chains[network]
        asked, is_full = [], asyncio.Event()

        async def gather(stage):
            if stage == "settle asked":
                asked.append(far.asked["settle"][-1])
                if len(asked) == 2:
                    far.batch = chain.pay_together([far._parts(body) for body in asked])
                    is_full.set()
                await is_full.wait()

        far.on_stage = gather
        far._settle = lambda body: {"success": True, "transaction": far.batch, "network": network}
        payments = [world.payment(network=network) for _ in range(2)]
        answers = await asyncio.gather(*(call(world.app, "GET", URL, payment) for payment in payments))
        assert [answer.status for answer in answers] == [200, 200]

    run(tmp_path, scenario, settle_s=5.0)


@BOTH
def test_two_payments_of_one_transaction_are_served_and_credited_when_its_place_in_the_block_moves(tmp_path, network):
    async def scenario(world):
        chain, wallets = world.chains[network], (Wallet(), Wallet())
        payments = await in_doubt(world, network, wallets=wallets)
        with chain.one_block():
            chain.pay(Wallet().address, 1, 10_000)
            shared = chain.pay_together([parts for _, parts in payments])
        (first, _), (second, _) = payments
        assert (await call(world.app, "GET", URL, first)).status == 200
        # Alone in its new block: the second transfer is where the first one was.
        chain.reorganise(shared, is_mined_again=True)
        assert (await call(world.app, "GET", URL, second)).status == 200
        assert await worker(world, finality=0) == {"credited": 2}
        assert await statuses(world, payments) == [200, 200]
        async with world.processes[0].store.read() as tx:
            assert len((await tx.execute(select(revenue))).all()) == 2

    run(tmp_path, scenario)


def test_a_payment_hidden_in_its_calldata_does_not_take_its_neighbours_transfer(tmp_path):
    async def scenario(world):
        payments = await in_doubt(world, FIRST)
        (hidden, its_parts), (_, others) = payments
        chain = world.chains[FIRST]
        with chain.one_block():
            chain.pay(*others)
            chain.pay(*its_parts, is_hidden=True)
        # The hidden one comes first, and finds the plain one's transfer beside its own.
        assert (await call(world.app, "GET", URL, hidden)).status == 200
        assert await statuses(world, payments) == [200, 200]

    run(tmp_path, scenario)


@pytest.mark.slow
@pytest.mark.parametrize("nonce_text", [None, "20", "a0", "2710"])
def test_a_nonce_flipped_with_nothing_beside_a_real_transfer_is_not_paid(tmp_path, nonce_text):
    async def scenario(world):
        far, chain = world.facilitators[FIRST], world.chains[FIRST]
        # A small nonce is a number that stands in every calldata.
        nonce = None if nonce_text is None else int(nonce_text, 16)
        flipped = world.payment(network=FIRST, **({} if nonce is None else {"nonce": nonce}))
        far.script["settle"] = ["cut"]
        assert (await call(world.app, "GET", URL, flipped)).is_retry_advice
        parts = far._parts(far.asked["settle"][-1])
        honest = far._settle

        def settle(body):
            with chain.one_block():
                answer = honest(body)
                chain.pay(*parts, moves=False, is_silent=True)
            return answer

        far._settle = settle
        world.clock.move(9)
        assert (await call(world.app, "GET", URL, world.payment(network=FIRST))).status == 200
        # Not paid as far as anybody sees; a log that a node keeps to itself would look the same.
        assert (await call(world.app, "GET", URL, flipped)).is_retry_advice
        assert world.transfers(FIRST) == 1

    run(tmp_path, scenario)


@BOTH
def test_a_node_that_keeps_its_logs_to_itself_makes_nobody_pay_twice(tmp_path, network):
    async def scenario(world):
        chain, payment = world.chains[network], world.payment(network=network)
        world.facilitators[network].script["settle"] = ["cut-landed"]
        chain.cut_logs_over = 0
        assert (await call(world.app, "GET", URL, payment)).is_retry_advice
        world.clock.move(9)
        assert (await call(world.app, "GET", URL, payment)).is_retry_advice
        chain.cut_logs_over = None
        assert (await call(world.app, "GET", URL, payment)).status == 200
        assert world.transfers(network) == 1

    run(tmp_path, scenario)


@pytest.mark.slow
@BOTH
def test_what_was_delivered_and_seen_stays_so_when_a_node_hides_its_logs(tmp_path, network):
    async def scenario(world):
        process, chain = world.processes[0], world.chains[network]
        payment = world.payment(network=network)
        assert (await call(world.app, "GET", URL, payment)).status == 200
        await process.cashier.deliveries.close()
        assert await look_after(process.ledger, process.proofs, finality=5) == {"waiting": 1}
        chain.cut_logs_over = 0
        world.clock.move(400)
        chain.grow(20)
        for _ in range(5):
            assert await look_after(process.ledger, process.proofs, finality=5, is_forced=True) == {"waiting": 1}
        assert (await call(world.app, "GET", URL, payment)).status == 200
        chain.cut_logs_over = None
        assert await look_after(process.ledger, process.proofs, finality=5, is_forced=True) == {"credited": 1}
        async with process.store.read() as tx:
            assert (await tx.execute(select(rows.c.delivered_at))).scalar_one() is not None

    run(tmp_path, scenario)


def test_two_facilitators_at_one_host_are_two():
    one, other, whole = (Facilitator(SECOND, f"https://far.example{path}", None) for path in ("/a", "/b", ""))
    assert len({one.name, other.name, whole.name}) == 3
    assert "/a" not in one.name


@BOTH
def test_a_payment_whose_transaction_was_named_for_another_is_served_all_the_same(tmp_path, network):
    async def scenario(world):
        far, chain = world.facilitators[network], world.chains[network]
        ((mine, parts),) = await in_doubt(world, network, 1)
        real = chain.pay(*parts)
        far._settle = lambda body: {"success": True, "transaction": real, "network": network}
        # The facilitator names it for another payment of the same payer first.
        await call(world.app, "GET", URL, world.payment(network=network))
        assert (await call(world.app, "GET", URL, mine)).status == 200

    run(tmp_path, scenario)


@BOTH
def test_a_transaction_that_was_named_for_another_payment_too_is_shown_as_the_one_it_paid_for(tmp_path, network):
    async def scenario(world):
        far, chain = world.facilitators[network], world.chains[network]
        ((mine, parts),) = await in_doubt(world, network, 1)
        real, stranger = chain.pay(*parts), Wallet()
        far._settle = lambda body: {"success": True, "transaction": real, "network": network}
        named = await call(world.app, "GET", URL, world.payment(network=network, wallet=stranger))
        assert named.receipt["transaction"] == real
        world.clock.move(1)
        assert (await call(world.app, "GET", URL, mine)).status == 200
        found = await get_payment(world.processes[0], PaymentAsk(transaction=real))
        assert found.payer == world.wallet.address

    run(tmp_path, scenario)


def test_money_sent_by_hand_beside_a_nonce_flipped_with_nothing_pays_for_nothing(tmp_path):
    async def scenario(world):
        ((flipped, parts),) = await in_doubt(world, FIRST, 1)
        chain = world.chains[FIRST]
        with chain.one_block():
            chain.pay(*parts, moves=False, is_silent=True)
            chain.pay(*parts, is_foreign=True)
        assert (await call(world.app, "GET", URL, flipped)).reason == NONCE_SPENT

    run(tmp_path, scenario)


@BOTH
def test_a_node_that_forgets_states_before_they_are_final_keeps_nobody_from_their_credit(tmp_path, network):
    """The state of a block is known for minutes at many nodes, and a block is final after a quarter of an hour."""

    async def scenario(world):
        chain = world.chains[network]
        chain.keeps_states = 10
        assert (await call(world.app, "GET", URL, world.payment(network=network))).status == 200
        assert await worker(world, finality=30) == {"waiting": 1}
        chain.grow(40)
        assert await worker(world, finality=30) == {"credited": 1}

    run(tmp_path, scenario)


def test_a_flip_that_was_seen_proves_nothing_in_a_block_that_took_its_place(tmp_path):
    async def scenario(world):
        chain = world.chains[FIRST]
        answer = await call(world.app, "GET", URL, world.payment(network=FIRST))
        assert await worker(world, finality=30) == {"waiting": 1}
        chain.reorganise(answer.receipt["transaction"], is_mined_again=False)
        chain.pay(world.wallet.address, 1, 10_000, is_foreign=True)
        chain.grow(40)
        assert await worker(world, finality=30) == {"unknown": 1}

    run(tmp_path, scenario)


BESIDE = [pytest.param(lambda block: block - 400, id="old"), pytest.param(lambda _block: 1 << 62, id="newest")]
"""Of which block a node shows the state, whatever block it is asked for."""


@pytest.mark.parametrize("state_of", BESIDE)
@pytest.mark.parametrize("mode", ["cut-landed", "refused-landed", "named"])
def test_a_node_whose_states_deny_what_its_own_transactions_name_gives_no_payment_up(tmp_path, mode, state_of):
    """Its head, logs and transactions are true: whoever hears that it was not paid signs anew."""

    async def scenario(world):
        chain, far, payment = world.chains[FIRST], world.facilitators[FIRST], world.payment(network=FIRST)
        chain.answers_state_of = state_of
        if mode == "named":
            assert (await call(world.app, "GET", URL, payment)).status == 200
        elif mode == "cut-landed":
            far.script["settle"] = ["cut-landed"]
            assert (await call(world.app, "GET", URL, payment)).is_retry_advice
        else:
            far.script["settle"] = ["refuse"]
            assert (await call(world.app, "GET", URL, payment)).status == 402
            chain.pay(*far._parts(far.asked["settle"][-1]))
        for seconds in (9, 400, 3600):
            world.clock.move(seconds)
            chain.grow(20)
            if mode != "named":
                assert (await call(world.app, "GET", URL, payment)).is_retry_advice
            for _ in range(12):
                assert await worker(world, 0) == {"waiting": 1}
        chain.answers_state_of = lambda block: block
        assert sum([await worker(world, 0) for _ in range(2)], Counter())["credited"] == 1
        assert (await call(world.app, "GET", URL, payment)).status == 200
        assert world.transfers(FIRST) == 1

    run(tmp_path, scenario)


def test_equal_payments_that_were_settled_beside_it_keep_no_unused_one_in_doubt(tmp_path):
    async def scenario(world):
        for _ in range(3):
            assert (await call(world.app, "GET", URL, world.payment(network=FIRST))).status == 200
        ((unused, _),) = await in_doubt(world, FIRST, 1)
        world.clock.move(400)
        world.chains[FIRST].grow(20)
        assert await worker(world, 0) == {"credited": 3, "failed": 1}
        assert (await call(world.app, "GET", URL, unused)).status == 402

    run(tmp_path, scenario)


@pytest.mark.parametrize("kind", ["batch", "crowd"])
def test_a_payment_that_was_never_made_is_given_up_beside_transfers_that_may_speak_of_it(tmp_path, kind):
    """A batch that went through without it, or more transfers of its payer than are read at once: the node tells the
    truth, and whoever waits for the end of a doubt must hear it."""

    async def scenario(world):
        chain = world.chains[FIRST]
        ((unused, parts),) = await in_doubt(world, FIRST, 1)
        with chain.one_block():
            for nonce in range(350 if kind == "crowd" else 0):
                chain.pay(parts[0], nonce, parts[2])
        chain.pay_together([(parts[0], 1_000, parts[2])], failed=[parts] if kind == "batch" else [])
        ended = Counter()
        for seconds in (30, 60, 120, 120, *[60] * 10):
            world.clock.move(seconds)
            chain.grow(1)
            ended += await worker(world, 0)
        assert ended["failed"] == 1
        assert (await call(world.app, "GET", URL, unused)).status == 402

    run(tmp_path, scenario)
