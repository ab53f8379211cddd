"""Whether a received webhook is genuine, and what it says."""

import base64
import binascii
import hmac
from collections.abc import Mapping
from hashlib import sha256
from typing import Final

import msgspec

from tickyard.client.answers.events import AlertEvent
from tickyard.client.errors import WebhookRefused
from tickyard.kernel.clock import WallClock

SECRET_HEADER: Final = "x-svc-alert-secret"  # noqa: S105  a name
TOLERANCE_S: Final = 300


def verify_webhook(secret: str, headers: Mapping[str, str], body: bytes, *, now: int | None = None) -> AlertEvent:
    """The event in a webhook that was sent by the service for the alert with this secret, at most 5 minutes ago.

    `body`: the bytes as they arrived. `now`: Unix seconds, else this machine's. Raises WebhookRefused.
    """
    given = {name.lower(): value for name, value in headers.items()}
    try:
        key = base64.urlsafe_b64decode(secret + "=" * (-len(secret) % 4))
        event_id, sent_at = given["webhook-id"], given["webhook-timestamp"]
        age = (WallClock().seconds() if now is None else now) - int(sent_at)
        signatures = given["webhook-signature"].split()
    except (KeyError, ValueError, binascii.Error):
        raise WebhookRefused("a webhook header is missing or out of shape") from None
    if abs(age) > TOLERANCE_S:
        raise WebhookRefused("the webhook is too old, or from the future")
    if SECRET_HEADER in given and not hmac.compare_digest(given[SECRET_HEADER].encode(), secret.encode()):
        raise WebhookRefused("the webhook carries another alert's secret")
    signed = hmac.new(key, f"{event_id}.{sent_at}.".encode() + body, sha256).digest()
    wanted = b"v1," + base64.b64encode(signed)
    if not any(hmac.compare_digest(each.encode(), wanted) for each in signatures):
        raise WebhookRefused("the signature is not the service's")
    try:
        event = msgspec.json.decode(body, type=AlertEvent)
    except msgspec.DecodeError:
        raise WebhookRefused("the body is not a price alert") from None
    if event.id != event_id:
        raise WebhookRefused("the body is of another alert")
    return event
