"""The 402 answer: what a call costs, as a JSON body and the same bytes in base64 as the PAYMENT-REQUIRED header."""

import base64
from functools import lru_cache
from itertools import product
from typing import Any, Final
from urllib.parse import quote

from tickyard.kernel.operation import Operation
from tickyard.kernel.wire import encode
from tickyard.payments.offer import bazaar, sign_in
from tickyard.payments.offer.terms import UNNAMED, AcceptsEntry, Terms
from tickyard.payments.refusal import UNPAID
from tickyard.payments.signed.authorization import Payment
from tickyard.payments.signed.payload import IDENTIFIER_EXTENSION

HEADER_MAX_BYTES: Final = 4 * 1024
_PATH_MAX_CHARS: Final = 96
_PATHS_KEPT: Final = 64
_ERROR_MAX_CHARS: Final = 100
_URL_SAFE: Final = "/%:@!$&'()*+,;=-._~"


class PaidOffer:
    """What one paid route asks for. Made once per route; only the path and the reason change from call to call."""

    def __init__(self, operation: Operation, terms: Terms, *, ask_example: dict[str, Any], answer_example: Any) -> None:
        assert operation.price is not None, f"{operation.name} has no price"
        self.path = bazaar.paid_path(operation)
        self.route = f"{operation.method} {self.path}"
        self.entries: tuple[AcceptsEntry, ...] = terms.entries(operation.price)
        self._base_url = terms.base_url
        self._description = operation.title
        self.sign_in = terms.sign_in
        versions = list(bazaar.versions(operation, ask_example, answer_example))
        # Where the service's own address is very long, paths are shown as their template.
        for path_max, extension in product((_PATH_MAX_CHARS, 0), versions):
            self._path_max: int = path_max
            self._tail = self._render_tail(extension)
            if self._fits():
                break
        else:
            raise ValueError(f"the challenge of {operation.name} does not fit its header")
        self.extensions = {"bazaar": extension}
        self._extensions_text = encode(self.extensions)
        self._head = self._render_head(UNPAID)
        self._kept = lru_cache(maxsize=_PATHS_KEPT)(self._unpaid)

    def resource(self, raw_path: bytes) -> dict[str, str]:
        return {"url": self.url(raw_path), "description": self._description, "mimeType": "application/json"}

    def request(self, payment: Payment, raw_path: bytes) -> bytes:
        """What a facilitator is told: our terms, our resource, and of the client's text only what was signed."""
        terms = payment.entry.text
        payload = b'{"x402Version":2,"accepted":' + terms + b',"payload":' + encode(payment.inner)
        payload += b',"resource":' + encode(self.resource(raw_path)) + b',"extensions":' + self._extensions_text
        return b'{"x402Version":2,"paymentPayload":' + payload + b'},"paymentRequirements":' + terms + b"}"

    def challenge(self, raw_path: bytes, reason: str = UNPAID) -> bytes:
        """The challenge's JSON."""
        head = self._head if reason == UNPAID else self._render_head(reason)
        url = encode(self.url(raw_path))
        return head + url + self._tail + self.sign_in.render(url) + b"}}"

    def unpaid(self, raw_path: bytes) -> tuple[bytes, bytes]:
        """The challenge and its header, for a request without a payment: most are, and a few paths are most."""
        return self._kept(raw_path, self.sign_in.turn)

    def _unpaid(self, raw_path: bytes, _turn: int) -> tuple[bytes, bytes]:
        body = self.challenge(raw_path)
        return body, header_value(body)

    def url(self, raw_path: bytes) -> str:
        """The address as it was called, from our own base URL. One too long for a header is shown as its template."""
        path = quote(raw_path, safe=_URL_SAFE)
        return self._base_url + (path if len(path) <= self._path_max else self.path)

    def _render_head(self, reason: str) -> bytes:
        return b'{"x402Version":2,"error":' + encode(reason[:_ERROR_MAX_CHARS]) + b',"resource":{"url":'

    def _render_tail(self, extension: dict[str, Any]) -> bytes:
        resource = b',"description":' + encode(self._description) + b',"mimeType":"application/json"}'
        accepts = b',"accepts":' + encode([entry.wire for entry in self.entries if entry.closed is None])
        extensions = encode({"bazaar": extension, IDENTIFIER_EXTENSION: UNNAMED})[:-1]
        return resource + accepts + b',"extensions":' + extensions + b',"' + sign_in.HEADER + b'":'

    def _fits(self) -> bool:
        base = len(encode(self._base_url))
        fixed = len(self._render_head("")) + base + len(self._tail) + len(self.sign_in.render(b"")) + base + len(b"}}")
        # Room for the longest path, twice, and the longest reason.
        spare = 2 * max(self._path_max, len(self.path)) + _ERROR_MAX_CHARS
        return -(-(fixed + spare) // 3) * 4 <= HEADER_MAX_BYTES


def header_value(body: bytes) -> bytes:
    return base64.b64encode(body)
