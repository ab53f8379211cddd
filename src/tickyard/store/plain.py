"""The busiest statements: compiled once for each database, and run by its driver.

What SQLAlchemy does around a statement costs more than such a small one itself. In exchange values and columns are
plain: numbers and texts, no types of our own.
"""

from functools import cached_property
from typing import Any

from sqlalchemy import CompoundSelect, Dialect, Select, TextClause, make_url


class Plain:
    """A statement that returns rows."""

    def __init__(self, statement: Select[*tuple[Any, ...]] | CompoundSelect[*tuple[Any, ...]] | TextClause) -> None:
        self._statement = statement

    @cached_property
    def for_sqlite(self) -> str:
        from sqlalchemy.dialects import sqlite

        return self._compiled(sqlite.dialect(paramstyle="named"))

    @cached_property
    def for_postgresql(self) -> str:
        return self._compiled(make_url("postgresql+psycopg://").get_dialect()())

    def _compiled(self, dialect: Dialect) -> str:
        compiled = self._statement.compile(dialect=dialect)
        assert not any(value is not None for value in compiled.params.values()), "constants must be written out"
        return str(compiled)
