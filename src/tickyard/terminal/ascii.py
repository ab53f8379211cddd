"""Words and drawings for an output that knows fewer letters than we do: a terminal or a pipe that takes ASCII alone.

What it cannot show is drawn with what it can, one letter for one, so that columns stay columns. JSON is for programs:
there a letter is written as its escape, which says the same.
"""

import codecs
import io
import json
import os
import sys
from typing import Any, Final, TextIO

import msgspec

_HANDLER: Final = "tickyard-plain"
_LIKE: Final = {**dict.fromkeys("│╵╷", "|"), **dict.fromkeys("┃╹╻╿╽", "#"), "…": "~"}


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_LIKE.get(char, "?") for char in error.object[error.start : error.end]), error.end


codecs.register_error(_HANDLER, _plain)


def show_what_it_can(out: TextIO) -> None:
    """From now on no letter is too much for this output."""
    if isinstance(out, io.TextIOWrapper):
        out.reconfigure(errors=_HANDLER)


def give_up_output() -> None:
    """Nobody reads it any more: what is still to be written goes nowhere, also at the end of the process."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_json(value: Any) -> None:
    """To standard output, in letters that it has."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = "".join(char if char.isascii() else json.dumps(char)[1:-1] for char in text)
    print(text)
