"""The digests and signatures of payments, against a library that is not ours."""

import pytest

from tickyard.payments.offer.terms import Terms
from tickyard.payments.signed.authorization import read_authorization
from tickyard.payments.signed.payload import Chosen
from tickyard.payments.signed.signature import has_payer_signed, recover
from tickyard.payments.signed.typed_data import TRANSFER_WITH_AUTHORIZATION, type_hash
from yards.clocks import MovedClock
from yards.payer import Wallet
from yards.selling import ITEM, SETTINGS

NOW = 1_800_000_000
ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
WALLET = Wallet(b"\x07" * 32)
ENTRIES = Terms(SETTINGS, MovedClock()).entries(ITEM.price)


def paid(entry, **changes):
    inner = WALLET.pay(entry.wire, NOW, nonce=5) | changes
    return read_authorization(Chosen(entry, inner, None))


def test_the_type_hash_is_the_standards():
    expected = "7c7c6cdb67a18743f49ec6fa9b35f50d52ed05cbed4cc592e13b44501c1a2267"
    assert type_hash(TRANSFER_WITH_AUTHORIZATION).hex() == expected


@pytest.mark.parametrize("entry", ENTRIES, ids=["permit2", "eip3009"])
def test_a_signature_made_elsewhere_is_recovered_to_its_payer(entry):
    payment = paid(entry)
    assert has_payer_signed(payment) is True
    assert recover(payment.digest, payment.signature) == WALLET.address.lower()


@pytest.mark.parametrize("entry", ENTRIES, ids=["permit2", "eip3009"])
def test_a_signature_over_anything_else_is_refused(entry):
    good = paid(entry).signature
    twisted = [good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :] for at in (0, 31, 32, 63, 64)]
    high_s = ORDER - int.from_bytes(good[32:64], "big")
    twisted.append(good[:32] + high_s.to_bytes(32, "big") + bytes([55 - good[64]]))
    twisted += [bytes(65), b"\xff" * 65, good[:64] + b"\x00", good[:64] + b"\x01"]
    for signature in twisted:
        assert has_payer_signed(paid(entry, signature="0x" + signature.hex())) is False


@pytest.mark.parametrize("entry", ENTRIES, ids=["permit2", "eip3009"])
def test_signatures_of_contract_wallets_are_left_to_the_facilitator(entry):
    for length in (1, 64, 66, 300):
        assert has_payer_signed(paid(entry, signature="0x" + "01" * length)) is None


@pytest.mark.parametrize("entry", ENTRIES, ids=["permit2", "eip3009"])
def test_every_field_is_part_of_the_digest(entry):
    digests = {paid(entry).digest}
    for how in ({"nonce": 6}, {"valid_s": 200}, {"valid_after": 7}):
        inner = WALLET.pay(entry.wire, NOW, **{"nonce": 5, **how})
        payment = read_authorization(Chosen(entry, inner, None))
        assert has_payer_signed(payment) is True
        digests.add(payment.digest)
    assert len(digests) == 4


@pytest.mark.parametrize(("s", "is_taken"), [(ORDER // 2, True), (ORDER // 2 + 1, False)], ids=["half", "above"])
def test_s_may_be_half_of_the_order_and_no_more_as_the_token_has_it(s, is_taken):
    payment = paid(ENTRIES[0])
    signature = payment.signature[:32] + s.to_bytes(32, "big") + payment.signature[64:]
    assert (recover(payment.digest, signature) is not None) is is_taken
