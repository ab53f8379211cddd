"""Documents of the filings database as we keep them: reduced to what we read in them, with the day of the last look.

They are in the store, so a restart asks for nothing again and all processes share one copy.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from sqlalchemy import Column, Integer, LargeBinary, String, Table, select, update

from tickyard.sources.filings.concepts import WANTED
from tickyard.sources.filings.database import Marks
from tickyard.store.engine import Store
from tickyard.store.tables import METADATA, Instant
from tickyard.store.upsert import upsert

_SHAPE: Final = 3
"""Whoever changes how a document is kept raises it. Which concepts are kept of it is seen without being told."""


def form_of(wanted: Mapping[str, Sequence[str]]) -> int:
    """The number of the reduced form: rows of another one are fetched anew. A copy that lacks a concept would stand
    until the filer files again, since the database says that the document has not changed."""
    return zlib.crc32(repr((_SHAPE, sorted((name, *tags) for name, tags in wanted.items()))).encode()) >> 1


FORM: Final = form_of(WANTED)

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
