"""The web app at `/app`: a page, and files whose names change with their content.

They are built by the set-up from `web/` and carried by the package. The page is the same for every view; which
view it shows is in its path. Nothing here is private: the app reads the public API like anybody else.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from tickyard.doors.http.answers import Headers, accepts_gzip, etag_of, header, send_bytes, send_error, tag_matches

FOLDER: Final = Path(__file__).parents[2] / "web"
APP_PATH: Final = "/app"
_PAGE_NAME: Final = "index.html"
_VIEWS: Final = (
    "",
    "/asset/{symbol}",
    "/trade",
    "/trade/{symbol}",
    "/portfolio",
    "/portfolio/{address}",
    "/alerts",
    "/pay",
    "/earn",
    "/status",
    "/sandbox",
)
_KINDS: Final = {".js": b"text/javascript; charset=utf-8", ".css": b"text/css; charset=utf-8"}
_HASHED: Final = re.compile(r"[a-z0-9_]+-[A-Z0-9]{8}\.(js|css)")
_FOREVER: Final = (b"cache-control", b"public, max-age=31536000, immutable")
_ASK_AGAIN: Final = (b"cache-control", b"no-cache")
_NO_POWERS: Final = ", ".join(
    f"{name}=()"
    for name in (
        "accelerometer",
        "camera",
        "display-capture",
        "geolocation",
        "gyroscope",
        "microphone",
        "midi",
        "payment",
        "usb",
        "serial",
        "hid",
        "browsing-topics",
    )
)


def guards(nodes: Iterable[str]) -> Headers:
    """What the page may do: its own files and the service it came from, and in a sandbox the sandbox's nodes."""
    origins = sorted({f"{part.scheme}://{part.netloc}" for part in map(urlsplit, nodes)})
    policy = "; ".join(
        [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self' data:",
            " ".join(["connect-src 'self'", *origins]),
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
        ]
    )
    return [
        (b"content-security-policy", policy.encode()),
        (b"permissions-policy", _NO_POWERS.encode()),
        (b"referrer-policy", b"no-referrer"),
        (b"cross-origin-opener-policy", b"same-origin"),
        (b"x-frame-options", b"DENY"),
    ]


def is_built(folder: Path = FOLDER) -> bool:
    return (folder / _PAGE_NAME).exists()


def docs_script(folder: Path = FOLDER) -> str | None:
    """Where the script of the API reference is; None in an installation without the web app."""
    name = next((file.name for file in folder.glob("docs-*.js") if _HASHED.fullmatch(file.name)), None)
    return None if name is None else f"{APP_PATH}/files/{name}"


def web_routes(nodes: Iterable[str], folder: Path = FOLDER) -> list[tuple[str, str, ASGIApp]]:
    """(method, path, endpoint) of the app's page and files."""
    page = _Page(folder, guards(nodes))
    names = sorted(file.name for file in folder.glob("*-*") if is_built(folder) and _HASHED.fullmatch(file.name))
    views = [("GET", APP_PATH + view, page) for view in _VIEWS]
    files = [("GET", f"{APP_PATH}/files/{name}", _File(folder / name)) for name in names]
    return [*views, *files, ("GET", APP_PATH + "/{rest:path}", _Elsewhere(page))]


class _File:
    """A built file, sent as it was compressed by the build."""

    def __init__(self, path: Path) -> None:
        self._forms = _forms(path)
        self._headers = [(b"content-type", _KINDS[path.suffix]), _FOREVER, (b"vary", b"accept-encoding")]

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        await _send(scope, send, self._forms, self._headers)


class _Page:
    """The one page of all views."""

    def __init__(self, folder: Path, guarding: Headers) -> None:
        self._guarding = guarding
        self._forms = _forms(folder / _PAGE_NAME) if is_built(folder) else None

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        await self.show(scope, send, 200)

    async def show(self, scope: Scope, send: Send, status: int) -> None:
        if self._forms is None:
            await send_error(send, 404, "not_found", "this installation was made without the web app")
            return
        etag = etag_of(self._forms[0])
        common: Headers = [(b"etag", etag), _ASK_AGAIN, (b"vary", b"accept-encoding"), *self._guarding]
        tags = header(scope, b"if-none-match")
        if status == 200 and tags is not None and tag_matches(tags, etag):
            await send({"type": "http.response.start", "status": 304, "headers": common})
            await send({"type": "http.response.body", "body": b""})
            return
        await _send(scope, send, self._forms, [(b"content-type", b"text/html; charset=utf-8"), *common], status)


class _Elsewhere:
    """Below /app, and no view: a person who mistyped it is shown the app, which says so, and not an Error object."""

    def __init__(self, page: _Page) -> None:
        self._page = page

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        rest = scope["path_params"]["rest"]
        if rest.startswith("files/") or b"text/html" not in (header(scope, b"accept") or b""):
            await send_error(send, 404, "not_found", "no such route; GET / lists them all")
        elif scope["path"].endswith("/"):
            await send_bytes(send, 308, b"", [(b"location", scope["path"].rstrip("/").encode("latin-1")), _ASK_AGAIN])
        else:
            await self._page.show(scope, send, 404)


def _forms(path: Path) -> tuple[bytes, bytes]:
    """As it is and compressed. Read at the start: a process shows the build it began with, whatever is built since."""
    return path.read_bytes(), path.with_name(path.name + ".gz").read_bytes()


async def _send(scope: Scope, send: Send, forms: tuple[bytes, bytes], headers: Headers, status: int = 200) -> None:
    plain, zipped = forms
    if accepts_gzip(header(scope, b"accept-encoding")):
        await send_bytes(send, status, zipped, [*headers, (b"content-encoding", b"gzip")])
    else:
        await send_bytes(send, status, plain, headers)
