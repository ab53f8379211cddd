"""What a wallet holds of every token, with each token's multiplier, at one block."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tickyard.chain import erc20, stock_token
from tickyard.chain.multicall import Call
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.kernel.units import Price, TokenAmount
from tickyard.market.asset import Asset
from tickyard.market.market import Market


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
    all: list[Holding]
    at: datetime


async def read_holdings(market: Market, wallet: Address, assets: Sequence[Asset]) -> Holdings:
    """One round trip for all of them. Assets without an address are left out."""
    tokens = [(asset, asset.address) for asset in assets if asset.address is not None]
    question = erc20.balance_of(wallet)
    calls = [Call(address, question) for _, address in tokens]
    calls += [Call(address, stock_token.UI_MULTIPLIER) for _, address in tokens]
    reading = await market.read(calls)
    holdings = []
    for index, (asset, _) in enumerate(tokens):
        balance, multiplier = reading.results[index], reading.results[index + len(tokens)]
        if balance is None:
            raise UpstreamDown("the chain node failed to read a balance")
        e18 = stock_token.read_multiplier(multiplier) if multiplier else asset.multiplier_e18(reading.at)
        holdings.append(Holding(asset, TokenAmount(erc20.read_amount(balance)), e18))
    return Holdings(holdings, reading.at)
