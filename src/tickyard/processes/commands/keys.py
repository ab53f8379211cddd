"""`tickyard keys`: the secrets that the service itself keeps, made and renewed without a text editor.

The payout key is not among them: only the agent's machine ever has it.
"""

import contextlib
import os
import secrets
from pathlib import Path
from typing import Final

from tickyard.config.settings import SettingsError
from tickyard.features.alerts.secret import AlertKeys
from tickyard.kernel.files import read_named

_NEXT: Final = {
    "alert": "name it in TICKYARD_SECRET_KEY_FILE of every API process and worker, let their account read it (chown), "
    "and keep a copy: alerts made under a lost key are lost",
    "receipt": "name it in TICKYARD_RECEIPT_KEY_FILE of every API process, and let their account read it (chown); it "
    "signs receipts and holds no funds; keep a copy, and never use it for anything else",
}


def new_keys(kind: str, path: Path) -> str:
    """Make a key file that only its owner reads. What to do with it."""
    text = f"1 {secrets.token_hex(32)}\n" if kind == "alert" else _receipt_key()
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        raise SettingsError(
            f"{path} exists already; a key is never overwritten (`tickyard keys rotate` adds one)"
        ) from None
    except OSError as error:
        raise SettingsError(f"{path} cannot be written: {error.strerror}") from None
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        # Half a key would be taken for one the next time.
        path.unlink(missing_ok=True)
        raise SettingsError(f"{path} cannot be written: {error.strerror}") from None
    return f"{path} is made\nnext: {_NEXT[kind]}"


def _receipt_key() -> str:
    """Ed25519 in PEM, as `payments.receipts` reads it."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def _leave_to_the_same_readers(old: Path, new: int) -> None:
    """An operator does this as root: what root made for itself alone, the service's account could not read."""
    before, after = old.stat(), os.fstat(new)
    if (before.st_uid, before.st_gid) != (after.st_uid, after.st_gid):
        os.fchown(new, before.st_uid, before.st_gid)
    os.fchmod(new, before.st_mode & 0o660)


def rotate_keys(path: Path) -> str:
    """Add a newer alert key; the old ones stay, because alerts made under them still answer. What to do next."""
    try:
        text = read_named(path).decode()
        newest = AlertKeys.read(text).version
    except (OSError, UnicodeDecodeError):
        raise SettingsError(f"{path} cannot be read") from None
    except ValueError as error:
        raise SettingsError(f"{path} is no file of alert keys: {error}") from None
    version = newest + 1
    # The file itself, where a link was named: the processes may know it under another name.
    there = path.resolve()
    beside = there.with_name(f".{there.name}.new")
    try:
        with os.fdopen(os.open(beside, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "w") as file:
            _leave_to_the_same_readers(there, file.fileno())
            file.write(f"{text.rstrip()}\n{version} {secrets.token_hex(32)}\n")
            file.flush()
            os.fsync(file.fileno())
        beside.replace(there)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise SettingsError(f"{path} cannot be written: {error.strerror}") from None
    return (
        f"{path} has a key of version {version}; new alerts will use it\n"
        f"1. copy the file to every machine with an API process or a worker\n"
        f"2. restart all workers, then all API processes: a worker must know a key before an alert is made under it\n"
        f"3. `tickyard doctor` on each: its newest version is {version}\n"
        f"4. after 30 days no alert of version {newest} is active: its line may be removed, and everything restarted\n"
        f"   (if the old key has leaked, remove its line at once: its alerts end unread, tell their owners)"
    )
