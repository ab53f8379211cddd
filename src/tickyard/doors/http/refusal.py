"""What is said to a client that breaks the rules of HTTP itself, before we hang up."""

import secrets
from collections.abc import Iterable
from typing import Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from tickyard.kernel.wire import error_body


class ProtocolRefusal(Exception):
    """An answer after which we hang up. Parser callbacks raise it."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(status, message)
        self.status = status
        self.message = message

    def render(self, default_headers: Iterable[tuple[bytes, bytes]]) -> bytes:
        body = error_body("bad_request", self.message)
        head = b"".join(b"%s: %s\r\n" % pair for pair in default_headers)
        head += b"content-type: application/json\r\ncache-control: no-store\r\naccess-control-allow-origin: *\r\n"
        head += b"x-request-id: %s\r\nconnection: close\r\n" % secrets.token_hex(16).encode()
        return STATUS_LINE[self.status] + head + b"content-length: %d\r\n\r\n" % len(body) + body


MALFORMED: Final = ProtocolRefusal(400, "the request is not valid HTTP")
