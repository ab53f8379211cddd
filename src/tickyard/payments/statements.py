"""The ledger's statements, prepared once: putting one together costs more than running it.

Each parameter has a name of its own: `k_` the payment's key, `was_` what a row must still be, `new_` what it will be.
"""

from typing import Any, Final

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Delete,
    Select,
    Update,
    and_,
    bindparam,
    delete,
    or_,
    select,
    update,
)

from tickyard.payments.signed.authorization import Key
from tickyard.payments.tables import payment, payment_identifier
from tickyard.store.statement import Prepared
from tickyard.store.upsert import insert_new

KEY_NAMES: Final = Key.__struct_fields__


def _was(name: str) -> BindParameter[Any]:
    return bindparam(f"was_{name}", type_=payment.c[name].type)


IS: Final = and_(*(payment.c[name] == bindparam(f"k_{name}") for name in KEY_NAMES))
HELD: Final = and_(IS, payment.c.state == _was("state"), payment.c.holder == _was("holder"))


def _prepared(statement: Select[Any] | Update | Delete) -> Prepared:
    return Prepared(lambda _tx: statement)


def _moving(where: ColumnElement[bool], *names: str) -> Prepared:
    columns = {name: bindparam(f"new_{name}", type_=payment.c[name].type) for name in names}
    return _prepared(update(payment).where(where).values(**columns))


_TAKEN: Final = (
    *("state", "holder", "lease_until", "fingerprint", "route", "amount_raw", "pay_to", "valid_before"),
    *("network_time", "begun_at", "settles", "reason"),
)
_FREE: Final = or_(
    and_(payment.c.state == "running", payment.c.lease_until <= _was("lease_until")), payment.c.state == "failed"
)

INSERT: Final = Prepared(lambda tx: insert_new(tx, payment), (*KEY_NAMES, *_TAKEN))
FIND: Final = _prepared(select(payment).where(IS))
TAKE_OVER: Final = _moving(and_(IS, _FREE), *_TAKEN)
RELEASE: Final = _prepared(delete(payment).where(HELD))
START_SETTLING: Final = _moving(HELD, "state", "lease_until", "settles", "status", "content_type", "body", "request")
_OPEN: Final = or_(payment.c.state == "settling", payment.c.state == "unknown")
SETTLE: Final = _moving(and_(IS, _OPEN), "state", "transaction", "settled_at", "request", "proof")
REFUSE: Final = _moving(HELD, "state", "reason", "request", "body")
DOUBT: Final = _moving(HELD, "state", "lease_until")
RESUME: Final = _moving(
    and_(HELD, payment.c.lease_until <= _was("lease_until"), payment.c.settles == _was("settles")),
    *("state", "holder", "lease_until", "settles"),
)
EXPIRE: Final = _moving(and_(HELD, payment.c.lease_until == _was("lease_until")), "state")
_NAMED: Final = and_(*(payment_identifier.c[name] == bindparam(f"k_{name}") for name in ("payer", "identifier")))
INSERT_IDENTIFIER: Final = Prepared(lambda tx: insert_new(tx, payment_identifier), (*KEY_NAMES, "identifier"))
FIND_IDENTIFIER: Final = _prepared(select(payment_identifier).where(_NAMED))
FORGET_IDENTIFIER: Final = _prepared(
    delete(payment_identifier).where(*(payment_identifier.c[name] == bindparam(f"k_{name}") for name in KEY_NAMES))
)


def key_of(key: Key) -> dict[str, Any]:
    return {"k_network": key.network, "k_asset": key.asset, "k_payer": key.payer, "k_nonce": key.nonce}


def becomes(**values: Any) -> dict[str, Any]:
    return {f"new_{name}": value for name, value in values.items()}


def was(**values: Any) -> dict[str, Any]:
    return {f"was_{name}": value for name, value in values.items()}
