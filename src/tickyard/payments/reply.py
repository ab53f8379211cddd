"""An operation's answer, held back until it is paid for, and the sending of what the gate itself says."""

import base64
from dataclasses import dataclass, field

from starlette.types import Message, Send

from tickyard.kernel.wire import encode, error_body

Headers = list[tuple[bytes, bytes]]
NO_STORE = (b"cache-control", b"no-store")


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    body: bytes
    content_type: str
    retry_after: bytes | None = field(default=None, compare=False)

    @property
    def is_good(self) -> bool:
        """Worth its money. Anything but a plain success is not."""
        return 200 <= self.status < 300


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


def receipt_value(transaction: str, network: str, payer: str) -> bytes:
    """The settlement receipt as its header carries it."""
    receipt = {"success": True, "transaction": transaction, "network": network, "payer": payer}
    return base64.b64encode(encode(receipt))


async def send_reply(send: Send, reply: Reply, extra: Headers | None = None) -> None:
    headers: Headers = [(b"content-type", reply.content_type.encode("latin-1")), NO_STORE, *(extra or [])]
    if reply.retry_after is not None:
        headers.append((b"retry-after", reply.retry_after))
    await _send(send, reply.status, headers, reply.body)


async def send_error(send: Send, status: int, code: str, message: str, extra: Headers | None = None) -> None:
    headers: Headers = [(b"content-type", b"application/json"), NO_STORE, *(extra or [])]
    await _send(send, status, headers, error_body(code, message))


async def send_challenge(send: Send, body: bytes, header: bytes, *, has_body: bool) -> None:
    headers = [(b"content-type", b"application/json"), NO_STORE, (b"payment-required", header)]
    if has_body:
        await _send(send, 402, headers, body)
    else:
        headers.append((b"content-length", b"%d" % len(body)))
        await send({"type": "http.response.start", "status": 402, "headers": headers})
        await send({"type": "http.response.body", "body": b""})


async def _send(send: Send, status: int, headers: Headers, body: bytes) -> None:
    headers.append((b"content-length", b"%d" % len(body)))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
