"""Many prices and stats in one call."""

import asyncio
from decimal import Decimal

import pytest

from tickyard.doors.http.cache import FrontCache
from tickyard.doors.http.edge import Edge
from tickyard.doors.routes import Endpoint, build_router
from tickyard.features import prices, stats
from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import BadRequest, NotFound, UpstreamDown
from tickyard.kernel.operation import Operation
from tickyard.market.batch import BATCH_MAX, read_symbols
from yards import paperyard
from yards.patience import STUCK_S

FAILURES = (BadRequest, NotFound, UpstreamDown)


def row(name, path, run, ask, answer):
    return Operation(
        name=name, method="GET", path=path, run=run, ask=ask, answer=answer, failures=FAILURES, tag="registry"
    )


ROWS = (
    row("list_prices", "/v1/prices", prices.list_prices, prices.PricesAsk, prices.Prices),
    row("get_price", "/v1/prices/{symbol}", prices.get_price, prices.PriceAsk, prices.PriceRecord),
    row("list_stats", "/v1/stats", stats.list_stats, stats.ManyStatsAsk, stats.ManyStats),
    row("get_stats", "/v1/stats/{symbol}", stats.get_stats, stats.StatsAsk, stats.Stats),
)


def in_yard(folder, work):
    async def run():
        async with asyncio.timeout(STUCK_S), paperyard.open_yard(folder) as yard:
            clock = WallClock()
            cache = FrontCache(clock)
            router = build_router((r.method, r.path, Endpoint(r, yard.deps, cache, clock)) for r in ROWS)
            app = Edge(router, cache, clock, rate_limit=None, access_log=None, profile_header=None)

            async def get(target):
                return await paperyard.asgi.ask_app(app, "GET", target)

            return await work(get, yard)

    return asyncio.run(run())


@pytest.mark.slow
def test_all_prices_come_in_one_answer_and_agree_with_the_single_ones(tmp_path):
    async def work(get, yard):
        every = (await get("/v1/prices")).json()
        assert [item["symbol"] for item in every["prices"]] == [a.symbol for a in yard.deps.market.registry.all()]
        assert every["count"] == len(every["prices"]) > 190
        # The stand-in's quotes move: a halted one stands still.
        halted = next(item["price"] for item in every["prices"] if item["price"] and item["price"]["halted"])
        single = (await get(f"/v1/prices/{halted['symbol']}")).json()
        for name in ("underlying", "token", "halted", "currency", "symbol"):
            assert halted[name] == single[name]
        for item in every["prices"]:
            assert (item["price"] is None) != (item["error"] is None)

    in_yard(tmp_path, work)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["prices", "stats"])
def test_each_item_has_its_own_error(tmp_path, kind):
    async def work(get, _yard):
        answer = (await get(f"/v1/{kind}?symbols=aapl,NOPE,%C3%B6")).json()
        assert [item["symbol"] for item in answer[kind]] == ["AAPL", "NOPE", "ö"]
        assert [item["error"] and item["error"]["code"] for item in answer[kind]] == [None, "not_found", "not_found"]

    in_yard(tmp_path, work)


@pytest.mark.slow
@pytest.mark.parametrize(
    "symbols", ["", ",", "A,,B", "A" * 17, ",".join(f"A{n}" for n in range(BATCH_MAX + 1)), "A&symbols=B"]
)
def test_a_list_out_of_shape_is_refused(tmp_path, symbols):
    async def work(get, _yard):
        answer = await get(f"/v1/prices?symbols={symbols}")
        assert (answer.status, answer.error["code"]) == (400, "bad_request")
        assert "symbols" in answer.error["message"]

    in_yard(tmp_path, work)


def test_symbols_are_read_once_each_in_their_order():
    assert read_symbols("msft,AAPL,Msft") == "MSFT,AAPL"
    assert len(read_symbols(",".join(f"A{n}" for n in range(BATCH_MAX))).split(",")) == BATCH_MAX
    assert read_symbols(",".join(["AAPL"] * BATCH_MAX)) == "AAPL"
    # As declared: the same one again counts as well.
    with pytest.raises(BadRequest, match="1 to 50 tickers"):
        read_symbols(",".join(["AAPL"] * (BATCH_MAX + 1)))


@pytest.mark.slow
def test_stats_of_many_are_the_stats_of_each_at_one_block(tmp_path):
    async def work(get, _yard):
        symbols = ["GME", "AAPL", "TSLA"]
        many = (await get(f"/v1/stats?symbols={','.join(symbols)}")).json()
        for symbol, item in zip(symbols, many["stats"], strict=True):
            single = (await get(f"/v1/stats/{symbol}")).json()
            assert item["error"] is None
            assert item["stats"]["asOf"] == many["asOf"] == single["asOf"]
            assert item["stats"]["pools"] == single["pools"]
            assert item["stats"]["supply"]["totalTokens"] == single["supply"]["totalTokens"]
            assert item["stats"]["price"]["dexUsd"] == single["price"]["dexUsd"]

    in_yard(tmp_path, work)


@pytest.mark.slow
def test_stats_of_all_take_one_round_trip(tmp_path):
    async def work(get, yard):
        before = len(yard.node.seen)
        answer = (await get("/v1/stats")).json()
        assert answer["count"] > 190
        assert len(yard.node.seen) - before <= 2

    in_yard(tmp_path, work)


@pytest.mark.slow
def test_a_silent_issuer_fails_the_whole_request(tmp_path):
    async def work(get, yard):
        yard.issuer.is_down = True
        answer = await get("/v1/prices")
        assert (answer.status, answer.error["code"]) == (502, "upstream_error")

    in_yard(tmp_path, work)


def test_a_batch_is_kept_under_one_spelling(tmp_path):
    async def work(get, _yard):
        first = await get("/v1/prices?symbols=AAPL,MSFT")
        again = await get("/v1/prices?symbols=aapl%2Cmsft,AAPL")
        assert first.headers["etag"] == again.headers["etag"]

    in_yard(tmp_path, work)


class Backdated(paperyard.LyingChain):
    """A node whose headers tell another time than its blocks have."""

    def rpc(self, method, params):
        told = super().rpc(method, params)
        return {**told, "timestamp": hex(self.time - 20)} if method == "eth_getBlockByNumber" else told


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["quotes", "depth"])
def test_a_header_with_another_time_than_its_block_is_not_believed(tmp_path, kind):
    async def run():
        async with asyncio.timeout(STUCK_S), paperyard.open_yard(tmp_path, chain=Backdated()) as yard:
            wanted = {"quotes": [{"symbol": "AAPL", "side": "buy", "amount": "100"}]}
            asked = yard.post("/v1/quotes", wanted) if kind == "quotes" else yard.get("/v1/depth/AAPL")
            answer = await asked
            assert (answer.status, answer.json()["error"]["code"]) == (502, "upstream_error")

    asyncio.run(run())


def test_an_asset_without_a_token_has_an_equity_side_and_no_other(tmp_path):
    async def work(get, yard):
        symbols = [asset.symbol for asset in yard.deps.market.registry.all() if asset.address is None]
        assert symbols
        for symbol in symbols:
            shown = (await get(f"/v1/stats/{symbol}")).json()
            assert (shown["symbol"], shown["tokenAddress"], shown["chainId"]) == (symbol, None, 4663)
            assert (shown["supply"], shown["pools"]) == ({"totalTokens": None, "valueUsd": None}, [])
            price = shown["price"]
            assert (price["dexUsd"], price["dexPremiumPct"], price["change24hPct"]) == (None, None, None)
            each = Decimal(price["underlyingMidUsd"]) * Decimal(price["multiplier"])
            assert abs(Decimal(price["equityTokenUsd"]) - each) < Decimal("0.00001")

    in_yard(tmp_path, work)
