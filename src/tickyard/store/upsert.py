"""Inserts that meet a row which is already there. The two databases spell them alike but not the same; only here.

A dialect is large, and a process uses one of them: it is imported when its first statement is made.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import Insert, Table

from tickyard.store.engine import Transaction

Merge = Callable[[Any], Mapping[str, Any]]
"""From the columns of the row that could not be inserted to the new values of the one that is there."""


def insert_new(tx: Transaction, table: Table) -> Insert:
    """Insert rows that are new; a row that breaks any unique constraint is left out and not counted."""
    return _insert_new(table, is_sqlite=tx.is_sqlite)


@cache
def _insert_new(table: Table, *, is_sqlite: bool) -> Insert:
    if is_sqlite:
        from sqlalchemy.dialects import sqlite

        return sqlite.insert(table).on_conflict_do_nothing()
    from sqlalchemy.dialects import postgresql

    return postgresql.insert(table).on_conflict_do_nothing()


def upsert(tx: Transaction, table: Table, key: Sequence[str], merge: Merge) -> Insert:
    """Insert rows; one whose key is taken is merged into the row that holds it."""
    if tx.is_sqlite:
        from sqlalchemy.dialects import sqlite

        lite = sqlite.insert(table)
        return lite.on_conflict_do_update(index_elements=key, set_=merge(lite.excluded))
    from sqlalchemy.dialects import postgresql

    post = postgresql.insert(table)
    return post.on_conflict_do_update(index_elements=key, set_=merge(post.excluded))
