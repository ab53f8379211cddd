"""What can be foreseen to go wrong with a command, in one sentence each. Anything else is a bug, and looks like one."""

import errno
import sqlite3

from tickyard.chain.boot import WrongChain
from tickyard.config.settings import SettingsError
from tickyard.kernel.errors import Failure
from tickyard.store.copying.backup import BackupRefused
from tickyard.store.engine import StoreRefused

_OPTIONAL = {
    "eth_account": ("eth-account", "requirements.payout.lock"),
    "eth_keys": ("eth-account", "requirements.lock"),
    "vyper": ("the sandbox's packages", "requirements.lock"),
    "x402": ("the sandbox's packages", "requirements.lock"),
    "opentelemetry": ("OpenTelemetry", "requirements.tracing.lock"),
}


def in_words(error: BaseException) -> str | None:
    """The sentence, or None for what nobody foresaw."""
    match error:
        case SettingsError() | WrongChain() | BackupRefused():
            return str(error)
        case StoreRefused():
            return f"{error.found}: {error.mend}"
        case Failure():
            return error.message
        case OSError(errno=errno.EADDRINUSE):
            return "another process listens on one of its ports already"
        case OSError():
            where = f"{error.filename}: " if error.filename else ""
            return where + (error.strerror or "the system refused")
        case ModuleNotFoundError() if error.name and error.name.partition(".")[0] in _OPTIONAL:
            package, lock = _OPTIONAL[error.name.partition(".")[0]]
            return f"it needs {package}, which is not installed: install {lock} instead"
        case sqlite3.DatabaseError():
            return "the file is no SQLite database, or it is damaged"
        case _:
            return None
