"""`tickyard doctor`: every setting as the service sees it, and one question to every upstream."""

import sys
from collections.abc import Awaitable, Callable
from random import Random

import msgspec

from tickyard.chain.boot import WrongChain, check_contracts
from tickyard.chain.rpc.client import Rpc
from tickyard.config.settings import PREFIX, SECRET_FIELDS, Settings
from tickyard.kernel.clock import Clock, WallClock
from tickyard.kernel.errors import UpstreamDown
from tickyard.sources.http import Source
from tickyard.sources.issuer.api import MAX_BYTES, Issuer


async def examine(settings: Settings) -> int:
    """Print the findings; 0 when everything is well."""
    clock = WallClock()
    _say("Settings")
    for field in msgspec.structs.fields(Settings):
        _say(f"  {PREFIX + field.name.upper():28} {_shown(field.name, getattr(settings, field.name))}")
    _say("\nUpstreams")
    is_well = True
    for index, url in enumerate(settings.rpc_urls):
        name = f"node {index + 1} of {len(settings.rpc_urls)}"
        is_well &= await _reach(clock, name, lambda url=url: _ask_node(settings, clock, url))  # type: ignore[misc]
    is_well &= await _reach(clock, "issuer", lambda: _ask_issuer(settings, clock))
    _say("\nAll well." if is_well else "\nSomething is wrong: see above.")
    return 0 if is_well else 1


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


def _shown(name: str, value: object) -> str:
    if name in SECRET_FIELDS:
        return f"set ({len(value)} masked)" if isinstance(value, tuple) and value else "not set"
    if isinstance(value, tuple):
        return ", ".join(str(part) for part in value) or "none"
    return str(value)


async def _reach(clock: Clock, name: str, ask: Callable[[], Awaitable[str]]) -> bool:
    began = clock.monotonic()
    try:
        found, mark = await ask(), "ok"
    except UpstreamDown as failure:
        found, mark = failure.message, "FAILED"
    except WrongChain as wrong:
        found, mark = str(wrong), "WRONG"
    took_ms = round((clock.monotonic() - began) * 1000)
    _say(f"  {name:14} {mark:7} {took_ms:5} ms  {found}")
    return mark == "ok"


async def _ask_node(settings: Settings, clock: Clock, url: str) -> str:
    rpc = Rpc([url], chain_id=settings.chain_id, clock=clock)
    try:
        await check_contracts(rpc, settings.contracts)
        head = await rpc.head()
    finally:
        await rpc.close()
    return f"chain {settings.chain_id}, block {head.number}, pinned contracts in place"


async def _ask_issuer(settings: Settings, clock: Clock) -> str:
    rng = Random()  # noqa: S311  jitter, not secrets
    source = Source("issuer", settings.issuer_url, clock=clock, rng=rng, max_bytes=MAX_BYTES, tries=1)
    await source.start()
    try:
        listing = await Issuer(source, chain_id=settings.chain_id).assets()
    finally:
        await source.close()
    return f"{len(listing.assets)} assets listed, {listing.refused} entries refused"
