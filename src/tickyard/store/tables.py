"""The one metadata on which every room defines its tables, and the column types and indexes they share."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import BigInteger, Column, ColumnElement, Index, MetaData, text
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

# Names of constraints are part of the schema: migrations must be able to find them again on every database.
METADATA: Final = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    }
)

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def to_micros(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


class Instant(TypeDecorator[datetime]):
    """A moment as Unix microseconds: exact, and compared the same way by both databases."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        return None if value is None else to_micros(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        return None if value is None else from_micros(value)


def partial_index(name: str, *columns: Column[Any], where: str | ColumnElement[bool], unique: bool = False) -> None:
    """An index of the rows that a condition picks: used only for a statement that has the condition written out."""
    condition = text(where) if isinstance(where, str) else where
    Index(name, *columns, unique=unique, sqlite_where=condition, postgresql_where=condition)
