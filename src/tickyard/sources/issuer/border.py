"""The issuer's shapes, held to the rules of the border, and the values the house keeps of them.

Known fields must have their shape, unknown ones are ignored. Every breach is a ValueError (or msgspec's own).
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any

import msgspec

from tickyard.kernel.ids import Address, Symbol, is_address
from tickyard.kernel.units import Price
from tickyard.sources.text import UNREADABLE, clean, clean_tree

NAME_SUFFIX = " • Robinhood Token"
SYMBOL = re.compile(r"[A-Z0-9][A-Z0-9.]{0,15}")
_FREE_FORM_MAX_BYTES = 8 * 1024
_PRICE_LIMIT = Price(10**9, 1)
_MULTIPLIER_MAX_E18 = 10**6 * 10**18
_CLOCK_SLACK = timedelta(seconds=60)

_DECIMAL = re.compile(r"[0-9]{1,30}(?:\.[0-9]{1,30})?")
_MULTIPLIER = re.compile(r"([0-9]{1,7})(?:\.([0-9]{1,18}))?")
_MOMENT = re.compile(
    r"(20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})"
)
_STATUS = re.compile(r"ASSET_STATUS_[A-Z_]{1,40}")
_ACTION_TYPE = re.compile(r"CORPORATE_ACTION_TYPE_[A-Z_]{1,60}")
_ACTION_STATUS = re.compile(r"CORPORATE_ACTION_STATUS_[A-Z_]{1,60}")
_LOGO = re.compile(r"https://[A-Za-z0-9][A-Za-z0-9.-]*(?::[0-9]{1,5})?/[!#-;=?-Z_a-z~]{0,400}")
_ASSET_ID = re.compile(r"0x[0-9a-fA-F]{1,64}")


@dataclass(frozen=True, slots=True)
class ListedAsset:
    """One stock token as the issuer lists it."""

    id: str
    symbol: Symbol
    name: str
    address: Address | None
    multiplier_e18: int
    pending_multiplier_e18: int | None
    pending_effective_at: datetime | None
    status: str
    logo_url: str
    isin: str
    trading_capabilities: msgspec.Raw | None
    """The upstream's JSON, byte for byte: its shape has changed before."""


@dataclass(frozen=True, slots=True)
class BrokenEntry:
    """An entry of the list that breaks its shape: whose it is, as far as that can be read. Empty: it cannot."""

    symbol: str
    uid: str

    def is_perhaps(self, asset: ListedAsset) -> bool:
        return self.symbol == asset.symbol or self.uid == asset.id or not (self.symbol or self.uid)


@dataclass(frozen=True, slots=True)
class IssuerQuote:
    """The equity quote of one symbol, per underlying share. A side without sense is None, never zero."""

    symbol: Symbol
    address: Address | None
    """Of the token that it is said to be of, if that is said."""
    bid: Price | None
    ask: Price | None
    currency: str
    is_halted: bool
    generated_at: datetime
    daily_high: str | None
    daily_low: str | None
    daily_volume: str | None

    @property
    def is_usable(self) -> bool:
        return self.bid is not None and self.ask is not None

    @property
    def mid(self) -> Price | None:
        return self.bid.midway(self.ask) if self.bid is not None and self.ask is not None else None


@dataclass(frozen=True, slots=True)
class IssuerAction:
    """A corporate action. `asset_id` names the asset: several actions share it."""

    asset_id: str
    symbol: Symbol
    type: str
    status: str
    process_date: date | None
    details: dict[str, Any]


class Shape(msgspec.Struct, rename="camel", kw_only=True):
    """Upstream JSON. Numbers come as text: a JSON number in its place is refused."""


class _Deployment(Shape):
    contract_address: str
    chain_id: int


class _Asset(Shape):
    id: str
    token_symbol: str
    token_name: str
    current_multiplier: str
    status: str
    token_decimals: int
    deployments: list[_Deployment] = []
    pending_multiplier: str | None = None
    pending_multiplier_effective_time: str | None = None
    logo_url: str = ""
    isin: str = ""
    trading_capabilities: msgspec.Raw = msgspec.Raw(b"")


class _Quote(Shape):
    token_symbol: str
    bid: str
    ask: str
    currency: str
    is_trading_halt: bool
    generated_at: str
    deployments: list[_Deployment] = []
    daily_high: str = ""
    daily_low: str = ""
    daily_trading_volume: str = ""


class _Day(Shape):
    # Bounded: a number that no calendar has is an OverflowError there, not a ValueError.
    year: Annotated[int, msgspec.Meta(ge=1, le=9999)]
    month: Annotated[int, msgspec.Meta(ge=1, le=12)]
    day: Annotated[int, msgspec.Meta(ge=1, le=31)]


class _Action(Shape):
    id: str
    type: str
    status: str
    token_symbol: str
    process_date: _Day | None = None
    details: msgspec.Raw = msgspec.Raw(b"{}")


_decode_asset = msgspec.json.Decoder(_Asset).decode
_decode_quote = msgspec.json.Decoder(_Quote).decode
_decode_action = msgspec.json.Decoder(_Action).decode


class BrokenRecord(ValueError):
    """Something of the issuer's answer breaks its shape."""


def must(claim: bool) -> None:
    if not claim:
        raise BrokenRecord


def read_asset(raw: msgspec.Raw, chain_id: int) -> ListedAsset:
    asset = _decode_asset(raw)
    name = clean(asset.token_name, 300).removesuffix(NAME_SUFFIX.strip()).strip()[:120]
    must(SYMBOL.fullmatch(asset.token_symbol) is not None and name != "")
    must(_STATUS.fullmatch(asset.status) is not None and _ASSET_ID.fullmatch(asset.id) is not None)
    must(asset.token_decimals == 18)
    pending = asset.pending_multiplier or None
    effective = asset.pending_multiplier_effective_time or None
    return ListedAsset(
        id=asset.id.lower(),
        symbol=Symbol(asset.token_symbol),
        name=name,
        address=_address(asset.deployments, chain_id),
        multiplier_e18=read_multiplier(asset.current_multiplier),
        pending_multiplier_e18=read_multiplier(pending) if pending else None,
        pending_effective_at=read_moment(effective) if pending and effective else None,
        status=asset.status,
        logo_url=asset.logo_url if _LOGO.fullmatch(asset.logo_url) else "",
        isin=clean(asset.isin, 16),
        trading_capabilities=_free_form(asset.trading_capabilities),
    )


def read_broken(raw: msgspec.Raw) -> BrokenEntry:
    try:
        entry = msgspec.json.decode(raw)
    except UNREADABLE:
        entry = None
    fields = {name: text for name, text in entry.items() if isinstance(text, str)} if isinstance(entry, dict) else {}
    symbol, uid = fields.get("tokenSymbol", "").strip().upper(), fields.get("id", "").strip().lower()
    return BrokenEntry(symbol if SYMBOL.fullmatch(symbol) else "", uid if _ASSET_ID.fullmatch(uid) else "")


def _address(deployments: list[_Deployment], chain_id: int) -> Address | None:
    found = {each.contract_address.lower() for each in deployments if each.chain_id == chain_id}
    if not found:
        return None
    (only,) = found
    must(is_address(only) and int(only, 16) != 0)
    return Address(only)


def _free_form(raw: msgspec.Raw) -> msgspec.Raw | None:
    data = bytes(raw)
    if data in (b"", b"null"):
        return None
    must(len(data) <= _FREE_FORM_MAX_BYTES)
    # Raw was only skipped over so far: decode once, so that what we pass on is valid JSON and valid UTF-8.
    msgspec.json.decode(data)
    return msgspec.Raw(data)


def read_multiplier(text: str) -> int:
    """Decimal text as an integer of 18 decimals. Never rounds."""
    match = _MULTIPLIER.fullmatch(text)
    if match is None:
        raise BrokenRecord
    e18 = int(match[1] + (match[2] or "").ljust(18, "0"))
    must(0 < e18 <= _MULTIPLIER_MAX_E18)
    return e18


def read_moment(text: str) -> datetime:
    """An RFC 3339 time, nanoseconds cut to microseconds."""
    match = _MOMENT.fullmatch(text)
    if match is None:
        raise BrokenRecord
    return datetime.fromisoformat(match[1] + (match[2] or "")[:7] + match[3]).astimezone(UTC)


def _side(text: str) -> Price | None:
    price = Price.parse(text)
    return price if price is not None and price < _PRICE_LIMIT else None


def _figure(text: str) -> str | None:
    return text if _DECIMAL.fullmatch(text) and text.strip("0.") else None


def read_quote(raw: msgspec.Raw, chain_id: int, now: datetime) -> IssuerQuote:
    quote = _decode_quote(raw)
    must(SYMBOL.fullmatch(quote.token_symbol) is not None)
    generated_at = read_moment(quote.generated_at)
    bid, ask = _side(quote.bid), _side(quote.ask)
    currency = clean(quote.currency, 8)
    # Crossed sides, a time from the future or another currency: neither side can be believed.
    if currency != "USD" or generated_at > now + _CLOCK_SLACK or (bid and ask and ask < bid):
        bid = ask = None
    return IssuerQuote(
        symbol=Symbol(quote.token_symbol),
        address=_address(quote.deployments, chain_id),
        bid=bid,
        ask=ask,
        currency=currency,
        is_halted=quote.is_trading_halt,
        generated_at=generated_at,
        daily_high=_figure(quote.daily_high),
        daily_low=_figure(quote.daily_low),
        daily_volume=_figure(quote.daily_trading_volume),
    )


def read_action(raw: msgspec.Raw) -> IssuerAction:
    action = _decode_action(raw)
    must(SYMBOL.fullmatch(action.token_symbol) is not None and _ASSET_ID.fullmatch(action.id) is not None)
    must(_ACTION_TYPE.fullmatch(action.type) is not None)
    must(_ACTION_STATUS.fullmatch(action.status) is not None)
    details = bytes(action.details)
    must(len(details) <= _FREE_FORM_MAX_BYTES)
    day = action.process_date
    return IssuerAction(
        asset_id=action.id.lower(),
        symbol=Symbol(action.token_symbol),
        type=action.type,
        status=action.status,
        process_date=date(day.year, day.month, day.day) if day is not None else None,
        details=clean_tree(msgspec.json.decode(details, type=dict[str, Any]), 200),
    )
