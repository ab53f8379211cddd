"""The 402 answer: what a call costs, as a JSON body and the same bytes in base64 as the PAYMENT-REQUIRED header."""

import base64
from typing import Any, Final
from urllib.parse import quote

from tickyard.kernel.operation import Operation
from tickyard.kernel.wire import encode
from tickyard.payments import bazaar
from tickyard.payments.refusal import UNPAID
from tickyard.payments.terms import Entry, Terms

HEADER_MAX_BYTES: Final = 4 * 1024
_PATH_MAX_CHARS: Final = 160
_ERROR_MAX_CHARS: Final = 128
_URL_SAFE: Final = "/%:@!$&'()*+,;=-._~"
# Room for the longest path and reason that a challenge may carry, both written as JSON.
_SPARE_CHARS: Final = _PATH_MAX_CHARS + _ERROR_MAX_CHARS


class Offer:
    """What one paid route asks for. Made once per route; only the path and the reason change from call to call."""

    def __init__(self, operation: Operation, terms: Terms, *, ask_example: dict[str, Any], answer_example: Any) -> None:
        assert operation.price is not None, f"{operation.name} has no price"
        self.path = bazaar.paid_path(operation)
        self.route = f"{operation.method} {self.path}"
        self.entries: tuple[Entry, ...] = terms.entries(operation.price)
        self._base_url = terms.base_url
        self._description = operation.title
        for extension in bazaar.versions(operation, ask_example, answer_example):
            self._tail = self._render_tail(extension)
            if self._fits():
                break
        else:
            raise ValueError(f"the challenge of {operation.name} does not fit its header")
        self.extensions = {"bazaar": extension}
        self._head = self._render_head(UNPAID)

    def resource(self, raw_path: bytes) -> dict[str, str]:
        return {"url": self._url(raw_path), "description": self._description, "mimeType": "application/json"}

    def challenge(self, raw_path: bytes, reason: str = UNPAID) -> bytes:
        """The challenge's JSON. Unpaid requests meet it all the time, so all that is constant is rendered before."""
        head = self._head if reason == UNPAID else self._render_head(reason)
        return head + encode(self._url(raw_path)) + self._tail

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
