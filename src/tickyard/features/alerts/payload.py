"""The webhook: its body, made once when the alert fires, and the headers of one attempt."""

from functools import lru_cache
from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec
from msgspec import Meta

from tickyard.features.alerts.rules import PLACES, Condition
from tickyard.features.alerts.secret import AlertKeys, sign
from tickyard.kernel.units import ratio_text
from tickyard.kernel.wire import Answer, Moment, Ticker, encode

SOURCE: Final = "dex-v3 TOKEN/USDG"
SECRET_HEADER: Final = "x-svc-alert-secret"  # noqa: S105  a name
HEADER_TEXTS: Final = {
    SECRET_HEADER: "The alert's secret, as it was answered when the alert was made.",
    "webhook-id": "The alert's id: the same in every attempt.",
    "webhook-timestamp": "Unix seconds of this attempt.",
    "webhook-signature": "`v1,` and the HMAC-SHA256 of id, timestamp and body, as Standard Webhooks has it.",
}

# A JSON number that is written exactly: as a float, 123456789.123456789 would lose its last digits.
PriceNumber = Annotated[
    msgspec.Raw, Meta(examples=[371.615], description="Dollars per token.", extra_json_schema={"type": "number"})
]


@lru_cache(maxsize=1024)
def price_number(price_e9: int) -> msgspec.Raw:
    return msgspec.Raw(ratio_text(price_e9, 10**PLACES, PLACES).encode())


class AlertEvent(Answer):
    """What the receiver gets. Prices are those of the recorded sample."""

    type: Literal["price_alert"]
    id: str
    symbol: Ticker
    condition: Condition
    threshold: PriceNumber
    price: PriceNumber
    source: str
    fired_at: Moment


class Letter(msgspec.Struct, frozen=True):
    """What waits in the outbox. The secret is not in it: it is derived when the request is made."""

    url: str
    body: str
    key_version: int


class Fired(NamedTuple):
    """An alert that has just fired, as far as its webhook tells of it."""

    id: str
    symbol: str
    condition: Condition
    price_e9: int
    webhook_url: str
    key_version: int
    fired_price_e9: int


def parcel_of(fired: Fired, fired_at: str) -> dict[str, Any]:
    event = AlertEvent(
        type="price_alert",
        id=fired.id,
        symbol=fired.symbol,
        condition=fired.condition,
        threshold=price_number(fired.price_e9),
        price=price_number(fired.fired_price_e9),
        source=SOURCE,
        fired_at=fired_at,
    )
    return {"url": fired.webhook_url, "body": encode(event).decode(), "key_version": fired.key_version}


def headers_of(keys: AlertKeys, alert_id: str, letter: Letter, now_s: int, user_agent: str) -> dict[str, str]:
    """The specified header, and beside it those that webhook libraries verify by themselves."""
    return {
        "Content-Type": "application/json",
        "User-Agent": user_agent,
        SECRET_HEADER: keys.secret_text(alert_id, letter.key_version),
        "webhook-id": alert_id,
        "webhook-timestamp": str(now_s),
        "webhook-signature": sign(keys.derive(alert_id, letter.key_version), alert_id, now_s, letter.body.encode()),
    }
