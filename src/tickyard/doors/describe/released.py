"""`python -m tickyard.doors.describe.released FILE`: does the API still keep what the released description promised?

Prints one line per change that can break a caller. 0: none, 1: some, 2: the file cannot be read.
"""

import sys
from pathlib import Path

import msgspec

from tickyard.catalog import CATALOG
from tickyard.doors.describe.changes import breaking_changes
from tickyard.doors.describe.openapi import as_text


def main(words: list[str]) -> int:
    try:
        released = msgspec.json.decode(Path(words[0]).read_bytes())
    except (IndexError, OSError, msgspec.DecodeError):
        print("usage: python -m tickyard.doors.describe.released docs/openapi.released.json", file=sys.stderr)
        return 2
    changes = breaking_changes(released, msgspec.json.decode(as_text(CATALOG)))
    for change in changes:
        print(f"breaking: {change}")
    return 1 if changes else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
