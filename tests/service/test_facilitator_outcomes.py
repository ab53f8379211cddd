"""Every way a facilitator can end a call, against the table of outcomes: who was charged, who is told what."""

import asyncio

import pytest
from sqlalchemy import select

from tickyard.payments.offer.terms import FIRST, SECOND
from tickyard.payments.proof.credit import verify_settlements
from tickyard.payments.proof.reconcile import look_after
from tickyard.payments.refusal import EXPIRED, NONCE_SPENT
from tickyard.store.revenue import revenue
from yards import paying
from yards.patience import STUCK_S

call = paying.call
URL = "/v1/x402/item/AAPL"
BOTH = pytest.mark.parametrize("network", [FIRST, SECOND])
SILENT = ["hang", "cut", "500", "401", "html", "list", "redirect", "huge", "deep"]
LANDED = ["hang-landed", "cut-landed", "500-landed", "cut-body", "pending-landed", "text", "lost-reply"]


def run(tmp_path, scenario, **options):
    async def bounded():
        async with asyncio.timeout(STUCK_S), paying.World(tmp_path / "x.db", **options) as world:
            await scenario(world)

    asyncio.run(bounded())


async def worker_round(world):
    process = world.processes[0]
    return await look_after(process.ledger, process.proofs, finality=0)


async def verify(world, finality=0):
    process = world.processes[0]
    return await verify_settlements(process.store, process.proofs, world.clock, finality=finality)


async def credited(world):
    async with world.processes[0].store.read() as tx:
        return (await tx.execute(select(revenue.c.amount_raw))).scalars().all()


@pytest.mark.slow
@pytest.mark.parametrize("mode", [*SILENT, "text"])
def test_verifying_without_an_answer_is_an_outage_and_takes_nothing(tmp_path, mode):
    async def scenario(world):
        payment = world.payment()
        world.facilitators[SECOND].script["verify"] = [mode]
        answer = await call(world.app, "GET", URL, payment)
        assert answer.status == 502
        assert "nothing was taken" in answer.json()["error"]["message"]
        assert world.deps.runs == world.settles() == 0
        assert (await call(world.app, "GET", URL)).reason == "Payment required"
        assert (await call(world.app, "GET", URL, payment)).status == 200
        assert world.deps.runs == world.settles() == world.transfers() == 1

    run(tmp_path, scenario)


@pytest.mark.parametrize(
    ("stage", "mode", "reason"),
    [
        ("verify", "refuse", "invalid_exact_evm_insufficient_balance"),
        ("settle", "refuse", "invalid_exact_evm_insufficient_balance"),
        ("verify", "refuse-400", "invalid_exact_evm_insufficient_balance"),
        ("settle", "refuse-400", "invalid_exact_evm_insufficient_balance"),
        ("verify", "refuse-nasty", "bhttp:evil" + "x" * 90),
    ],
)
def test_a_refusal_is_a_402_with_a_clean_reason_and_the_payment_may_come_again(tmp_path, stage, mode, reason):
    async def scenario(world):
        payment = world.payment()
        world.facilitators[SECOND].script[stage] = [mode]
        answer = await call(world.app, "GET", URL, payment)
        assert answer.reason == reason
        assert world.transfers() == 0
        assert (await call(world.app, "GET", URL, payment)).status == 200
        assert world.transfers() == 1

    run(tmp_path, scenario)


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize(
    "mode", [*SILENT, "pending", "no-hash", "other-network", "nonce-used", "no-reason", "refuse-nasty"]
)
def test_a_settlement_that_nobody_confirms_is_unknown_and_never_a_402(tmp_path, mode, network):
    async def scenario(world):
        payment = world.payment(network=network)
        world.facilitators[network].script["settle"] = [mode]
        assert (await call(world.app, "GET", URL, payment)).is_retry_advice
        # Too early to ask the facilitator again, so the chain alone is asked.
        assert (await call(world.app, "GET", URL, payment)).is_retry_advice
        assert world.settles(network) == 1
        world.clock.move(3)
        answer = await call(world.app, "GET", URL, payment)
        assert answer.status == 200
        assert (world.deps.runs, world.settles(network), world.transfers(network)) == (1, 2, 1)
        assert answer.receipt["transaction"] in world.chains[network].mined

    run(tmp_path, scenario)


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("mode", LANDED)
def test_a_settlement_that_landed_is_found_on_the_chain_and_served_at_once(tmp_path, mode, network):
    async def scenario(world):
        world.facilitators[network].script["settle"] = [mode]
        answer = await call(world.app, "GET", URL, world.payment(network=network))
        assert answer.status == 200
        assert answer.receipt["transaction"] in world.chains[network].mined
        assert (world.settles(network), world.transfers(network)) == (1, 1)

    run(tmp_path, scenario)


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("mode", LANDED)
def test_a_settlement_that_landed_unseen_is_served_on_retry_once_with_one_transfer(tmp_path, mode, network):
    async def scenario(world):
        payment = world.payment(network=network)
        world.facilitators[network].script["settle"] = [mode]
        world.chains[network].node.mode = "500"
        assert (await call(world.app, "GET", URL, payment)).is_retry_advice
        assert (await call(world.app, "GET", URL, payment)).is_retry_advice
        world.chains[network].node.mode = "ok"
        answers = [await call(world.app, "GET", URL, payment) for _ in range(3)]
        assert [answer.status for answer in answers] == [200] * 3
        assert (world.deps.runs, world.settles(network), world.transfers(network)) == (1, 1, 1)

    run(tmp_path, scenario)


@BOTH
def test_the_worker_finds_out_too_and_the_retry_gets_the_stored_answer(tmp_path, network):
    async def scenario(world):
        payment = world.payment(network=network)
        world.facilitators[network].script["settle"] = ["hang-landed"]
        world.chains[network].node.mode = "500"
        assert (await call(world.app, "GET", URL, payment)).is_retry_advice
        world.clock.move(3)
        assert await worker_round(world) == {"waiting": 1}
        world.chains[network].node.mode = "ok"
        world.clock.move(10)
        assert await worker_round(world) == {"settled": 1}
        assert await worker_round(world) == {"credited": 1}
        assert await worker_round(world) == {}
        # Hours later, long after the payment itself has run out.
        world.clock.move(3600)
        assert (await call(world.app, "GET", URL, payment)).status == 200
        assert (world.deps.runs, world.settles(network), world.transfers(network)) == (1, 1, 1)

    run(tmp_path, scenario)


@BOTH
def test_a_front_runner_who_paid_us_counts_as_the_payer(tmp_path, network):
    async def scenario(world):
        chain, facilitator = world.chains[network], world.facilitators[network]

        async def front_run(stage):
            if stage == "settle asked":
                chain.pay(*facilitator._parts(facilitator.asked["settle"][-1]))

        facilitator.on_stage = front_run
        answer = await call(world.app, "GET", URL, world.payment(network=network))
        assert answer.status == 200
        assert [answer.receipt["transaction"]] == list(chain.mined)

    run(tmp_path, scenario)


@BOTH
def test_a_nonce_cancelled_by_its_payer_is_decided_at_once(tmp_path, network):
    async def scenario(world):
        chain, facilitator = world.chains[network], world.facilitators[network]

        async def cancel(stage):
            if stage == "settle asked":
                chain.pay(*facilitator._parts(facilitator.asked["settle"][-1]), moves=False)

        facilitator.on_stage = cancel
        assert (await call(world.app, "GET", URL, world.payment(network=network))).reason == NONCE_SPENT
        assert world.transfers(network) == 0

    run(tmp_path, scenario)


@BOTH
def test_a_payment_that_ran_out_unsettled_is_refused_and_only_then(tmp_path, network):
    async def scenario(world):
        payment = world.payment(network=network)
        world.facilitators[network].modes["settle"] = "cut"
        assert (await call(world.app, "GET", URL, payment)).is_retry_advice
        world.clock.move(310)
        assert (await call(world.app, "GET", URL, payment)).is_retry_advice
        assert world.settles(network) == 1
        world.clock.move(25)
        assert (await call(world.app, "GET", URL, payment)).reason == EXPIRED
        assert world.transfers(network) == 0

    run(tmp_path, scenario)


@BOTH
def test_a_reverted_settlement_may_be_sent_again_by_anybody_and_is_no_refusal(tmp_path, network):
    async def scenario(world):
        payment = world.payment(network=network)
        chain, far = world.chains[network], world.facilitators[network]
        far.script["settle"] = ["reverted"]
        assert (await call(world.app, "GET", URL, payment)).is_retry_advice
        # Somebody read the calldata and sends it once more, now that there is money.
        chain.pay(*far._parts(far.asked["settle"][-1]))
        assert (await call(world.app, "GET", URL, payment)).status == 200
        assert (world.settles(network), world.transfers(network)) == (1, 1)

    run(tmp_path, scenario)


@BOTH
def test_a_settlement_that_reverted_because_its_twin_paid_is_no_refusal(tmp_path, network):
    async def scenario(world):
        payment = world.payment(network=network)
        chain = world.chains[network]

        async def fall_behind(stage):
            chain.lag = 2 if stage == "settle asked" else chain.lag

        world.facilitators[network].script["settle"] = ["twin-paid"]
        world.facilitators[network].on_stage = fall_behind
        assert (await call(world.app, "GET", URL, payment)).is_retry_advice
        chain.lag = 0
        assert (await call(world.app, "GET", URL, payment)).status == 200
        assert world.transfers(network) == 1

    run(tmp_path, scenario)


def test_a_used_nonce_of_a_refused_payment_is_no_402_while_our_own_node_lags(tmp_path):
    async def scenario(world):
        chain, far = world.chains[SECOND], world.facilitators[SECOND]
        payment = world.payment()
        far.script["settle"] = ["refuse"]
        assert (await call(world.app, "GET", URL, payment)).status == 402
        # It lied: the money moves after all, and the facilitator's node sees it before ours.
        chain.pay(*far._parts(far.asked["settle"][-1]))
        chain.lag = 1
        assert (await call(world.app, "GET", URL, payment)).is_retry_advice
        chain.lag = 0
        assert (await call(world.app, "GET", URL, payment)).status == 200
        assert world.transfers(SECOND) == 1

    run(tmp_path, scenario)


def test_a_repeated_settling_that_is_refused_stays_unknown(tmp_path):
    async def scenario(world):
        payment = world.payment()
        world.facilitators[SECOND].script["settle"] = ["cut", "refuse"]
        assert (await call(world.app, "GET", URL, payment)).is_retry_advice
        world.clock.move(3)
        assert (await call(world.app, "GET", URL, payment)).is_retry_advice
        assert world.settles() == 2
        world.clock.move(5)
        # The worker looks, and leaves the charging to the buyer's own repeat.
        assert await worker_round(world) == {"waiting": 1}
        assert (world.settles(), world.transfers()) == (2, 0)
        assert (await call(world.app, "GET", URL, payment)).status == 200
        assert (world.settles(), world.transfers()) == (3, 1)

    run(tmp_path, scenario)


def test_success_for_a_transaction_that_does_not_exist_is_served_and_never_credited(tmp_path):
    async def scenario(world):
        world.facilitators[SECOND].script["settle"] = ["ghost"]
        assert (await call(world.app, "GET", URL, world.payment())).status == 200
        assert await verify(world) == {"waiting": 1}
        world.clock.move(200)
        assert await verify(world) == {"waiting": 1}
        world.clock.move(200)
        assert await verify(world) == {"missing": 1}
        assert await verify(world) == {}
        assert await credited(world) == []

    run(tmp_path, scenario)


@BOTH
def test_a_used_nonce_is_not_given_up_because_one_look_does_not_show_its_transfer(tmp_path, network):
    async def scenario(world):
        assert (await call(world.app, "GET", URL, world.payment(network=network))).status == 200
        chain = world.chains[network]
        # No worker looked until the deadline was over, and then at a node that keeps the logs to itself.
        world.clock.move(4000)
        chain.grow(5)
        chain.cut_logs_over = 0
        for _ in range(3):
            assert await verify(world) == {"waiting": 1}
        chain.cut_logs_over = None
        assert await verify(world) == {"credited": 1}
        assert await credited(world) == [10_000]

    run(tmp_path, scenario)


@BOTH
def test_each_settlement_is_credited_once_when_it_is_final(tmp_path, network):
    async def scenario(world):
        for _ in range(3):
            assert (await call(world.app, "GET", URL, world.payment(network=network))).status == 200
        assert await verify(world, finality=2) == {"credited": 1, "waiting": 2}
        assert await verify(world, finality="finalized") == {"credited": 2}
        assert await verify(world) == {}
        assert await credited(world) == [10_000] * 3

    run(tmp_path, scenario)


def test_one_transfer_proves_one_payment_though_the_facilitator_names_it_twice(tmp_path):
    async def scenario(world):
        far = world.facilitators[SECOND]
        assert (await call(world.app, "GET", URL, world.payment())).status == 200
        (real,) = world.chains[SECOND].mined
        far._settle = lambda body: {"success": True, "transaction": real, "network": SECOND}
        assert (await call(world.app, "GET", URL, world.payment())).is_retry_advice
        assert await verify(world) == {"credited": 1, "waiting": 1}
        world.clock.move(4000)
        assert await verify(world) == {"failed": 1}
        assert await credited(world) == [10_000]

    run(tmp_path, scenario)


def test_a_payment_settled_by_another_transaction_than_was_named_is_credited(tmp_path):
    async def scenario(world):
        far, chain = world.facilitators[SECOND], world.chains[SECOND]

        def lie(body):
            chain.pay(*far._parts(body))
            return {"success": True, "transaction": "0x" + "5e" * 32, "network": SECOND}

        far._settle = lie
        assert (await call(world.app, "GET", URL, world.payment())).status == 200
        assert await verify(world) == {"credited": 1}

    run(tmp_path, scenario)


def test_equal_payments_of_one_payer_are_told_apart_by_their_nonces(tmp_path):
    async def scenario(world):
        # Two unknown outcomes, one landed and one cancelled: one transfer can pay for one answer.
        chain, facilitator = world.chains[FIRST], world.facilitators[FIRST]
        payments = [world.payment(network=FIRST) for _ in range(2)]
        chain.node.mode = "500"
        facilitator.script["settle"] = ["cut-landed", "cut"]
        for payment in payments:
            assert (await call(world.app, "GET", URL, payment)).is_retry_advice
        chain.pay(*facilitator._parts(facilitator.asked["settle"][-1]), moves=False)
        chain.node.mode = "ok"
        world.clock.move(400)
        answers = [await call(world.app, "GET", URL, payment) for payment in payments]
        assert [answer.status for answer in answers] == [200, 402]
        assert await verify(world) == {"credited": 1, "closed": 1}
        assert await credited(world) == [10_000]

    run(tmp_path, scenario)


async def cancelled_payment(world):
    """A payment whose settlement got no answer and whose nonce its payer then used up."""
    chain, facilitator = world.chains[FIRST], world.facilitators[FIRST]
    payment = world.payment(network=FIRST)
    facilitator.script["settle"] = ["cut"]
    assert (await call(world.app, "GET", URL, payment)).is_retry_advice
    chain.pay(*facilitator._parts(facilitator.asked["settle"][-1]), moves=False)
    return payment


def test_a_cancelled_payment_cannot_point_at_the_transfer_of_a_settled_one(tmp_path):
    async def scenario(world):
        assert (await call(world.app, "GET", URL, world.payment(network=FIRST))).status == 200
        cancelled = await cancelled_payment(world)
        world.clock.move(100)
        assert (await call(world.app, "GET", URL, cancelled)).reason == NONCE_SPENT
        assert (await verify(world))["credited"] == 1

    run(tmp_path, scenario)


def test_a_cancelled_payment_cannot_point_at_the_transfer_of_one_that_is_settling(tmp_path):
    async def scenario(world):
        cancelled = await cancelled_payment(world)
        landed, go_on = asyncio.Event(), asyncio.Event()

        async def hold(stage):
            if stage == "settle landed":
                landed.set()
                await go_on.wait()

        world.facilitators[FIRST].on_stage = hold
        honest = asyncio.create_task(call(world.app, "GET", URL, world.payment(network=FIRST)))
        await landed.wait()
        assert (await call(world.app, "GET", URL, cancelled)).reason == NONCE_SPENT
        go_on.set()
        assert (await honest).status == 200

    run(tmp_path, scenario, settle_s=5.0)


def test_a_chain_that_is_down_does_not_stop_ordinary_sales(tmp_path):
    async def scenario(world):
        for chain in world.chains.values():
            chain.node.mode = "500"
        assert (await call(world.app, "GET", URL, world.payment())).status == 200
        world.facilitators[SECOND].script["settle"] = ["refuse"]
        answer = await call(world.app, "GET", URL, world.payment())
        assert answer.reason == "invalid_exact_evm_insufficient_balance"
        assert await verify(world) == {"waiting": 2}

    run(tmp_path, scenario)


def test_a_facilitator_that_is_gone_leaves_the_challenge_alone(tmp_path):
    async def scenario(world):
        await world.facilitators[SECOND].__aexit__()
        assert (await call(world.app, "GET", URL)).reason == "Payment required"
        assert (await call(world.app, "GET", URL, world.payment())).status == 502
        assert (await call(world.app, "GET", URL, world.payment(network=FIRST))).status == 200

    run(tmp_path, scenario)
