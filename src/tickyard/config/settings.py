"""The settings of one process.

Every field is one variable: `TICKYARD_` + the field's name in upper case. The same names in lower case are
the keys of the optional TOML file that `TICKYARD_SETTINGS` points to; the environment wins.
"""

import ipaddress
import re
import tomllib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from tickyard.config import pinned
from tickyard.kernel.ids import is_address

PREFIX = "TICKYARD_"
FILE_VARIABLE = "TICKYARD_SETTINGS"

_HOST = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:]+\]")
_ORIGIN = re.compile(rf"https?://(?:{_HOST.pattern})(?::[0-9]{{1,5}})?/?")
HISTORY_START = "2026-09-16T00:00:00Z"

Port = Annotated[int, Meta(ge=1, le=65535)]


class SettingsError(Exception):
    """A setting is missing or wrong. The message is one clear sentence per problem."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    profile: Literal["mainnet", "sandbox"] = "mainnet"
    base_url: str = ""
    """Public address of the service, without a trailing slash; default http://HOST:PORT."""
    host: str = "127.0.0.1"
    port: Port = 8402
    metrics_port: Annotated[int, Meta(ge=0, le=65535)] = 0
    """Loopback port of the Prometheus metrics; default PORT + 1000."""
    data_dir: str = "data"
    rpc_urls: tuple[str, ...] = ()
    """Nodes of chain 4663, best first, separated by commas. May carry keys: never shown."""
    rpc_urls_8453: tuple[str, ...] = ()
    """Nodes of chain 8453, for payments in USDC. May carry keys: never shown."""
    database_url: str = ""
    """PostgreSQL address; default a SQLite file in the data folder. May carry a password: never shown."""
    secret_key_file: str = ""
    """File with the keys from which alert secrets are derived."""
    issuer_url: str = pinned.ISSUER_URL
    filings_url: str = pinned.FILINGS_URL
    filings_files_url: str = pinned.FILINGS_FILES_URL
    filings_contact: str = ""
    """Who we are to the filings database: an e-mail address."""
    votes_url: str = ""
    """Where vote events will appear; empty while there is none."""
    pay_to: str = ""
    """The address that receives payments, on both networks."""
    spender: str = pinned.SPENDER
    facilitator_4663: str = ""
    facilitator_8453: str = ""
    finality: str = "finalized"
    """When a block is final: the tag `finalized`, or a number of blocks on top of it."""
    security_contact: str = "mailto:security@tickyard.example"
    """Where vulnerabilities are reported, for security.txt."""
    earn: bool = True
    """The daily reward program; off: its routes do not exist."""
    service_token: str = ""
    """The token whose holders share the reward pool; without it the program is off."""
    service_token_first_block: Annotated[int, Meta(ge=0)] = 0
    """The block in which the service token was created: its transfers are read from there on."""
    second_logs_url: str = ""
    """A second node of chain 4663, which must show the same transfers of the service token. May carry a key."""
    payout_desk: str = ""
    """The desk contract that pays the rewards; without it the program is off."""
    payout_desk_first_block: Annotated[int, Meta(ge=0)] = 0
    """The block in which the desk was deployed: its events are read from there on."""
    payout_keystore: str = ""
    """The payout agent alone: its encrypted key file."""
    payout_password_file: str = ""
    """The payout agent alone: the file with the password of that key."""
    payout_max_per_claim_usd: Annotated[int, Meta(ge=1)] = 1_000
    payout_max_per_epoch_usd: Annotated[int, Meta(ge=1)] = 10_000
    payout_max_per_day_usd: Annotated[int, Meta(ge=1)] = 10_000
    """What the payout agent never goes over, whatever the books say."""
    sample_spread_s: Annotated[int, Meta(ge=0, le=240)] = 20
    """A round is read at a random moment within so many seconds of its slot."""
    fee_tiers: tuple[Annotated[int, Meta(ge=1, lt=1_000_000)], ...] = (100, 500, 3000, 10000)
    deadline_s: Annotated[int, Meta(ge=30, le=86_400)] = 600
    """How long a built swap may be sent before it reverts."""
    rate_limit: Annotated[int, Meta(ge=0)] = 600
    """Requests per minute and client on free routes; 0 turns the limit off."""
    replicas: Annotated[int, Meta(ge=1, le=10_000)] = 1
    """API processes behind one address: each grants its part of the rate limit."""
    trusted_proxies: tuple[str, ...] = ()
    """Networks whose X-Forwarded-For is believed, such as 10.0.0.0/8."""
    mcp_hosts: tuple[str, ...] = ()
    """Names under which the tool server may be called, besides the base URL's and this machine's own."""
    mcp_origins: tuple[str, ...] = ()
    """Web pages that may call the tool server, such as https://app.example; empty: all."""
    alerts_max: Annotated[int, Meta(ge=1)] = 100_000
    """Active alerts there may be altogether."""
    worker_metrics_port: Annotated[int, Meta(ge=0, le=65535)] = 0
    """Loopback port of a worker's own metrics; default METRICS_PORT + 1."""
    access_log: bool = True
    history_start: str = HISTORY_START

    @property
    def contracts(self) -> pinned.Contracts:
        return pinned.MAINNET

    @property
    def final_after(self) -> Literal["finalized"] | int:
        """The tag, or the number of blocks."""
        return int(self.finality) if self.finality.isdigit() else "finalized"

    @property
    def has_earn(self) -> bool:
        return self.earn and bool(self.service_token) and bool(self.payout_desk)

    @property
    def store_url(self) -> str:
        return self.database_url or str(self.data_path / "tickyard.db")

    @property
    def chain_id(self) -> int:
        return pinned.CHAIN_ID

    @property
    def is_sandbox(self) -> bool:
        return self.profile == "sandbox"

    @property
    def data_path(self) -> Path:
        return Path(self.data_dir)

    @property
    def history_start_at(self) -> datetime:
        return datetime.fromisoformat(self.history_start).astimezone(UTC)


# Shown as "set" or "not set" by `tickyard doctor`: the values may carry keys.
SECRET_FIELDS = frozenset({"rpc_urls", "rpc_urls_8453", "second_logs_url", "database_url"})
_NEEDED_ON_MAINNET = (
    ("rpc_urls_8453", "a node of chain 8453"),
    ("pay_to", "the address that receives payments"),
    ("facilitator_4663", "the facilitator that settles USDG"),
    ("facilitator_8453", "the facilitator that settles USDC"),
    ("secret_key_file", "the file with the alert keys, one line of `1` and 64 random hex digits"),
    ("filings_contact", "a contact address for the filings database"),
)


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Settings from the environment and the optional file. Raises SettingsError naming all that is wrong."""
    values: dict[str, Any] = {}
    if path := environ.get(FILE_VARIABLE):
        values.update(_read_file(Path(path)))
    for field in msgspec.structs.fields(Settings):
        text = environ.get(PREFIX + field.name.upper())
        if text is not None and text != "":
            values[field.name] = _from_text(field.type, text)
    values = {name: _trim_url(name, value) for name, value in values.items()}
    try:
        settings = msgspec.convert(values, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise SettingsError(f"a setting is wrong: {error}") from None
    if not settings.base_url:
        settings = msgspec.structs.replace(settings, base_url=f"http://{settings.host}:{settings.port}")
    if not settings.metrics_port:
        settings = msgspec.structs.replace(settings, metrics_port=(settings.port + 1000) % 65536 or 1)
    if not settings.worker_metrics_port:
        settings = msgspec.structs.replace(settings, worker_metrics_port=(settings.metrics_port + 1) % 65536 or 1)
    problems = list(_problems(settings))
    if problems:
        raise SettingsError("; ".join(problems))
    return settings


def _read_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except OSError:
        raise SettingsError(f"the settings file named by {FILE_VARIABLE} cannot be read") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"the settings file named by {FILE_VARIABLE} is not TOML: {error}") from None


def _from_text(kind: Any, text: str) -> Any:
    if kind is bool:
        return {"true": True, "1": True, "on": True, "false": False, "0": False, "off": False}.get(text.lower(), text)
    is_list = getattr(kind, "__origin__", None) is tuple
    return [part.strip() for part in text.split(",") if part.strip()] if is_list else text


def _trim_url(name: str, value: Any) -> Any:
    return value.rstrip("/") if name in _URLS and isinstance(value, str) else value


def _problems(settings: Settings) -> list[str]:
    found = []
    if not settings.rpc_urls:
        found.append(
            "TICKYARD_RPC_URLS is not set: the service needs a node of chain 4663 (`tickyard up` brings its own)"
        )
    if not settings.is_sandbox:
        for name, what in _NEEDED_ON_MAINNET:
            if not getattr(settings, name):
                found.append(f"{PREFIX}{name.upper()} is not set: {what}")
    for name in _URLS:
        if getattr(settings, name) and not _is_http_url(getattr(settings, name)):
            found.append(f"{PREFIX}{name.upper()} must be an http or https address")
    for name in ("rpc_urls", "rpc_urls_8453"):
        if not all(_is_http_url(url) for url in getattr(settings, name)):
            found.append(f"{PREFIX}{name.upper()} must be http or https addresses separated by commas")
    for name in ("pay_to", "spender", "service_token", "payout_desk"):
        if getattr(settings, name) and not is_address(getattr(settings, name)):
            found.append(f"{PREFIX}{name.upper()} must be 0x followed by 40 hex digits")
    if settings.finality != "finalized" and not (settings.finality.isascii() and settings.finality.isdigit()):
        found.append("TICKYARD_FINALITY must be the word finalized or a number of blocks")
    for text in settings.trusted_proxies:
        if not _is_network(text):
            found.append(f"TICKYARD_TRUSTED_PROXIES: {text!r} is not a network such as 10.0.0.0/8")
    for text in settings.mcp_hosts:
        if not _HOST.fullmatch(text):
            found.append(f"TICKYARD_MCP_HOSTS: {text!r} is not a host name such as api.example.com")
    for text in settings.mcp_origins:
        if not _ORIGIN.fullmatch(text):
            found.append(f"TICKYARD_MCP_ORIGINS: {text!r} is not an origin such as https://app.example")
    try:
        settings.history_start_at  # noqa: B018  reading it is the check
    except ValueError:
        found.append("TICKYARD_HISTORY_START must be an ISO 8601 time")
    return found


_URLS = (
    "base_url",
    "issuer_url",
    "filings_url",
    "filings_files_url",
    "votes_url",
    "second_logs_url",
    "facilitator_4663",
    "facilitator_8453",
)


def _is_http_url(text: str) -> bool:
    parts = urlsplit(text)
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text)
    except ValueError:
        return False
    return True
