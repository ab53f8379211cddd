"""Secrets that are derived, and signatures other people's libraries accept."""

import base64
import json

import pytest
from standardwebhooks import Webhook

from tickyard.features.alerts.secret import AlertKeys, new_alert_id, sign

ONE = AlertKeys({1: b"k" * 32})
BOTH = AlertKeys({1: b"k" * 32, 2: b"n" * 32})


def test_a_secret_is_32_bytes_in_url_safe_text_and_depends_on_id_and_key():
    secret = ONE.secret_text("a", 1)
    assert len(base64.urlsafe_b64decode(secret + "=")) == 32
    assert len({secret, ONE.secret_text("b", 1), BOTH.secret_text("a", 2)}) == 3
    assert BOTH.secret_text("a", 1) == secret
    assert (ONE.version, BOTH.version) == (1, 2)


def test_only_the_exact_text_matches():
    secret = BOTH.secret_text("a", 1)
    assert BOTH.matches("a", 1, secret)
    wrong = ["", secret[:-1], secret + "=", secret + "A", " " + secret, secret.swapcase(), "\x00" * 43, "\u00e9" * 43]
    assert not any(BOTH.matches("a", 1, given) for given in [*wrong, "\ud800", BOTH.secret_text("a", 2)])


def test_an_unknown_alert_or_a_discarded_key_never_matches():
    assert not BOTH.matches("a", None, BOTH.secret_text("a", BOTH.version))
    assert not AlertKeys({2: b"n" * 32}).matches("a", 1, BOTH.secret_text("a", 1))


def test_the_key_file_holds_versions_and_names_no_key_when_it_is_wrong():
    keys = AlertKeys.read("# keys\n1 " + "6b" * 32 + "\n\n  2\t" + "6E" * 32 + "\n")
    assert keys.secret_text("a", 1) == ONE.secret_text("a", 1)
    assert keys.version == 2
    assert "6b" not in repr(keys)
    good = "1 " + "6b" * 32
    for text in [
        "",
        "# nothing",
        "6b" * 32,
        "1 6b",
        "0 " + "6b" * 32,
        good + "6",
        good + "\n" + good,
        "1 " + "zz" * 32,
    ]:
        with pytest.raises(ValueError, match="key") as caught:
            AlertKeys.read(text)
        assert "6b6b" not in str(caught.value)
    with pytest.raises(ValueError, match="32 bytes"):
        AlertKeys({1: b"short"})


def test_ids_are_random_and_plain():
    ids = {new_alert_id() for _ in range(100)}
    assert len(ids) == 100
    assert all(len(text) == 32 and set(text) <= set("0123456789abcdef") for text in ids)


def test_the_signature_is_the_one_webhook_libraries_compute_and_verify():
    body = json.dumps({"type": "price_alert"}).encode()
    library = Webhook("whsec_" + base64.b64encode(ONE.derive("a", 1)).decode())
    from datetime import UTC, datetime

    now = datetime.now(UTC)  # noqa: TID251  the library compares with the wall clock
    signature = sign(ONE.derive("a", 1), "a", int(now.timestamp()), body)
    assert signature == library.sign("a", now, body.decode())
    headers = {
        "webhook-id": "a",
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": signature,
    }
    assert library.verify(body, headers) == {"type": "price_alert"}
