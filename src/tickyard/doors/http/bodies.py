"""Request bodies: counted as they stream in, because Content-Length may lie."""

import json
from typing import Final

from starlette.types import Receive, Scope

from tickyard.doors.http.answers import header

BODY_MAX_BYTES: Final = 64 * 1024


class BodyRefused(Exception):
    """A body that is not even looked at: its status and sentence."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


async def collect(receive: Receive) -> bytes | None:
    """The body, cut after one byte too many. None: it broke off."""
    body = bytearray()
    while len(body) <= BODY_MAX_BYTES:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if not message.get("more_body", False):
            break
    return bytes(body)


def declares_too_much(scope: Scope) -> bool:
    """Known before the body is asked for: who waits for our word to send it must not be told to go on."""
    declared = header(scope, b"content-length")
    return declared is not None and declared.isdigit() and int(declared) > BODY_MAX_BYTES


async def read_json_body(scope: Scope, receive: Receive) -> bytes:
    """A body that says it is JSON, within its bounds."""
    content_type = (header(scope, b"content-type") or b"").partition(b";")[0].strip().lower()
    if content_type != b"application/json":
        raise BodyRefused(415, "the body must be application/json")
    if header(scope, b"content-encoding") is not None:
        raise BodyRefused(415, "a compressed body is not accepted")
    if declares_too_much(scope):
        raise _too_large()
    body = await collect(receive)
    if body is None:
        raise BodyRefused(400, "the body did not arrive whole")
    if len(body) > BODY_MAX_BYTES:
        raise _too_large()
    return body


def holds_half_a_character(body: bytes) -> bool:
    """Whether JSON escapes one half of a surrogate pair, as a text that was cut ends: Python reads it as text, and
    nothing can write it again."""
    if b"\\u" not in body:
        return False
    try:
        json.dumps(json.loads(body), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    except (ValueError, RecursionError):
        # Something else is wrong with it, which its reader tells.
        return False
    return False


def _too_large() -> BodyRefused:
    return BodyRefused(413, f"the body is over {BODY_MAX_BYTES // 1024} KiB")
