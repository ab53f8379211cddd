"""What a payment header may look like, and what must be inside it."""

import base64
import json
from datetime import UTC, datetime

import pytest
from eth_utils import to_checksum_address
from hypothesis import given
from hypothesis import strategies as st

from tickyard.kernel.clock import WallClock
from tickyard.kernel.ids import Address
from tickyard.kernel.units import UsdgAmount
from tickyard.kernel.wire import iso
from tickyard.payments.facilitators.facilitator import FacilitatorRefused, clean_reason
from tickyard.payments.offer.terms import PaymentSettings, Terms, is_same
from tickyard.payments.refusal import Refusal
from tickyard.payments.signed.authorization import check_times, read_authorization
from tickyard.payments.signed.payload import Given, choose, payment_header
from tickyard.payments.signed.spelling import decode
from tickyard.payments.signed.standard_payload import read_usual

NOW = 1_800_000_000
PAY_TO = Address("0x" + "ab" * 20)
FIRST, SECOND = Terms(PaymentSettings("https://api.example", PAY_TO), WallClock()).entries(UsdgAmount(10_000))
PAYER = "0x" + "CD" * 20
AUTHORIZATION = {
    "from": PAYER,
    "to": SECOND.wire["payTo"],
    "value": "10000",
    "validAfter": "0",
    "validBefore": str(NOW + 300),
    "nonce": "0x" + "0A" * 32,
}
PERMIT = {
    "from": PAYER,
    "permitted": {"token": FIRST.wire["asset"], "amount": "10000"},
    "spender": FIRST.wire["extra"]["spender"],
    "nonce": str(2**256 - 1),
    "deadline": str(NOW + 300),
    "witness": {"to": FIRST.wire["payTo"], "validAfter": "0"},
}
SIGNATURE = "0x" + "01" * 65


def b64(value):
    return base64.b64encode(value if isinstance(value, bytes) else json.dumps(value).encode())


def v2(entry=SECOND, **changes):
    key, signed = ("authorization", AUTHORIZATION) if entry is SECOND else ("permit2Authorization", PERMIT)
    return {"x402Version": 2, "accepted": entry.wire, "payload": {"signature": SIGNATURE, key: {**signed, **changes}}}


def read(envelope, *, is_legacy=False):
    payment = read_authorization(choose(Given(b64(envelope), is_legacy), (FIRST, SECOND)))
    check_times(payment, NOW)
    return payment


def reason(envelope, **more):
    with pytest.raises(Refusal) as caught:
        read(envelope, **more)
    return caught.value.reason


def test_a_request_has_one_payment_header_or_none():
    assert payment_header([(b"accept", b"*/*")]) is None
    assert payment_header([(b"payment-signature", b"x")]) == Given(b"x", is_legacy=False)
    assert payment_header([(b"x-payment", b"x")]) == Given(b"x", is_legacy=True)
    for names in ((b"x-payment", b"x-payment"), (b"payment-signature",) * 2, (b"payment-signature", b"x-payment")):
        with pytest.raises(Refusal):
            payment_header([(name, b"same") for name in names])


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"=",
        b"####",
        b"e30",
        b"e31=",
        b" e30=",
        b"e30=\n",
        b"e3\n0=",
        b64(b"{}") + b"====",
        b64(b"[]"),
        b64(b"7"),
        b64(b"null"),
        b64(b"{"),
        b64(b'{"a":NaN}'),
        b64(b'{"a":1,"a":1}'),
        b64(b'{"a":{"b":1,"b":2}}'),
        b64(b'{"a":' + b"9" * 5000 + b"}"),
        b64(b'{"a":"\xff"}'),
        b64(b"\xef\xbb\xbf{}"),
        b64(b'{"a":' * 201 + b"1" + b"}" * 201),
        b64(b'{"a": 1, "a": 1}'),
        b64(b'{"a" :1,"a":1}'),
        b64(b'{"a":1,"\\u0061":1}'),
        b64(b'{"b":"\\":","a":1,"a":1}'),
        b64(b"[" * 6000),
        b64(b'{"a":"' + b"x" * 13000 + b'"}'),
        base64.urlsafe_b64encode(b'{"a":"\xc3\xbf\xc3\xbf\xc3\xbf?>"}'),
    ],
)
def test_a_header_that_is_not_canonical_and_plain_is_refused(value):
    with pytest.raises(Refusal):
        decode(value)


@given(st.binary(max_size=300) | st.text(max_size=200).map(lambda text: b64(text.encode())))
def test_no_header_ever_raises_anything_but_a_refusal(value):
    try:
        decode(value)
    except Refusal:
        return


@given(st.data())
def test_any_spelling_of_plain_json_is_read_and_a_key_given_twice_never_is(data):
    value = data.draw(st.dictionaries(st.text(max_size=5), json_values, max_size=4))
    blank = data.draw(st.sampled_from(["", " ", "\t"]))
    spelled = json.dumps(value, ensure_ascii=data.draw(st.booleans()), separators=("," + blank, blank + ":" + blank))
    try:
        text = spelled.encode()
    except UnicodeEncodeError:
        return
    try:
        read_back = decode(b64(text))
    except Refusal:
        # Numbers beyond what anybody sends, and half characters.
        return
    assert read_back.keys() == value.keys()
    if value:
        name = json.dumps(next(iter(value)))
        with pytest.raises(Refusal):
            decode(b64(f"{spelled[:-1]},{blank}{name}{blank}:1}}".encode()))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.sampled_from(
        ["x402Version", "accepted", "payload", "signature", "authorization", "nonce", "value", "to", "info"]
    ),
    json_values,
    st.booleans(),
)
def test_a_payment_with_any_field_replaced_is_read_or_refused(name, value, is_legacy):
    envelope = v2()
    envelope["extensions"] = {"payment-identifier": {"info": {"required": False, "id": "a" * 16}}}
    for holder in (envelope, envelope["payload"], envelope["payload"]["authorization"], envelope["extensions"]):
        if name in holder:
            holder[name] = value
    try:
        read(envelope, is_legacy=is_legacy)
    except Refusal:
        return


def test_good_payments_are_read_in_one_spelling():
    paid = read(v2())
    assert paid.key.payer == PAYER.lower()
    assert paid.key.nonce == "0x" + "0a" * 32
    assert paid.valid_before == NOW + 300
    permit = read(v2(FIRST))
    assert permit.key.nonce == "0x" + "ff" * 32
    assert permit.inner == {
        "signature": SIGNATURE,
        "permit2Authorization": PERMIT | {"from": to_checksum_address(PAYER)},
    }


@pytest.mark.parametrize("spell", [str.lower, lambda text: "0x" + text[2:].upper(), to_checksum_address])
def test_however_a_wallet_spells_what_it_signed_a_facilitator_reads_it_in_the_spelling_that_all_can(spell):
    """The reference in Python reads no address but the EIP-55 one; wallets in browsers name theirs in lower case."""
    spelled = {"from": spell(PAYER), "to": spell(PAY_TO)}
    authorization = AUTHORIZATION | {name: to_checksum_address(text) for name, text in spelled.items()}
    signed = read(v2(**spelled, nonce="0x" + "aB" * 32)).inner
    assert signed == {"signature": SIGNATURE, "authorization": authorization | {"nonce": "0x" + "ab" * 32}}
    permit = PERMIT | {"from": to_checksum_address(PAYER)}
    token, spender = PERMIT["permitted"]["token"], PERMIT["spender"]
    envelope = v2(
        FIRST,
        **{"from": spelled["from"], "spender": spell(spender)},
        permitted={"token": spell(token), "amount": "10000"},
        witness={"to": spelled["to"], "validAfter": "0"},
    )
    assert read(envelope).inner == {"signature": SIGNATURE, "permit2Authorization": permit}


def test_only_signed_fields_go_any_further():
    envelope = v2(evil="http://evil")
    envelope["payload"]["more"] = {"evil": 1}
    told = AUTHORIZATION | {"from": to_checksum_address(PAYER), "nonce": "0x" + "0a" * 32}
    assert read(envelope).inner == {"signature": SIGNATURE, "authorization": told}


@pytest.mark.parametrize(
    "change",
    [
        {"amount": "9999"},
        {"amount": 10000},
        {"maxTimeoutSeconds": 300.0},
        {"maxTimeoutSeconds": "300"},
        {"payTo": "0x" + "11" * 20},
        {"payTo": SECOND.wire["payTo"].lower()},
        {"network": "eip155:1"},
        {"scheme": "upto"},
        {"extra": {}},
        {"extra": {"name": "USD Coin", "version": "2", "more": 1}},
        {"more": 1},
    ],
)
def test_accepted_must_be_our_entry_to_the_letter(change):
    envelope = v2()
    envelope["accepted"] = {**SECOND.wire, **change}
    assert reason(envelope).startswith("invalid_payment_requirements")


def without_time(told):
    """A time that is wrong is told with the time it should be."""
    kind, _, here = told.partition(": it is ")
    assert not here or here == f"{iso(datetime.fromtimestamp(NOW, UTC))} here"
    return kind


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"to": PAYER}, "invalid_exact_evm_payload_recipient_mismatch"),
        ({"value": "9999"}, "invalid_exact_evm_payload_authorization_value_mismatch"),
        ({"value": "10001"}, "invalid_exact_evm_payload_authorization_value_mismatch"),
        ({"value": "010000"}, "invalid_payload: value is out of shape"),
        ({"value": 10000}, "invalid_payload: value is out of shape"),
        ({"value": "10000\n"}, "invalid_payload: value is out of shape"),
        ({"validBefore": str(2**256)}, "invalid_payload: validBefore is out of shape"),
        ({"validBefore": str(NOW + 9)}, "invalid_exact_evm_payload_authorization_valid_before"),
        ({"validBefore": str(NOW + 86_401)}, "invalid_exact_evm_payload_authorization_valid_before_too_far"),
        ({"validAfter": str(NOW + 1)}, "invalid_exact_evm_payload_authorization_valid_after"),
        ({"nonce": "0x" + "0a" * 31}, "invalid_payload: nonce is out of shape"),
        ({"from": "0x" + "zz" * 20}, "invalid_payload: from is out of shape"),
    ],
)
def test_an_authorization_that_does_not_pay_us_is_refused(change, expected):
    assert without_time(reason(v2(**change))) == expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"permitted": {"token": SECOND.wire["asset"], "amount": "10000"}}, "permit2_token_mismatch"),
        ({"permitted": {"token": FIRST.wire["asset"], "amount": "20000"}}, "permit2_amount_mismatch"),
        ({"spender": PAYER}, "invalid_permit2_spender"),
        ({"witness": {"to": PAYER, "validAfter": "0"}}, "invalid_permit2_recipient_mismatch"),
        ({"witness": {"to": FIRST.wire["payTo"], "validAfter": str(NOW + 1)}}, "permit2_not_yet_valid"),
        ({"witness": None}, "invalid_payload: witness must be an object"),
        ({"deadline": str(NOW + 9)}, "permit2_deadline_expired"),
        ({"deadline": str(NOW + 86_401)}, "permit2_deadline_too_far"),
        ({"nonce": str(2**256)}, "invalid_payload: nonce is out of shape"),
        ({"nonce": "0x01"}, "invalid_payload: nonce is out of shape"),
    ],
)
def test_a_permit_that_does_not_pay_us_is_refused(change, expected):
    assert without_time(reason(v2(FIRST, **change))) == expected


def test_ten_seconds_of_validity_are_enough():
    assert read(v2(validBefore=str(NOW + 10))).valid_before == NOW + 10


@pytest.mark.parametrize("network", ["base", "eip155:8453"])
def test_a_version_one_payment_means_the_second_network_and_only_in_the_legacy_header(network):
    old = {"x402Version": 1, "scheme": "exact", "network": network, "payload": v2()["payload"]}
    assert read(old, is_legacy=True).entry is SECOND
    assert reason(old) == "invalid_x402_version"
    assert reason({**old, "network": "base-sepolia"}, is_legacy=True) == "invalid_network"
    assert reason({**old, "scheme": "upto"}, is_legacy=True) == "unsupported_scheme"
    assert reason({**old, "payload": 3}, is_legacy=True).startswith("invalid_payload")


def test_a_version_two_payment_is_taken_from_the_legacy_header_too():
    assert read(v2(FIRST), is_legacy=True).entry is FIRST


@pytest.mark.parametrize("version", [0, 3, True, "2", None, 2.0])
def test_other_versions_are_refused(version):
    assert reason({**v2(), "x402Version": version}) == "invalid_x402_version"


def test_the_payment_identifier_is_read_and_checked():
    def named(info):
        return {**v2(), "extensions": {"payment-identifier": {"info": info, "schema": {}}}}

    assert read(v2()).identifier is None
    assert read(named({"required": False})).identifier is None
    assert read(named({"required": False, "id": "pay_" + "x" * 20})).identifier == "pay_" + "x" * 20
    for bad in ("short", "x" * 129, "a b" * 10, 7, "x" * 16 + "\n"):
        assert reason(named({"required": False, "id": bad})).startswith("invalid_payment_identifier")
    assert reason(named(None)).startswith("invalid_payment_identifier")


def test_equality_of_json_knows_types():
    assert is_same({"a": [1, "x", None]}, {"a": [1, "x", None]})
    for left, right in ((1, True), (300, 300.0), ([1], [1, 2]), ({"a": 1}, {"b": 1}), (None, False)):
        assert not is_same(left, right)


def test_a_facilitators_reason_is_cleaned_and_cut():
    assert clean_reason("permit2_allowance_required") == "permit2_allowance_required"
    assert clean_reason("<b>bad\r\nx\x00") == "bbadx"
    assert len(clean_reason("x" * 5000)) == 100
    assert [clean_reason(value) for value in (None, 7, "", "\n", {"a": 1})] == ["payment_refused"] * 5


def test_only_reasons_given_before_anything_was_sent_are_believed():
    assert FacilitatorRefused("invalid_exact_evm_insufficient_balance").has_sent_nothing
    assert not FacilitatorRefused("invalid_exact_evm_insufficient_balance", "0x" + "11" * 32).has_sent_nothing
    for doubtful in (
        "transaction_failed",
        "settlement_pending",
        "invalid_exact_evm_nonce_already_used",
        "unexpected_settle_error",
        "Timed out",
        "payment_refused",
    ):
        assert not FacilitatorRefused(doubtful).has_sent_nothing


def compact(value):
    return base64.b64encode(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())


ECHO = {"resource": {"url": "https://x"}, "extensions": {"bazaar": {"info": [1, {"a": "b"}]}}}


@pytest.mark.parametrize("echo", [{}, ECHO, {"resource": ECHO["resource"]}, {"extensions": ECHO["extensions"]}])
@pytest.mark.parametrize("entry", [FIRST, SECOND])
def test_the_usual_payment_is_read_as_any_other_is(entry, echo):
    for envelope in ({**v2(entry), **echo}, {**echo, **v2(entry)}):
        quick = choose(Given(compact(envelope), False), (FIRST, SECOND))
        assert read_usual(base64.b64decode(compact(envelope)), (FIRST, SECOND)) is not None
        # With blanks it takes the long way.
        assert read_usual(base64.b64decode(b64(envelope)), (FIRST, SECOND)) is None
        assert quick == choose(Given(b64(envelope), False), (FIRST, SECOND))


def test_what_is_not_usual_takes_the_long_way_and_ends_the_same():
    named = {"payment-identifier": {"info": {"required": False, "id": "a" * 16}}}
    chosen = choose(Given(compact({**v2(), "extensions": named}), False), (FIRST, SECOND))
    assert chosen.identifier == "a" * 16
    text = base64.b64decode(compact({**v2(), "extensions": named})).replace(
        b"payment-identifier", b"payment\\u002didentifier"
    )
    assert choose(Given(base64.b64encode(text), False), (FIRST, SECOND)).identifier == "a" * 16
    plain = base64.b64decode(compact(v2()))
    for twice in (
        plain.replace(b'{"x402Version":2', b'{"x402Version":2,"x402Version":2'),
        plain.replace(b'"signature":', b'"signature":"0x00","signature":'),
        plain.replace(b'"value":"10000"', b'"value":"1","value":"10000"'),
        plain.replace(b'"accepted":', b'"accepted":{},"accepted":'),
        plain[:-1] + b',"payload":' + plain.partition(b'"payload":')[2],
    ):
        assert twice != plain
        with pytest.raises(Refusal) as caught:
            choose(Given(base64.b64encode(twice), False), (FIRST, SECOND))
        assert "twice" in caught.value.reason


@given(st.binary(max_size=6), st.integers(min_value=0, max_value=1200), st.integers(min_value=0, max_value=8))
def test_a_changed_text_is_never_read_quickly_as_something_else(insert, at, cut):
    text = base64.b64decode(compact({**v2(), **ECHO}))
    changed = text[:at] + insert + text[at + cut :]
    quick = read_usual(changed, (FIRST, SECOND))
    if quick is None:
        return
    try:
        slow = choose(Given(base64.b64encode(b" " + changed), False), (FIRST, SECOND))
    except Refusal:
        # What the client tells us back of our own words is not looked at.
        assert quick == (SECOND, v2()["payload"])
    else:
        assert quick == (slow.entry, slow.inner)
