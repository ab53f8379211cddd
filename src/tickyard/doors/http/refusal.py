"""What is said to a client that breaks the rules of HTTP itself, before we hang up."""

import re
import secrets
from collections.abc import Iterable
from typing import Final

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from tickyard.kernel.wire import error_body
from tickyard.observe.log import log
from tickyard.observe.watched import protocol_refusals

# Of a piece with several requests, the one that the parser did not understand is none of these.
_UNKNOWN: Final = re.compile(rb"(?:\A|\n)(?!(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) )[!-~]+ [!-~]+ HTTP/[0-9]")
_HALF_A_WORD: Final = re.compile(rb"[A-Za-z][!-~]*")


class ProtocolRefusal(Exception):
    """An answer after which we hang up. Parser callbacks raise it."""

    def __init__(self, status: int, message: str, code: str = "bad_request") -> None:
        super().__init__(status, message)
        self.status = status
        self.message = message
        self.code = code

    def render(self, default_headers: Iterable[tuple[bytes, bytes]]) -> bytes:
        protocol_refusals.labels(str(self.status)).inc()
        body = error_body(self.code, self.message)
        head = b"".join(b"%s: %s\r\n" % pair for pair in default_headers)
        head += b"content-type: application/json\r\ncache-control: no-store\r\naccess-control-allow-origin: *\r\n"
        head += b"x-request-id: %s\r\nconnection: close\r\n" % secrets.token_hex(16).encode()
        return STATUS_LINE[self.status] + head + b"content-length: %d\r\n\r\n" % len(body) + body


MALFORMED: Final = ProtocolRefusal(400, "the request is not valid HTTP")
UNKNOWN_METHOD: Final = ProtocolRefusal(501, "this method is not known here")
CROWDED: Final = ProtocolRefusal(502, "too many connections are open here; come again in a moment", "upstream_error")
CRASHED: Final = ProtocolRefusal(500, "something went wrong on our side", "internal_error")


def reason_of(error: httptools.HttpParserError, data: bytes) -> ProtocolRefusal:
    """Whose fault it is that the parser stopped in this piece."""
    cause = error.__context__
    if isinstance(cause, ProtocolRefusal):
        return cause
    if isinstance(error, httptools.HttpParserCallbackError) and not isinstance(cause, httptools.HttpParserError):
        # Not the request is broken, but we are.
        log.error("a connection crashed", cause=cause)
        return CRASHED
    is_method = isinstance(error, httptools.HttpParserInvalidMethodError)
    return UNKNOWN_METHOD if is_method and (_UNKNOWN.search(data) or _HALF_A_WORD.fullmatch(data)) else MALFORMED
