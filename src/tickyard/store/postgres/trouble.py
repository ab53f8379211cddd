"""What an error of the database means: a bug of ours, another transaction that won, a store that does not answer, or
one that will not have us until a person has mended something.

Everything that is not plainly our own mistake is the store's trouble: nobody can list all that a server, a pooler or a
network can say.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from sqlalchemy.exc import DBAPIError, PendingRollbackError, ResourceClosedError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from tickyard.kernel.errors import UpstreamDown
from tickyard.observe.log import log
from tickyard.store.engine import Busy, Contended, StoreRefused

_CONTENDED: Final = frozenset({"40001", "40P01"})
# Classes of SQLSTATE that only a wrong statement, a wrong value or a broken constraint brings about.
_BUG_CLASSES: Final = frozenset(
    {"07", "09", "0A", "0B", "0F", "0L", "0P", "0Z", "20", "21", "22", "23", "24", "26", "27", "2B", "2D", "2F"}
    | {"34", "38", "39", "3B", "42", "44", "P0"}
)
_BUGS: Final = frozenset({"25001", "25P01", "25P02", "25000"})
"""In the class of transaction states, those that tell of statements in the wrong order."""
_OWNER: Final = "the account that owns the schema"
# What an operator brings about: rights that were not granted, a schema that is not there, a server that only reads.
_REFUSALS: Final = {
    "42501": (
        "may not do this",
        f"use the account made for it (deploy/accounts.sh); `tickyard migrate` with {_OWNER} gives it its rights",
    ),
    "42P01": ("does not find a table", f"run `tickyard migrate` with {_OWNER}"),
    "42703": ("does not find a column", f"run `tickyard migrate` with {_OWNER}"),
    "3F000": (
        "does not find the schema",
        f"run `tickyard migrate` with {_OWNER}, or look at the account's search_path",
    ),
    "25006": ("may only read", "name the primary in TICKYARD_DATABASE_URL, or let the account write"),
}
# Of a connection that failed the driver knows no SQLSTATE, only what the server said. A server that is busy starting,
# stopping or full refuses nobody for good.
_TURNED_AWAY: Final = re.compile(
    # A server writes two spaces: without the first of these, one of them would hide what follows.
    r"FATAL:\s+(?!\s|the database system is|sorry, too many|too many|remaining connection slots|terminating)(.+)"
    r"|(?:failed|bad): (session is read-only|fe_sendauth: .+|invalid .+)"
)
_STANDBY: Final = "session is read-only"
_DRIVERS_BUGS: Final = (psycopg.ProgrammingError, psycopg.DataError, psycopg.NotSupportedError)
"""Found by the driver itself, before anything was sent."""


def is_bug(error: BaseException | None) -> bool:
    state = getattr(error, "sqlstate", None)
    if state is None:
        return not isinstance(error, psycopg.Error) or isinstance(error, _DRIVERS_BUGS)
    return state not in _REFUSALS and (state[:2] in _BUG_CLASSES or state in _BUGS)


def _refusal(error: Any, account: str) -> StoreRefused | None:
    """What a person has to mend, or None for trouble that may pass. Passwords are in no message of a server's."""
    who = f"the database account {account!r}" if account else "the database account"
    if error.sqlstate in _REFUSALS:
        cannot, mend = _REFUSALS[error.sqlstate]
        return StoreRefused(f"{who} {cannot} ({error.diag.message_primary})", mend)
    said = _TURNED_AWAY.search(str(error)) if error.sqlstate is None else None
    if said is None:
        return None
    words = (said[1] or said[2]).strip()
    mend = "look at the account, the password and the database's name in TICKYARD_DATABASE_URL"
    if words == _STANDBY:
        # After a failover, or a server that was made to read only: the account is right.
        mend = _REFUSALS["25006"][1]
    return StoreRefused(f"the database turns {who.removeprefix('the database ')} away: {words}", mend)


@contextmanager
def translated(account: str) -> Iterator[None]:
    """Trouble of the database as a failure of the house; a bug passes through."""
    try:
        yield
    except PoolTimeout as error:
        raise Busy("the store is busy", retry_after_s=1) from error
    except (PendingRollbackError, ResourceClosedError) as error:
        # The connection was lost before, inside the same transaction.
        raise UpstreamDown("the store does not answer", retry_after_s=5) from error
    except (DBAPIError, psycopg.Error) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        state = getattr(cause, "sqlstate", None)
        if state in _CONTENDED:
            raise Contended("the store is busy", retry_after_s=1) from error
        is_lost = isinstance(error, DBAPIError) and error.connection_invalidated
        if is_bug(cause) and not is_lost:
            raise
        refusal = _refusal(cause, account) if isinstance(cause, psycopg.Error) else None
        if refusal is not None:
            log.error("the store refuses us", found=refusal.found, mend=refusal.mend, sqlstate=state)
            raise refusal from error
        log.error("the store gives trouble", kind=type(cause).__name__, sqlstate=state)
        raise UpstreamDown("the store does not answer", retry_after_s=5) from error
