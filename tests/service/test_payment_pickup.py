"""Answers that a payer comes back for without the payment: as standard clients do, with a signature alone."""

import asyncio
import json

import pytest
from eth_abi import encode
from sqlalchemy import select, text

from tickyard.payments.books.tables import payment as rows
from tickyard.payments.offer.terms import FIRST, SECOND, PaymentSettings, Terms
from tickyard.payments.proof.reconcile import look_after
from tickyard.payments.selling.pickup import newest_of
from yards import paying
from yards.patience import STUCK_S
from yards.payer import Wallet, as_header, decoded, envelope, sign_in
from yards.selling import BASE_URL, PAY_TO

call = paying.call
URL = "/v1/x402/item/AAPL"
BOTH = pytest.mark.parametrize("network", [FIRST, SECOND])
BUYER, ELSEWHERE = ("203.0.113.9", 1234), ("198.51.100.7", 1234)


def run(tmp_path, scenario, **options):
    async def bounded():
        async with asyncio.timeout(STUCK_S), paying.World(tmp_path / "x.db", **options) as world:
            await scenario(world)

    asyncio.run(bounded())


async def asked(world, wallet, network, url=URL, **how):
    """A challenge, and the same request again with a signature over it and no payment."""
    path = url.partition("?")[0]
    offer = (await call(world.app, "GET", path)).json()["extensions"]["sign-in-with-x"]
    return await call(world.app, "GET", url, sign_in(offer, wallet, network), client=ELSEWHERE, **how)


async def lost(world, payment, url=URL):
    """The answer to a call whose caller hangs up while it is made."""
    hangs_up = asyncio.Event()

    async def hang_up(_stage):
        hangs_up.set()

    world.deps.on_stage = hang_up
    return await call(world.app, "GET", url, payment, hangs_up=hangs_up)


async def look(world):
    process = world.processes[0]
    return await look_after(process.ledger, process.proofs, finality=0, is_forced=True)


async def delivered(world):
    await world.processes[0].cashier.deliveries.close()
    async with world.processes[0].store.read() as tx:
        return [moment is not None for moment in (await tx.execute(select(rows.c.delivered_at))).scalars()]


@BOTH
@pytest.mark.parametrize("signs_on", [FIRST, SECOND])
def test_a_payer_whose_answer_got_lost_signs_in_and_does_not_pay_again(tmp_path, network, signs_on):
    async def scenario(world):
        first = await lost(world, world.payment(network=network))
        assert await delivered(world) == [False]
        world.clock.move(3600)
        again = await asked(world, world.wallet, signs_on)
        assert (again.status, again.body, again.receipt) == (200, first.body, first.receipt)
        assert (world.deps.runs, world.settles(network), world.transfers(network)) == (1, 1, 1)
        assert await delivered(world) == [True]

    run(tmp_path, scenario)


def test_who_hung_up_before_anything_was_reserved_is_not_sold_to(tmp_path):
    async def scenario(world):
        hangs_up = asyncio.Event()

        async def hang_up(stage):
            if stage == "verify asked":
                hangs_up.set()

        world.facilitators[SECOND].on_stage = hang_up
        payment = world.payment()
        assert (await call(world.app, "GET", URL, payment, hangs_up=hangs_up)).is_retry_advice
        assert (world.deps.runs, world.settles(), world.transfers()) == (0, 0, 0)
        # They may pay anew, or come back with the same.
        assert (await asked(world, world.wallet, SECOND)).reason == "Payment required"
        assert (await call(world.app, "GET", URL, payment)).status == 200

    run(tmp_path, scenario)


def test_nobody_else_gets_it_and_the_payer_gets_no_other(tmp_path):
    async def scenario(world):
        await lost(world, world.payment())
        assert (await asked(world, Wallet(), SECOND)).reason == "Payment required"
        assert (await asked(world, world.wallet, SECOND, URL + "?x=1")).reason == "Payment required"
        stolen = await call(world.app, "GET", URL)
        header = sign_in(stolen.json()["extensions"]["sign-in-with-x"], Wallet(), SECOND, address=world.wallet.address)
        assert (await call(world.app, "GET", URL, header)).reason == "Payment required"
        world.clock.move(24 * 3600)
        assert (await asked(world, world.wallet, SECOND)).reason == "Payment required"

    run(tmp_path, scenario)


def test_what_was_delivered_is_had_again_for_a_minute_and_then_today_costs_anew(tmp_path):
    async def scenario(world):
        first = await call(world.app, "GET", URL, world.payment())
        assert await delivered(world) == [True]
        assert (await asked(world, world.wallet, SECOND)).body == first.body
        world.clock.move(61)
        assert (await asked(world, world.wallet, SECOND)).reason == "Payment required"
        second = await call(world.app, "GET", URL, world.payment())
        assert (await asked(world, world.wallet, SECOND)).body == second.body != first.body

    run(tmp_path, scenario)


@BOTH
def test_a_payer_in_doubt_is_told_to_wait_and_nothing_is_settled_for_a_signature_alone(tmp_path, network):
    async def scenario(world):
        chain, far = world.chains[network], world.facilitators[network]
        payment = world.payment(network=network)
        far.script["settle"] = ["cut"]
        assert (await call(world.app, "GET", URL, payment)).is_retry_advice
        world.clock.move(10)
        assert (await asked(world, world.wallet, network)).is_retry_advice
        assert world.settles(network) == 1
        # It was on its way after all, and the worker sees it.
        chain.pay(*far._parts(far.asked["settle"][-1]))
        calls = len(chain.node.seen)
        assert (await asked(world, world.wallet, network)).is_retry_advice
        assert len(chain.node.seen) == calls, "nobody makes us read the chain by asking often"
        await look(world)
        assert (await asked(world, world.wallet, network)).status == 200
        assert (world.settles(network), world.transfers(network)) == (1, 1)

    run(tmp_path, scenario)


def test_a_payer_who_hung_up_while_the_answer_was_made_is_told_to_wait_for_it(tmp_path):
    async def scenario(world):
        slow, is_running = "/v1/x402/item/SLOW", asyncio.Event()

        async def note(_name):
            is_running.set()

        world.deps.on_stage = note
        first = asyncio.create_task(call(world.app, "GET", slow, world.payment(), hangs_up=is_running))
        await is_running.wait()
        assert (await asked(world, world.wallet, SECOND, slow)).is_retry_advice
        world.deps.gate.set()
        await first
        assert (await asked(world, world.wallet, SECOND, slow)).status == 200
        assert world.transfers() == 1

    run(tmp_path, scenario)


def test_a_payer_whose_payment_is_still_being_verified_is_told_to_wait_for_it(tmp_path):
    """Their connection broke, and the proxy's to us did not: we cannot know that they are gone."""

    async def scenario(world):
        seen = []

        async def ask(stage):
            if stage == "verify asked":
                for wallet, url in ((world.wallet, URL), (Wallet(), URL), (world.wallet, URL + "?x=1")):
                    seen.append(await asked(world, wallet, SECOND, url))

        world.facilitators[SECOND].on_stage = ask
        first = await call(world.app, "GET", URL, world.payment())
        assert seen[0].is_retry_advice
        assert [each.reason for each in seen[1:]] == ["Payment required"] * 2
        assert (await asked(world, world.wallet, SECOND)).body == first.body
        assert world.transfers() == 1

    run(tmp_path, scenario)


def test_nobody_is_kept_from_paying_by_a_payment_that_another_made_up_in_their_name(tmp_path):
    async def scenario(world):
        account, seen = Wallet(), []
        world.chains[SECOND].contracts.add(account.address.lower())
        made_up = world.wallet.pay(world.entry(), world.clock.seconds(), **{"from": account.address})

        async def ask(stage):
            if stage == "verify asked":
                seen.append(await asked(world, account, SECOND))

        world.facilitators[SECOND].on_stage = ask
        await call(world.app, "GET", URL, as_header(envelope(world.entry(), made_up)))
        assert [each.reason for each in seen] == ["Payment required"]

    run(tmp_path, scenario)


def explained(connection, statement):
    """The lines of its plan."""
    compiled = statement.compile(connection, compile_kwargs={"literal_binds": True})
    return [line.detail for line in connection.execute(text(f"EXPLAIN QUERY PLAN {compiled}"))]


def test_the_answer_is_found_by_an_index_however_long_the_books_are(tmp_path):
    async def scenario(world):
        assert (await call(world.app, "GET", URL, world.payment())).status == 200
        asked = newest_of(world.wallet.address, [SECOND], "x", world.clock.now())
        async with world.processes[0].store.read() as tx:
            plan = await tx.run_sync(lambda connection: explained(connection, asked))
        assert any("USING INDEX ix_payment_open" in line for line in plan)
        assert any("USING INDEX ix_payment_request" in line for line in plan)
        assert not any("SCAN payment" in line for line in plan)

    run(tmp_path, scenario)


def test_a_payment_that_ran_out_unsettled_lets_its_payer_pay_anew(tmp_path):
    async def scenario(world):
        world.facilitators[SECOND].script["settle"] = ["cut"]
        assert (await call(world.app, "GET", URL, world.payment())).is_retry_advice
        world.clock.move(400)
        world.chains[SECOND].grow(1)
        await look(world)
        assert (await asked(world, world.wallet, SECOND)).reason == "Payment required"
        assert (await call(world.app, "GET", URL, world.payment())).status == 200

    run(tmp_path, scenario)


@BOTH
@pytest.mark.parametrize("names", [FIRST, SECOND])
def test_a_smart_account_signs_in_where_it_lives_whichever_network_its_client_names(tmp_path, network, names):
    """Standard clients name the first that is offered, and have paid on any."""

    async def scenario(world):
        owner, account = Wallet(), Wallet()
        name = account.address.lower()
        world.chains[network].contracts.add(name)
        first = await lost(world, world.payment(wallet=account, network=network))
        assert first.status == 200
        offer = (await call(world.app, "GET", URL)).json()["extensions"]["sign-in-with-x"]
        header = sign_in(offer, owner, names, address=account.address)
        # On the other network the same address is somebody else's, who takes the owner's word for their own.
        other = world.chains[SECOND if network == FIRST else FIRST]
        other.contracts.add(name)
        other.signers[name] = [decoded(header)["signature"][2:]]
        assert (await call(world.app, "GET", URL, header, client=ELSEWHERE)).reason == "Payment required"
        world.chains[network].signers[name] = [decoded(header)["signature"][2:]]
        assert (await call(world.app, "GET", URL, header, client=ELSEWHERE)).body == first.body

    run(tmp_path, scenario)


def test_who_paid_on_a_network_that_was_withdrawn_signs_in_there(tmp_path):
    async def scenario(world):
        owner, account = Wallet(), Wallet()
        world.chains[SECOND].contracts.add(account.address.lower())
        first = await lost(world, world.payment(wallet=account))
        offer = (await call(world.app, "GET", URL)).json()["extensions"]["sign-in-with-x"]
        header = sign_in(offer, owner, SECOND, address=account.address)
        world.chains[SECOND].signers[account.address.lower()] = [decoded(header)["signature"][2:]]
        world.terms = Terms(PaymentSettings(BASE_URL, PAY_TO, networks=(FIRST,)), world.clock)
        after = await world.new_process()
        assert (await call(after.app, "GET", URL, header, client=ELSEWHERE)).body == first.body

    run(tmp_path, scenario)


def test_another_signature_that_a_smart_account_takes_is_its_own(tmp_path):
    async def scenario(world):
        account = Wallet()
        world.chains[SECOND].contracts.add(account.address.lower())
        first = world.wallet.pay(world.entry(), world.clock.seconds(), **{"from": account.address})
        paid = await call(world.app, "GET", URL, as_header(envelope(world.entry(), first)))
        assert paid.status == 200
        other, junk = ({**first, "signature": "0x" + byte * 65} for byte in ("aa", "bb"))
        world.chains[SECOND].signers[account.address.lower()] = ["aa" * 65]
        assert (await call(world.app, "GET", URL, as_header(envelope(world.entry(), other)))).body == paid.body
        assert (await call(world.app, "GET", URL, as_header(envelope(world.entry(), junk)))).status == 402
        from_elsewhere = as_header(envelope(world.entry(), other))
        assert (await call(world.app, "GET", URL, from_elsewhere, client=ELSEWHERE)).status == 402
        world.chains[SECOND].node.mode = "500"
        assert (await call(world.app, "GET", URL, as_header(envelope(world.entry(), other)))).status == 502
        assert world.transfers() == 1

    run(tmp_path, scenario)


def test_a_smart_account_is_not_told_to_pay_while_its_chain_does_not_answer(tmp_path):
    async def scenario(world):
        offer = (await call(world.app, "GET", URL)).json()["extensions"]["sign-in-with-x"]
        header = sign_in(offer, Wallet(), SECOND, address=Wallet().address)
        world.chains[SECOND].node.mode = "500"
        assert (await call(world.app, "GET", URL, header)).status == 502

    run(tmp_path, scenario)


def old(chain):
    """Its last blocks are twenty seconds old, but for the newest."""
    chain.grow(3)
    chain.times = {number: moment - 20 for number, moment in chain.times.items()}


@pytest.mark.parametrize("brings_payment", [False, True])
def test_a_smart_account_is_not_told_to_pay_by_a_node_that_has_not_heard_of_it_yet(tmp_path, brings_payment):
    async def scenario(world):
        owner, account, chain = Wallet(), Wallet(), world.chains[SECOND]
        name = account.address.lower()
        chain.contracts.add(name)
        chain.young.add(name)
        payment = world.payment(wallet=account)
        paid = await lost(world, payment)
        old(chain)
        offer = (await call(world.app, "GET", URL)).json()["extensions"]["sign-in-with-x"]
        header = sign_in(offer, owner, SECOND, address=account.address)
        chain.signers[name] = [decoded(header)["signature"][2:]]
        shown = (payment, header) if brings_payment else (header,)
        chain.lag = 2
        # Another process, for whom nobody has looked at this account before.
        other = await world.new_process()
        answer = await call(other.app, "GET", URL, *shown, client=ELSEWHERE)
        assert answer.status == 502
        assert int(answer.headers["retry-after"]) > 0
        assert "do not pay" in answer.json()["error"]["message"]
        chain.lag = 0
        assert (await call(other.app, "GET", URL, *shown, client=ELSEWHERE)).body == paid.body
        assert world.transfers() == 1

    run(tmp_path, scenario)


def test_a_node_that_is_late_for_everybody_still_says_no_in_the_end(tmp_path):
    """Its blocks are two seconds apart, and nobody signs in the future."""

    async def scenario(world):
        chain = world.chains[SECOND]
        offer = (await call(world.app, "GET", URL)).json()["extensions"]["sign-in-with-x"]
        header = sign_in(offer, Wallet(), SECOND, address=Wallet().address)
        old(chain)
        chain.lag = 2
        assert (await call(world.app, "GET", URL, header)).status == 502
        world.clock.move(40)
        chain.grow(3)
        assert (await call(world.app, "GET", URL, header)).status == 402

    run(tmp_path, scenario)


@pytest.mark.parametrize(
    ("says", "status"), [("0x1626ba7e", 402), ("0x" + "1626ba7e".rjust(64, "0"), 402), ("0x1626ba7e" + "0" * 120, 200)]
)
def test_a_contract_says_yes_in_a_whole_word(tmp_path, says, status):
    async def scenario(world):
        owner, account, chain = Wallet(), Wallet(), world.chains[SECOND]
        chain.contracts.add(account.address.lower())
        await lost(world, world.payment(wallet=account))
        offer = (await call(world.app, "GET", URL)).json()["extensions"]["sign-in-with-x"]
        header = sign_in(offer, owner, SECOND, address=account.address)
        chain.signers[account.address.lower()] = [decoded(header)["signature"][2:]]
        chain.yes = says
        assert (await call(world.app, "GET", URL, header, client=ELSEWHERE)).status == status

    run(tmp_path, scenario)


def wrapped(header, deploying=b"deploy it"):
    """As a wallet signs that takes itself for not deployed yet (ERC-6492)."""
    given, magic = decoded(header), bytes.fromhex("6492" * 16)
    inner = bytes.fromhex(given["signature"][2:])
    parts = encode(["address", "bytes", "bytes"], ["0x" + "fa" * 20, deploying, inner])
    return as_header({**given, "signature": "0x" + (parts + magic).hex()}, "sign-in-with-x")


def test_a_smart_account_that_its_payment_deployed_signs_in_as_if_it_were_not_there_yet(tmp_path):
    async def scenario(world):
        owner, account, chain = Wallet(), Wallet(), world.chains[SECOND]
        chain.contracts.add(account.address.lower())
        paid = await lost(world, world.payment(wallet=account))
        offer = (await call(world.app, "GET", URL)).json()["extensions"]["sign-in-with-x"]
        header = sign_in(offer, owner, SECOND, address=account.address)
        chain.signers[account.address.lower()] = [decoded(header)["signature"][2:]]
        assert (await call(world.app, "GET", URL, wrapped(header), client=ELSEWHERE)).body == paid.body
        # Whoever wraps nonsense is nobody.
        given, magic = decoded(header), "6492" * 16
        for nonsense in ("", "00" * 96, "ff" * 96, "00" * 32 + f"{96:064x}" * 2 + "ff" * 32):
            junk = as_header({**given, "signature": "0x" + nonsense + magic}, "sign-in-with-x")
            assert (await call(world.app, "GET", URL, junk, client=ELSEWHERE)).status == 402

    run(tmp_path, scenario)


@BOTH
def test_a_smart_account_that_is_not_deployed_yet_is_not_told_to_pay_while_its_payment_is_in_doubt(tmp_path, network):
    async def scenario(world):
        owner, account, chain = Wallet(), Wallet(), world.chains[network]
        name = account.address.lower()
        chain.factories["0x" + "fa" * 20, b"deploy it"] = name
        world.facilitators[network].script["settle"] = ["cut"]
        assert (await call(world.app, "GET", URL, world.payment(wallet=account, network=network))).is_retry_advice
        offer = (await call(world.app, "GET", URL)).json()["extensions"]["sign-in-with-x"]
        header = sign_in(offer, owner, FIRST, address=account.address)
        chain.signers[name] = [decoded(header)["signature"][2:]]
        assert (await call(world.app, "GET", URL, wrapped(header), client=ELSEWHERE)).is_retry_advice
        # Whoever is not its owner, or would deploy another, hears nothing of it.
        stranger = wrapped(sign_in(offer, Wallet(), FIRST, address=account.address))
        chain.factories["0x" + "fa" * 20, b"deploy another"] = Wallet().address.lower()
        other = wrapped(header, b"deploy another")
        for junk in (stranger, other):
            assert (await call(world.app, "GET", URL, junk, client=ELSEWHERE)).reason == "Payment required"
        # Its payment was made after all, and has deployed it.
        chain.pay(*world.facilitators[network]._parts(world.facilitators[network].asked["settle"][-1]))
        chain.contracts.add(name)
        await look(world)
        assert (await call(world.app, "GET", URL, wrapped(header), client=ELSEWHERE)).status == 200

    run(tmp_path, scenario)


def test_what_makes_us_ask_a_chain_is_limited_and_an_ordinary_signer_is_not(tmp_path):
    async def scenario(world):
        paid = await lost(world, world.payment())
        header = ("sign-in-with-x", "bm90IGEgc2lnbmF0dXJl")
        # What does not even read as a signature is no work.
        assert {(await call(world.app, "GET", URL, header)).status for _ in range(9)} == {402}
        offer = (await call(world.app, "GET", URL)).json()["extensions"]["sign-in-with-x"]
        account = Wallet()
        greedy = sign_in(offer, Wallet(), SECOND, address=account.address)
        world.chains[SECOND].contracts.add(account.address.lower())
        world.chains[SECOND].signers[account.address.lower()] = [decoded(greedy)["signature"][2:]]
        # Its contract says yes to everything, and opens nothing.
        seen = [(await call(world.app, "GET", URL, greedy)).status for _ in range(5)]
        assert seen == [402, 402, 402, 429, 429]
        asked = [each for batch in world.chains[SECOND].node.seen if isinstance(batch, list) for each in batch]
        calls = [each for each in asked if "1626ba7e" in json.dumps(each)]
        assert calls
        assert all(int(each["params"][0]["gas"], 16) <= 10**6 for each in calls)
        # Their neighbour at the same address has a key of their own, and an answer to fetch.
        assert (await call(world.app, "GET", URL, sign_in(offer, world.wallet, SECOND))).body == paid.body

    run(tmp_path, scenario, bad_payments_per_minute=3)


def test_what_makes_us_ask_a_chain_is_limited_with_a_payment_beside_it_too(tmp_path):
    async def scenario(world):
        account = Wallet()
        offer = (await call(world.app, "GET", URL)).json()["extensions"]["sign-in-with-x"]
        greedy = sign_in(offer, Wallet(), SECOND, address=account.address)
        world.chains[SECOND].contracts.add(account.address.lower())
        ran_out = account.pay(world.entry(), world.clock.seconds() - 3600)
        payment = as_header(envelope(world.entry(), ran_out))
        # Nothing is verified for it, and nothing is asked for it alone.
        assert {(await call(world.app, "GET", URL, payment)).status for _ in range(9)} == {402}
        seen = [(await call(world.app, "GET", URL, payment, greedy)).status for _ in range(5)]
        assert seen == [402, 402, 402, 429, 429]

    run(tmp_path, scenario, bad_payments_per_minute=3)


@BOTH
def test_a_payer_in_doubt_who_repeats_without_a_pause_makes_us_read_the_chain_only_so_often(tmp_path, network):
    async def scenario(world):
        chain, far, payment = world.chains[network], world.facilitators[network], world.payment(network=network)
        far.script["settle"] = ["cut"]
        assert (await call(world.app, "GET", URL, payment)).is_retry_advice
        calls = []
        for _ in range(9):
            before = len(chain.node.seen)
            answer = await call(world.app, "GET", URL, payment)
            assert answer.is_retry_advice
            calls.append(len(chain.node.seen) > before)
        assert calls == [True] * 3 + [False] * 6
        assert int(answer.headers["retry-after"]) > 50
        world.clock.move(61)
        assert (await call(world.app, "GET", URL, payment)).status == 200
        assert world.transfers(network) == 1

    run(tmp_path, scenario, unsettled_per_minute=3)


def test_the_minute_begins_when_the_answer_leaves_and_hides_no_other_that_was_paid_for(tmp_path):
    async def scenario(world):
        await lost(world, world.payment())
        world.clock.move(3600)
        assert (await asked(world, world.wallet, SECOND)).status == 200
        assert await delivered(world) == [True]
        world.clock.move(59)
        assert (await asked(world, world.wallet, SECOND)).status == 200
        older = await lost(world, world.payment())
        world.deps.on_stage = None
        newest = await call(world.app, "GET", URL, world.payment())
        assert sorted(await delivered(world)) == [False, True, True]
        assert (await asked(world, world.wallet, SECOND)).body == newest.body
        world.clock.move(61)
        assert (await asked(world, world.wallet, SECOND)).body == older.body
        assert await delivered(world) == [True] * 3
        world.clock.move(61)
        assert (await asked(world, world.wallet, SECOND)).reason == "Payment required"

    run(tmp_path, scenario)


@BOTH
def test_an_answer_that_was_delivered_hides_no_payment_that_is_in_doubt(tmp_path, network):
    """Two workers of one wallet ask the same at once, and one of them hears nothing."""

    async def scenario(world):
        chain, far = world.chains[network], world.facilitators[network]
        far.script["settle"] = ["cut"]
        assert (await call(world.app, "GET", URL, world.payment(network=network))).is_retry_advice
        beside = await call(world.app, "GET", URL, world.payment(network=network))
        assert (await asked(world, world.wallet, network)).body == beside.body
        assert sorted(await delivered(world)) == [False, True]
        world.clock.move(61)
        assert (await asked(world, world.wallet, network)).is_retry_advice
        chain.pay(*far._parts(far.asked["settle"][0]))
        await look(world)
        found = await asked(world, world.wallet, network)
        assert (found.status, found.body == beside.body) == (200, False)
        assert world.transfers(network) == 2

    run(tmp_path, scenario)


def test_a_transaction_that_pays_for_another_is_believed_of_nobody(tmp_path):
    async def scenario(world):
        far, chain = world.facilitators[SECOND], world.chains[SECOND]
        assert (await call(world.app, "GET", URL, world.payment())).status == 200
        (real,) = chain.mined
        honest, payment = far._settle, world.payment()
        for lie in ({"transaction": real}, {"transaction": "0x" + "5e" * 32, "payer": Wallet().address}):
            far._settle = lambda body, lie=lie: {"success": True, "network": SECOND, **lie}
            assert (await call(world.app, "GET", URL, payment)).is_retry_advice
            world.clock.move(9)
        far._settle = honest
        assert (await call(world.app, "GET", URL, payment)).status == 200
        assert world.transfers() == 2

    run(tmp_path, scenario)


def test_a_stranger_meets_the_same_limit_whether_we_know_the_payment_or_not(tmp_path):
    async def scenario(world):
        known, unknown = world.payment(), world.payment()
        assert (await call(world.app, "GET", URL, known)).status == 200
        far = world.facilitators[SECOND]
        world.chains[SECOND].pay(*far._parts({"paymentPayload": {"payload": decoded(unknown)["payload"]}}))
        seen = []
        for address, copy in (("198.51.100.7", known), ("198.51.100.8", unknown)):
            answers = [await call(world.app, "GET", URL, copy, client=(address, 1)) for _ in range(12)]
            seen.append([answer.status for answer in answers])
        assert seen[0] == seen[1] == [402] * 9 + [429] * 3

    run(tmp_path, scenario, bad_payments_per_minute=9, unsettled_per_minute=3)
