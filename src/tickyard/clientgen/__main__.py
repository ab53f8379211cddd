"""`python -m tickyard.clientgen [--check]`: write the clients' operations anew, or say whether that is due."""

import sys
from pathlib import Path

from tickyard.clientgen.files import FOLDER, ROOMS, files
from tickyard.clientgen.typescript import TS_FOLDER, ts_files


def made() -> dict[Path, str]:
    """Every generated file with the text that it should have."""
    python = {FOLDER / name: text for name, text in files().items()}
    return python | {TS_FOLDER / name: text for name, text in ts_files().items()}


def stale(wanted: dict[Path, str]) -> list[Path]:
    """What is missing, differs, or should no longer be there."""
    there = {*(file for room in ROOMS for file in (FOLDER / room).glob("*.py")), *TS_FOLDER.glob("*.ts")}
    differs = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    return sorted({*differs, *(there - wanted.keys())})


def main(arguments: list[str]) -> int:
    wanted = made()
    due = stale(wanted)
    if "--check" in arguments:
        for path in due:
            print(f"{path.name} is not what the catalog says; run: make client", file=sys.stderr)
        return 1 if due else 0
    for path in due:
        if path in wanted:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[path])
        else:
            path.unlink()
    print(f"{len(due)} of {len(wanted)} files of the clients written")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
