"""Sending: every byte that leaves through the HTTP door is put together here."""

import gzip
import hashlib
from collections.abc import Iterable

from starlette.types import Scope, Send

from tickyard.kernel.errors import Failure
from tickyard.kernel.wire import StreamAnswer, error_body

Headers = list[tuple[bytes, bytes]]

JSON: Headers = [(b"content-type", b"application/json")]
NO_STORE = (b"cache-control", b"no-store")
_GZIP_FROM_BYTES = 1024


async def send_bytes(send: Send, status: int, body: bytes, headers: Iterable[tuple[bytes, bytes]]) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})


async def send_error(send: Send, status: int, code: str, message: str, headers: Headers | None = None) -> None:
    await send_bytes(send, status, error_body(code, message), [*JSON, NO_STORE, *(headers or [])])


async def send_too_many(send: Send, wait_s: int) -> None:
    message = f"too many requests from this address; try again in {wait_s} s"
    await send_error(send, 429, "bad_request", message, [(b"retry-after", b"%d" % wait_s)])


async def send_failure(send: Send, failure: Failure) -> None:
    headers: Headers = []
    if failure.retry_after_s is not None:
        headers.append((b"retry-after", str(failure.retry_after_s).encode()))
    await send_error(send, failure.status, failure.code, failure.message, headers)


async def send_stream(answer: StreamAnswer, scope: Scope, send: Send) -> None:
    """A file, piece by piece; nothing of it when the caller has it already."""
    etag = answer.etag.encode()
    kept = [(b"etag", etag), (b"cache-control", b"public, max-age=%d, immutable" % answer.seconds)]
    asked = header(scope, b"if-none-match")
    if asked is not None and tag_matches(asked, etag):
        await send({"type": "http.response.start", "status": 304, "headers": kept})
        await send({"type": "http.response.body", "body": b""})
        return
    named = f'attachment; filename="{answer.file_name}"'.encode()
    headers = [(b"content-type", answer.content_type.encode()), (b"content-disposition", named), *kept]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    if scope["method"] != "HEAD":
        async for part in answer.parts:
            await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def etag_of(body: bytes) -> bytes:
    """Weak, because the compressed form of the same answer carries the same tag."""
    return b'W/"' + hashlib.blake2b(body, digest_size=12).hexdigest().encode() + b'"'


def header(scope: Scope, name: bytes) -> bytes | None:
    for key, value in scope["headers"]:
        if key == name:
            return bytes(value)
    return None


def accepts_gzip(value: bytes | None) -> bool:
    """Whether an Accept-Encoding value takes gzip: named with a quality above zero."""
    if value is None or b"gzip" not in value:
        return False
    for part in value.split(b","):
        coding, _, quality = part.strip().partition(b";")
        if coding.strip() == b"gzip":
            return quality.replace(b" ", b"").rstrip(b"0.") != b"q="
    return False


def tag_matches(if_none_match: bytes, etag: bytes) -> bool:
    """Weak comparison of an If-None-Match list."""
    bare = etag.removeprefix(b"W/")
    tags = [part.strip().removeprefix(b"W/") for part in if_none_match.split(b",")]
    return b"*" in tags or bare in tags


def is_worth_squeezing(body: bytes) -> bool:
    return len(body) >= _GZIP_FROM_BYTES


def compress(body: bytes) -> bytes | None:
    """The gzip form, or None where it would not pay."""
    return gzip.compress(body, compresslevel=6, mtime=0) if is_worth_squeezing(body) else None
