"""Questions to what is neither ours nor a chain: facilitators, the issuer, the filings database, the votes feed."""

import importlib.util
from collections.abc import Iterator
from functools import partial
from random import Random
from typing import Any, Final

import aiohttp
import msgspec
from yarl import URL

from tickyard.config.settings import Settings, SettingsError
from tickyard.kernel.clock import Clock
from tickyard.market.listing.identity import ListingRefused, check_listing
from tickyard.market.listing.kept import ListingBroken
from tickyard.payments.facilitators.credentials import SignedTokens
from tickyard.processes.doctor.finding import Bad, Examination
from tickyard.processes.doctor.house import check_list
from tickyard.sources.filings.database import MAX_BYTES as FILINGS_MAX_BYTES
from tickyard.sources.filings.database import TICKERS_PATH
from tickyard.sources.http import Source
from tickyard.sources.issuer.api import MAX_BYTES, Issuer
from tickyard.wiring.payments import credentials_of

_ANSWER_MAX_BYTES: Final = 256 * 1024
_NAMES: Final = {"eip155:4663": ("eip155:4663",), "eip155:8453": ("eip155:8453", "base")}
_ANY_FILER: Final = "submissions/CIK0000320193.json"


def questions(settings: Settings, clock: Clock, wall: Clock) -> Iterator[Examination]:
    by_network = {"eip155:4663": settings.facilitator_4663, "eip155:8453": settings.facilitator_8453}
    for network, urls in by_network.items():
        for place, url in enumerate(urls):
            number = network.rpartition(":")[2]
            variable = f"TICKYARD_FACILITATOR_{number}"
            mend = f"ask the facilitator's operator, or name another in {variable}; until then nobody can pay there"
            if len(urls) > 1:
                mend = f"ask its operator, or take it out of {variable}; the others are asked meanwhile"
            yield Examination(
                f"facilitator {number}" + (f" {place + 1}/{len(urls)}" if len(urls) > 1 else ""),
                partial(_supported, settings, url, network, wall, is_first=not place),
                mend,
                url,
            )
    yield Examination(
        "issuer",
        partial(_issuer, settings, clock),
        "look at TICKYARD_ISSUER_URL and at this machine's way out",
        settings.issuer_url,
    )
    yield Examination(
        "filings contact",
        partial(_filings, settings, clock),
        "look at TICKYARD_FILINGS_FILES_URL; the database answers nobody without a real e-mail address in "
        "TICKYARD_FILINGS_CONTACT",
        settings.filings_files_url,
    )
    yield Examination(
        "filings", partial(_documents, settings, clock), "look at TICKYARD_FILINGS_URL", settings.filings_url
    )
    if settings.traces_url:
        mend = "look at TICKYARD_TRACES_URL and at the collector, or leave it out"
        yield Examination("traces", partial(_traces, settings), mend)
    if settings.votes_url:
        yield Examination("votes feed", partial(_votes, settings, clock), "look at TICKYARD_VOTES_URL, or leave it out")


async def _supported(settings: Settings, url: str, network: str, wall: Clock, *, is_first: bool) -> str:
    url = f"{url}/supported"
    answer = await _get(url, _shown(settings, network, URL(url), wall) if is_first else {})
    kinds = answer.get("kinds") if isinstance(answer, dict) else None
    if not isinstance(kinds, list):
        raise Bad("/supported gives no list of kinds", "is this the address of an x402 facilitator?")
    fitting = [
        kind
        for kind in kinds
        if isinstance(kind, dict) and kind.get("scheme") == "exact" and kind.get("network") in _NAMES[network]
    ]
    if not fitting:
        raise Bad(f"it does not settle exact payments on {network}", "name a facilitator that does")
    return f"settles exact payments on {network}"


def _shown(settings: Settings, network: str, url: URL, wall: Clock) -> dict[str, str]:
    """What goes with every question to the first facilitator of a network; a token is signed for one of them."""
    try:
        shown = credentials_of(settings, network, wall)
    except SettingsError as wrong:
        raise Bad(str(wrong), "look at its HEADERS_FILE or KEY_FILE: this account must be able to read it") from None
    if isinstance(shown, SignedTokens):
        return {"Authorization": "Bearer " + shown.token("GET", url)}
    return shown.headers(url) if shown else {}


async def _get(url: str, headers: dict[str, str] | None = None) -> Any:
    timeout = aiohttp.ClientTimeout(total=8)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, trust_env=False) as session,
            session.get(url, headers=headers, allow_redirects=False) as response,
        ):
            body = await response.content.read(_ANSWER_MAX_BYTES)
            if response.status != 200:
                raise Bad(f"it answers {response.status}", "look at the address and at whoever runs it")
    except (aiohttp.ClientError, OSError):
        raise Bad("it does not answer", "look at the address and at whoever runs it") from None
    try:
        return msgspec.json.decode(body)
    except msgspec.MsgspecError:
        raise Bad("what it answers is not JSON", "look at the address and at whoever runs it") from None


async def _issuer(settings: Settings, clock: Clock) -> str:
    source = _source("issuer", settings.issuer_url, clock, MAX_BYTES)
    await source.start()
    try:
        listing = await Issuer(source, chain_id=settings.chain_id).assets()
    finally:
        await source.close()
    if not listing.assets:
        raise Bad("it lists no assets", "look at TICKYARD_ISSUER_URL")
    try:
        check_listing(listing.assets)
        await check_list(settings, clock, listing)
    except ListingBroken as damaged:
        raise Bad(str(damaged), "`tickyard registry forget`, then restart the processes") from None
    except ListingRefused as refusal:
        mend = "`tickyard registry show` prints both; the last good list is served until a person has looked"
        raise Bad(f"its list is refused: {refusal}", mend) from None
    own = next((each.symbol for each in listing.assets if each.address == settings.pay_to.lower()), None)
    if own is not None:
        raise Bad(f"TICKYARD_PAY_TO is the token {own}, from which nothing comes back", "set it to a wallet of yours")
    return f"{len(listing.assets)} assets listed, {len(listing.broken)} entries refused"


async def _filings(settings: Settings, clock: Clock) -> str:
    headers = {"User-Agent": f"tickyard {settings.filings_contact}"}
    source = _source(
        "filings database", settings.filings_files_url, clock, FILINGS_MAX_BYTES, headers, judged=(403, 404, 429)
    )
    await source.start()
    try:
        fetched = await source.get(TICKERS_PATH)
    finally:
        await source.close()
    if fetched.status != 200:
        raise Bad(
            f"the database answers {fetched.status}",
            "it does not take this contact, or too much was asked: set TICKYARD_FILINGS_CONTACT, and wait ten minutes",
        )
    return f"asked as {settings.filings_contact}, {len(fetched.body) // 1024} KiB of tickers"


async def _documents(settings: Settings, clock: Clock) -> str:
    headers = {"User-Agent": f"tickyard {settings.filings_contact}"}
    judged = (403, 404, 429)
    source = _source("filings database", settings.filings_url, clock, FILINGS_MAX_BYTES, headers, judged=judged)
    await source.start()
    try:
        fetched = await source.get(_ANY_FILER)
    finally:
        await source.close()
    if fetched.status != 200:
        raise Bad(f"the database answers {fetched.status}", "look at TICKYARD_FILINGS_URL")
    return "shows a filer's documents"


async def _traces(settings: Settings) -> str:
    if importlib.util.find_spec("opentelemetry") is None:
        raise Bad(
            "OpenTelemetry is not installed", "install requirements.tracing.lock, or leave TICKYARD_TRACES_URL out"
        )
    # No spans at all are a message too, of no bytes.
    headers = {"Content-Type": "application/x-protobuf"}
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=8), trust_env=False) as session,
            session.post(f"{settings.traces_url}/v1/traces", data=b"", headers=headers) as response,
        ):
            status = response.status
    except (aiohttp.ClientError, OSError):
        raise Bad("it does not answer", "look at TICKYARD_TRACES_URL and at the collector") from None
    if status not in (200, 202):
        raise Bad(f"it answers {status}", "is this a collector that takes OTLP over HTTP?")
    return "takes traces"


async def _votes(settings: Settings, clock: Clock) -> str:
    source = _source("votes feed", settings.votes_url, clock, _ANSWER_MAX_BYTES)
    await source.start()
    try:
        await source.get("")
    finally:
        await source.close()
    return "answers"


def _source(
    name: str,
    url: str,
    clock: Clock,
    max_bytes: int,
    headers: dict[str, str] | None = None,
    judged: tuple[int, ...] = (404,),
) -> Source:
    rng = Random()  # noqa: S311  jitter, not secrets
    return Source(
        name,
        url,
        clock=clock,
        rng=rng,
        max_bytes=max_bytes,
        tries=1,
        headers=headers,
        judged=judged,
        title=f"the {name}",
    )
