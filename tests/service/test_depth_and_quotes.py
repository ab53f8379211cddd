"""`GET /v1/depth/{symbol}` and `POST /v1/quotes` through the door, on a market of paper."""

import asyncio

import pytest

from yards import paperyard
from yards.patience import STUCK_S


def in_yard(folder, work):
    async def run():
        async with asyncio.timeout(STUCK_S), paperyard.open_yard(folder) as yard:
            return await work(yard)

    return asyncio.run(run())


@pytest.mark.slow
def test_depth_adds_up_and_grows_with_the_move(tmp_path):
    async def work(yard):
        answer = (await yard.get("/v1/depth/aapl", maxImpactBps=100)).json()
        assert (answer["symbol"], answer["chainId"], answer["blockNumber"]) == ("AAPL", 4663, 1000)
        for way in ("up", "down"):
            moves = answer["all"][way]
            assert [move["movePct"] for move in moves] == ["0.1000", "0.5000", "1.0000", "2.0000", "5.0000", "10.0000"]
            figures = [float(move["usdg"]) for move in moves]
            assert figures == sorted(figures)
            assert figures[0] > 0
            for index, move in enumerate(moves):
                parts = [int(pool[way][index]["usdg"].replace(".", "")) for pool in answer["pools"]]
                assert int(move["usdg"].replace(".", "")) == sum(parts)
        for pool in answer["pools"]:
            least = min((pool["up"][2]["usdg"], pool["down"][2]["usdg"]), key=float)
            assert pool["depthUsd"] == least
        assert float(answer["largest"]["buyUsd"]) > 0
        assert (await yard.get("/v1/depth/AAPL")).json()["largest"] is None

    in_yard(tmp_path, work)


@pytest.mark.slow
def test_the_largest_trade_is_quoted_within_its_impact_and_a_larger_one_is_not(tmp_path):
    async def work(yard):
        depth = (await yard.get("/v1/depth/MSFT", maxImpactBps=200)).json()
        most = depth["largest"]["buyUsd"]
        spots = {pool["feeTier"]: float(pool["price"]) for pool in depth["pools"] if pool["price"]}

        async def impact(amount):
            quote = (await yard.get("/v1/quote", symbol="MSFT", side="buy", amount=amount)).json()
            return float(quote["effectivePricePerToken"]) / spots[quote["feeTier"]] - 1

        assert await impact(most) <= 0.02 + 1e-9
        assert await impact(f"{float(most) * 1.01:.6f}") > 0.02

    in_yard(tmp_path, work)


@pytest.mark.slow
def test_where_a_token_does_not_move_there_is_no_largest_trade(tmp_path):
    async def work(yard):
        token = yard.deps.market.registry.find("MSFT").address
        before = (await yard.get("/v1/depth/MSFT", maxImpactBps=200)).json()
        yard.chain.says[token, "23b872dd"] = None
        # Another question: the answer to the same one is kept for a second.
        after = (await yard.get("/v1/depth/MSFT", maxImpactBps=201)).json()
        assert float(before["largest"]["buyUsd"]) > 0
        assert after["largest"] == {"buyUsd": "0.000000", "sellTokens": "0"}
        assert after["pools"] == before["pools"], "how much lies where is known all the same"

    in_yard(tmp_path, work)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "status"),
    [("/v1/depth/ZZZZ", 404), ("/v1/depth/AAPL?maxImpactBps=0", 400), ("/v1/depth/AAPL?maxImpactBps=5001", 400)],
)
def test_what_cannot_be_asked_of_depth_is_said(tmp_path, path, status):
    async def work(yard):
        assert (await yard.raw(path)).status == status

    in_yard(tmp_path, work)


@pytest.mark.slow
def test_many_quotes_are_the_single_ones_and_each_failure_is_its_own(tmp_path):
    wanted = [
        {"symbol": "aapl", "side": "buy", "amount": "100"},
        {"symbol": "ZZZZ", "side": "buy", "amount": "100"},
        {"symbol": "MSFT", "side": "sell", "amount": "2.5", "denom": "token"},
        {"symbol": "MSFT", "side": "sell", "amount": "0"},
        {"symbol": "AAPL", "side": "buy", "amount": "1000000000000000000000000000"},
        {"symbol": "AAPL", "side": "buy", "amount": "100"},
    ]

    async def work(yard):
        answer = (await yard.post("/v1/quotes", {"quotes": wanted})).json()
        assert (answer["count"], answer["blockNumber"]) == (6, 1000)
        items = answer["quotes"]
        assert [item["error"] and item["error"]["code"] for item in items] == [
            None,
            "not_found",
            None,
            "bad_request",
            "no_liquidity",
            None,
        ]
        for ask, item in zip(wanted, items, strict=True):
            if item["quote"]:
                assert item["error"] is None
                single = (await yard.get("/v1/quote", **ask)).json()
                assert {**item["quote"], "asOf": ""} == {**single, "asOf": ""}
                assert item["quote"]["asOf"] == answer["asOf"]

    in_yard(tmp_path, work)


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        {},
        {"quotes": []},
        {"quotes": [{"symbol": "AAPL", "side": "buy", "amount": "1"}] * 51},
        {"quotes": [{"symbol": "AAPL", "side": "hold", "amount": "1"}]},
        {"quotes": [{"symbol": "AAPL", "side": "buy", "amount": "1e3"}]},
        {"quotes": [{"symbol": "AAPL", "side": "buy", "amount": "1", "else": 1}]},
        {"quotes": "AAPL"},
    ],
)
def test_a_list_of_another_shape_is_refused_as_a_whole(tmp_path, body):
    async def work(yard):
        answer = await yard.post("/v1/quotes", body)
        assert (answer.status, answer.error["code"]) == (400, "bad_request")

    in_yard(tmp_path, work)
