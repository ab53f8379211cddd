"""Payments that left the house and whose end is not known yet, in memory and, where one is named, in a file.

The file holds signed payments: it is readable for its owner alone. It belongs to one process at a time.
"""

import os
from pathlib import Path

import msgspec


class SignedPayment(msgspec.Struct, frozen=True):
    """One signed payment: the headers that carry it, what it may cost, on which terms, and until when it is good."""

    headers: dict[str, str]
    amount_raw: int
    terms: str
    until: float
    """Unix seconds."""


class _Book(msgspec.Struct):
    uncertain: dict[str, SignedPayment] = {}
    """By the request that each was signed for."""
    spare: dict[str, SignedPayment] = {}
    """Not taken, and good for another request on the same terms."""


class KeptPayments:
    def __init__(self, file: str | os.PathLike[str] | None) -> None:
        self._file = None if file is None else Path(file)
        self._book = _Book()
        if self._file is not None and self._file.exists():
            self._book = msgspec.json.decode(self._file.read_bytes(), type=_Book)

    def find(self, name: str) -> SignedPayment | None:
        return self._book.uncertain.get(name)

    @property
    def uncertain(self) -> dict[str, SignedPayment]:
        return dict(self._book.uncertain)

    def keep(self, name: str, payment: SignedPayment) -> None:
        """Before it is sent: a process that dies on the way must find it again."""
        self._book.uncertain[name] = payment
        self._write()

    def forget(self, name: str) -> None:
        if self._book.uncertain.pop(name, None) is not None:
            self._write()

    def spare(self, payment: SignedPayment) -> None:
        self._book.spare[payment.terms] = payment
        self._write()

    def take_spare(self, terms: str) -> SignedPayment | None:
        found = self._book.spare.pop(terms, None)
        if found is not None:
            self._write()
        return found

    def _write(self) -> None:
        if self._file is None:
            return
        self._file.parent.mkdir(parents=True, exist_ok=True)
        beside = self._file.with_name(self._file.name + ".new")
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
            out.write(msgspec.json.encode(self._book))
            out.flush()
            os.fsync(out.fileno())
        beside.replace(self._file)
