"""`tickyard doctor`: every setting as the service sees it, and a question to everything that it needs."""

import asyncio
import re
import sys
from typing import Final

import msgspec

from tickyard.config.settings import PREFIX, SECRET_FIELDS, Settings
from tickyard.kernel.clock import WallClock
from tickyard.processes.doctor import chains, clocks, far_ends, house, ports
from tickyard.processes.doctor.finding import find_out
from tickyard.wiring import open_clock

_KEYS_OF_ADDRESS: Final = re.compile(r"(?<=://)[^/?#]*(?=@)|(?<=[?]).+")


async def examine(settings: Settings) -> int:
    """Print the findings; 0 when everything is well."""
    _say("Settings")
    for field in msgspec.structs.fields(Settings):
        _say(f"  {PREFIX + field.name.upper():36} {_shown(field.name, getattr(settings, field.name))}")
    clock, wall = open_clock(settings), WallClock()
    questions = [
        *chains.questions(settings, clock, wall),
        *far_ends.questions(settings, clock, wall),
        *clocks.questions(settings, wall),
        *house.questions(settings, clock),
        *ports.questions(settings),
    ]
    _say("\nEverything it needs")
    bad = 0
    for finding in await asyncio.gather(*(find_out(question, wall) for question in questions)):
        bad += not finding.is_good
        for line in finding.lines():
            _say(line)
    _say("\nAll well." if not bad else f"\n{bad} of {len(questions)} bad: see above what to do.")
    return 1 if bad else 0


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


def _shown(name: str, value: object) -> str:
    if name in SECRET_FIELDS:
        return (
            f"set ({len(value)} masked)"
            if isinstance(value, tuple) and value
            else "set (masked)"
            if value
            else "not set"
        )
    if isinstance(value, tuple):
        return ", ".join(_without_keys(str(part)) for part in value) or "none"
    return _without_keys(str(value)) if value != "" else "not set"


def _without_keys(text: str) -> str:
    """What is shown here ends in tickets and chats: a name and password, or a query, of an address does not."""
    return _KEYS_OF_ADDRESS.sub("(masked)", text) if "://" in text else text
