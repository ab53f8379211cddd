"""What an error of the database means: a bug of ours, another transaction that won, or a store that does not answer.

Everything that is not plainly our own mistake is the store's trouble: nobody can list all that a server, a pooler or a
network can say.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psycopg
from sqlalchemy.exc import DBAPIError, PendingRollbackError, ResourceClosedError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from tickyard.kernel.errors import UpstreamDown
from tickyard.observe.log import log
from tickyard.store.engine import Contended

_CONTENDED: Final = frozenset({"40001", "40P01"})
# Classes of SQLSTATE that only a wrong statement, a wrong value or a broken constraint brings about.
_BUG_CLASSES: Final = frozenset(
    {"07", "09", "0A", "0B", "0F", "0L", "0P", "0Z", "20", "21", "22", "23", "24", "26", "27", "2B", "2D", "2F"}
    | {"34", "38", "39", "3B", "42", "44", "P0"}
)
_BUGS: Final = frozenset({"25001", "25P01", "25P02", "25000"})
"""In the class of transaction states, those that tell of statements in the wrong order."""
_DRIVERS_BUGS: Final = (psycopg.ProgrammingError, psycopg.DataError, psycopg.NotSupportedError)
"""Found by the driver itself, before anything was sent."""


def is_bug(error: BaseException | None) -> bool:
    state = getattr(error, "sqlstate", None)
    if state is None:
        return not isinstance(error, psycopg.Error) or isinstance(error, _DRIVERS_BUGS)
    return state[:2] in _BUG_CLASSES or state in _BUGS


@contextmanager
def translated() -> Iterator[None]:
    """Trouble of the database as a failure of the house; a bug passes through."""
    try:
        yield
    except PoolTimeout as error:
        raise UpstreamDown("the store is busy", retry_after_s=1) from error
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
        log.error("the store gives trouble", kind=type(cause).__name__, sqlstate=state)
        raise UpstreamDown("the store does not answer", retry_after_s=5) from error
