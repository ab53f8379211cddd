"""What is listed in the sandbox: 194 assets, their prices to start from, and the pools each one has.

The table is `listing.csv`; this file gives it types. The issuer stand-in, the chain and the trader all read it.
"""

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, cast, get_args

from tickyard.kernel.ids import Address, Symbol
from tickyard.sandbox.node.abi import derived_address, keccak

PENDING_AFTER_S = 12 * 3600
"""A pending multiplier takes effect this long after the world began."""

Shape = Literal["deep", "layered", "wide", "thin", "away", "bare"]
"""How a pool's positions lie around the price: `away` has none in range, `bare` was never initialised."""


@dataclass(frozen=True, slots=True)
class PoolPlan:
    fee: int
    shape: Shape
    depth_usd: int
    """Dollars that move the price by 1 %; for `away` the same liquidity, out of range."""


@dataclass(frozen=True, slots=True)
class Listed:
    symbol: Symbol
    name: str
    isin: str
    address: Address | None
    price_e6: int
    """The underlying's reference price, around which `walk` wanders."""
    multiplier_e18: int
    pending: int | None
    """The multiplier (18 decimals) that will apply after PENDING_AFTER_S."""
    status: str
    is_halted: bool
    is_paused: bool
    pools: tuple[PoolPlan, ...]

    @property
    def uid(self) -> bytes:
        """The registry id: 16 bytes in the low half, as the issuer writes it."""
        return bytes(16) + keccak(f"tickyard sandbox asset {self.symbol}".encode())[:16]


@cache
def load() -> tuple[Listed, ...]:
    with (Path(__file__).parent / "listing.csv").open(newline="") as file:
        return tuple(_read(row) for row in csv.DictReader(file))


@cache
def by_symbol() -> dict[str, Listed]:
    return {listed.symbol: listed for listed in load()}


def _read(row: dict[str, str]) -> Listed:
    symbol = Symbol(row["symbol"])
    return Listed(
        symbol=symbol,
        name=row["name"],
        isin=row["isin"],
        address=_address(symbol, row["address"]),
        price_e6=_scaled(row["price"], 6),
        multiplier_e18=_scaled(row["multiplier"], 18),
        pending=_scaled(row["pending"], 18) if row["pending"] else None,
        status=f"ASSET_STATUS_{row['status']}",
        is_halted=row["halted"] == "yes",
        is_paused=row["paused"] == "yes",
        pools=tuple(_plan(text) for text in row["pools"].split()),
    )


def _address(symbol: Symbol, text: str) -> Address | None:
    """Blank: an address of our own. Otherwise the one on mainnet, or `none` for no deployment."""
    if text == "none":
        return None
    return Address(text.lower()) if text else derived_address(f"tickyard sandbox token {symbol}")


def _plan(text: str) -> PoolPlan:
    fee, shape, depth = text.split(":")
    if shape not in get_args(Shape):
        raise ValueError(f"listing.csv has an unknown pool shape: {shape}")
    return PoolPlan(int(fee), cast(Shape, shape), int(depth))


def _scaled(text: str, decimals: int) -> int:
    whole, _, fraction = text.partition(".")
    return int(whole + fraction.ljust(decimals, "0"))
