"""One payment as the ledger has it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

import msgspec
from sqlalchemy.engine import RowMapping

from tickyard.kernel.ids import Address
from tickyard.payments.books.reply import Reply
from tickyard.payments.signed.key import Key

State = Literal["running", "settling", "unknown", "settled", "failed"]


class PaymentRow(msgspec.Struct, frozen=True, gc=False):
    key: Key
    state: State
    holder: str
    lease_until: datetime
    fingerprint: str
    route: str
    amount_raw: int
    pay_to: Address
    valid_before: int
    network_time: int
    """When the payment was taken, by the clock of its network: in the sandbox that is not ours."""
    begun_at: datetime
    settles: int
    """How often a facilitator was asked to settle."""
    request: bytes | None
    """What facilitators are sent. Written down when the settling starts, dropped when the row is done for good."""
    reply: Reply | None
    digest: str | None = None
    signature: str | None = None
    """The payment exactly as signed: what was signed, and a hash of the signature's bytes."""
    client: str | None = None
    identifier: str | None = None
    """What the first request showed beside its payment, as hashes."""
    facilitator: str | None = None
    transaction: str | None = None
    """The one that the receipt names."""
    reason: str | None = None
    settled_at: datetime | None = None
    proof: str | None = None
    look_at: datetime | None = None
    looks: int | None = None
    unexplained: int | None = None
    mined: str | None = None
    """The transaction in which we saw the transfer ourselves."""
    mined_index: int | None = None
    mined_block: int | None = None
    mined_hash: str | None = None
    delivered_at: datetime | None = None

    @property
    def may_be_public(self) -> bool:
        """Whether the signature may be on the chain for all to read: in the calldata of a settlement. Also after a
        facilitator said that it sent nothing: that is its word, and the row is watched because it may be wrong."""
        return self.state != "running" or self.reason is not None

    @property
    def is_watched(self) -> bool:
        return self.look_at is not None


class Reservation(msgspec.Struct, frozen=True, gc=False):
    """What a reservation is made of."""

    key: Key
    fingerprint: str
    route: str
    amount_raw: int
    pay_to: Address
    valid_before: int
    network_time: int
    request: bytes
    digest: str
    signature: str
    client: str | None
    identifier: str | None


def read_row(found: RowMapping | Mapping[str, Any]) -> PaymentRow:
    values = dict(found)
    key = Key(*(values.pop(name) for name in ("network", "asset", "payer", "nonce")))
    status, content_type, body = (values.pop(name) for name in ("status", "content_type", "body"))
    reply = None if body is None else Reply(status, bytes(body), content_type)
    if values["request"] is not None:
        values["request"] = bytes(values["request"])
    return PaymentRow(key=key, reply=reply, **values)
