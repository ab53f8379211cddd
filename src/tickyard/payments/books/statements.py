"""The ledger's statements, prepared once: putting one together costs more than running it.

Each parameter has a name of its own: `k_` the payment's key, `was_` what a row must still be, `new_` what it will be.
"""

from typing import Any, Final

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Delete,
    FromClause,
    Select,
    Update,
    and_,
    bindparam,
    delete,
    exists,
    not_,
    null,
    or_,
    select,
    update,
)

from tickyard.payments.books.tables import payment, payment_identifier, payment_transfer, payment_word
from tickyard.payments.signed.key import Key
from tickyard.store.statement import Prepared
from tickyard.store.upsert import insert_new

KEY_NAMES: Final = Key.__struct_fields__


def _was(name: str) -> BindParameter[Any]:
    return bindparam(f"was_{name}", type_=payment.c[name].type)


def _new(name: str) -> BindParameter[Any]:
    return bindparam(f"new_{name}", type_=payment.c[name].type)


IS: Final = and_(*(payment.c[name] == bindparam(f"k_{name}") for name in KEY_NAMES))
HELD: Final = and_(IS, payment.c.state == _was("state"), payment.c.holder == _was("holder"))


def _prepared(statement: Select[Any] | Update | Delete) -> Prepared:
    return Prepared(lambda _tx: statement)


def _moving(where: ColumnElement[bool], *names: str, cleared: tuple[str, ...] = ()) -> Prepared:
    columns: dict[str, Any] = {name: _new(name) for name in names}
    columns |= {name: null() for name in cleared}
    return _prepared(update(payment).where(where).values(**columns))


_TAKEN: Final = (
    *("state", "holder", "lease_until", "fingerprint", "route", "amount_raw", "pay_to", "valid_before"),
    *("network_time", "begun_at", "settles", "reason", "digest", "signature", "client", "identifier"),
)
# What an earlier life of the row left behind. Why it failed stays, with its answer: it may have been settled after all.
_LEFT: Final = ("request", "facilitator")
STAYS: Final = ("network_time", "reason")
_OVER: Final = and_(payment.c.state == "running", payment.c.lease_until <= _was("lease_until"))
# A payment that has failed once is taken again for the same request only: its first answer may still be asked for.
_FREE: Final = or_(
    and_(_OVER, payment.c.reason.is_(None)),
    and_(or_(payment.c.state == "failed", _OVER), payment.c.fingerprint == _was("fingerprint")),
)

INSERT: Final = Prepared(lambda tx: insert_new(tx, payment), (*KEY_NAMES, *_TAKEN))
FIND: Final = _prepared(select(payment).where(IS))
TAKE_OVER: Final = _moving(and_(IS, _FREE), *(name for name in _TAKEN if name not in STAYS), cleared=_LEFT)
RELEASE: Final = _prepared(delete(payment).where(and_(HELD, payment.c.reason.is_(None))))
RETURN: Final = _moving(HELD, "state", "look_at")
START_SETTLING: Final = _moving(
    HELD,
    *("state", "lease_until", "settles", "status", "content_type", "body", "request"),
    *("facilitator", "look_at", "looks"),
)
# News about the nonce counts whoever brings it, also about a row that was called failed too soon.
_OPEN: Final = or_(*(payment.c.state == state for state in ("settling", "unknown", "failed")))
_ANSWERED: Final = and_(IS, _OPEN, payment.c.body.is_not(None))
_SETTLED: Final = (
    *("state", "transaction", "settled_at", "proof", "look_at", "looks", "mined", "mined_index", "mined_block"),
    *("mined_hash", "delivered_at"),
)
SETTLE: Final = _moving(_ANSWERED, *_SETTLED)


def _is_same(table: FromClause) -> ColumnElement[bool]:
    return and_(*(table.c[name] == bindparam(f"k_{name}") for name in KEY_NAMES))


def _names(table: FromClause, column: str = "transaction") -> ColumnElement[bool]:
    """A row of a table that names the same transaction."""
    return and_(table.c.network == bindparam("k_network"), table.c[column] == _new("transaction"))


_rival: Final = payment.alias("rival")
_IS_RIVAL: Final = and_(not_(_is_same(_rival)), _rival.c.state == "settled")
# Somebody's word for a transaction that pays for another already is no more than a word. Two words for one that are
# given in the same moment would not see each other in these rows: what only one of them can have is the word's own row.
INSERT_WORD: Final = Prepared(lambda tx: insert_new(tx, payment_word), (*KEY_NAMES, "transaction"))
FORGET_WORD: Final = _prepared(delete(payment_word).where(_names(payment_word), _is_same(payment_word)))
SETTLE_BY_WORD: Final = _moving(
    and_(
        _ANSWERED,
        exists().where(_names(payment_word), _is_same(payment_word)),
        not_(exists().where(_names(_rival), _IS_RIVAL)),
        not_(exists().where(_names(_rival, "mined"), _IS_RIVAL)),
        not_(exists().where(_names(payment_transfer), not_(_is_same(payment_transfer)))),
    ),
    *_SETTLED,
)
REFUSE: Final = _moving(HELD, "state", "reason", "look_at", "looks", cleared=("request",))
DOUBT: Final = _moving(HELD, "state", "lease_until", "look_at")
RESUME: Final = _moving(
    and_(HELD, payment.c.lease_until <= _was("lease_until"), payment.c.settles == _was("settles")),
    *("state", "holder", "lease_until", "settles", "look_at"),
)
EXPIRE: Final = _moving(and_(HELD, payment.c.lease_until == _was("lease_until")), "state")
WATCH: Final = _moving(and_(HELD, payment.c.look_at.is_not(None)), "look_at", "looks", "unexplained")
CLOSE: Final = _moving(HELD, cleared=("look_at", "body", "request"))
UNSETTLE: Final = _moving(
    and_(HELD, payment.c.proof == "waiting"),
    *("state", "lease_until", "look_at", "looks"),
    cleared=("settled_at", "proof", "mined", "mined_index", "mined_block", "mined_hash", "unexplained"),
)
SEE: Final = _moving(
    and_(HELD, payment.c.proof == "waiting"), "mined", "mined_index", "mined_block", "mined_hash", "look_at", "looks"
)
HOLD: Final = _prepared(select(payment.c.state).where(IS).with_for_update())
# Whoever is said to be paid at the very place where another was seen a moment ago.
LOOK_AGAIN: Final = _prepared(
    update(payment)
    .where(
        payment.c.network == bindparam("k_network"),
        payment.c.mined == _was("mined"),
        payment.c.mined_index == _was("mined_index"),
        not_(IS),
        payment.c.proof == "waiting",
        payment.c.look_at > _new("look_at"),
    )
    .values(look_at=_new("look_at"))
)
DELIVER: Final = _moving(and_(IS, payment.c.delivered_at.is_(None)), "delivered_at")
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
