"""Statements that run all the time, compiled once.

On SQLite they go straight to the driver: what SQLAlchemy does around a statement costs ten times the statement. On
PostgreSQL the way there and back outweighs both, and they are executed like any other.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from sqlalchemy import Connection, Delete, Insert, Select, Update
from sqlalchemy.engine import Dialect
from sqlalchemy.sql.compiler import SQLCompiler

from tickyard.store.engine import Transaction

Statement: TypeAlias = Select[Any] | Insert | Update | Delete
Convert = Callable[[Any], Any]


class Prepared:
    def __init__(self, make: Callable[[Transaction], Statement], names: Sequence[str] | None = None) -> None:
        """`make` builds the statement for the database of a transaction; `names` are the columns of an insert."""
        self._make = make
        self._names = names
        self._other: Statement | None = None
        self._lite: _Lite | None = None

    async def change(self, tx: Transaction, values: Mapping[str, Any]) -> int:
        """Run it; how many rows it changed."""
        if not tx.is_sqlite:
            return (await tx.execute(self._for_other(tx), values)).rowcount
        rowcount: int = (await tx.run_sync(lambda connection: self._run(tx, connection, values))).rowcount
        return rowcount

    async def one(self, tx: Transaction, values: Mapping[str, Any]) -> dict[str, Any] | None:
        """The one row it selects."""
        if not tx.is_sqlite:
            found = (await tx.execute(self._for_other(tx), values)).mappings().one_or_none()
            return None if found is None else dict(found)
        row = (await tx.run_sync(lambda connection: self._run(tx, connection, values))).fetchone()
        assert self._lite is not None
        return None if row is None else self._lite.read(row)

    def _for_other(self, tx: Transaction) -> Statement:
        if self._other is None:
            self._other = self._make(tx)
        return self._other

    def _run(self, tx: Transaction, connection: Connection, values: Mapping[str, Any]) -> Any:
        if self._lite is None:
            self._lite = _Lite(self._make(tx), connection.dialect, self._names)
        driver: Any = connection.connection.driver_connection
        return driver.execute(self._lite.text, self._lite.fill(values))


class _Lite:
    """A statement in the words of the driver, and what becomes of values on their way in and out."""

    def __init__(self, statement: Statement, dialect: Dialect, names: Sequence[str] | None) -> None:
        compiled = statement.compile(dialect=dialect, column_keys=names)
        assert isinstance(compiled, SQLCompiler)
        self.text = str(compiled)
        self._binds: list[tuple[str, Convert | None, Any]] = []
        for name in compiled.positiontup or ():
            bind = compiled.binds[name]
            convert = bind.type.dialect_impl(dialect).bind_processor(dialect)
            # What stands in the statement itself is given with it; the rest comes with each run.
            fixed = None if bind.required else (bind.value if convert is None else convert(bind.value))
            self._binds.append((name, convert, fixed))
        self._columns: list[tuple[str, Convert | None]] = []
        if isinstance(statement, Select):
            for column in statement.selected_columns:
                kind = column.type.dialect_impl(dialect)
                self._columns.append((str(column.key), kind.result_processor(dialect, None)))

    def fill(self, values: Mapping[str, Any]) -> list[Any]:
        return [
            fixed if fixed is not None else values[name] if convert is None else convert(values[name])
            for name, convert, fixed in self._binds
        ]

    def read(self, row: Sequence[Any]) -> dict[str, Any]:
        return {
            name: value if convert is None else convert(value)
            for (name, convert), value in zip(self._columns, row, strict=True)
        }
