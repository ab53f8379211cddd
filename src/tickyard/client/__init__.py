"""A typed client of the service.

    from tickyard.client import Client

    with Client("https://api.example.com") as client:
        print(client.get_price(symbol="AAPL").token.mid)

`AsyncClient` is the same to be awaited. Failures are exceptions with a code and a status, see `errors`. Calls that
only read are tried again, a few times. With a `Payer` the pay-per-call routes are used, up to a limit.
"""

from tickyard.client.answers.events import AlertEvent
from tickyard.client.clients import AsyncClient, Client
from tickyard.client.errors import (
    BadRequest,
    InternalError,
    KeptUnreadable,
    NodeUnreachable,
    NoLiquidity,
    NotFound,
    PaymentRequired,
    ServiceError,
    SpendingLimit,
    TickyardError,
    TooManyRequests,
    TradeRefused,
    TradeUnsettled,
    Unreachable,
    UpstreamError,
    WebhookRefused,
)
from tickyard.client.order import Order
from tickyard.client.payer import Payer
from tickyard.client.stream import StreamEvent
from tickyard.client.webhook import verify_webhook

__all__ = [
    "AlertEvent",
    "AsyncClient",
    "BadRequest",
    "Client",
    "InternalError",
    "KeptUnreadable",
    "NoLiquidity",
    "NodeUnreachable",
    "NotFound",
    "Order",
    "Payer",
    "PaymentRequired",
    "ServiceError",
    "SpendingLimit",
    "StreamEvent",
    "TickyardError",
    "TooManyRequests",
    "TradeRefused",
    "TradeUnsettled",
    "Unreachable",
    "UpstreamError",
    "WebhookRefused",
    "verify_webhook",
]
