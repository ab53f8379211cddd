"""The 402 answer: what a call costs, as a JSON body and the same bytes in base64 as the PAYMENT-REQUIRED header."""

import base64
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote

from tickyard.kernel.operation import Operation
from tickyard.kernel.wire import encode
from tickyard.payments.offer import bazaar
from tickyard.payments.offer.terms import AcceptsEntry, Terms
from tickyard.payments.refusal import UNPAID
from tickyard.payments.signed.authorization import Payment

HEADER_MAX_BYTES: Final = 4 * 1024
_PATH_MAX_CHARS: Final = 160
_PATHS_KEPT: Final = 64
_ERROR_MAX_CHARS: Final = 128
_URL_SAFE: Final = "/%:@!$&'()*+,;=-._~"
# Room for the longest path and reason that a challenge may carry, both written as JSON.
_SPARE_CHARS: Final = _PATH_MAX_CHARS + _ERROR_MAX_CHARS


class PaidOffer:
    """What one paid route asks for. Made once per route; only the path and the reason change from call to call."""

    def __init__(self, operation: Operation, terms: Terms, *, ask_example: dict[str, Any], answer_example: Any) -> None:
        assert operation.price is not None, f"{operation.name} has no price"
        self.path = bazaar.paid_path(operation)
        self.route = f"{operation.method} {self.path}"
        self.entries: tuple[AcceptsEntry, ...] = terms.entries(operation.price)
        self._base_url = terms.base_url
        self._description = operation.title
        for extension in bazaar.versions(operation, ask_example, answer_example):
            self._tail = self._render_tail(extension)
            if self._fits():
                break
        else:
            raise ValueError(f"the challenge of {operation.name} does not fit its header")
        self.extensions = {"bazaar": extension}
        self._extensions_text = encode(self.extensions)
        self._head = self._render_head(UNPAID)
        self.unpaid = lru_cache(maxsize=_PATHS_KEPT)(self._unpaid)

    def resource(self, raw_path: bytes) -> dict[str, str]:
        return {"url": self._url(raw_path), "description": self._description, "mimeType": "application/json"}

    def request(self, payment: Payment, raw_path: bytes) -> bytes:
        """What a facilitator is told: our terms, our resource, and of the client's text only what was signed."""
        terms = payment.entry.text
        payload = b'{"x402Version":2,"accepted":' + terms + b',"payload":' + encode(payment.inner)
        payload += b',"resource":' + encode(self.resource(raw_path)) + b',"extensions":' + self._extensions_text
        return b'{"x402Version":2,"paymentPayload":' + payload + b'},"paymentRequirements":' + terms + b"}"

    def challenge(self, raw_path: bytes, reason: str = UNPAID) -> bytes:
        """The challenge's JSON."""
        head = self._head if reason == UNPAID else self._render_head(reason)
        return head + encode(self._url(raw_path)) + self._tail

    def _unpaid(self, raw_path: bytes) -> tuple[bytes, bytes]:
        """The challenge and its header, for a request without a payment: most are, and a few paths are most."""
        body = self.challenge(raw_path)
        return body, header_value(body)

    def _url(self, raw_path: bytes) -> str:
        """The address as it was called, from our own base URL. One too long for a header is shown as its template."""
        path = quote(raw_path, safe=_URL_SAFE)
        return self._base_url + (path if len(path) <= _PATH_MAX_CHARS else self.path)

    def _render_head(self, reason: str) -> bytes:
        return b'{"x402Version":2,"error":' + encode(reason[:_ERROR_MAX_CHARS]) + b',"resource":{"url":'

    def _render_tail(self, extension: dict[str, Any]) -> bytes:
        resource = b',"description":' + encode(self._description) + b',"mimeType":"application/json"}'
        accepts = b',"accepts":' + encode([entry.wire for entry in self.entries])
        return resource + accepts + b',"extensions":' + encode({"bazaar": extension}) + b"}"

    def _fits(self) -> bool:
        fixed = len(self._render_head("")) + len(encode(self._base_url)) + len(self._tail)
        return -(-(fixed + _SPARE_CHARS) // 3) * 4 <= HEADER_MAX_BYTES


def header_value(body: bytes) -> bytes:
    return base64.b64encode(body)
