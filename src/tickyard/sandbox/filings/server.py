"""The stand-in of the filings database: its routes, its documents and its manners."""

import re
from collections.abc import Mapping
from hashlib import sha256

from aiohttp import web

from tickyard.kernel.clock import Clock
from tickyard.kernel.wire import encode
from tickyard.sandbox.filings.data import TICKERS_PATH, document_at, years_after
from tickyard.sandbox.standins.faults import FaultBoard, faulty, html, huge, truncated

# "Company contact@domain": whoever does not say how to reach them is refused.
_CONTACT = re.compile(r"\S+@\S+\.\S+")
_DOCUMENT = re.compile(
    r"submissions/CIK[0-9]{10}\.json"
    r"|api/xbrl/companyfacts/CIK[0-9]{10}\.json"
    r"|api/xbrl/companyconcept/CIK[0-9]{10}/[a-z-]+/[A-Za-z0-9]+\.json"
)


class FilingsStandIn:
    """Serves `documents`, keyed by path, or those of every listed asset; what is not among them is unknown."""

    def __init__(self, board: FaultBoard, clock: Clock, documents: Mapping[str, bytes] | None = None) -> None:
        self._board = board
        self._clock = clock
        self._given = documents
        self._years = years_after(clock.now().date())

    def add_to(self, app: web.Application) -> None:
        serve = faulty(self._board, "filings", self._clock, self.answer, garbage=self._garbage, throttle=self._throttle)
        app.router.add_get("/filings/{path:.+}", serve)

    def _document(self, path: str) -> bytes | None:
        if self._given is None:
            return document_at(path, self._years)
        return self._given.get(path, encode({}) if path == TICKERS_PATH else None)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if not _CONTACT.search(request.headers.get("User-Agent", "")):
            return _page(403, "Undeclared automated tool: declare your traffic with a contact in the User-Agent")
        path = request.match_info["path"]
        body = self._document(path)
        if body is None:
            return _page(404, "No such document" if _DOCUMENT.fullmatch(path) else "No such page")
        # One tag per form, as caches between us and the database would have it.
        is_packed = _takes_gzip(request.headers.get("Accept-Encoding", ""))
        etag = f'"{sha256(body).hexdigest()[:16]}{"-gzip" if is_packed else ""}"'
        headers = {"ETag": etag, "Vary": "Accept-Encoding"}
        asked = {each.strip().removeprefix("W/") for each in request.headers.get("If-None-Match", "").split(",")}
        if etag in asked or "*" in asked:
            return web.Response(status=304, headers=headers)
        response = web.Response(body=body, content_type="application/json", headers=headers)
        if is_packed:
            response.enable_compression(web.ContentCoding.gzip)
        return response

    async def _garbage(self, request: web.Request, turn: int) -> web.StreamResponse:
        match turn % 3:
            case 0:
                return html()
            case 1:
                return truncated(b'{"0":{"cik_str":320193,"ticker":"AAPL","title":"Apple Inc."}}')
            case _:
                return await huge(request)

    async def _throttle(self, request: web.Request, turn: int) -> web.StreamResponse:
        # A breach of the request rate blocks the address with a page, under either status.
        return _page(429 if turn % 2 else 403, "Request rate threshold exceeded")


def _takes_gzip(accepted: str) -> bool:
    """Whether a caller wants its answer packed: who names gzip, or anything, and does not weigh it at nothing."""
    weights = {}
    for each in accepted.lower().split(","):
        name, _, parameters = each.partition(";")
        weights[name.strip()] = re.fullmatch(r"\s*q=0(\.0*)?\s*", parameters) is None
    return weights.get("gzip", weights.get("*", False))


def _page(status: int, text: str) -> web.Response:
    return web.Response(status=status, text=f"<html><body><h1>{text}</h1></body></html>", content_type="text/html")
