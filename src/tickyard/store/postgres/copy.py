"""PostgreSQL's COPY, both ways, inside a transaction of the store."""

from collections.abc import Callable, Iterable
from typing import Any, cast

from psycopg import AsyncConnection, AsyncCursor, sql

from tickyard.store.postgres.engine import PostgresTransaction


async def copy_out(tx: PostgresTransaction, table: str, columns: list[str], write: Callable[[bytes], Any]) -> int:
    """Hand out a table as CSV. How many rows it was."""
    statement = _statement("COPY {} ({}) TO STDOUT (FORMAT csv)", table, columns)
    async with await _cursor(tx) as cursor:
        async with cursor.copy(statement) as copy:
            async for block in copy:
                write(bytes(block))
        return cursor.rowcount


async def copy_in(tx: PostgresTransaction, table: str, columns: list[str], blocks: Iterable[bytes]) -> None:
    """Fill a table from CSV."""
    statement = _statement("COPY {} ({}) FROM STDIN (FORMAT csv)", table, columns)
    async with await _cursor(tx) as cursor, cursor.copy(statement) as copy:
        for block in blocks:
            await copy.write(block)


async def copy_rows(tx: PostgresTransaction, table: str, columns: list[str], rows: Iterable[tuple[Any, ...]]) -> None:
    """Fill a table from rows of plain values."""
    statement = _statement("COPY {} ({}) FROM STDIN", table, columns)
    async with await _cursor(tx) as cursor, cursor.copy(statement) as copy:
        for row in rows:
            await copy.write_row(row)


async def _cursor(tx: PostgresTransaction) -> AsyncCursor[Any]:
    raw = await tx.connection.get_raw_connection()
    return cast("AsyncConnection[Any]", raw.driver_connection).cursor()


def _statement(template: str, table: str, columns: list[str]) -> sql.Composed:
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    return sql.SQL(template).format(sql.Identifier(table), names)
