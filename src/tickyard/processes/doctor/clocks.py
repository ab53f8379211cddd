"""What time it is, by everybody who tells it: signatures, windows and leases rest on this machine's clock."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Final
from urllib.parse import urlsplit

import aiohttp

from tickyard.chain.rpc.client import Rpc
from tickyard.chain.rpc.trouble import RpcError
from tickyard.config.pinned import SECOND_CHAIN_ID
from tickyard.config.settings import Settings
from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import Failure
from tickyard.processes.doctor.finding import Bad, Examination

CLOCK_OFF_MAX_S: Final = 5
_OURS: Final = "let chrony or systemd-timesyncd set this machine's clock"
_THEIRS: Final = "ask its operator: this machine's clock is not the one that is wrong"


def questions(settings: Settings, wall: Clock) -> Iterator[Examination]:
    yield Examination("clock", partial(_clock, settings, wall), _OURS)


async def _clock(settings: Settings, wall: Clock) -> str:
    voices = _voices(settings)
    *told, head = await asyncio.gather(*(_off(url, wall) for url in voices), _head_off(settings, wall))
    offs = {name: off for name, off in zip(voices.values(), told, strict=True) if off is not None}
    if not offs:
        raise Bad("nobody was there to compare with", "mend the facilitators first")
    ours = true_off(offs.values(), head, settings.head_age_max_s)
    if abs(ours) > CLOCK_OFF_MAX_S:
        raise Bad(f"this machine's clock is {ours} s off", _OURS)
    if others := differing(offs, ours):
        raise Bad("; ".join(others), _THEIRS)
    return f"within {max(abs(ours), 1)} s of others'"


def true_off(offs: Iterable[int], head_off: int | None, head_age_max_s: int) -> int:
    """By how much our clock is ahead, when it is ahead of others' by these: the one in the middle is right.

    The newest block is as good as a clock, but that it may be some seconds old. It says which of two is right; and that
    we are, where nobody whom it bears out says otherwise. A chain that stands still bears nobody out.
    """
    ordered = sorted(offs)
    middle = ordered[(len(ordered) - 1) // 2 : len(ordered) // 2 + 1]
    if head_off is not None:
        right = range(head_off - head_age_max_s, head_off + CLOCK_OFF_MAX_S + 1)
        middle = [off for off in middle if off in right] or ([0] if 0 in right else middle)
    return min(middle, key=abs)


def differing(offs: Mapping[str, int], ours: int) -> list[str]:
    """Who tells another time than the one that is right, in words."""
    wrong = {name: ours - off for name, off in offs.items() if abs(ours - off) > CLOCK_OFF_MAX_S}
    return [f"the clock of {name} is {abs(by)} s {'ahead' if by > 0 else 'behind'}" for name, by in wrong.items()]


def _voices(settings: Settings) -> dict[str, str]:
    """Whom to ask, each machine once: two addresses of one that is wrong are no majority."""
    places = {
        **_numbered("facilitator 8453", settings.facilitator_8453),
        **_numbered("facilitator 4663", settings.facilitator_4663),
        settings.issuer_url: "the issuer",
    }
    voices: dict[str, str] = {}
    for url, name in places.items():
        if url and urlsplit(url).netloc not in {urlsplit(asked).netloc for asked in voices}:
            voices[url] = name
    return voices


def _numbered(name: str, urls: tuple[str, ...]) -> dict[str, str]:
    many = len(urls) > 1
    return {f"{url}/supported": f"{name} {place}/{len(urls)}" if many else name for place, url in enumerate(urls, 1)}


async def _off(url: str, wall: Clock) -> int | None:
    """By how much our clock is ahead of the far end's, whatever else it answers."""
    timeout = aiohttp.ClientTimeout(total=8)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, trust_env=False) as session,
            session.get(url, allow_redirects=False) as response,
        ):
            return _ahead(wall.now(), response.headers)
    except (aiohttp.ClientError, OSError, ValueError):
        return None


def _ahead(now: datetime, headers: Mapping[str, str]) -> int | None:
    """A kept answer is dated when it was made, and says how long ago that was."""
    if (date := headers.get("Date")) is None:
        return None
    age = headers.get("Age", "")
    there = parsedate_to_datetime(date).astimezone(UTC)
    return round((now - there).total_seconds()) - (int(age) if age.isascii() and age.isdigit() else 0)


async def _head_off(settings: Settings, wall: Clock) -> int | None:
    """By how much we are ahead of the newest block. The first chain's has a clock of its own in a sandbox."""
    if not settings.rpc_urls_8453:
        return None
    try:
        async with asyncio.timeout(8), Rpc(settings.rpc_urls_8453, chain_id=SECOND_CHAIN_ID, clock=wall) as rpc:
            return wall.seconds() - (await rpc.head()).timestamp
    except (Failure, RpcError, OSError):
        return None
