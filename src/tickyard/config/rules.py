"""What settings must be besides of the right kind: rules about a whole set of them."""

import ipaddress
import re
from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import urlsplit

from msgspec.structs import astuple

from tickyard.config.settings import FACILITATORS, PREFIX, PRICES, URLS, Settings
from tickyard.config.wallet import problem_with
from tickyard.config.web_address import is_web_address
from tickyard.kernel.ids import is_address

_MAPPED: Final = ipaddress.IPv6Network("::ffff:0:0/96")
_TRUSTED_MOST: Final = {4: 4, 6: 5}
"""As much as a network of so many bits: all private ones together are far less."""
_ADDRESS: Final = re.compile(r"[A-Za-z0-9._:%-]+")
_PRICE: Final = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,6})?")
_BLOCKS: Final = re.compile(r"[1-9][0-9]{0,5}")
_CONTACTS: Final = ("mailto:", "https://", "tel:")
_HOST: Final = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:]+\]")
_ORIGIN: Final = re.compile(rf"https?://(?:{_HOST.pattern})(?::[0-9]{{1,5}})?/?")
_DATABASES: Final = ("postgresql://", "postgres://", "postgresql+psycopg://", "sqlite:///")
_LISTS: Final = ("fee_tiers", "networks", "rpc_urls", "rpc_urls_8453", "rpc_ws_urls", *FACILITATORS)
_NEEDED_ON_MAINNET: Final = (
    ("rpc_urls_8453", "a node of chain 8453"),
    ("pay_to", "the address that receives payments"),
    ("facilitator_4663", "the facilitator that settles USDG"),
    ("facilitator_8453", "the facilitator that settles USDC"),
    ("secret_key_file", "the file with the alert keys (`tickyard keys new alert FILE` makes one)"),
    ("filings_contact", "a contact address for the filings database"),
)


def problems_of(settings: Settings, *, is_for_service: bool = True) -> list[str]:
    """One sentence for each."""
    paid = [*_missing(settings), *_receiver(settings)] if is_for_service else []
    return [*paid, *_addresses(settings), *_names(settings), *_others(settings)]


def _missing(settings: Settings) -> list[str]:
    found = []
    if not settings.rpc_urls:
        found.append(
            "TICKYARD_RPC_URLS is not set: the service needs a node of chain 4663 (`tickyard up` brings its own)"
        )
    if not settings.is_sandbox:
        for name, what in _NEEDED_ON_MAINNET:
            if not getattr(settings, name):
                found.append(f"{PREFIX}{name.upper()} is not set: {what}")
    return found


def _receiver(settings: Settings) -> list[str]:
    """Where money goes: whoever works on the store alone receives none."""
    found: list[str] = []
    if not settings.pay_to:
        return found
    if settings.is_sandbox:
        if not is_address(settings.pay_to):
            found.append("TICKYARD_PAY_TO must be 0x followed by 40 hex digits")
    elif wrong := problem_with(settings.pay_to):
        found.append(f"TICKYARD_PAY_TO {wrong}")
    if settings.pay_to.lower() in (settings.service_token.lower(), settings.payout_desk.lower()):
        found.append("TICKYARD_PAY_TO is a contract of the reward program, from which nothing comes back")
    return found


def _addresses(settings: Settings) -> list[str]:
    found = [
        f"{PREFIX}{name.upper()} must be 0x followed by 40 hex digits"
        for name in ("spender", "service_token", "payout_desk")
        if getattr(settings, name) and not is_address(getattr(settings, name))
    ]
    if settings.spender.lower() in astuple(settings.contracts):
        # Permit2 itself above all, whose name stands beside the spender's in all that clients sign.
        found.append("TICKYARD_SPENDER is another contract of this chain: nobody could pay in USDG, so leave it out")
    return found


def _names(settings: Settings) -> list[str]:
    found = []
    for name in ("host", "metrics_host"):
        if not _ADDRESS.fullmatch(getattr(settings, name)):
            found.append(f"{PREFIX}{name.upper()} must be an address of this machine such as 127.0.0.1")
    if is_web_address(settings.base_url, "http", "https") and set(settings.base_url) & set("?#@"):
        found.append("TICKYARD_BASE_URL must be the address alone: paths are put behind it")
    for name in URLS:
        if getattr(settings, name) and not is_web_address(getattr(settings, name), "http", "https"):
            found.append(f"{PREFIX}{name.upper()} must be an http or https address")
    for name in ("rpc_urls", "rpc_urls_8453", *FACILITATORS):
        if not all(is_web_address(url, "http", "https") for url in getattr(settings, name)):
            found.append(f"{PREFIX}{name.upper()} must be http or https addresses separated by commas")
    if not all(is_web_address(url, "ws", "wss") for url in settings.rpc_ws_urls):
        found.append("TICKYARD_RPC_WS_URLS must be ws or wss addresses separated by commas")
    for text in settings.trusted_proxies:
        if (wrong := _wrong_with_network(text)) is not None:
            found.append(f"TICKYARD_TRUSTED_PROXIES: {text!r} {wrong}")
    found += _trusted_too_much(settings.trusted_proxies)
    for text in settings.mcp_hosts:
        if not _HOST.fullmatch(text):
            found.append(f"TICKYARD_MCP_HOSTS: {text!r} is not a host name such as api.example.com")
    for text in settings.mcp_origins:
        if not _ORIGIN.fullmatch(text):
            found.append(f"TICKYARD_MCP_ORIGINS: {text!r} is not an origin such as https://app.example")
    return found


def _others(settings: Settings) -> list[str]:
    found = []
    if settings.metrics_port == settings.port:
        found.append("TICKYARD_METRICS_PORT must be another port than TICKYARD_PORT: metrics are not for callers")
    if settings.finality != "finalized" and not _BLOCKS.fullmatch(settings.finality):
        found.append("TICKYARD_FINALITY must be the word finalized or a number of blocks from 1 to 999999")
    if not settings.security_contact.startswith(_CONTACTS):
        found.append("TICKYARD_SECURITY_CONTACT must begin with mailto:, https:// or tel:")
    if settings.filings_contact and "@" not in settings.filings_contact:
        found.append("TICKYARD_FILINGS_CONTACT must be an e-mail address: the filings database refuses others")
    if not _is_database(settings.database_url):
        found.append("TICKYARD_DATABASE_URL must be a postgresql:// address or the path of a SQLite file")
    if not settings.data_dir.strip():
        found.append("TICKYARD_DATA_DIR must be the path of a folder")
    if not settings.fee_tiers:
        found.append("TICKYARD_FEE_TIERS must name one tier or more: without them there are no pools")
    for name in PRICES:
        if not _PRICE.fullmatch(text := getattr(settings, name)) or not text.strip("0."):
            found.append(f"{PREFIX}{name.upper()} must be a price in dollars such as 0.01")
    if not settings.networks:
        found.append("TICKYARD_NETWORKS must name 4663, 8453 or both")
    for name in _LISTS:
        if len(set(getattr(settings, name))) < len(getattr(settings, name)):
            found.append(f"{PREFIX}{name.upper()} must name each one once")
    try:
        settings.history_start_at  # noqa: B018  reading it is the check
    except (ValueError, OverflowError):
        found.append("TICKYARD_HISTORY_START must be an ISO 8601 time")
    return found


def _wrong_with_network(text: str) -> str | None:
    try:
        network = ipaddress.ip_network(text)
    except ValueError:
        return "is not a network such as 10.0.0.0/8"
    if network.prefixlen == 0:
        return "is the whole internet: everybody could then say who they are; name the proxy's own network"
    return None


def _trusted_too_much(texts: Iterable[str]) -> list[str]:
    """Networks that together are most of the internet, or all of the old one in the new one's clothes."""
    trusted: dict[int, list[Any]] = {4: [], 6: []}
    for text in texts:
        if _wrong_with_network(text) is None:
            network = ipaddress.ip_network(text)
            if network.version == 6 and network.subnet_of(_MAPPED):
                low = int(network.network_address) & 0xFFFFFFFF
                network = ipaddress.ip_network((low, network.prefixlen - 96))
            trusted[network.version].append(network)
    for version, bits in ((4, 32), (6, 128)):
        covered = sum(each.num_addresses for each in ipaddress.collapse_addresses(trusted[version]))
        if covered >> (bits - _TRUSTED_MOST[version]):
            return ["TICKYARD_TRUSTED_PROXIES are most of the internet: name the proxies' own networks"]
    return []


def _is_database(text: str) -> bool:
    if text.startswith(_DATABASES):
        if text.startswith("sqlite:///"):
            return _is_file(text.removeprefix("sqlite:///"))
        try:
            parts = urlsplit(text)
            return parts.port != 0 and len(parts.path) > 1
        except ValueError:
            return False
    return text == "" or _is_file(text)


def _is_file(text: str) -> bool:
    """What SQLite or SQLAlchemy would take for something else than a path is none."""
    return bool(text.strip()) and not text.startswith((":", "file:", "sqlite:")) and "://" not in text
