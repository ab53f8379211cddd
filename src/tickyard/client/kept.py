"""Payments that left the house and whose end is not known yet, in memory and, where one is named, in a file.

The file holds signed payments: it is readable for its owner alone. Several processes may share it: whoever changes it
reads it first, under a lock.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from tickyard.client.errors import KeptUnreadable

try:
    import fcntl
except ImportError:  # pragma: no cover  where there are no such locks, a file belongs to one process
    fcntl = None  # type: ignore[assignment]


class SignedPayment(msgspec.Struct, frozen=True):
    """One signed payment: the headers that carry it, what it may cost, on which terms, and until when it is good."""

    headers: dict[str, str]
    amount_raw: int
    terms: str
    until: float
    """Unix seconds."""


class _Entry(msgspec.Struct):
    payment: SignedPayment
    name: str | None
    """The request that it was signed for. None: it was not taken, and is good for any other on the same terms."""
    is_repeated: bool = False
    """It was presented by a second call. What the first one is told is then not all that may have become of it."""


class _Book(msgspec.Struct):
    kept: list[_Entry] = []
    uncertain: dict[str, SignedPayment] = {}
    spare: dict[str, SignedPayment] = {}
    """How an earlier version wrote them down."""

    def entries(self) -> list[_Entry]:
        open_ = [_Entry(payment, name) for name, payment in self.uncertain.items()]
        return [*self.kept, *open_, *(_Entry(payment, None) for payment in self.spare.values())]


class KeptPayments:
    def __init__(self, file: str | os.PathLike[str] | None) -> None:
        self._file = None if file is None else Path(file)
        self._entries: list[_Entry] = []
        self._known = b"{}"
        """The file as it was last seen: one that is removed meanwhile ends no payment."""
        self._over: list[SignedPayment] = []
        """What is forgotten here and not yet in the file, which could not be written then."""
        self._read()

    def find(self, name: str) -> SignedPayment | None:
        """The payment that was signed for this request first."""
        self._read()
        return next((entry.payment for entry in self._entries if entry.name == name), None)

    def repeat(self, name: str) -> SignedPayment | None:
        """The same, to be presented again, by whichever program: from now on it pays for no other request."""
        found = self.find(name)
        if found is None:
            return None
        try:
            with self._changing():
                entry = next((entry for entry in self._entries if entry.name == name), None)
                if entry is not None:
                    entry.is_repeated = True
        except KeptUnreadable:
            # Nobody else can write either, so nobody gives it to another request.
            return found
        return None if entry is None else entry.payment

    @property
    def uncertain(self) -> list[SignedPayment]:
        self._read()
        return [entry.payment for entry in self._entries if entry.name is not None]

    def keep(self, name: str, payment: SignedPayment) -> None:
        """Before it is sent: a process that dies on the way must find it again. Equal requests at the same time have
        one each."""
        with self._changing():
            self._entries.append(_Entry(payment, name))

    def forget(self, payment: SignedPayment) -> None:
        """It is over, also where the file cannot be told: presented once more it would bring the old answer for a new
        one. Whoever signs the next hears of the file."""
        self._over.append(payment)
        with suppress(KeptUnreadable), self._changing():
            self._entries = self._open(self._entries)

    def spare(self, payment: SignedPayment) -> bool:
        """Nothing was taken: it pays for another request. False: some other call may hear otherwise."""
        with self._changing():
            found = [each for each in self._entries if each.payment == payment and not each.is_repeated]
            for entry in found:
                entry.name = None
        return bool(found)

    def take_spare(self, terms: str) -> SignedPayment | None:
        with self._changing():
            found = next((each for each in self._entries if each.name is None and each.payment.terms == terms), None)
            if found is None:
                return None
            self._entries.remove(found)
        return found.payment

    def _read(self) -> None:
        if self._file is not None:
            self._entries = self._open(self._load(self._file))

    def _open(self, entries: list[_Entry]) -> list[_Entry]:
        return [entry for entry in entries if entry.payment not in self._over]

    def _load(self, file: Path) -> list[_Entry]:
        try:
            text = file.read_bytes() if file.exists() else self._known
            entries = msgspec.json.decode(text, type=_Book).entries()
            self._known = text
            return entries
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise KeptUnreadable(f"the kept payments in {file} cannot be read ({type(error).__name__})") from None

    @contextmanager
    def _changing(self) -> Iterator[None]:
        if self._file is None:
            yield
            self._over.clear()
            return
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with open(self._file.with_name(self._file.name + ".lock"), "wb") as lock:
                if fcntl is not None:
                    fcntl.flock(lock, fcntl.LOCK_EX)
                held = self._load(self._file)
                before = msgspec.json.encode({"kept": held})
                self._entries = self._open(held)
                yield
                after = msgspec.json.encode({"kept": self._entries})
                # One that was removed is filled again: the next program must find what this one still knows.
                if after != before or (self._entries and not self._file.exists()):
                    _write(self._file, after)
                    self._known = after
                self._over.clear()
        except OSError as error:
            kind = type(error).__name__
            raise KeptUnreadable(f"the kept payments in {self._file} cannot be written ({kind})") from None


def _write(file: Path, text: bytes) -> None:
    beside = file.with_name(file.name + ".new")
    with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    beside.replace(file)
