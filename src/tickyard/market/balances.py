"""What a wallet holds of every token, with each token's multiplier, at one block."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Final

from tickyard.chain import erc20, stock_token
from tickyard.chain.abi import WORD
from tickyard.chain.multicall import Call
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import ZERO_ADDRESS, Address
from tickyard.kernel.units import Price, TokenAmount
from tickyard.market.listing.asset import Asset
from tickyard.market.market import Market
from tickyard.market.reading import CallTemplate

_NOTHING: Final = bytes(WORD)


@dataclass(frozen=True, slots=True)
class Holding:
    asset: Asset
    balance: TokenAmount
    """Whole tokens' base units: the multiplier never changes it."""
    multiplier_e18: int

    @property
    def multiplier(self) -> Price:
        return Price(self.multiplier_e18, stock_token.MULTIPLIER_ONE)


@dataclass(frozen=True, slots=True)
class Holdings:
    _assets: list[Asset]
    _words: list[bytes | None]
    """All balances, then all multipliers."""
    at: datetime

    @property
    def all(self) -> list[Holding]:
        """Every token, held or not."""
        return [self._holding(place) for place in range(len(self._assets))]

    @property
    def held(self) -> list[Holding]:
        """Tokens of which the wallet has any: a handful among hundreds, so only these are looked at closely."""
        balances = self._words[: len(self._assets)]
        return [self._holding(place) for place, balance in enumerate(balances) if balance != _NOTHING]

    def _holding(self, place: int) -> Holding:
        asset, balance, multiplier = self._assets[place], self._words[place], self._words[len(self._assets) + place]
        if balance is None:
            raise UpstreamDown("the chain node failed to read a balance")
        e18 = stock_token.read_multiplier(multiplier) if multiplier else asset.multiplier_e18(self.at)
        return Holding(asset, TokenAmount(erc20.read_amount(balance)), e18)


async def read_holdings(market: Market, wallet: Address, assets: Sequence[Asset]) -> Holdings:
    """One round trip for all of them. Assets without an address are left out."""
    listed = [asset for asset in assets if asset.address is not None]
    form = _form(market.contracts.multicall3, tuple([asset.listed.address for asset in listed]))
    reading = await market.read_form(form, wallet)
    return Holdings(listed, reading.results, reading.at)


@lru_cache(maxsize=256)
def _form(multicall: Address, tokens: tuple[Address, ...]) -> CallTemplate:
    """Kept, because every wallet is asked about the same tokens. Vote power asks about one token at a time."""

    def calls(wallet: Address) -> list[Call]:
        question = erc20.balance_of(wallet)
        multipliers = [Call(token, stock_token.UI_MULTIPLIER) for token in tokens]
        return [*(Call(token, question) for token in tokens), *multipliers]

    return CallTemplate(multicall, calls, (ZERO_ADDRESS,))
