"""Portfolio, stats and markets against figures recomputed apart; how often the chain is asked; what is noticed."""

import asyncio
from fractions import Fraction
from math import isqrt

import pytest
from eth_abi import decode

from tickyard.kernel.clock import WallClock
from tickyard.market.swaps.pools import PoolBook
from tickyard.sandbox.node.abi import call_data
from tickyard.sandbox.node.transact import QueuedCall, send
from tickyard.sandbox.world.listing import by_symbol
from tickyard.sandbox.world.market import market_of, read_spots
from tickyard.sandbox.world.place import FACTORY, TRADING_DESK, USDG
from tickyard.sandbox.world.trader import move_price
from tickyard.sandbox.world.wallets import MAKER

pytestmark = pytest.mark.node


def shown(value, places):
    """A fraction cut toward zero, as text without trailing zeros."""
    scaled = abs(value.numerator) * 10**places // value.denominator
    whole, rest = divmod(scaled, 10**places)
    digits = f"{rest:0{places}d}".rstrip("0")
    return f"{whole}.{digits}" if digits else str(whole)


def dollars(value):
    """Cut to six decimals, all of them shown."""
    scaled = value.numerator * 10**6 // value.denominator
    return f"{scaled // 10**6}.{scaled % 10**6:06d}"


def view(yard, to, signature, types, *values):
    result = yard.rpc("eth_call", {"to": to, "data": call_data(signature, *values)}, "latest")
    return decode(types, bytes.fromhex(result[2:]))


def number(yard, to, signature, *values):
    return view(yard, to, signature, ["uint256"], *values)[0]


def equity(service, symbol):
    """The issuer's mid, as the prices route shows it."""
    price = service.get(f"/v1/prices/{symbol}").json()
    return Fraction(price["underlying"]["mid"])


class PoolFigures:
    """One pool, from its own getters."""

    def __init__(self, yard, pool):
        slot0 = view(yard, pool.pool, "slot0()", ["uint160", "int24", "uint16", "uint16", "uint16", "uint8", "bool"])
        self.liquidity = number(yard, pool.pool, "liquidity()")
        self.usdg = Fraction(number(yard, USDG, "balanceOf(address)", pool.pool), 10**6)
        self.tokens = Fraction(number(yard, pool.token, "balanceOf(address)", pool.pool), 10**18)
        self.root = Fraction(slot0[0], 2**96)
        self.is_usable = slot0[0] > 0 and self.liquidity > 0
        self.price = None
        self.depth = Fraction(0)
        if self.is_usable:
            self.price = (self.root**2 if pool.token_is_0 else 1 / self.root**2) * 10**12
            self.depth = Fraction(self._least(yard, pool, slot0[0]), 10**6)
        self.tvl = self.usdg + Fraction(dollars((self.price or 0) * self.tokens))

    def _least(self, yard, pool, root):
        """The dollars of a swap to a price 1 % up, and of one to a price 1 % down: the chain itself makes both."""
        roots = {up: isqrt(root**2 * num // den) for up, num, den in self._targets(pool.token_is_0)}
        dollars = []
        for target in roots.values():
            with yard.undone():
                before = number(yard, USDG, "balanceOf(address)", pool.pool)
                yard.push_price(pool.pool, target)
                dollars.append(abs(number(yard, USDG, "balanceOf(address)", pool.pool) - before))
        return min(dollars)

    @staticmethod
    def _targets(token_is_0):
        return [(up, *((100 + up, 100) if token_is_0 else (100, 100 + up))) for up in (1, -1)]

    def row(self):
        return {
            "price": None if self.price is None else shown(self.price, 18),
            "usdgLiquidity": dollars(self.usdg),
            "tokenLiquidity": shown(self.tokens, 18),
            "tvlUsd": dollars(self.tvl),
        }


@pytest.mark.parametrize("symbol", ["CRWD", "AAPL", "TSLA", "NVDA", "XOM"])
def test_stats_are_what_the_chain_says(service, symbol):
    yard = service.yard
    stats = service.get(f"/v1/stats/{symbol}").json()
    token = yard.world.tokens[symbol]
    pools = sorted((pool for pool in yard.world.pools if pool.symbol == symbol), key=lambda pool: pool.fee)
    figures = [PoolFigures(yard, pool) for pool in pools]
    multiplier = Fraction(number(yard, token, "uiMultiplier()"), 10**18)
    supply = Fraction(number(yard, token, "totalSupply()"), 10**18)
    mid = equity(service, symbol)
    deepest = max((each for each in figures if each.is_usable), key=lambda each: each.depth)
    assert [pool["pool"].lower() for pool in stats["pools"]] == [pool.pool for pool in pools]
    for answered, pool, each in zip(stats["pools"], pools, figures, strict=True):
        assert answered == {"pool": answered["pool"], "feeTier": pool.fee, **each.row()}
    price = stats["price"]
    assert price["dexUsd"] == shown(deepest.price, 18)
    assert price["multiplier"] == shown(multiplier, 18)
    assert price["underlyingMidUsd"] == shown(mid, 18)
    assert price["equityTokenUsd"] == shown(mid * multiplier, 18)
    assert abs(Fraction(price["dexPremiumPct"]) - (deepest.price / (mid * multiplier) - 1) * 100) <= Fraction(1, 20_000)
    assert price["change24hPct"] is None
    assert stats["supply"] == {
        "totalTokens": shown(supply, 18),
        "valueUsd": dollars(supply * Fraction(price["equityTokenUsd"])),
    }


def test_a_multiplier_of_four_scales_worth_and_nothing_else(service, wallet):
    """CRWD: one token is four shares. Balances and amounts are raw, the value is four times the share price."""
    yard = service.yard
    token = yard.world.tokens["CRWD"]
    wallet.fund((token, 3 * 10**18))
    mid = equity(service, "CRWD")
    [position] = service.get(f"/v1/portfolio/{wallet.address}").json()["positions"]
    assert position["balance"] == "3"
    assert position["usdPrice"] == shown(4 * mid, 18)
    assert position["usdValue"] == dollars(12 * mid)
    quote = service.get("/v1/quote", symbol="CRWD", side="sell", amount="3", denom="token").json()
    assert quote["tokenAmount"] == "3"
    assert abs(Fraction(quote["usdAmount"]) / (12 * mid) - 1) < Fraction(5, 100)
    built = service.build(symbol="CRWD", side="sell", amount="3", denom="token", recipient=wallet.address).json()
    for step in built["steps"]:
        wallet.send(step["to"].lower(), step["data"])
    assert wallet.holds(token) == 0
    assert wallet.holds(USDG) == Fraction(built["quote"]["usdAmount"]) * 10**6


def test_a_portfolio_is_what_the_chain_says(service):
    yard = service.yard
    for owner in yard.world.wallets[1:]:
        answer = service.get(f"/v1/portfolio/{owner.address.upper().replace('X', 'x', 1)}").json()
        assert answer["address"].lower() == owner.address
        held = {}
        for symbol, token in yard.world.tokens.items():
            if balance := number(yard, token, "balanceOf(address)", owner.address):
                held[symbol] = (Fraction(balance, 10**18), Fraction(number(yard, token, "uiMultiplier()"), 10**18))
        assert {each["symbol"] for each in answer["positions"]} == set(held)
        total = Fraction(0)
        for each in answer["positions"]:
            balance, multiplier = held[each["symbol"]]
            price = equity(service, each["symbol"]) * multiplier
            assert each["balance"] == shown(balance, 18)
            assert each["decimals"] == 18
            assert (each["usdPrice"], each["usdValue"]) == (shown(price, 18), dollars(balance * price))
            total += Fraction(each["usdValue"])
        assert answer["totalUsdValue"] == dollars(total)
        values = [Fraction(each["usdValue"]) for each in answer["positions"]]
        assert values == sorted(values, reverse=True)


def test_a_wallet_without_anything_has_an_empty_portfolio(service):
    answer = service.get("/v1/portfolio/0x" + "5" * 40).json()
    assert (answer["positions"], answer["totalUsdValue"]) == ([], "0.000000")


def test_markets_are_what_the_chain_says_deepest_first(service):
    yard = service.yard
    rows, total = [], None
    while total is None or len(rows) < total:
        page = service.get("/v1/markets", limit=200, offset=len(rows)).json()
        assert page["count"] == len(page["markets"]) > 0
        rows, total = [*rows, *page["markets"]], page["total"]
    assert sorted(row["pool"].lower() for row in rows) == sorted(pool.pool for pool in yard.world.pools)
    depths = [Fraction(row["depthUsd"]) for row in rows]
    assert depths == sorted(depths, reverse=True)
    by_pool = {pool.pool: pool for pool in yard.world.pools}
    for row in [*rows[:8], *rows[100:300:40], *rows[-12:]]:
        pool = by_pool[row["pool"].lower()]
        figures = PoolFigures(yard, pool)
        assert row == {
            "symbol": pool.symbol,
            "pair": "TOKEN/USDG",
            "pool": row["pool"],
            "feeTier": pool.fee,
            "depthUsd": dollars(figures.depth),
            **figures.row(),
        }


def test_each_request_asks_the_chain_once(service):
    recipient = service.yard.world.wallets[1].address
    build = {"symbol": "AAPL", "side": "buy", "amount": "10", "recipient": recipient}
    requests = [
        ("GET", "/v1/quote?symbol=AAPL&side=buy&amount=10", None),
        ("GET", "/v1/quote?symbol=AAPL&side=sell&amount=1&denom=token", None),
        ("POST", "/v1/trade/build", build),
        ("GET", "/v1/stats/MSFT", None),
        ("GET", f"/v1/portfolio/{recipient}", None),
        ("GET", "/v1/markets?limit=3", None),
    ]

    async def scenario():
        for request in requests:
            before = service.deps.rpc.round_trips
            answers = await asyncio.gather(*(service.ask(*request) for _ in range(8)))
            assert {answer.status for answer in answers} == {200}, request
            assert len({answer.body for answer in answers}) == 1
            assert service.deps.rpc.round_trips - before == 1, request

    service.yard.run(scenario())


def test_all_pools_are_found_in_two_round_trips_and_new_ones_are_noticed(service):
    yard, deps = service.yard, service.deps
    book = PoolBook(deps.market.reader, deps.settings.contracts, deps.settings.fee_tiers, WallClock())
    tokens = deps.market.registry.addresses()
    assert len(tokens) > 150
    before = deps.rpc.round_trips
    yard.run(book.discover(tokens))
    assert deps.rpc.round_trips - before <= 2
    before = deps.rpc.round_trips
    known = {pool.address for token in tokens for pool in book.of(token)}
    assert known == {pool.pool for pool in yard.world.pools}
    listed = next(each for each in by_symbol().values() if each.address and not each.pools)
    assert book.of(listed.address) == ()
    opening = "open(address,address,address,uint24,uint160,(int24,int24,uint128)[])"
    root = isqrt(2**192 // 10**12 * 50) if int(listed.address, 16) < int(USDG, 16) else isqrt(10**12 * 2**192 // 50)
    rows = [(-20, 20, 10**15)]
    yard.run(
        send(
            yard.node,
            MAKER,
            QueuedCall(TRADING_DESK, call_data(opening, FACTORY, listed.address, USDG, 3000, root, rows)),
        )
    )
    yard.run(book.discover(tokens))
    assert deps.rpc.round_trips - before <= 2
    [pool] = book.of(listed.address)
    assert (pool.fee, book.last_sqrt_price(pool)) == (3000, root)


def test_a_bare_pool_is_quoted_once_it_has_a_price(service):
    yard, deps = service.yard, service.deps
    listed, plan = next(
        (each, plan)
        for each in by_symbol().values()
        for plan in each.pools
        if plan.shape == "bare" and each.address and len(each.pools) == 1
    )
    market = market_of(listed, plan)
    ask = {"symbol": listed.symbol, "side": "buy", "amount": "5"}
    assert service.get("/v1/quote", **ask).status == 422
    root = isqrt(2**192 // 10**12 * 50) if market.token_is_0 else isqrt(10**12 * 2**192 // 50)
    yard.run(send(yard.node, MAKER, QueuedCall(market.pool, call_data("initialize(uint160)", root))))
    rows = [(-20, 20, 10**16)]
    yard.run(
        send(
            yard.node,
            MAKER,
            QueuedCall(TRADING_DESK, call_data("add(address,(int24,int24,uint128)[])", market.pool, rows)),
        )
    )
    yard.run(deps.market.pools.discover(deps.market.registry.addresses()))
    quote = service.get("/v1/quote", **ask).json()
    assert abs(Fraction(quote["effectivePricePerToken"]) / 50 - 1) < Fraction(2, 100)


@pytest.mark.parametrize("symbol", ["ABBV", "AAL"])
@pytest.mark.parametrize("factor", [Fraction(1, 40), Fraction(9, 10), Fraction(13, 10), Fraction(40)])
def test_a_price_moved_by_hand_is_quoted_right_away(service, symbol, factor):
    """However far it moved: what we remember of a pool never decides what it can fill."""
    yard = service.yard
    [pool] = [each for each in yard.world.pools if each.symbol == symbol]
    ask = {"symbol": symbol, "amount": "1"}
    for side in ("buy", "sell"):
        with yard.undone():
            old = Fraction(service.get("/v1/quote", side=side, **ask).json()["effectivePricePerToken"])
            _, reached = yard.run(move_price(yard.node, yard.world, symbol, int(old * factor * 10**6)))
            answer = service.get("/v1/quote", side=side, **ask)
            assert answer.status == 200, (side, answer.body)
            price = Fraction(answer.json()["effectivePricePerToken"])
            assert abs(price / Fraction(reached.num, reached.den) - 1) < Fraction(2, 100)
            assert (price > Fraction(reached.num, reached.den)) == (side == "buy")
    [spot] = yard.run(read_spots(yard.node, [pool]))
    assert spot.is_usable
