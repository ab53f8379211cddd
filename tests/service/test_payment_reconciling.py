"""Payments in doubt: what the worker finds out, what it leaves alone, and what it costs to ask."""

import asyncio

import pytest
from sqlalchemy import select, update

from tickyard.kernel.clock import WallClock, breathe
from tickyard.payments.books.operations import PaymentAsk, get_payment
from tickyard.payments.books.tables import payment as rows
from tickyard.payments.facilitators.reasons import NOTHING_SENT
from tickyard.payments.offer.terms import FIRST, SECOND
from tickyard.payments.proof.reconcile import look_after
from tickyard.payments.refusal import EXPIRED, NONCE_SPENT
from tickyard.payments.selling.deliveries import Deliveries
from tickyard.payments.signed.key import Key
from tickyard.store.revenue import revenue
from yards import paying
from yards.payer import Wallet, as_header, envelope

call, run = paying.call, paying.run
URL = "/v1/x402/item/AAPL"
NOBODYS = "0x" + "00" * 66
BOTH = pytest.mark.parametrize("network", [FIRST, SECOND])


async def worker(world, finality=0, **how):
    process = world.processes[0]
    return await look_after(process.ledger, process.proofs, finality=finality, **how)


async def credited(world):
    async with world.processes[0].store.read() as tx:
        return (await tx.execute(select(revenue.c.amount_raw))).scalars().all()


def parts(world, network):
    far = world.facilitators[network]
    return far._parts(far.asked["settle"][-1])


@BOTH
def test_a_lost_reply_that_lands_later_is_one_charge_and_one_answer(tmp_path, network):
    async def scenario(world):
        chain, far = world.chains[network], world.facilitators[network]
        payment = world.payment(network=network)
        # The reference's own words for a broadcast whose reply got lost; it is mined a moment later.
        far.script["settle"] = ["lost-reply"]
        far._settle = lambda body: {"success": True}
        assert (await call(world.app, "GET", URL, payment)).is_retry_advice
        chain.pay(*parts(world, network))
        answer = await call(world.app, "GET", URL, payment)
        assert answer.status == 200
        assert (world.settles(network), world.transfers(network)) == (1, 1)

    run(tmp_path, scenario)


@BOTH
def test_a_payment_called_failed_too_soon_is_watched_and_its_answer_is_fetched(tmp_path, network):
    async def scenario(world):
        chain, far = world.chains[network], world.facilitators[network]
        payments = [world.payment(network=network) for _ in range(2)]
        for payment in payments:
            far.script["settle"] = ["refuse"]
            failed = await call(world.app, "GET", URL, payment)
            assert failed.reason == "invalid_exact_evm_insufficient_balance"
            # It lied: the money moves after all.
            chain.pay(*parts(world, network))
        # One buyer comes back at once and meets "nonce already used"; the chain is read before that is believed.
        assert (await call(world.app, "GET", URL, payments[0])).status == 200
        # The other comes when the worker has long seen it, and its authorization is over.
        world.clock.move(5)
        assert (await worker(world))["settled"] == 1
        world.clock.move(3600)
        assert (await call(world.app, "GET", URL, payments[1])).status == 200
        assert (world.settles(network), world.transfers(network)) == (2, 2)
        await worker(world, is_forced=True)
        assert await credited(world) == [10_000] * 2

    run(tmp_path, scenario)


@BOTH
def test_a_failed_payment_is_watched_until_its_deadline_is_final_and_no_longer(tmp_path, network):
    async def scenario(world):
        world.facilitators[network].script["settle"] = ["refuse"]
        payment = world.payment(network=network)
        assert (await call(world.app, "GET", URL, payment)).status == 402
        ledger, chain = world.processes[0].ledger, world.chains[network]
        world.clock.move(299)
        chain.grow(3)
        assert await worker(world, is_forced=True) == {"waiting": 1}
        world.clock.move(60)
        # The newest block is past the deadline, the final one is not.
        chain.grow(1)
        assert await worker(world, finality=3, is_forced=True) == {"waiting": 1}
        chain.grow(4)
        assert await worker(world, finality=3, is_forced=True) == {"closed": 1}
        assert await ledger.due(network, 10, is_forced=True) == []

    run(tmp_path, scenario)


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("reason", sorted(NOTHING_SENT))
def test_every_reason_of_the_closed_list_is_a_refusal_and_the_payment_may_come_again(tmp_path, network, reason):
    async def scenario(world):
        far = world.facilitators[network]
        honest = far._settle
        far._settle = lambda body: {"success": False, "errorReason": reason, "transaction": "", "network": network}
        payment = world.payment(network=network)
        failed = await call(world.app, "GET", URL, payment)
        assert failed.reason == reason
        receipt = failed.receipt
        assert (receipt["success"], receipt["errorReason"], receipt["transaction"]) == (False, reason, "")
        assert (receipt["network"], receipt["payer"]) == (network, world.wallet.address)
        far._settle = honest
        assert (await call(world.app, "GET", URL, payment)).status == 200
        assert world.transfers(network) == 1

    run(tmp_path, scenario)


@BOTH
def test_the_worker_never_charges_a_buyer_who_was_told_502(tmp_path, network):
    async def scenario(world):
        world.facilitators[network].script["settle"] = ["cut"]
        payment = world.payment(network=network)
        assert (await call(world.app, "GET", URL, payment)).is_retry_advice
        for _ in range(10):
            world.clock.move(20)
            await worker(world)
        assert (world.settles(network), world.transfers(network)) == (1, 0)
        # Before the deadline the buyer's own repeat is a charge, after it a refusal.
        world.clock.move(200)
        assert (await worker(world, is_forced=True))["failed"] == 1
        assert (await call(world.app, "GET", URL, payment)).status == 402
        assert world.transfers(network) == 0

    run(tmp_path, scenario)


@pytest.mark.slow
@BOTH
def test_rows_that_stay_unknown_do_not_stand_in_the_way_of_others(tmp_path, network):
    async def scenario(world):
        far, chain = world.facilitators[network], world.chains[network]
        far.modes["settle"] = "cut"
        for _ in range(105):
            assert (await call(world.app, "GET", URL, world.payment(network=network))).is_retry_advice
        late = world.payment(network=network, wallet=Wallet())
        assert (await call(world.app, "GET", URL, late)).is_retry_advice
        chain.pay(*parts(world, network))
        world.clock.move(3)
        ended = await worker(world) + await worker(world)
        assert ended["settled"] == 1
        assert world.settles(network) == 106

    run(tmp_path, scenario, wait_s=10.0)


@pytest.mark.slow
@BOTH
def test_a_hundred_waiting_payments_cost_a_handful_of_calls(tmp_path, network):
    async def scenario(world):
        node = world.chains[network].node
        for _ in range(100):
            assert (await call(world.app, "GET", URL, world.payment(network=network))).status == 200
        world.clock.move(1)
        node.seen.clear()
        assert await worker(world, finality="finalized" if network == SECOND else 200) == (
            {"credited": 100} if network == SECOND else {"waiting": 100}
        )
        assert len(node.seen) <= 5
        if network == FIRST:
            # Seen, and not final: nothing is asked but where the chain is, and whether their blocks are still there.
            node.seen.clear()
            assert await worker(world, finality=200, is_forced=True) == {"waiting": 100}
            assert len(node.seen) <= 2
            world.chains[network].grow(200)
            node.seen.clear()
            assert await worker(world, finality=200, is_forced=True) == {"credited": 100}
            assert len(node.seen) <= 5
        assert await credited(world) == [10_000] * 100

    run(tmp_path, scenario)


@pytest.mark.slow
def test_a_network_that_waits_does_not_keep_the_other_from_its_credit(tmp_path):
    async def scenario(world):
        world.facilitators[FIRST].modes["settle"] = "ghost"
        for _ in range(105):
            assert (await call(world.app, "GET", URL, world.payment(network=FIRST))).status == 200
        assert (await call(world.app, "GET", URL, world.payment(network=SECOND))).status == 200
        world.chains[FIRST].node.mode = "500"
        assert (await worker(world))["credited"] == 1

    run(tmp_path, scenario)


def test_a_foreign_transfer_of_the_same_amount_proves_nothing(tmp_path):
    async def scenario(world):
        chain, far = world.chains[FIRST], world.facilitators[FIRST]
        far.script["settle"] = ["cut"]
        payment = world.payment(network=FIRST)
        assert (await call(world.app, "GET", URL, payment)).is_retry_advice
        payer, nonce, amount = parts(world, FIRST)
        # The payer sends the same amount to us for something else, and crosses the payment out, before or after it.
        chain.pay(payer, 0, amount, is_foreign=True)
        chain.pay(payer, nonce, amount, moves=False)
        chain.pay(payer, 0, amount, is_foreign=True)
        assert (await call(world.app, "GET", URL, payment)).reason == NONCE_SPENT
        assert await worker(world, is_forced=True) == {"waiting": 1}
        assert await credited(world) == []

    run(tmp_path, scenario)


def test_a_nonce_crossed_out_in_the_block_of_a_foreign_transfer_proves_nothing(tmp_path):
    async def scenario(world):
        chain, far = world.chains[FIRST], world.facilitators[FIRST]
        far.script["settle"] = ["cut"]
        payment = world.payment(network=FIRST)
        assert (await call(world.app, "GET", URL, payment)).is_retry_advice
        payer, nonce, amount = parts(world, FIRST)
        transfer = chain.pay(payer, 0, amount, is_foreign=True)
        crossed = chain.mined[chain.pay(payer, nonce, amount, moves=False)]
        # The same block.
        crossed.block -= 1
        chain.first_use[payer.lower(), nonce] -= 1
        for log in crossed.logs:
            log |= {name: chain.mined[transfer].logs[0][name] for name in ("blockNumber", "blockHash")} | {
                "logIndex": "0x9"
            }
        assert (await call(world.app, "GET", URL, payment)).reason == NONCE_SPENT

    run(tmp_path, scenario)


def test_a_nonce_crossed_out_beside_a_transfer_that_says_nothing_of_its_permit_is_not_paid_by_it(tmp_path):
    async def scenario(world):
        chain, far = world.chains[FIRST], world.facilitators[FIRST]
        far.script["settle"] = ["cut"]
        payment = world.payment(network=FIRST)
        assert (await call(world.app, "GET", URL, payment)).is_retry_advice
        payer, nonce, amount = parts(world, FIRST)
        with chain.one_block():
            chain.pay(payer, 5, amount, is_hidden=True)
            chain.pay(payer, nonce, amount, moves=False)
        assert (await call(world.app, "GET", URL, payment)).reason == NONCE_SPENT

    run(tmp_path, scenario)


def test_of_two_equal_transfers_in_one_block_the_payments_own_is_credited(tmp_path):
    async def scenario(world):
        chain, far = world.chains[FIRST], world.facilitators[FIRST]
        far.script["settle"] = ["cut"]
        payment = world.payment(network=FIRST)
        assert (await call(world.app, "GET", URL, payment)).is_retry_advice
        payer, nonce, amount = parts(world, FIRST)
        foreign = chain.mined[chain.pay(payer, 5, amount, is_foreign=True)]
        own = chain.pay(payer, nonce, amount)
        for log in foreign.logs:
            log |= {name: chain.mined[own].logs[0][name] for name in ("blockNumber", "blockHash")} | {"logIndex": "0x9"}
        foreign.block = chain.head
        answer = await call(world.app, "GET", URL, payment)
        assert answer.receipt["transaction"] == own

    run(tmp_path, scenario)


@pytest.mark.parametrize("is_late", [False, True])
def test_one_transfer_never_pays_for_two_however_many_nonces_are_used_beside_it(tmp_path, is_late):
    """The owner of a permit may use any nonce with another one that moves nothing, in the block of a real transfer."""

    async def scenario(world):
        chain, far = world.chains[FIRST], world.facilitators[FIRST]
        far.script["settle"] = ["cut"] * 3
        payments, signed = [world.payment(network=FIRST) for _ in range(3)], []
        for payment in payments:
            assert (await call(world.app, "GET", URL, payment)).is_retry_advice
            signed.append(parts(world, FIRST))
        payer, nonce, amount = signed[0]
        transfer = chain.mined[chain.pay(payer, nonce, amount)]
        for _, other, _ in signed[1:]:
            burnt = chain.mined[chain.pay(payer, other, amount, moves=False)]
            burnt.logs.clear()
            burnt.block = chain.first_use[payer.lower(), other] = transfer.block
        asked = reversed(payments) if is_late else payments
        answers = [await call(world.app, "GET", URL, payment) for payment in asked]
        assert sorted(answer.status for answer in answers) == [200, 502, 502]
        # And none of them later, when the worker has looked.
        await worker(world, is_forced=True)
        answers = [await call(world.app, "GET", URL, payment) for payment in payments]
        assert sorted(answer.status for answer in answers) == [200, 502, 502]

    run(tmp_path, scenario)


def test_a_transfer_that_a_receipt_names_pays_for_nothing_else(tmp_path):
    async def scenario(world):
        chain, far = world.chains[FIRST], world.facilitators[FIRST]
        far.script["settle"] = ["cut"]
        payment = world.payment(network=FIRST)
        assert (await call(world.app, "GET", URL, payment)).is_retry_advice
        payer, nonce, amount = parts(world, FIRST)
        served = await call(world.app, "GET", URL, world.payment(network=FIRST))
        transfer = chain.mined[served.receipt["transaction"]]
        burnt = chain.mined[chain.pay(payer, nonce, amount, moves=False)]
        burnt.logs.clear()
        burnt.block = chain.first_use[payer.lower(), nonce] = transfer.block
        assert (await call(world.app, "GET", URL, payment)).is_retry_advice

    run(tmp_path, scenario)


@BOTH
def test_a_node_that_leaves_out_logs_cannot_hide_a_transfer(tmp_path, network):
    async def scenario(world):
        chain, far = world.chains[network], world.facilitators[network]
        chain.cut_logs_over = 1
        far.script["settle"] = ["cut-landed"]
        chain.grow(5)
        payment = world.payment(network=network)
        answer = await call(world.app, "GET", URL, payment)
        assert answer.status == 200
        assert answer.receipt["transaction"] in chain.mined

    run(tmp_path, scenario)


@pytest.mark.slow
@BOTH
def test_many_equal_payments_of_one_payer_are_all_found_at_one_look(tmp_path, network):
    """A facilitator that says no and pays all the same, thirty times: none of them waits for the others' turn."""

    async def scenario(world):
        chain, far = world.chains[network], world.facilitators[network]
        far.modes["settle"] = "refuse"
        for _ in range(30):
            await call(world.app, "GET", URL, world.payment(network=network))
            chain.pay(*parts(world, network))
        chain.cut_logs_over = 1
        world.clock.move(5)
        chain.node.seen.clear()
        assert await worker(world) == {"settled": 30}
        assert len(chain.node.seen) <= 20

    run(tmp_path, scenario, unsettled_per_minute=100)


@BOTH
def test_a_lagging_node_cannot_say_that_a_deadline_passed_without_a_transfer(tmp_path, network):
    async def scenario(world):
        chain, far = world.chains[network], world.facilitators[network]
        far.script["settle"] = ["cut"]
        payment = world.payment(network=network)
        assert (await call(world.app, "GET", URL, payment)).is_retry_advice
        chain.times[chain.head] = world.clock.seconds()
        stopped = chain.clock.seconds()
        chain.clock = type("Stopped", (), {"seconds": lambda self: stopped})()
        world.clock.move(3600)
        assert (await call(world.app, "GET", URL, payment)).is_retry_advice
        assert await worker(world, is_forced=True) == {"waiting": 1}
        chain.clock = world.clock
        assert (await call(world.app, "GET", URL, payment)).reason == EXPIRED

    run(tmp_path, scenario)


@BOTH
def test_a_lagging_node_cannot_say_that_a_transfer_is_gone(tmp_path, network):
    async def scenario(world):
        chain = world.chains[network]
        await call(world.app, "GET", URL, world.payment(network=network))
        assert await worker(world, finality=5, is_forced=True) == {"waiting": 1}
        chain.head -= 1
        assert await worker(world, finality=5, is_forced=True) == {"waiting": 1}
        chain.head += 1
        chain.grow(6)
        assert await worker(world, finality=5, is_forced=True) == {"credited": 1}

    run(tmp_path, scenario)


@BOTH
def test_a_node_that_shows_few_blocks_at_once_is_asked_for_few_the_next_time(tmp_path, network):
    async def scenario(world):
        chain, far = world.chains[network], world.facilitators[network]
        far.script["settle"] = ["cut"]
        chain.refuse_logs_over = 20
        assert (await call(world.app, "GET", URL, world.payment(network=network))).is_retry_advice
        for _ in range(150):
            world.clock.move(2)
            chain.grow(1)
        await worker(world, is_forced=True)
        chain.node.seen.clear()
        await worker(world, is_forced=True)
        assert len(chain.node.seen) <= 5

    run(tmp_path, scenario)


@BOTH
def test_a_payment_whose_block_was_reorganised_away_is_watched_again_and_can_be_settled_again(tmp_path, network):
    async def scenario(world):
        chain = world.chains[network]
        payment = world.payment(network=network)
        answer = await call(world.app, "GET", URL, payment)
        transaction = answer.receipt["transaction"]
        assert await worker(world, finality=5, is_forced=True) == {"waiting": 1}
        chain.reorganise(transaction, is_mined_again=False)
        assert await worker(world, finality=5, is_forced=True) == {"unknown": 1}
        assert await credited(world) == []
        # The buyer's own repeat settles it again; nobody else does.
        assert world.settles(network) == 1
        again = await call(world.app, "GET", URL, payment)
        assert (again.status, again.body) == (200, answer.body)
        assert (world.settles(network), world.transfers(network)) == (2, 1)
        assert await worker(world, is_forced=True) == {"credited": 1}

    run(tmp_path, scenario)


@BOTH
def test_a_transfer_mined_again_in_another_block_is_credited_once(tmp_path, network):
    async def scenario(world):
        chain = world.chains[network]
        answer = await call(world.app, "GET", URL, world.payment(network=network))
        assert await worker(world, finality=5, is_forced=True) == {"waiting": 1}
        chain.reorganise(answer.receipt["transaction"], is_mined_again=True)
        assert await worker(world, finality=5, is_forced=True) == {"waiting": 1}
        chain.grow(6)
        assert await worker(world, finality=5, is_forced=True) == {"credited": 1}
        assert await credited(world) == [10_000]

    run(tmp_path, scenario)


def test_both_hashes_find_a_payment_that_was_settled_by_another_transaction_than_was_named(tmp_path):
    async def scenario(world):
        far, chain = world.facilitators[SECOND], world.chains[SECOND]

        def lie(body):
            chain.pay(*far._parts(body))
            return {"success": True, "transaction": "0x" + "5e" * 32, "network": SECOND}

        far._settle = lie
        answer = await call(world.app, "GET", URL, world.payment())
        assert await worker(world, is_forced=True) == {"credited": 1}
        (mined,) = chain.mined
        for name in (answer.receipt["transaction"], mined):
            found = await get_payment(world.processes[0], PaymentAsk(transaction=name))
            assert (found.transaction, found.status) == ("0x" + "5e" * 32, "confirmed")

    run(tmp_path, scenario)


def test_logs_are_read_from_the_reservation_to_the_deadline_and_no_further(tmp_path):
    async def scenario(world):
        chain, far = world.chains[SECOND], world.facilitators[SECOND]
        chain.grow(50)
        for n in range(1, 1000):
            chain.times[n] = world.clock.seconds() - 2 * (1050 - n)
        far.script["settle"] = ["cut"]
        assert (await call(world.app, "GET", URL, world.payment())).is_retry_advice
        reserved, deadline = chain.head, chain.head + 320 // 2
        for _ in range(5000):
            world.clock.move(2)
            chain.grow(1)
        chain.node.seen.clear()
        await worker(world, is_forced=True)
        asked = [
            each["params"][0]
            for body in chain.node.seen
            for each in (body if isinstance(body, list) else [body])
            if each["method"] == "eth_getLogs"
        ]
        widest = max(int(each["toBlock"], 16) for each in asked), min(int(each["fromBlock"], 16) for each in asked[-1:])
        assert int(asked[-1]["toBlock"], 16) <= deadline + 400, widest
        assert int(asked[-1]["fromBlock"], 16) >= reserved - 400

    run(tmp_path, scenario)


@pytest.mark.slow
def test_three_hundred_bad_payments_at_once_meet_the_limit(tmp_path):
    async def scenario(world):
        world.facilitators[SECOND].modes["verify"] = "refuse"
        payments = [world.payment() for _ in range(300)]
        answers = await asyncio.gather(*(call(world.app, "GET", URL, payment) for payment in payments))
        assert world.verifies() == 30
        assert sorted({answer.status for answer in answers}) == [402, 429]

    run(tmp_path, scenario, bad_payments_per_minute=30, verify_s=20.0)


@pytest.mark.slow
def test_many_good_payments_of_one_client_and_payer_at_once_are_all_served(tmp_path):
    async def scenario(world):
        payments = [world.payment() for _ in range(100)]
        answers = await asyncio.gather(*(call(world.app, "GET", URL, payment) for payment in payments))
        assert {answer.status for answer in answers} == {200}

    run(tmp_path, scenario, bad_payments_per_minute=5, unsettled_per_minute=5, settle_s=10.0, verify_s=10.0)


def test_unknown_outcomes_count_against_their_payer(tmp_path):
    async def scenario(world):
        world.facilitators[SECOND].modes["settle"] = "cut"
        for _ in range(3):
            assert (await call(world.app, "GET", URL, world.payment())).is_retry_advice
        assert (await call(world.app, "GET", URL, world.payment())).status == 429
        assert (await call(world.app, "GET", URL, world.payment(wallet=Wallet()))).status == 502

    run(tmp_path, scenario, unsettled_per_minute=3)


def test_strangers_who_name_a_payer_do_not_take_the_payers_places(tmp_path):
    async def scenario(world):
        far, over, entry = world.facilitators[SECOND], asyncio.Event(), world.entry()

        async def hold(stage):
            # Whoever comes first is looked at for a long time.
            if stage == "verify asked" and len(far.asked["verify"]) <= 3:
                await over.wait()

        far.on_stage = hold

        def forged():
            return as_header(envelope(entry, world.wallet.pay(entry, world.clock.seconds()) | {"signature": NOBODYS}))

        strangers = [
            asyncio.create_task(call(world.app, "GET", URL, forged(), client=(f"203.0.113.{n}", 1))) for n in range(3)
        ]
        while world.verifies() < 3:
            await breathe()
        far.script["verify"] = ["ok"]
        assert (await call(world.app, "GET", URL, world.payment())).status == 200
        over.set()
        await asyncio.gather(*strangers)

    run(tmp_path, scenario, unsettled_per_minute=3, verify_s=20.0)


def test_a_contracts_calls_without_a_settlement_count_against_it_from_wherever_they_come(tmp_path):
    async def scenario(world):
        entry = world.entry()
        world.facilitators[SECOND].modes["settle"] = "cut"
        statuses = []
        for n in range(4):
            # What is no ordinary signature the facilitator judges: here it finds it good.
            inner = world.wallet.pay(entry, world.clock.seconds()) | {"signature": NOBODYS}
            asked = call(world.app, "GET", URL, as_header(envelope(entry, inner)), client=(f"203.0.113.{n}", 1))
            statuses.append((await asked).status)
        assert statuses == [502, 502, 502, 429]

    run(tmp_path, scenario, unsettled_per_minute=3)


def test_answers_that_left_the_house_are_noted_and_others_are_not(tmp_path):
    async def scenario(world):
        assert (await call(world.app, "GET", URL, world.payment())).status == 200
        world.facilitators[SECOND].script["settle"] = ["cut"]
        assert (await call(world.app, "GET", URL, world.payment())).is_retry_advice
        world.chains[SECOND].pay(*parts(world, SECOND))
        assert (await worker(world, is_forced=True))["settled"] == 1
        await world.processes[0].cashier.deliveries.close()
        async with world.processes[0].store.read() as tx:
            noted = (await tx.execute(select(rows.c.delivered_at).order_by(rows.c.begun_at))).scalars().all()
        assert [moment is not None for moment in noted] == [True, False]

    run(tmp_path, scenario)


def test_what_is_just_being_noted_when_the_process_stops_is_noted(tmp_path):
    async def scenario(world):
        process = world.processes[0]
        assert (await call(world.app, "GET", URL, world.payment())).status == 200
        await process.cashier.deliveries.close()
        async with process.store.begin() as tx:
            # Somebody else writes: the note waits for them, and the process stops.
            deliveries = Deliveries(process.ledger, Restless())
            (found,) = (await tx.execute(select(rows.c.network, rows.c.asset, rows.c.payer, rows.c.nonce))).all()
            await tx.execute(update(rows).values(delivered_at=None))
            deliveries.add(Key(*found))
            for _ in range(10):
                await breathe()
            stopping = asyncio.create_task(deliveries.close())
            for _ in range(10):
                await breathe()
        await stopping
        async with process.store.read() as tx:
            assert (await tx.execute(select(rows.c.delivered_at))).scalar_one() is not None

    run(tmp_path, scenario)


class Restless(WallClock):
    async def sleep(self, seconds):
        await breathe()


def test_a_browser_may_send_what_the_stock_client_sends(tmp_path):
    async def scenario(world):
        sent = "access-control-expose-headers,payment-signature,content-type,sign-in-with-x"
        asked = [("origin", "https://app.example"), ("access-control-request-method", "GET")]
        answer = await call(world.app, "OPTIONS", URL, *asked, ("access-control-request-headers", sent))
        assert answer.status == 204
        allowed = {name.strip().lower() for name in answer.headers["access-control-allow-headers"].split(",")}
        assert set(sent.split(",")) <= allowed

    run(tmp_path, scenario)
