"""Documents of the filings database as we keep them: reduced to what we read in them, with the day of the last look.

They are in the store, so a restart asks for nothing again and all processes share one copy.
"""

import zlib
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from sqlalchemy import Column, Integer, LargeBinary, String, Table, select, update

from tickyard.sources.filings.database import Marks
from tickyard.store.engine import Store
from tickyard.store.tables import METADATA, Instant
from tickyard.store.upsert import upsert

FORM: Final = 3
"""Of the reduced form. Whoever changes what is kept of a document raises it: rows of another form are fetched anew."""

document: Final = Table(
    "document",
    METADATA,
    Column("path", String, primary_key=True),
    Column("form", Integer, nullable=False),
    Column("state", String, nullable=False),
    Column("etag", String),
    Column("last_modified", String),
    # When the database last vouched for it: sent it, or said that it has not changed.
    Column("seen_at", Instant, nullable=False),
    # The reduced form as JSON, compressed; empty unless the state is `present`.
    Column("body", LargeBinary, nullable=False),
)


class State(StrEnum):
    PRESENT = "present"
    MISSING = "missing"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class KeptDocument:
    state: State
    marks: Marks
    seen_at: datetime
    body: bytes


async def load(store: Store, path: str) -> KeptDocument | None:
    async with store.glance() as tx:
        found = await tx.execute(select(document).where(document.c.path == path, document.c.form == FORM))
        row = found.first()
    if row is None:
        return None
    body = zlib.decompress(row.body) if row.body else b""
    return KeptDocument(State(row.state), Marks(row.etag, row.last_modified), row.seen_at, body)


async def keep(store: Store, path: str, kept: KeptDocument) -> None:
    row = {
        "path": path,
        "form": FORM,
        "state": kept.state.value,
        "etag": kept.marks.etag,
        "last_modified": kept.marks.last_modified,
        "seen_at": kept.seen_at,
        "body": zlib.compress(kept.body, 3) if kept.body else b"",
    }
    names = [name for name in row if name != "path"]
    async with store.begin() as tx:
        await tx.execute(upsert(tx, document, ["path"], lambda new: {name: new[name] for name in names}), row)


async def vouch(store: Store, path: str, seen_at: datetime) -> None:
    """It has not changed: as good as fetched again."""
    async with store.begin() as tx:
        older = (document.c.path == path, document.c.form == FORM, document.c.seen_at < seen_at)
        await tx.execute(update(document).where(*older).values(seen_at=seen_at))
