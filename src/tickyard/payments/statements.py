"""The ledger's statements, built once: putting one together costs more than running it.

Each parameter has a name of its own: `k_` the payment's key, `was_` what a row must still be, `new_` what it will be.
"""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import BindParameter, ColumnElement, Insert, Update, and_, bindparam, delete, or_, select, update

from tickyard.payments.authorization import Key
from tickyard.payments.tables import payment, payment_identifier
from tickyard.store.engine import Transaction
from tickyard.store.upsert import insert_new

KEY_NAMES: Final = Key.__struct_fields__


def _was(name: str) -> BindParameter[Any]:
    return bindparam(f"was_{name}", type_=payment.c[name].type)


IS: Final = and_(*(payment.c[name] == bindparam(f"k_{name}") for name in KEY_NAMES))
HELD: Final = and_(IS, payment.c.state == _was("state"), payment.c.holder == _was("holder"))


def _moving(where: ColumnElement[bool], *names: str) -> Update:
    columns = {name: bindparam(f"new_{name}", type_=payment.c[name].type) for name in names}
    return update(payment).where(where).values(**columns)


_TAKEN: Final = (
    *("state", "holder", "lease_until", "fingerprint", "route", "amount_raw", "pay_to", "valid_before"),
    *("network_time", "begun_at", "settles", "request", "reason"),
)
_FREE: Final = or_(
    and_(payment.c.state == "running", payment.c.lease_until <= _was("lease_until")), payment.c.state == "failed"
)

FIND: Final = select(payment).where(IS)
TAKE_OVER: Final = _moving(and_(IS, _FREE), *_TAKEN)
RELEASE: Final = delete(payment).where(HELD)
START_SETTLING: Final = _moving(HELD, "state", "lease_until", "settles", "status", "content_type", "body")
SETTLE: Final = _moving(
    and_(IS, payment.c.state.in_(("settling", "unknown"))), "state", "transaction", "settled_at", "request", "proof"
)
REFUSE: Final = _moving(HELD, "state", "reason", "request", "body")
DOUBT: Final = _moving(HELD, "state", "lease_until")
RESUME: Final = _moving(
    and_(HELD, payment.c.lease_until <= _was("lease_until"), payment.c.settles == _was("settles")),
    *("state", "holder", "lease_until", "settles"),
)
EXPIRE: Final = _moving(and_(HELD, payment.c.lease_until == _was("lease_until")), "state")
FORGET_IDENTIFIER: Final = delete(payment_identifier).where(
    *(payment_identifier.c[name] == bindparam(f"k_{name}") for name in KEY_NAMES)
)

_INSERTS: Final[dict[tuple[str, bool], Insert]] = {}


def insert_payment(tx: Transaction) -> Insert:
    return _insert(tx, "payment")


def insert_identifier(tx: Transaction) -> Insert:
    return _insert(tx, "payment_identifier")


def _insert(tx: Transaction, name: str) -> Insert:
    known = _INSERTS.get((name, tx.is_sqlite))
    if known is None:
        known = _INSERTS[name, tx.is_sqlite] = insert_new(tx, payment.metadata.tables[name])
    return known


def key_of(key: Key) -> dict[str, Any]:
    return dict(zip(_K_NAMES, (key.network, key.asset, key.payer, key.nonce), strict=True))


_K_NAMES: Final[Sequence[str]] = tuple(f"k_{name}" for name in KEY_NAMES)


def becomes(**values: Any) -> dict[str, Any]:
    return {f"new_{name}": value for name, value in values.items()}


def was(**values: Any) -> dict[str, Any]:
    return {f"was_{name}": value for name, value in values.items()}
