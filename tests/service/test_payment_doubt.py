"""What a node does not show is not what did not happen: nobody is told to pay again because one keeps something back."""

import asyncio

import pytest

from tickyard.payments.offer.terms import FIRST, SECOND
from tickyard.payments.proof.reconcile import look_after
from tickyard.payments.proof.verdict import LOOKS_MIN
from tickyard.payments.refusal import NONCE_SPENT
from tickyard.payments.signed.key import Key
from yards import paying, rpcnode
from yards.payer import Wallet, as_header, decoded, envelope, sign_in

call, run = paying.call, paying.run
URL = "/v1/x402/item/AAPL"
BOTH = pytest.mark.parametrize("network", [FIRST, SECOND])
ELSEWHERE = ("198.51.100.7", 1234)


async def doubtful(world, network):
    """A payment whose settlement got no answer, and what the facilitator was asked for it."""
    far, payment = world.facilitators[network], world.payment(network=network)
    far.script["settle"] = ["cut"]
    assert (await call(world.app, "GET", URL, payment)).is_retry_advice
    return payment, far._parts(far.asked["settle"][-1])


async def look(world):
    process = world.processes[0]
    return await look_after(process.ledger, process.proofs, finality=0, is_forced=True)


async def row_of(world, network, payer, nonce):
    key = Key(network, world.chains[network].asset, payer.lower(), f"0x{int(nonce):064x}")
    return await world.processes[0].ledger.find(key)


def hidden(chain, name):
    """The logs of a transaction, which the node keeps to itself from now on."""
    logs = list(chain.mined[name].logs)
    chain.mined[name].logs.clear()
    return logs


def test_one_hidden_log_beside_an_equal_payment_in_the_same_block_is_no_refusal(tmp_path):
    async def scenario(world):
        chain = world.chains[FIRST]
        (first, its_parts), (second, others) = [await doubtful(world, FIRST) for _ in range(2)]
        with chain.one_block():
            kept_back = chain.pay(*its_parts)
            chain.pay(*others)
        logs = hidden(chain, kept_back)
        assert (await call(world.app, "GET", URL, second)).status == 200
        assert (await call(world.app, "GET", URL, first)).is_retry_advice
        await look(world)
        assert (await call(world.app, "GET", URL, first)).is_retry_advice
        chain.mined[kept_back].logs.extend(logs)
        assert (await call(world.app, "GET", URL, first)).status == 200
        assert world.transfers(FIRST) == 2

    run(tmp_path, scenario)


@pytest.mark.slow
@BOTH
def test_looks_at_which_a_node_said_nothing_prove_nothing(tmp_path, network):
    async def scenario(world):
        chain = world.chains[network]
        payment, its_parts = await doubtful(world, network)
        paid = chain.pay(*its_parts)
        logs = hidden(chain, paid)
        world.clock.move(400)
        chain.grow(2)
        chain.node.mode = "500"
        for _ in range(2 * LOOKS_MIN):
            await look(world)
        chain.node.mode = "ok"
        await look(world)
        row = await row_of(world, network, *its_parts[:2])
        assert (row.state, row.unexplained) == ("unknown", 1)
        chain.mined[paid].logs.extend(logs)
        assert (await call(world.app, "GET", URL, payment)).status == 200

    run(tmp_path, scenario)


@pytest.mark.slow
@BOTH
def test_a_nonce_that_stays_unexplained_past_its_deadline_is_given_up_after_many_looks(tmp_path, network):
    async def scenario(world):
        chain = world.chains[network]
        payment, its_parts = await doubtful(world, network)
        logs = hidden(chain, paid := chain.pay(*its_parts))
        world.clock.move(400)
        chain.grow(2)
        for _ in range(LOOKS_MIN):
            await look(world)
            assert (await row_of(world, network, *its_parts[:2])).state == "unknown"
        await look(world)
        row = await row_of(world, network, *its_parts[:2])
        assert (row.state, row.reason) == ("failed", NONCE_SPENT)
        # It was paid all the same: the row is watched, and the answer is there when the log is.
        chain.mined[paid].logs.extend(logs)
        await look(world)
        assert (await call(world.app, "GET", URL, payment)).status == 200

    run(tmp_path, scenario)


def test_a_nonce_used_for_nothing_beside_anothers_transfer_is_given_up_in_the_end_too(tmp_path):
    async def scenario(world):
        chain = world.chains[FIRST]
        (_, its_parts), (real, others) = [await doubtful(world, FIRST) for _ in range(2)]
        with chain.one_block():
            chain.pay(*others)
            chain.pay(*its_parts, moves=False, is_silent=True)
        assert (await call(world.app, "GET", URL, real)).status == 200
        world.clock.move(400)
        chain.grow(2)
        for _ in range(LOOKS_MIN + 2):
            await look(world)
        assert (await row_of(world, FIRST, *its_parts[:2])).reason == NONCE_SPENT
        assert world.transfers(FIRST) == 1

    run(tmp_path, scenario)


NODE_TROUBLE = ["missing trie node", "execution timeout", "temporary failure", "header not found"]


@pytest.mark.parametrize("trouble", NODE_TROUBLE)
def test_a_node_in_trouble_does_not_speak_for_a_contract(tmp_path, trouble):
    async def scenario(world):
        owner, account, chain = Wallet(), Wallet(), world.chains[SECOND]
        chain.contracts.add(account.address.lower())
        signed = owner.pay(world.entry(), world.clock.seconds(), **{"from": account.address})
        paid = await call(world.app, "GET", URL, as_header(envelope(world.entry(), signed)))
        assert paid.status == 200
        offer = (await call(world.app, "GET", URL)).json()["extensions"]["sign-in-with-x"]
        header = sign_in(offer, owner, SECOND, address=account.address)
        other = as_header(envelope(world.entry(), {**signed, "signature": "0x" + "aa" * 65}))
        chain.signers[account.address.lower()] = [decoded(header)["signature"][2:], "aa" * 65]
        well = chain.node.results["eth_call"]

        def ill(params):
            if params[0]["data"].startswith("0x1626ba7e"):
                raise rpcnode.Refused(-32000, trouble)
            return well(params)

        chain.node.results["eth_call"] = ill
        assert (await call(world.app, "GET", URL, header, client=ELSEWHERE)).status == 502
        assert (await call(world.app, "GET", URL, other)).status == 502
        chain.node.results["eth_call"] = well
        assert (await call(world.app, "GET", URL, header, client=ELSEWHERE)).body == paid.body
        assert (await call(world.app, "GET", URL, other)).body == paid.body

    run(tmp_path, scenario)


def test_the_very_bytes_of_a_smart_account_prove_it_to_a_process_whose_node_has_not_seen_it_yet(tmp_path):
    async def scenario(world):
        owner, account, chain = Wallet(), Wallet(), world.chains[SECOND]
        chain.contracts.add(account.address.lower())
        signed = owner.pay(world.entry(), world.clock.seconds(), **{"from": account.address})
        payment = as_header(envelope(world.entry(), signed))
        paid = await call(world.app, "GET", URL, payment)
        assert paid.status == 200
        behind = await world.new_process()
        chain.contracts.clear()
        assert (await call(behind.app, "GET", URL, payment)).body == paid.body
        fresh = owner.pay(world.entry(), world.clock.seconds(), **{"from": account.address})
        assert (await call(behind.app, "GET", URL, as_header(envelope(world.entry(), fresh)))).status == 402
        assert world.transfers() == 1

    run(tmp_path, scenario)


def test_a_payment_whose_past_cannot_be_read_is_in_nobody_elses_way(tmp_path):
    async def scenario(world):
        chain = world.chains[FIRST]
        (_, its_parts), (_, others) = [await doubtful(world, FIRST) for _ in range(2)]
        chain.pay(*others)
        hidden(chain, chain.pay(*its_parts))
        well = chain.node.results["eth_call"]

        def garbled(params):
            # Asked for a past block by itself, as only a close look does.
            is_close = params[0]["data"].startswith("0x4fe02b44") and params[1] != "latest"
            answer = well(params)
            return "0x01" if is_close and int(params[1], 16) < chain.head - 3 else answer

        chain.node.results["eth_call"] = garbled
        await look(world)
        assert (await row_of(world, FIRST, *others[:2])).state == "settled"
        assert (await row_of(world, FIRST, *its_parts[:2])).state == "unknown"

    run(tmp_path, scenario)


def test_before_there_was_a_contract_no_nonce_was_used(tmp_path):
    async def scenario(world):
        chain = world.chains[FIRST]
        payment, its_parts = await doubtful(world, FIRST)
        chain.grow(5)
        paid = chain.pay(*its_parts)
        chain.cut_logs_over = 1
        well = chain.node.results["eth_call"]

        def young(params):
            is_close = params[0]["data"].startswith("0x4fe02b44") and params[1] != "latest"
            return "0x" if is_close and int(params[1], 16) < chain.head - 2 else well(params)

        chain.node.results["eth_call"] = young
        world.clock.move(9)
        answer = await call(world.app, "GET", URL, payment)
        assert (answer.status, answer.receipt["transaction"]) == (200, paid)

    run(tmp_path, scenario)


async def wrongly_refused(world, network):
    """A payment of which the facilitator said that it sent nothing, and what it was asked for it."""
    far, payment = world.facilitators[network], world.payment(network=network)
    far.script["settle"] = ["refuse"]
    assert (await call(world.app, "GET", URL, payment)).status == 402
    return payment, far._parts(far.asked["settle"][-1])


@BOTH
def test_a_failed_payment_whose_nonce_is_used_without_a_word_of_how_is_not_refused_again(tmp_path, network):
    async def scenario(world):
        chain = world.chains[network]
        payment, its_parts = await wrongly_refused(world, network)
        logs = hidden(chain, paid := chain.pay(*its_parts))
        for seconds in (1, 400):
            # Before its deadline and after it: whoever hears that it is over signs a new one.
            world.clock.move(seconds)
            chain.grow(2)
            assert (await call(world.app, "GET", URL, payment)).is_retry_advice
        chain.mined[paid].logs.extend(logs)
        assert (await call(world.app, "GET", URL, payment)).status == 200
        assert world.transfers(network) == 1

    run(tmp_path, scenario)


def test_a_failed_payment_that_a_node_has_forgotten_is_not_refused_again(tmp_path):
    """No worker ran for a while, or the books are an old copy: the state that would prove it is gone."""

    async def scenario(world):
        chain = world.chains[FIRST]
        payment, its_parts = await wrongly_refused(world, FIRST)
        chain.pay(*its_parts)
        world.clock.move(3600)
        chain.grow(50)
        chain.keeps_states = 20
        assert (await call(world.app, "GET", URL, payment)).is_retry_advice
        chain.keeps_states = None
        assert (await call(world.app, "GET", URL, payment)).status == 200

    run(tmp_path, scenario)


@BOTH
def test_a_failed_payment_that_stays_unexplained_is_refused_in_the_end(tmp_path, network):
    async def scenario(world):
        chain = world.chains[network]
        payment, its_parts = await wrongly_refused(world, network)
        hidden(chain, chain.pay(*its_parts))
        world.clock.move(400)
        chain.grow(2)
        for _ in range(LOOKS_MIN):
            assert (await call(world.app, "GET", URL, payment)).is_retry_advice
            await look(world)
        assert (await call(world.app, "GET", URL, payment)).status == 402

    run(tmp_path, scenario)


@BOTH
def test_a_facilitator_that_is_silent_does_not_make_a_failed_payment_that_was_taken_an_untaken_one(tmp_path, network):
    async def scenario(world):
        chain = world.chains[network]
        payment, its_parts = await wrongly_refused(world, network)
        chain.pay(*its_parts)
        world.facilitators[network].script["verify"] = ["cut"] * 2
        # Nobody can look: so nobody can say that nothing was taken.
        chain.node.mode = "500"
        assert (await call(world.app, "GET", URL, payment)).is_retry_advice
        chain.node.mode = "ok"
        assert (await call(world.app, "GET", URL, payment)).status == 200
        assert world.transfers(network) == 1

    run(tmp_path, scenario)


@BOTH
def test_what_another_process_took_meanwhile_is_not_called_untaken(tmp_path, network):
    """Such as by one that stood still while it verified: whoever hears that nothing was taken may pay anew."""

    async def scenario(world):
        first, second = world.processes
        payment, far = world.payment(network=network), world.facilitators[network]
        far.script["verify"] = ["hang"]
        waiting = asyncio.create_task(call(first.app, "GET", URL, payment))
        while not far.asked["verify"]:
            await asyncio.wait({waiting}, timeout=0.01)
        answer = await call(second.app, "GET", URL, payment)
        assert answer.status == 200
        assert (await waiting).body == answer.body
        assert world.transfers(network) == 1

    run(tmp_path, scenario, processes=2, verify_s=0.5)
