"""Who gets a stored answer: its payer, and nobody who read the payment off the chain."""

import asyncio
import secrets

import pytest
from coincurve import PublicKey

from tickyard.payments.facilitators.reasons import NONCE_USED
from tickyard.payments.offer.terms import FIRST, SECOND
from tickyard.payments.signed.authorization import read_authorization
from tickyard.payments.signed.payload import Chosen
from tickyard.payments.signed.signature import recover
from yards import paying
from yards.patience import STUCK_S
from yards.payer import Wallet, as_header, decoded, envelope, sign_in

call = paying.call
URL = "/v1/x402/item/AAPL"
OTHER = "/v1/x402/item/MSFT"
BOTH = pytest.mark.parametrize("network", [FIRST, SECOND])
BUYER, THIEF = ("203.0.113.9", 1234), ("198.51.100.7", 1234)


def run(tmp_path, scenario, **options):
    async def bounded():
        async with asyncio.timeout(STUCK_S), paying.World(tmp_path / "x.db", **options) as world:
            await scenario(world)

    asyncio.run(bounded())


def named(text="n" * 16):
    return {"payment-identifier": {"info": {"required": False, "id": text}, "schema": {}}}


def twisted(payment, *, signature=None, **changes):
    """The same payer and nonce as anybody reads them off the chain, and whatever else a thief makes up."""
    whole = decoded(payment)
    inner = whole["payload"]
    if signature is not None:
        inner["signature"] = signature
    (signed,) = (inner[name] for name in inner if name != "signature")
    signed |= changes
    return as_header(whole)


def visible(answer):
    """All of an answer that its reader sees, without what is new in every answer."""
    body = answer.json() if answer.status == 402 else answer.body
    if answer.status == 402:
        del body["extensions"]["sign-in-with-x"]["info"]["nonce"]
        del body["extensions"]["sign-in-with-x"]["info"]["issuedAt"]
    told = {
        name: value
        for name, value in answer.headers.items()
        if name not in ("x-request-id", "payment-required", "content-length")
    }
    return answer.status, body, told


async def used_elsewhere(world, network):
    """A payment of the same wallet that we never saw, and whose nonce is used."""
    payment = world.payment(network=network)
    inner = decoded(payment)["payload"]
    world.chains[network].pay(*world.facilitators[network]._parts({"paymentPayload": {"payload": inner}}))
    return payment


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("signature", ["0x" + "00" * 66, "0x" + "00" * 65, "0x01"])
def test_payer_and_nonce_alone_open_nothing(tmp_path, network, signature):
    async def scenario(world):
        payment = world.payment(network=network)
        assert (await call(world.app, "GET", URL, payment)).status == 200
        forged = twisted(payment, signature=signature)
        for client in (THIEF, BUYER):
            answer = await call(world.app, "GET", URL, forged, client=client)
            assert answer.status == 402
            assert b"AAPL buy" not in answer.body
        assert world.transfers(network) == 1

    run(tmp_path, scenario)


@BOTH
def test_a_copy_read_off_the_chain_is_judged_as_if_we_had_never_seen_it(tmp_path, network):
    async def scenario(world):
        payment = world.payment(network=network)
        assert (await call(world.app, "GET", URL, payment)).status == 200
        unknown = await used_elsewhere(world, network)
        for path in (URL, OTHER, "/v1/x402/item/GONE"):
            ours = await call(world.app, "GET", path, payment, client=THIEF)
            theirs = await call(world.app, "GET", path, unknown, client=THIEF)
            assert visible(ours) == visible(theirs), path
            assert ours.status in (402, 404)
        world.clock.move(400)
        ours = await call(world.app, "GET", URL, payment, client=THIEF)
        theirs = await call(world.app, "GET", URL, unknown, client=THIEF)
        assert visible(ours) == visible(theirs)
        # And the buyer still gets the answer.
        assert (await call(world.app, "GET", URL, payment, client=BUYER)).status == 200

    run(tmp_path, scenario)


@BOTH
@pytest.mark.parametrize("says_used", [True, False])
def test_a_facilitator_that_does_not_look_at_nonces_gives_nothing_away_either(tmp_path, network, says_used):
    async def scenario(world):
        far = world.facilitators[network]
        payment = world.payment(network=network)
        assert (await call(world.app, "GET", URL, payment)).status == 200
        if not says_used:
            far._verdict = lambda body: {"isValid": True}
        settles = world.settles(network)
        stolen = await call(world.app, "GET", URL, payment, client=THIEF)
        method = "permit2" if network == FIRST else "eip3009"
        assert stolen.reason == ("invalid_exact_evm_nonce_already_used" if says_used else NONCE_USED[method])
        assert world.settles(network) == settles

    run(tmp_path, scenario)


def test_a_permit_that_was_used_before_we_saw_it_buys_nothing(tmp_path):
    """Settled at the proxy, or by another seller with the same purse: the transfer is on the chain, and so is a copy."""

    async def scenario(world):
        chain, far = world.chains[FIRST], world.facilitators[FIRST]
        far._verdict = lambda body: {"isValid": True}
        payment = world.payment(network=FIRST)
        permit = decoded(payment)["payload"]["permit2Authorization"]
        chain.pay(world.wallet.address, int(permit["nonce"]), int(permit["permitted"]["amount"]))
        stolen = await call(world.app, "GET", URL, payment, client=THIEF)
        assert (stolen.status, stolen.reason) == (402, NONCE_USED["permit2"])
        assert (world.settles(FIRST), world.deps.runs) == (0, 0)

    run(tmp_path, scenario)


@BOTH
def test_a_name_that_the_first_request_gave_opens_the_answer_from_anywhere(tmp_path, network):
    async def scenario(world):
        payment = world.payment(network=network, extensions=named())
        first = await call(world.app, "GET", URL, payment)
        again = await call(world.app, "GET", URL, payment, client=THIEF)
        assert (again.status, again.body, again.receipt) == (200, first.body, first.receipt)
        # The bytes of the chain with another name, or with none.
        whole = decoded(payment)
        for extensions in (named("m" * 16), {}):
            stolen = as_header({**whole, "extensions": extensions})
            assert (await call(world.app, "GET", URL, stolen, client=THIEF)).status == 402
        assert world.transfers(network) == 1

    run(tmp_path, scenario)


@BOTH
def test_the_payer_may_sign_in_for_the_answer_from_anywhere(tmp_path, network):
    async def scenario(world):
        payment = world.payment(network=network)
        first = await call(world.app, "GET", URL, payment)
        refused = await call(world.app, "GET", URL, payment, client=THIEF)
        offer = refused.json()["extensions"]["sign-in-with-x"]
        for signer, status in ((world.wallet, 200), (Wallet(), 402)):
            header = sign_in(offer, signer, network)
            answer = await call(world.app, "GET", URL, payment, header, client=THIEF)
            assert answer.status == status
        assert (
            await call(world.app, "GET", URL, payment, sign_in(offer, world.wallet, network), client=THIEF)
        ).body == first.body
        # A signature of the payer for another address, or of another hour, is none.
        for changed in (
            {"uri": "https://api.example" + OTHER},
            {"domain": "evil.example"},
            {"issuedAt": "2026-09-16T00:00:00Z"},
        ):
            header = sign_in({**offer, "info": offer["info"] | changed}, world.wallet, network)
            assert (await call(world.app, "GET", URL, payment, header, client=THIEF)).status == 402
        # Somebody who signs in as themselves with a stolen address in the header.
        header = sign_in(offer, Wallet(), network, address=world.wallet.address)
        assert (await call(world.app, "GET", URL, payment, header, client=THIEF)).status == 402

    run(tmp_path, scenario)


@BOTH
def test_another_signature_of_the_payer_over_the_same_authorization_is_the_payers(tmp_path, network):
    async def scenario(world):
        wallet = world.wallet
        payment = world.payment(network=network, nonce=77)
        assert (await call(world.app, "GET", URL, payment)).status == 200
        inner = decoded(payment)["payload"]
        digest = digest_of(world, network, inner)
        again = other_signature(wallet, digest, bytes.fromhex(inner["signature"][2:]))
        answer = await call(world.app, "GET", URL, twisted(payment, signature="0x" + again.hex()), client=BUYER)
        assert answer.status == 200
        assert (
            await call(world.app, "GET", URL, twisted(payment, signature="0x" + again.hex()), client=THIEF)
        ).status == 402

    run(tmp_path, scenario)


def digest_of(world, network, inner):
    entry = next(each for each in world.terms.entries(paying.ITEM.price) if each.network == network)
    return read_authorization(Chosen(entry, inner, None)).digest


def other_signature(wallet, digest, first):
    """Signed once more with other luck: both are good, and they are not the same bytes."""
    order = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
    key = int.from_bytes(wallet.account.key, "big")
    while True:
        k = secrets.randbelow(order - 1) + 1
        point = PublicKey.from_valid_secret(k.to_bytes(32, "big")).point()
        r = point[0] % order
        s = pow(k, -1, order) * (int.from_bytes(digest, "big") + r * key) % order
        s = min(s, order - s)
        for parity in (27, 28):
            made = r.to_bytes(32, "big") + s.to_bytes(32, "big") + bytes([parity])
            if made != first and recover(digest, made) == wallet.address.lower():
                return made


@BOTH
def test_a_thief_cannot_join_a_sale_under_way_once_it_may_be_on_the_chain(tmp_path, network):
    async def scenario(world):
        landed, go_on = asyncio.Event(), asyncio.Event()

        async def hold(stage):
            if stage == "settle landed":
                landed.set()
                await go_on.wait()

        world.facilitators[network].on_stage = hold
        payment = world.payment(network=network)
        honest = asyncio.create_task(call(world.app, "GET", URL, payment))
        await landed.wait()
        stolen = [await call(process.app, "GET", URL, payment, client=THIEF) for process in world.processes]
        assert [answer.status for answer in stolen] == [402, 402]
        copy = asyncio.create_task(call(world.app, "GET", URL, payment))
        go_on.set()
        assert ((await honest).status, (await copy).status) == (200, 200)
        assert world.settles(network) == world.transfers(network) == 1

    run(tmp_path, scenario, settle_s=5.0, processes=2)


@BOTH
def test_a_thief_cannot_join_the_buyers_repeat_of_a_payment_in_doubt(tmp_path, network):
    async def scenario(world):
        world.facilitators[network].script["settle"] = ["cut"]
        payment = world.payment(network=network)
        assert (await call(world.app, "GET", URL, payment)).is_retry_advice
        world.clock.move(5)
        landed, go_on = asyncio.Event(), asyncio.Event()

        async def hold(stage):
            if stage == "settle landed":
                landed.set()
                await go_on.wait()

        world.facilitators[network].on_stage = hold
        honest = asyncio.create_task(call(world.app, "GET", URL, payment))
        await landed.wait()
        assert (await call(world.app, "GET", URL, payment, client=THIEF)).status == 402
        go_on.set()
        assert (await honest).status == 200

    run(tmp_path, scenario, settle_s=5.0)


@BOTH
def test_a_thief_cannot_join_the_run_of_a_payment_that_has_failed_before(tmp_path, network):
    """That nothing was sent is a facilitator's word: the bytes may be on the chain all the same."""

    async def scenario(world):
        world.facilitators[network].script["settle"] = ["refuse"]
        payment = world.payment(network=network)
        assert (await call(world.app, "GET", URL, payment)).status == 402
        runs, go_on = asyncio.Event(), asyncio.Event()

        async def hold(_):
            if not runs.is_set():
                runs.set()
                await go_on.wait()

        world.deps.on_stage = hold
        honest = asyncio.create_task(call(world.app, "GET", URL, payment))
        await runs.wait()
        thief = asyncio.create_task(call(world.app, "GET", URL, payment, client=THIEF))
        copy = asyncio.create_task(call(world.app, "GET", URL, payment))
        await asyncio.wait({thief}, timeout=0.5)
        go_on.set()
        assert ((await honest).status, (await copy).status) == (200, 200)
        assert (await thief).status == 402

    run(tmp_path, scenario)


@BOTH
def test_a_forged_copy_does_not_stand_in_the_way_of_the_real_one(tmp_path, network):
    async def scenario(world):
        payment = world.payment(network=network)
        forged = twisted(payment, signature="0x" + "00" * 66)
        asked, go_on = asyncio.Event(), asyncio.Event()
        far = world.facilitators[network]
        real = decoded(payment)["payload"]["signature"]
        far._verdict = lambda body: {
            "isValid": body["paymentPayload"]["payload"]["signature"] == real, "invalidReason": "invalid_signature"
        }  # fmt: skip

        async def hold(stage):
            if stage == "verify asked" and not asked.is_set():
                asked.set()
                await go_on.wait()

        far.on_stage = hold
        thief = asyncio.create_task(call(world.app, "GET", URL, forged, client=THIEF))
        await asked.wait()
        assert (await call(world.app, "GET", URL, payment)).status == 200
        go_on.set()
        assert (await thief).status == 402

    run(tmp_path, scenario, verify_s=5.0)


def test_a_one_owner_smart_account_pays_with_an_ordinary_signature(tmp_path):
    async def scenario(world):
        owner, account = Wallet(), Wallet()
        entry = world.entry(network=SECOND)
        inner = owner.pay(entry, world.clock.seconds(), **{"from": account.address})
        payment = as_header(envelope(entry, inner))
        refused = await call(world.app, "GET", URL, payment)
        assert refused.reason == "invalid_exact_evm_payload_signature"
        assert world.verifies() == 0
        world.chains[SECOND].contracts.add(account.address.lower())
        assert (await call(world.app, "GET", URL, payment)).status == 200
        # Its copies are told apart by their bytes.
        assert (await call(world.app, "GET", URL, payment)).status == 200
        assert (await call(world.app, "GET", URL, payment, client=THIEF)).status == 402
        # And it signs in through its own contract.
        offer = (await call(world.app, "GET", URL)).json()["extensions"]["sign-in-with-x"]
        header = sign_in(offer, owner, SECOND, address=account.address)
        assert (await call(world.app, "GET", URL, payment, header, client=THIEF)).status == 402
        world.chains[SECOND].signers[account.address.lower()] = [decoded(header)["signature"][2:]]
        assert (await call(world.app, "GET", URL, payment, header, client=THIEF)).status == 200

    run(tmp_path, scenario)


@BOTH
def test_a_thief_cannot_join_a_copy_that_another_process_has_overtaken(tmp_path, network):
    async def scenario(world):
        asked, go_on = asyncio.Event(), asyncio.Event()

        async def hold(stage):
            if stage == "verify asked" and not asked.is_set():
                asked.set()
                await go_on.wait()

        world.facilitators[network].on_stage = hold
        slow, quick = (process.app for process in world.processes)
        payment = world.payment(network=network)
        first = asyncio.create_task(call(slow, "GET", URL, payment))
        await asked.wait()
        assert (await call(quick, "GET", URL, payment)).status == 200
        # It is on the chain for all to read, while the slow process has not heard of it yet.
        stolen = asyncio.create_task(call(slow, "GET", URL, payment, client=THIEF))
        go_on.set()
        assert (await first).status == 200
        assert (await stolen).status == 402
        assert world.transfers(network) == 1

    run(tmp_path, scenario, verify_s=5.0, processes=2)


@BOTH
def test_who_came_before_a_payment_was_settled_gets_its_answer_from_any_address(tmp_path, network):
    """Nobody had it from the chain then."""

    async def scenario(world):
        asked, go_on = asyncio.Event(), asyncio.Event()

        async def hold(stage):
            if stage == "verify asked" and not asked.is_set():
                asked.set()
                await go_on.wait()

        world.facilitators[network].on_stage = hold
        payment = world.payment(network=network)
        slow, quick = (process.app for process in world.processes)
        moved = asyncio.create_task(call(slow, "GET", URL, payment, client=("192.0.2.1", 1)))
        await asked.wait()
        assert (await call(quick, "GET", URL, payment)).status == 200
        go_on.set()
        assert (await moved).status == 200
        assert world.transfers(network) == 1

    run(tmp_path, scenario, verify_s=5.0, processes=2)


@BOTH
def test_an_address_that_all_clients_of_a_proxy_share_opens_nothing(tmp_path, network):
    async def scenario(world):
        proxy, payment = ("192.0.2.80", 1), world.payment(network=network)
        through = ("x-forwarded-for", "203.0.113.9"), ("x-forwarded-for", "198.51.100.7")
        first = await call(world.app, "GET", URL, payment, through[0], client=proxy)
        assert first.status == 200
        for each in through:
            assert (await call(world.app, "GET", URL, payment, each, client=proxy)).status == 402
        # Whoever comes in past the proxy has not its address either.
        assert (await call(world.app, "GET", URL, payment, client=THIEF)).status == 402
        offer = (await call(world.app, "GET", URL)).json()["extensions"]["sign-in-with-x"]
        shown = (payment, through[0], sign_in(offer, world.wallet, network))
        assert (await call(world.app, "GET", URL, *shown, client=proxy)).body == first.body

    run(tmp_path, scenario)
