"""Many rows into one table, with as few round trips as the database allows.

SQLite runs one statement per row without leaving the process. PostgreSQL would pay a round of protocol for each, so
there the rows travel as one array per column, in a single statement.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ARRAY, Table, bindparam, column, func, select
from sqlalchemy.dialects import postgresql, sqlite

from tickyard.store.engine import Transaction
from tickyard.store.upsert import Merge


class Bulk:
    """An insert of whole rows.

    With a key and a merge, a row whose key is taken is merged into the one that holds it; with `only_new`, a row
    that breaks a unique constraint is left out and not counted.
    """

    def __init__(
        self, table: Table, *, key: Sequence[str] = (), merge: Merge | None = None, only_new: bool = False
    ) -> None:
        self._names = [each.name for each in table.columns]
        arrays = [bindparam(each.name, type_=ARRAY(each.type)) for each in table.columns]
        unnested = func.unnest(*arrays).table_valued(*[column(each.name, each.type) for each in table.columns])
        lite = sqlite.insert(table)
        post = postgresql.insert(table).from_select(self._names, select(*unnested.render_derived().columns))
        if merge is not None:
            lite = lite.on_conflict_do_update(index_elements=key, set_=merge(lite.excluded))
            post = post.on_conflict_do_update(index_elements=key, set_=merge(post.excluded))
        elif only_new:
            lite = lite.on_conflict_do_nothing()
            post = post.on_conflict_do_nothing()
        self._sqlite = lite
        self._postgresql = post

    async def run(self, tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> int:
        """Insert the rows; how many were inserted or merged."""
        if not rows:
            return 0
        if tx.is_sqlite:
            done = await tx.execute(self._sqlite, rows)
        else:
            done = await tx.execute(self._postgresql, {name: [row[name] for row in rows] for name in self._names})
        return done.rowcount
