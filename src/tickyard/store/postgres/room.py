"""Whether the server's disk has room.

A row that is written again and again fits into its own page, so writing one tells nothing of a disk on which no table
can grow any more. A count that is given too little memory must have a file, and leaves nothing behind.
"""

from typing import Final

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from tickyard.kernel.errors import Failure, UpstreamDown
from tickyard.store.engine import Transaction

_FULL: Final = "53100"
LITTLE_MEMORY: Final = text("SET LOCAL work_mem = '64kB'")
SPILLED: Final = text("SELECT count(*) FROM generate_series(1, 20000)")
"""Some 400 KB of rows that are kept until they are counted."""


async def must_have_room(tx: Transaction) -> None:
    """UpstreamDown when there is none. A server that will not be asked like this (another make of it, a limit on such
    files) has said nothing about its disk."""
    try:
        await tx.execute(LITTLE_MEMORY)
        await tx.execute(SPILLED)
    except (Failure, DBAPIError) as error:
        if _state(error) == _FULL:
            raise UpstreamDown("the store's disk is full", retry_after_s=5) from error


def _state(error: BaseException | None) -> str | None:
    while error is not None and not isinstance(error, DBAPIError):
        error = error.__cause__
    return None if error is None else getattr(error.orig, "sqlstate", None)
