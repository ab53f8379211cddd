"""Pools as callers see them: price, what they hold, how deep they are. Shared by stats and markets."""

from collections.abc import Sequence
from dataclasses import dataclass

from tickyard.chain import erc20
from tickyard.chain.multicall import Call
from tickyard.config.pinned import Contracts
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.units import TokenAmount, UsdgAmount
from tickyard.market.pools import Pool, PoolBook, PoolSpot, state_calls

CALLS_PER_POOL = 4


@dataclass(frozen=True, slots=True)
class PoolView:
    state: PoolSpot
    usdg: UsdgAmount
    tokens: TokenAmount

    @property
    def tvl(self) -> UsdgAmount:
        """USDG held plus tokens at the pool's own price. Information, never a ranking: balances can be faked."""
        price = self.state.price
        return UsdgAmount(self.usdg + (price.value_of(self.tokens) if price is not None else 0))


def view_calls(pools: Sequence[Pool], contracts: Contracts) -> list[Call]:
    calls = []
    for pool in pools:
        question = erc20.balance_of(pool.address)
        calls += [*state_calls(pool), Call(contracts.usdg, question), Call(pool.token, question)]
    return calls


def read_views(pools: Sequence[Pool], book: PoolBook, results: Sequence[bytes | None]) -> list[PoolView]:
    """The answers to `view_calls`, in the order of the pools."""
    views = []
    for index, pool in enumerate(pools):
        at = index * CALLS_PER_POOL
        slot0, liquidity, usdg, tokens = results[at : at + CALLS_PER_POOL]
        if usdg is None or tokens is None:
            raise UpstreamDown("the chain node failed to read a pool's balances")
        state = book.read_state(pool, slot0, liquidity)
        views.append(PoolView(state, UsdgAmount(erc20.read_amount(usdg)), TokenAmount(erc20.read_amount(tokens))))
    return views
