"""The usual payment, read quickly: what a standard client sends, which is our own offer with a few signed fields.

Standard clients write JSON without blanks and send back the entry and the extensions as they came. Of such a text only
the signed part has to be taken to pieces. Anything unusual is left to `payload.py`, which reads all JSON there is.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from tickyard.kernel.wire import encode
from tickyard.payments.offer.terms import UNNAMED, AcceptsEntry

_NOTHING = msgspec.Raw(b"")


class _Envelope(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    x402Version: int
    accepted: msgspec.Raw
    payload: msgspec.Raw
    resource: msgspec.Raw = _NOTHING
    extensions: msgspec.Raw = _NOTHING


_UNNAMED = b'"payment-identifier":' + encode(UNNAMED)
_DECODER = msgspec.json.Decoder(_Envelope)
_BARE_SIZE = len(b'{"x402Version":2,"accepted":,"payload":}')


def read_usual(text: bytes, entries: Sequence[AcceptsEntry]) -> tuple[AcceptsEntry, dict[str, Any]] | None:
    """The entry that is paid and the signed payload of a payment without a name; None when a closer look is needed."""
    try:
        envelope = _DECODER.decode(text)
    except ValueError:
        return None
    accepted, payload, extensions = bytes(envelope.accepted), bytes(envelope.payload), bytes(envelope.extensions)
    # A blank more, or a key given twice, and the parts would not make up the whole.
    size = _BARE_SIZE + len(accepted) + len(payload)
    if envelope.resource:
        size += len(b',"resource":') + len(bytes(envelope.resource))
    if extensions:
        size += len(b',"extensions":') + len(extensions)
    if size != len(text) or envelope.x402Version != 2:
        return None
    # Our own offer of a name comes back with every payment; one that was given has more in it.
    if b"payment-identifier" in extensions.replace(_UNNAMED, b"", 1) or b"\\u" in extensions:
        return None
    entry = next((entry for entry in entries if entry.text == accepted), None)
    if entry is None:
        return None
    try:
        inner = msgspec.json.decode(payload)
    except ValueError:
        return None
    return (entry, inner) if isinstance(inner, dict) and encode(inner) == payload else None
