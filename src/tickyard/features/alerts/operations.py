"""Alerts as callers see them: create, read, cancel. The secret given at creation is the only credential."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal, Protocol, cast

from msgspec import Meta

from tickyard.features.alerts import store
from tickyard.features.alerts.caps import AlertCaps, check_caps
from tickyard.features.alerts.moved import check_pin
from tickyard.features.alerts.payload import SECRET_HEADER, PriceNumber, price_number
from tickyard.features.alerts.rules import AlertStatus, Condition, expiry_of, has_expired, read_threshold
from tickyard.features.alerts.secret import AlertKeys, new_alert_id
from tickyard.features.alerts.store import Alert
from tickyard.features.alerts.webhook.egress import Egress
from tickyard.features.alerts.webhook.url import WebhookUrl, read_webhook_url, registrable_domain
from tickyard.kernel.errors import BadRequest, NotFound, UpstreamDown
from tickyard.kernel.wire import Answer, Ask, Moment, SymbolField, Ticker, iso
from tickyard.market.listing.asset import Asset
from tickyard.market.market import Market
from tickyard.store.engine import Store, Transaction
from tickyard.store.tokens import token_ids

_ID: Final = re.compile(r"[0-9a-f]{32}")
_NOBODYS_ID: Final = "0" * 32
"""Looked up in place of a text that cannot be an id, so that both take the same way."""


@dataclass(frozen=True, slots=True)
class AlertDesk:
    """What the operations need beyond store and market."""

    keys: AlertKeys
    egress: Egress
    caps: AlertCaps = field(default_factory=AlertCaps)
    new_id: Callable[[], str] = new_alert_id


class AlertDeps(Protocol):
    @property
    def market(self) -> Market: ...
    @property
    def store(self) -> Store: ...
    @property
    def alerts(self) -> AlertDesk: ...


AlertId = Annotated[str, Meta(examples=["5d1c4f0be2a94b7c8e0f6a7d3b2c1a90"], description="The alert's id.")]
StatusName = Literal["active", "fired", "expired", "cancelled"]
DeliveryName = Literal["pending", "delivered", "failed", "unknown"]
WebhookText = Annotated[
    str,
    Meta(
        examples=["https://hooks.example.com/alerts"],
        description="Public HTTPS address that receives the one POST; port 443 or 8443.",
    ),
]


class CreateAlertAsk(Ask):
    symbol: SymbolField
    condition: Annotated[Condition, Meta(description="The side of `price` that fires it.")]
    price: Annotated[
        Any,
        Meta(
            examples=[371.615],
            description="Threshold in dollars per token, above 0 and at most 1000000000; rounded to 9 decimals.",
            extra_json_schema={"type": "number", "exclusiveMinimum": 0, "maximum": 1_000_000_000},
        ),
    ]
    webhook_url: WebhookText
    client: Annotated[str, Meta(extra={"client": True})] = ""


class AlertAsk(Ask):
    id: AlertId
    secret: (
        Annotated[str, Meta(description="The secret that came with the alert.", extra={"tool_needs": True})] | None
    ) = None
    secret_header: (
        Annotated[str, Meta(description="The secret, kept out of the URL.", extra={"header": SECRET_HEADER})] | None
    ) = None


class CreatedAlert(Answer):
    id: AlertId
    symbol: Ticker
    condition: Condition
    price: PriceNumber
    status: StatusName
    expires_at: Moment
    secret: Annotated[str, Meta(description="Shown once. The sole credential of the alert; webhooks carry it too.")]


class AlertRecord(Answer):
    id: AlertId
    symbol: Ticker
    condition: Condition
    price: PriceNumber
    status: StatusName
    expires_at: Moment
    webhook_url: WebhookText
    created_at: Moment
    fired_at: Moment | None
    fired_price: PriceNumber | None
    delivery: DeliveryName | None


async def create_alert(deps: AlertDeps, ask: CreateAlertAsk) -> CreatedAlert:
    """Watch the on-chain price of one asset and POST to a webhook once, when it crosses a threshold. Prices are
    sampled every 5 minutes; `above` fires when a sample is at or over the threshold and the one before it was under,
    `below` the other way round. An alert that never fires expires after 30 days. Keep the secret: it is shown once.

    Freshness: checked against each new 5-minute sample; a spike between two samples does not fire.
    Limits: 30 new alerts a minute and 200 active ones per client address, 25 active ones per webhook host.
    Advice: The answer contains a secret that stays in this conversation; it can read and cancel this one alert and
    nothing else. Ask the user before you create one.
    """
    price_e9 = read_threshold(ask.price)
    url = read_webhook_url(ask.webhook_url, deps.alerts.egress.policy)
    asset = deps.market.registry.find(ask.symbol)
    if asset.address is None:
        raise BadRequest(f"{asset.symbol} has no token on the chain, so it has no price to watch")
    if await deps.alerts.egress.is_screened_out(url):
        raise BadRequest("webhookUrl must be at a public address")
    async with deps.store.begin() as tx:
        made = await _insert(tx, deps, ask, asset, price_e9, url)
    return CreatedAlert(
        id=made.id,
        symbol=made.symbol,
        condition=made.condition,
        price=price_number(made.price_e9),
        status=made.status.value,
        expires_at=iso(made.expires_at),
        secret=deps.alerts.keys.secret_text(made.id, made.key_version),
    )


async def get_alert(deps: AlertDeps, ask: AlertAsk) -> AlertRecord:
    """Read one alert with the secret that came with it: its state, and what became of its delivery.

    Freshness: read from our own records at the moment of the call.
    """
    secret = _given_secret(ask)
    async with deps.store.read() as tx:
        found = _open(deps, ask, secret, await store.find(tx, _lookup_id(ask)))
        now = await deps.store.now(tx)
    if found.status is AlertStatus.ACTIVE and has_expired(found.expires_at, now):
        # Written before it is said: what a caller has seen as expired cannot fire any more.
        async with deps.store.begin() as tx:
            await store.expire(tx, now, found.id)
            found = _open(deps, ask, secret, await store.find(tx, found.id))
    return _record(found)


async def cancel_alert(deps: AlertDeps, ask: AlertAsk) -> AlertRecord:
    """Cancel one alert with the secret that came with it. When the answer says cancelled, nothing will ever be sent.
    An alert that has fired or expired stays as it is.

    Freshness: read from our own records at the moment of the call.
    Advice: Ask the user before you cancel.
    """
    secret = _given_secret(ask)
    async with deps.store.begin() as tx:
        found = _open(deps, ask, secret, await store.find(tx, _lookup_id(ask)))
        now = await deps.store.now(tx)
        await store.expire(tx, now, found.id)
        await store.cancel(tx, found.id, now)
        found = _open(deps, ask, secret, await store.find(tx, found.id))
    return _record(found)


async def _insert(
    tx: Transaction, deps: AlertDeps, ask: CreateAlertAsk, asset: Asset, price_e9: int, url: WebhookUrl
) -> Alert:
    assert asset.address is not None
    now = await deps.store.now(tx)
    made = Alert(
        id=deps.alerts.new_id(),
        symbol=asset.symbol,
        token_id=(await token_ids(tx, [(asset.symbol, asset.address)]))[asset.address],
        condition=ask.condition,
        price_e9=price_e9,
        webhook_url=url.text,
        host=url.host,
        domain=registrable_domain(url.host),
        client=ask.client,
        key_version=deps.alerts.keys.version,
        status=AlertStatus.ACTIVE,
        created_at=now,
        expires_at=expiry_of(now),
    )
    await check_caps(tx, made, deps.alerts.caps, now)
    await check_pin(tx, asset.symbol, asset.address)
    await store.add(tx, made)
    return made


def _given_secret(ask: AlertAsk) -> str:
    given = {text for text in (ask.secret, ask.secret_header) if text}
    if not given:
        raise BadRequest("secret is required")
    if len(given) > 1:
        raise BadRequest("secret is given twice, and differently")
    return given.pop()


def _lookup_id(ask: AlertAsk) -> str:
    return ask.id if _ID.fullmatch(ask.id) else _NOBODYS_ID


def _open(deps: AlertDeps, ask: AlertAsk, secret: str, found: Alert | None) -> Alert:
    """The alert, when the secret is its own. Otherwise nobody can tell whether it exists."""
    if found is not None and deps.alerts.keys.is_ahead_of_us(found.key_version):
        # Keys are being changed, and a process that knows the new one made it: "no such alert" would be a lie.
        raise UpstreamDown(
            "the keys of alerts are being changed and this one cannot be opened here yet; try again soon"
        )
    matches = deps.alerts.keys.matches(_lookup_id(ask), found.key_version if found else None, secret)
    if found is None or not matches:
        raise NotFound("no such alert, or the secret is not its own")
    return found


def _record(found: Alert) -> AlertRecord:
    return AlertRecord(
        id=found.id,
        symbol=found.symbol,
        condition=found.condition,
        price=price_number(found.price_e9),
        status=found.status.value,
        expires_at=iso(found.expires_at),
        webhook_url=found.webhook_url,
        created_at=iso(found.created_at),
        fired_at=iso(found.fired_at) if found.fired_at else None,
        fired_price=None if found.fired_price_e9 is None else price_number(found.fired_price_e9),
        delivery=cast(DeliveryName | None, found.delivery and found.delivery.shown.value),
    )
