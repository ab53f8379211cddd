"""Files that an operator names."""

import errno
import os
import select
from pathlib import Path
from typing import Final

_PATIENCE_S: Final = 5.0


def read_named(path: Path) -> bytes:
    """The whole file. OSError also for a pipe that nobody writes to: a plain read would wait for it for ever."""
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        if not select.select([file], [], [], _PATIENCE_S)[0]:
            raise OSError(errno.ETIMEDOUT, "it is a pipe that nobody writes to", str(path))
        os.set_blocking(file.fileno(), True)
        return file.read()


def is_open_to_others(path: Path) -> bool:
    """Whether other accounts than its owner's can do anything with it.

    systemd hands a credential to the account of a unit by an access list, whose mask stands where the rights of the
    group would: there it may be read.
    """
    handed_over = os.environ.get("CREDENTIALS_DIRECTORY")
    theirs = 0o037 if handed_over and path.parent == Path(handed_over) else 0o077
    return bool(path.stat().st_mode & theirs)
