"""What leaves through the gate: the challenge, and an operation's answer with its receipt."""

import base64
from typing import Any

from starlette.types import Message, Send

from tickyard.chain.address import checksum
from tickyard.doors.http.answers import JSON, NO_STORE, Headers, send_bytes
from tickyard.kernel.wire import encode
from tickyard.payments.books.reply import Reply
from tickyard.payments.refusal import NotSettled


class Capture:
    """Stands in for the server while the operation answers. Of its headers only what the answer means is kept."""

    def __init__(self) -> None:
        self._status = 0
        self._headers: dict[bytes, bytes] = {}
        self._body = bytearray()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._headers = dict(message.get("headers", []))
        else:
            self._body += message.get("body", b"")

    def reply(self) -> Reply:
        content_type = self._headers.get(b"content-type", b"application/json").decode("latin-1")
        return Reply(self._status, bytes(self._body), content_type, self._headers.get(b"retry-after"))


def receipt_value(transaction: str, network: str, payer: str, extensions: dict[str, Any] | None = None) -> bytes:
    """The settlement receipt as its header carries it."""
    receipt: dict[str, Any] = {"success": True, "transaction": transaction, "network": network, "payer": payer}
    return base64.b64encode(encode({**receipt, "extensions": extensions} if extensions else receipt))


def failure_headers(failed: NotSettled) -> Headers:
    """The receipt of a settlement that did not happen, as the protocol wants it beside the challenge."""
    receipt = {"success": False, "errorReason": failed.reason, "transaction": "", "network": failed.key.network}
    value = base64.b64encode(encode({**receipt, "payer": checksum(failed.key.payer)}))
    return [(b"payment-response", value), (b"x-payment-response", value)]


async def send_reply(send: Send, reply: Reply, extra: Headers | None = None) -> None:
    headers: Headers = [(b"content-type", reply.content_type.encode("latin-1")), NO_STORE, *(extra or [])]
    if reply.retry_after is not None:
        headers.append((b"retry-after", reply.retry_after))
    await send_bytes(send, reply.status, reply.body, headers)


async def send_challenge(
    send: Send, body: bytes, header: bytes, extra: Headers | None = None, *, has_body: bool
) -> None:
    headers: Headers = [*JSON, NO_STORE, (b"payment-required", header), *(extra or [])]
    if has_body:
        await send_bytes(send, 402, body, headers)
    else:
        headers.append((b"content-length", b"%d" % len(body)))
        await send({"type": "http.response.start", "status": 402, "headers": headers})
        await send({"type": "http.response.body", "body": b""})
