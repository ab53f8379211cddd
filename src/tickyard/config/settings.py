"""The settings of one process.

Every field is one variable: `TICKYARD_` + the field's name in upper case. The same names in lower case are
the keys of the optional TOML file that `TICKYARD_SETTINGS` points to; the environment wins.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from tickyard.config import pinned
from tickyard.kernel.units import UsdgAmount

FILE_VARIABLE = "TICKYARD_SETTINGS"
PREFIX: Final = "TICKYARD_"
URLS: Final = (
    "base_url",
    "issuer_url",
    "filings_url",
    "filings_files_url",
    "votes_url",
    "second_logs_url",
    "traces_url",
)
FACILITATORS: Final = ("facilitator_4663", "facilitator_8453")
PRICES: Final = ("price_research", "price_quote", "price_portfolio", "price_history", "price_build")

HISTORY_START = "2026-09-16T00:00:00Z"

MANY = 10**9
"""More than anybody needs of anything, and few enough for every database and every sum."""

Port = Annotated[int, Meta(ge=1, le=65535)]


class SettingsError(Exception):
    """A setting is missing or wrong. The message is one clear sentence per problem."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    profile: Literal["mainnet", "sandbox"] = "mainnet"
    base_url: str = ""
    """Public address of the service, without a trailing slash; default http://HOST:PORT."""
    host: str = "127.0.0.1"
    port: Port = 8402
    metrics_host: str = "127.0.0.1"
    """Where the metrics are shown: whoever reaches it can read them."""
    metrics_port: Annotated[int, Meta(ge=0, le=65535)] = 0
    """Port of the Prometheus metrics; default PORT + 1000."""
    keep_alive_s: Annotated[int, Meta(ge=1, le=3600)] = 130
    """How long an idle connection is kept: longer than a proxy in front keeps its own, or it meets closed ones."""
    lame_duck_s: Annotated[int, Meta(ge=0, le=600)] = 5
    """How long a process that was told to stop still serves, with /readyz at 503, until proxies have noticed."""
    drain_s: Annotated[int, Meta(ge=0, le=600)] = 60
    """How long it then finishes what has begun: a paid call may wait 15 s for its body and 43 s for upstreams."""
    data_dir: str = "data"
    rpc_urls: tuple[str, ...] = ()
    """Nodes of chain 4663, best first, separated by commas. May carry keys: never shown."""
    rpc_ws_urls: tuple[str, ...] = ()
    """Nodes of chain 4663 that tell new logs over a websocket: the mirror looks the moment a pool has moved. May carry
    keys: never shown."""
    rpc_urls_8453: tuple[str, ...] = ()
    """Nodes of chain 8453, for payments in USDC. May carry keys: never shown."""
    head_age_max_s: Annotated[int, Meta(ge=5, le=3600)] = 60
    """A node whose newest block is older than so many seconds is passed over."""
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
    facilitator_4663: tuple[str, ...] = ()
    facilitator_8453: tuple[str, ...] = ()
    """Who settles payments on each network, in the order in which they are asked, separated by commas."""
    facilitator_4663_headers_file: str = ""
    facilitator_8453_headers_file: str = ""
    """File with headers, one `Name: value` a line, that the first facilitator of a network wants to see."""
    facilitator_4663_key_file: str = ""
    facilitator_8453_key_file: str = ""
    """Key file (JSON with id and privateKey) for facilitators that want a signed token with every request."""
    networks: tuple[Literal["4663", "8453"], ...] = ("4663", "8453")
    """Where new payments are taken. One that is left out is withdrawn; what was begun there is finished."""
    receipt_key_file: str = ""
    """File with an Ed25519 key (PEM) that signs receipts, and nothing else; without it they are not signed."""
    price_research: str = "0.01"
    price_quote: str = "0.01"
    price_portfolio: str = "0.01"
    price_history: str = "0.01"
    price_build: str = "0.02"
    """What a call of each paid route costs, in dollars."""
    finality: str = "finalized"
    """When a block is final: the tag `finalized`, or a number of blocks on top of it."""
    security_contact: str = "mailto:security@tickyard.example"
    """Where vulnerabilities are reported, for security.txt."""
    earn: bool = True
    """The daily reward program; off: its routes do not exist."""
    service_token: str = ""
    """The token whose holders share the reward pool; without it the program is off."""
    service_token_first_block: Annotated[int, Meta(ge=0, le=MANY)] = 0
    """The block in which the service token was created: its transfers are read from there on."""
    second_logs_url: str = ""
    """A second node of chain 4663: it must show the same transfers and decimals of that token. May carry a key."""
    payout_desk: str = ""
    """The desk contract that pays the rewards; without it the program is off."""
    payout_desk_first_block: Annotated[int, Meta(ge=0, le=MANY)] = 0
    """The block in which the desk was deployed: its events are read from there on."""
    payout_keystore: str = ""
    """The payout agent alone: its encrypted key file."""
    payout_password_file: str = ""
    """The payout agent alone: the file with the password of that key."""
    payout_max_per_claim_usd: Annotated[int, Meta(ge=1, le=MANY)] = 1_000
    payout_max_per_epoch_usd: Annotated[int, Meta(ge=1, le=MANY)] = 10_000
    payout_max_per_day_usd: Annotated[int, Meta(ge=1, le=MANY)] = 10_000
    """What the payout agent never goes over, whatever the books say."""
    sample_spread_s: Annotated[int, Meta(ge=0, le=240)] = 20
    """A round is read at a random moment within so many seconds of its slot."""
    fee_tiers: tuple[Annotated[int, Meta(ge=1, lt=1_000_000)], ...] = (100, 500, 3000, 10000)
    mirror: bool = True
    """Pools that are asked about are held in memory and followed block by block; off: every answer asks the chain."""
    mirror_fresh_ms: Annotated[int, Meta(ge=100, le=60_000)] = 1_500
    """The mirror answers only while the newest block was confirmed within so many milliseconds."""
    multicall_max: Annotated[int, Meta(ge=100, le=20_000)] = 5_000
    """How many figures a node is asked for in one call at most: so many take about 33 M gas, and nodes allow 50."""
    stream_max: Annotated[int, Meta(ge=0, le=100_000)] = 10_000
    """Connections of the event stream in one process."""
    stream_max_per_client: Annotated[int, Meta(ge=1, le=100_000)] = 20
    """Connections of the event stream of one client address."""
    stream_buffer_kb: Annotated[int, Meta(ge=16, le=65_536)] = 256
    """What may wait for a slow listener before the connection is cut."""
    depth_floor_usd: Annotated[int, Meta(ge=0, le=MANY)] = 500
    """A pool that less than this moves by 1 % is told to be shallow, and sampled only because no pool is deeper."""
    deadline_s: Annotated[int, Meta(ge=30, le=86_400)] = 600
    """How long a built swap may be sent before it reverts."""
    rate_limit: Annotated[int, Meta(ge=0, le=MANY)] = 600
    """Requests per minute and client on free routes; 0 turns the limit off."""
    replicas: Annotated[int, Meta(ge=1, le=10_000)] = 1
    """API processes behind one address: each grants its part of the rate limit."""
    trusted_proxies: tuple[str, ...] = ()
    """Networks whose X-Forwarded-For is believed, such as 10.0.0.0/8."""
    mcp_hosts: tuple[str, ...] = ()
    """Names under which the tool server may be called, besides the base URL's and this machine's own."""
    mcp_origins: tuple[str, ...] = ()
    """Web pages that may call the tool server, such as https://app.example; empty: all."""
    alerts_max: Annotated[int, Meta(ge=1, le=MANY)] = 100_000
    """Active alerts there may be altogether."""
    worker_metrics_port: Annotated[int, Meta(ge=0, le=65535)] = 0
    """Port of a worker's own metrics; default METRICS_PORT + 1."""
    access_log: bool = True
    traces_url: str = ""
    """An OpenTelemetry collector (OTLP over HTTP) that takes traces; empty: none are made."""
    history_start: str = HISTORY_START

    @property
    def contracts(self) -> pinned.Contracts:
        return pinned.MAINNET

    @property
    def final_after(self) -> Literal["finalized"] | int:
        """The tag, or the number of blocks."""
        return int(self.finality) if self.finality.isdigit() else "finalized"

    @property
    def prices(self) -> dict[str, UsdgAmount]:
        """The price of each paid operation."""
        named = ("get_research", "get_quote", "get_portfolio", "get_history", "build_trade")
        return {row: UsdgAmount.parse(getattr(self, name)) for row, name in zip(named, PRICES, strict=True)}

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
SECRET_FIELDS = frozenset({"rpc_urls", "rpc_ws_urls", "rpc_urls_8453", "second_logs_url", "database_url"})
