"""Writing one webhook request and reading what comes back."""

import asyncio
import ssl
from collections.abc import Mapping
from typing import Final

import httpcore

from tickyard.features.alerts.webhook.outcome import PostOutcome
from tickyard.features.alerts.webhook.socket import Aborted, CheckedDial
from tickyard.features.alerts.webhook.url import WebhookUrl

__all__ = ["CheckedDial", "post"]

_DRAIN_S: Final = 0.5


async def post(
    dial: CheckedDial, tls: ssl.SSLContext, url: WebhookUrl, headers: Mapping[str, str], body: bytes
) -> PostOutcome:
    """One request over one connection to the address that `dial` was given."""
    connection = httpcore.AsyncHTTPConnection(
        origin=httpcore.Origin(b"https", url.host.encode(), url.port), ssl_context=tls, network_backend=dial
    )
    try:
        response = await connection.handle_async_request(_request(url, headers, body))
        await _drain(response)
    except Aborted:
        return PostOutcome.ABORTED
    except (
        httpcore.NetworkError,
        httpcore.TimeoutException,
        httpcore.RemoteProtocolError,
        httpcore.UnsupportedProtocol,
    ):
        return PostOutcome.UNKNOWN if dial.has_written else PostOutcome.NOT_DELIVERED
    finally:
        await connection.aclose()
    return PostOutcome.DELIVERED if 200 <= response.status < 300 else PostOutcome.FAILED


async def _drain(response: httpcore.Response) -> None:
    """Take the short answer of a polite receiver, so that it sees a clean end. Its content is not looked at."""
    try:
        async with asyncio.timeout(_DRAIN_S):
            async for _ in response.aiter_stream():
                pass
    except (TimeoutError, httpcore.NetworkError, httpcore.RemoteProtocolError):
        # The status has been said; what follows it cannot change the outcome.
        return


def _request(url: WebhookUrl, headers: Mapping[str, str], body: bytes) -> httpcore.Request:
    fixed = {
        "Host": url.authority,
        "Accept": "*/*",
        "Accept-Encoding": "identity",
        "Connection": "close",
        "Content-Length": str(len(body)),
    }
    return httpcore.Request(
        method=b"POST",
        url=httpcore.URL(scheme=b"https", host=url.host.encode(), port=url.port, target=url.target.encode()),
        headers=[(name.encode(), value.encode()) for name, value in {**fixed, **headers}.items()],
        content=body,
    )
