"""What sellers need: facilitators that want credentials, in order; networks withdrawn; signed receipts; the books."""

import asyncio
import base64
import csv
import io
import json
import os
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from yarl import URL

from tickyard.config.reading import read_settings
from tickyard.config.settings import SettingsError
from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import NotFound
from tickyard.payments.books.operations import PaymentAsk, get_payment
from tickyard.payments.books.sellers_view import Filter, find_orphans, find_payments, refund_of, take_stock
from tickyard.payments.books.stock import orphans, show_stock
from tickyard.payments.facilitators.credentials import BadCredentials, FixedHeaders, SignedTokens
from tickyard.payments.offer.terms import FIRST, SECOND, PaymentSettings, Terms
from tickyard.payments.proof.reconcile import look_after
from tickyard.payments.receipts import ReceiptKey
from tickyard.sandbox.clock import CLOCK_FILE, SandboxClock
from yards import paying, selling
from yards.clocks import MovedClock
from yards.patience import STUCK_S
from yards.payer import as_header

call = paying.call
HERE = Path(__file__).parent
URL_ = "/v1/x402/item/AAPL"
ASKED = URL("https://far.example:8443/platform/v2/x402/verify")


def run(tmp_path, scenario, **options):
    async def bounded():
        async with asyncio.timeout(STUCK_S), paying.World(tmp_path / "x.db", **options) as world:
            await scenario(world)

    asyncio.run(bounded())


def pem(key):
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def key_file(tmp_path, key, form):
    if form == "base64":
        raw = key.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
        text = base64.b64encode(raw + key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()
    else:
        text = pem(key)
    file = tmp_path / "key.json"
    file.write_text(json.dumps({"id": "key-1", "privateKey": text}))
    return file


@pytest.mark.parametrize(
    ("make", "form", "algorithm"),
    [
        (ed25519.Ed25519PrivateKey.generate, "base64", "EdDSA"),
        (ed25519.Ed25519PrivateKey.generate, "pem", "EdDSA"),
        (lambda: ec.generate_private_key(ec.SECP256R1()), "pem", "ES256"),
    ],
)
def test_a_token_is_signed_anew_for_every_request_and_bound_to_it(tmp_path, make, form, algorithm):
    key, clock = make(), MovedClock()
    tokens = SignedTokens(key_file(tmp_path, key, form), clock)
    first, second = (tokens.headers(ASKED)["Authorization"].removeprefix("Bearer ") for _ in range(2))
    assert first != second
    claims = jwt.decode(first, key.public_key(), algorithms=[algorithm], options={"verify_exp": True})
    assert claims["uris"] == ["POST far.example:8443/platform/v2/x402/verify"]
    assert (claims["sub"], claims["exp"] - claims["nbf"]) == ("key-1", 120)
    head = jwt.get_unverified_header(first)
    assert (head["kid"], head["alg"], head["typ"]) == ("key-1", algorithm, "JWT")


def test_credentials_that_cannot_be_used_are_named_without_what_stands_in_them(tmp_path):
    file = tmp_path / "secret.txt"
    for text, kind in (
        ("", FixedHeaders),
        ("no header at all", FixedHeaders),
        ("{}", SignedTokens),
        ('{"id":"a","privateKey":"c2hvcnQ="}', SignedTokens),
    ):
        file.write_text(text)
        with pytest.raises(BadCredentials) as wrong:
            kind(file) if kind is FixedHeaders else kind(file, MovedClock())
        assert "secret.txt" in str(wrong.value)
        assert "c2hvcnQ" not in str(wrong.value)
    file.write_text("X-Api-Key: abc 1\n\nX-Other: 2\n")
    assert FixedHeaders(file).headers(ASKED) == {"X-Api-Key": "abc 1", "X-Other": "2"}


def test_the_next_facilitator_is_asked_when_one_is_down_and_settles_what_it_verified(tmp_path):
    async def scenario(world):
        dead, good = "http://127.0.0.1:9", world.facilitators[SECOND].url
        world.urls = {SECOND: [dead, good]}
        both = await world.new_process()
        payment = world.payment()
        world.facilitators[SECOND].script["settle"] = ["cut"]
        assert (await call(both.app, "GET", URL_, payment)).is_retry_advice
        # What began there stays there, whoever else is in the list by now.
        world.urls = {SECOND: [dead]}
        other = await world.new_process()
        world.clock.move(3)
        assert (await call(other.app, "GET", URL_, payment)).is_retry_advice
        assert world.settles() == 1
        world.clock.move(31)
        assert (await call(both.app, "GET", URL_, payment)).status == 200
        assert (world.settles(), world.transfers()) == (2, 1)

    run(tmp_path, scenario)


def test_a_withdrawn_network_leaves_the_challenge_and_finishes_what_was_begun(tmp_path):
    async def scenario(world):
        begun, late = world.payment(network=FIRST), world.payment(network=FIRST)
        world.facilitators[FIRST].script["settle"] = ["cut"]
        assert (await call(world.app, "GET", URL_, begun)).is_retry_advice
        withdrawn = PaymentSettings(selling.BASE_URL, selling.PAY_TO, networks=(SECOND,))
        world.terms = Terms(withdrawn, world.clock)
        after = await world.new_process()
        offers = (await call(after.app, "GET", URL_)).json()["accepts"]
        assert [offer["network"] for offer in offers] == [SECOND]
        assert (await call(after.app, "GET", URL_, late)).reason.startswith("invalid_network")
        world.clock.move(3)
        assert (await call(after.app, "GET", URL_, begun)).status == 200
        assert (await call(after.app, "GET", URL_, world.payment(network=SECOND))).status == 200

    run(tmp_path, scenario)


@pytest.mark.parametrize(
    ("network", "changed"),
    [
        (FIRST, PaymentSettings(selling.BASE_URL, "0x" + "5e" * 20)),
        (SECOND, PaymentSettings(selling.BASE_URL, "0x" + "5e" * 20)),
        (FIRST, PaymentSettings(selling.BASE_URL, selling.PAY_TO, "0x" + "5f" * 20)),
    ],
)
def test_other_prices_or_addresses_finish_what_was_begun_and_take_nothing_more_at_the_old(tmp_path, network, changed):
    async def scenario(world):
        done, begun, late = (world.payment(network=network) for _ in range(3))
        sold = await call(world.app, "GET", URL_, done)
        world.facilitators[network].script["settle"] = ["cut"]
        assert (await call(world.app, "GET", URL_, begun)).is_retry_advice
        world.terms = Terms(changed, world.clock)
        after = await world.new_process()
        settles, verifies = world.settles(network), world.verifies(network)
        assert (await call(after.app, "GET", URL_, late)).reason.startswith("invalid_payment_requirements")
        elsewhere = await call(after.app, "GET", URL_, done, client=("198.51.100.7", 1234))
        assert elsewhere.reason.startswith("invalid_payment_requirements"), "a stranger learns nothing of it"
        assert (world.settles(network), world.verifies(network)) == (settles, verifies)
        assert (await call(after.app, "GET", URL_, done)).body == sold.body
        world.clock.move(3)
        assert (await call(after.app, "GET", URL_, begun)).status == 200
        assert world.transfers(network) == 2
        assert (await call(after.app, "GET", URL_, world.payment(network=network))).status == 200

    run(tmp_path, scenario)


def test_a_payment_of_the_first_version_outlives_another_address_too(tmp_path):
    async def scenario(world):
        paid = world.wallet.pay(world.entry(), world.clock.seconds())
        version_1 = {"x402Version": 1, "scheme": "exact", "network": "base", "payload": paid}
        begun = as_header(version_1, name="x-payment")
        sold = await call(world.app, "GET", URL_, begun)
        assert sold.status == 200
        world.terms = Terms(PaymentSettings(selling.BASE_URL, "0x" + "5e" * 20), world.clock)
        after = await world.new_process()
        assert (await call(after.app, "GET", URL_, begun)).body == sold.body
        fresh = {**version_1, "payload": world.wallet.pay(world.entry(), world.clock.seconds(), to=selling.PAY_TO)}
        assert (await call(after.app, "GET", URL_, as_header(fresh, name="x-payment"))).status == 402
        assert world.transfers() == 1

    run(tmp_path, scenario)


def read(*words):
    async def go():
        process = await asyncio.create_subprocess_exec(
            "node",
            str(HERE / "payment_readers.mjs"),
            *words,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, trouble = await asyncio.wait_for(process.communicate(), STUCK_S)
        assert process.returncode == 0, trouble.decode()
        return json.loads(out)

    return go()


@pytest.mark.slow
@pytest.mark.parametrize("network", [FIRST, SECOND])
def test_a_signed_receipt_is_verified_by_the_reference_library(tmp_path, network):
    file = tmp_path / "receipts.pem"
    file.write_text(pem(ed25519.Ed25519PrivateKey.generate()))
    key = ReceiptKey(file, "https://api.example:8443")

    async def scenario(world):
        payment = world.payment(network=network)
        plain = await call(world.app, "GET", URL_, payment)
        assert "extensions" not in plain.receipt
        world.receipt_key = key
        signing = await world.new_process()
        answer, again = [await call(signing.app, "GET", URL_, payment) for _ in range(2)]
        assert answer.headers["payment-response"] == again.headers["payment-response"]
        document = json.loads(key.document())
        jwk = document["verificationMethod"][0]["publicKeyJwk"]
        said = await read("receipt", answer.headers["payment-response"], json.dumps(jwk))
        assert said["payer"] == world.wallet.address
        assert (said["network"], said["transaction"]) == (network, answer.receipt["transaction"])
        assert (said["version"], said["resourceUrl"]) == (1, "https://api.example" + URL_)
        assert document["id"] == "did:web:api.example%3A8443"

    run(tmp_path, scenario)


def test_receipts_stay_true_when_another_key_signs(tmp_path):
    file, said = tmp_path / "receipts.pem", {"network": FIRST, "url": "u", "payer": "p", "transaction": "t"}
    made, receipts = [pem(ed25519.Ed25519PrivateKey.generate()) for _ in range(3)], []
    # One key after the other is appended; at last the first got out and is taken away.
    for text in (made[0], made[0] + made[1], "".join(made), made[1] + made[2]):
        file.write_text(text)
        key = ReceiptKey(file, "https://api.example")
        receipts.append(key.sign(**said, issued_at=1)["offer-receipt"]["info"]["receipt"]["signature"])
        document = json.loads(key.document())
        methods = {each["id"]: each["publicKeyJwk"] for each in document["verificationMethod"]}
        assert document["assertionMethod"] == list(methods)
        # How a key was called before there could be several.
        assert document["assertionMethod"][0] == "did:web:api.example#receipts"
        good = [is_signed(receipt, methods) for receipt in receipts]
        assert good == ([True] * len(receipts) if made[0] in text else [False, True, True, True])
    file.write_text("no key")
    with pytest.raises(BadCredentials):
        ReceiptKey(file, "https://api.example")


def is_signed(receipt, methods):
    head, _, signature = (part + "=" * (-len(part) % 4) for part in receipt.split("."))
    named = methods.get(json.loads(base64.urlsafe_b64decode(head))["kid"])
    if named is None:
        return False
    public = ed25519.Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(named["x"] + "="))
    public.verify(base64.urlsafe_b64decode(signature), receipt.rpartition(".")[0].encode())
    return True


@pytest.mark.slow
def test_the_reference_client_signs_in_by_our_challenge(tmp_path):
    async def scenario(world):
        payment = world.payment()
        assert (await call(world.app, "GET", URL_, payment)).status == 200
        elsewhere = ("198.51.100.7", 1)
        refused = await call(world.app, "GET", URL_, payment, client=elsewhere)
        offer = json.dumps(refused.json()["extensions"]["sign-in-with-x"])
        made = await read("sign-in", offer, "0x" + bytes(world.wallet.account.key).hex(), "https://api.example" + URL_)
        header = ("sign-in-with-x", made["header"])
        assert (await call(world.app, "GET", URL_, payment, header, client=elsewhere)).status == 200

    run(tmp_path, scenario)


@pytest.mark.slow
def test_the_books_are_shown_exported_and_orphans_get_an_unsigned_refund(tmp_path):
    names = {}

    async def scenario(world):
        process, began = world.processes[0], world.clock.now()
        answer = await call(world.app, "GET", URL_, world.payment())
        names["tx"] = answer.receipt["transaction"]
        assert (await take_stock(process.store, SECOND, world.clock.now())).uncredited == 1
        # Paid, and its buyer never comes back for the answer.
        far = world.facilitators[FIRST]
        far.script["settle"] = ["cut"]
        assert (await call(world.app, "GET", URL_, world.payment(network=FIRST))).is_retry_advice
        world.chains[FIRST].pay(*far._parts(far.asked["settle"][-1]))
        await look_after(process.ledger, process.proofs, finality=0, is_forced=True)
        await look_after(process.ledger, process.proofs, finality=0, is_forced=True)
        await process.cashier.deliveries.close()
        (orphan,) = await find_orphans(process.store, world.clock.now())
        refund = refund_of(orphan)
        assert (refund["chainId"], refund["to"].lower()) == (4663, world.chains[FIRST].asset)
        assert refund["data"] == f"0xa9059cbb{'0' * 24}{world.wallet.address[2:].lower()}{10_000:064x}"
        stock = await take_stock(process.store, FIRST, world.clock.now())
        assert (stock.oldest_unknown, stock.uncredited, stock.orphans) == (None, 0, 1)
        world.clock.move(3_600)
        await show_stock(process.ledger, [FIRST, SECOND])
        assert [orphans.labels(network)._value.get() for network in (FIRST, SECOND)] == [1, 0]
        for which, many in ((Filter(payer=world.wallet.address), 2), (Filter(payer="0x" + "11" * 20), 0)):
            assert len(await find_payments(process.store, which, 10)) == many
        # Near midnight the two payments are of two days.
        names["days"] = {at.date().isoformat() for at in (began, world.clock.now())}
        # Settled by a facilitator's word, and by nothing else.
        world.facilitators[SECOND].script["settle"] = ["ghost"]
        names["never"] = (await call(world.app, "GET", URL_, world.payment())).receipt["transaction"]
        world.clock.move(400)
        world.chains[SECOND].grow(2)
        assert (await look_after(process.ledger, process.proofs, finality=0, is_forced=True))["missing"] == 1
        with pytest.raises(NotFound):
            await get_payment(process, PaymentAsk(transaction=names["never"]))

    run(tmp_path, scenario)
    (tmp_path / "x.db").rename(tmp_path / "tickyard.db")
    # Where the clock of the sandbox is ahead, an answer that nobody fetched is old by that clock.
    SandboxClock.create(tmp_path / CLOCK_FILE, WallClock().now() + timedelta(seconds=700))
    settings = {"DATA_DIR": str(tmp_path), "PROFILE": "sandbox", "RPC_URLS": "http://127.0.0.1:9"}
    environ = {**os.environ, **{f"TICKYARD_{name}": value for name, value in settings.items()}}

    def told(*words):
        command = [sys.executable, "-m", "tickyard", "payments", *words]
        return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=STUCK_S, check=True).stdout

    assert len(told("list").splitlines()) == 3
    of_days = [told("list", "--network", "8453", "--state", "settled", "--day", day) for day in names["days"]]
    assert sum(len(of_day.splitlines()) for of_day in of_days) == 2
    assert json.loads(told("show", names["never"]))["proof"] == "missing"
    orphan = json.loads(told("orphans"))
    assert orphan["unsignedRefund"]["chainId"] == 4663
    # Who is paid back before that may fetch the answer all the same.
    assert datetime.fromisoformat(orphan["answerUntil"]) - datetime.fromisoformat(orphan["settledAt"]) == timedelta(1)
    shown = json.loads(told("show", names["tx"]))
    assert (shown["state"], shown["proof"], shown["amount"]) == ("settled", "credited", "0.010000")
    span = ("--from", min(names["days"]), "--to", max(names["days"]))
    rows = list(csv.DictReader(io.StringIO(told("export", *span))))
    assert {row["creditedDay"] for row in rows} <= names["days"]
    assert names["tx"] in {row["transaction"] for row in rows}
    assert len(json.loads(told("export", *span, "--format", "json"))) == 2


def test_prices_are_settings_with_the_specified_ones_as_defaults():
    base = {"TICKYARD_PROFILE": "sandbox", "TICKYARD_RPC_URLS": "http://127.0.0.1:9"}
    assert [int(price) for price in read_settings(base).prices.values()] == [10_000] * 4 + [20_000]
    assert int(read_settings(base | {"TICKYARD_PRICE_QUOTE": "0.5"}).prices["get_quote"]) == 500_000
    for wrong in ("0", "-1", "1e3", "free", "0.0000001"):
        with pytest.raises(SettingsError, match="PRICE_QUOTE"):
            read_settings(base | {"TICKYARD_PRICE_QUOTE": wrong})
    with pytest.raises(SettingsError, match="TICKYARD_NETWORKS must be"):
        read_settings(base | {"TICKYARD_NETWORKS": "1"})
    several = read_settings(base | {"TICKYARD_FACILITATOR_8453": "https://a.example, https://b.example/x"})
    assert several.facilitator_8453 == ("https://a.example", "https://b.example/x")
