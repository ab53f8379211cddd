"""The payout key at rest: a version 3 keystore file, opened with the password from a file of its own."""

import json
import os
from pathlib import Path

from tickyard.config.settings import SettingsError
from tickyard.kernel.files import is_open_to_others, read_named
from tickyard.payout.signing.signer import LocalSigner


class KeystoreRefused(SettingsError):
    """The key cannot be had. One sentence for the operator, without a path or a secret in it."""


def open_keystore(keystore: Path, password_file: Path) -> LocalSigner:
    from eth_account import Account

    password = _read(password_file, "password file").strip("\r\n")
    text = _read(keystore, "keystore file")
    try:
        key = bytes(Account.decrypt(json.loads(text), password))
    except (ValueError, KeyError, TypeError, NotImplementedError, RecursionError):
        # Neither says which: a wrong password and a damaged file look the same from outside.
        raise KeystoreRefused("the payout keystore does not open with this password") from None
    return LocalSigner(key)


def write_keystore(keystore: Path, password_file: Path, key: bytes, password: str, *, rounds: int = 2**18) -> None:
    """Encrypt a key into a new pair of files that only their owner reads."""
    from eth_account import Account

    for path, text in (
        (keystore, json.dumps(Account.encrypt(key, password, kdf="scrypt", iterations=rounds))),
        (password_file, password + "\n"),
    ):
        with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            file.write(text)


def _read(path: Path, name: str) -> str:
    try:
        is_open = is_open_to_others(path)
        text = read_named(path).decode()
    except (OSError, UnicodeDecodeError):
        raise KeystoreRefused(f"the payout {name} cannot be read") from None
    if is_open:
        raise KeystoreRefused(f"the payout {name} is open to other accounts: it must be readable by its owner only")
    return text
