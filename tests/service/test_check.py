"""`POST /v1/trade/check` over nodes that cannot simulate, will not, or lie about it: a market of paper."""

import asyncio

import pytest

from yards import paperyard, rpcnode
from yards.patience import STUCK_S

WALLET = "0x875F7121A37a8Af309B8e85f297B46Aa19d85daD"
BODY = {"symbol": "AAPL", "side": "buy", "amount": "100", "recipient": WALLET}


def in_yard(folder, work):
    async def run():
        async with asyncio.timeout(STUCK_S), paperyard.open_yard(folder) as yard:
            return await work(yard)

    return asyncio.run(run())


async def check(yard, **changes):
    return await yard.post("/v1/trade/check", {**BODY, **changes})


def simulating(yard, answer):
    """Whatever the node would say to a call with overrides."""
    honest = yard.node.results["eth_call"]

    def call(params):
        if len(params) < 3:
            return honest(params)
        if isinstance(answer, tuple):
            raise rpcnode.Refused(*answer)
        return answer

    yard.node.results["eth_call"] = call


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("0x", "ignored the state overrides"),
        ((-32602, "too many arguments, want at most 2"), "does not take state overrides"),
        ((-32601, "the method eth_call with overrides does not exist"), "does not take state overrides"),
        ("0x" + "00" * 64, "ignored the state overrides"),
        ("0x" + "ff" * 2000, "ignored the state overrides"),
        ("nonsense", "ignored the state overrides"),
        ({"result": 1}, "ignored the state overrides"),
        (None, "ignored the state overrides"),
    ],
)
def test_a_node_that_cannot_simulate_costs_the_simulation_and_nothing_else(tmp_path, answer, words):
    async def work(yard):
        simulating(yard, answer)
        told = (await check(yard)).json()
        assert told["simulation"] is None
        assert words in told["simulationNote"]
        build = (await yard.post("/v1/trade/build", BODY)).json()
        assert told["build"]["steps"][0] == build["steps"][0]
        for each in (told["build"], build):
            # A second may pass between the two, and the quoter of paper knows nothing of gas.
            del each["deadline"], each["steps"], each["quote"]["gasEstimate"]
        assert told["build"] == build
        assert [each["code"] for each in told["issues"]] == ["allowance_short"]
        assert told["issues"][0]["message"] in build["note"]
        assert told["decoded"]["swap"]["recipient"] == WALLET
        assert (told["blockNumber"], told["blockHash"]) == (1000, "0x" + "11" * 32)

    in_yard(tmp_path, work)


@pytest.mark.slow
def test_a_check_says_the_same_in_words_figures_and_calldata(tmp_path):
    async def work(yard):
        told = (await check(yard, slippageBps=600)).json()
        swap, figures = told["decoded"]["swap"], told["figures"]
        assert figures["minimumReceived"]["raw"] == swap["bound"]
        assert f"{figures['minimumReceived']['text']} AAPL" in told["build"]["note"]
        assert f"Price impact {figures['priceImpactPct']} %" in told["build"]["note"]
        assert figures["maximumPaid"] is None
        assert told["decoded"]["approval"]["amount"] == swap["amount"] == "100000000"
        calls = told["calls"]
        assert calls["sendCalls"]["version"] == "2.0.0"
        assert calls["sendCalls"]["chainId"] == "0x1237"
        for one, two, step in zip(
            calls["sendCalls"]["calls"], calls["transactions"], told["build"]["steps"], strict=True
        ):
            assert (one["to"], one["data"]) == (two["to"], two["data"]) == (step["to"], step["data"])
            assert two["from"] == WALLET
        assert [each["code"] for each in told["issues"]] == ["slippage_wide", "allowance_short"]
        units = int(figures["gas"]["units"])
        assert int(figures["gas"]["wei"]) == units * 10**8
        # 0.05 % of 100 dollars, or what the tier is.
        fee = told["build"]["quote"]["feeTier"]
        assert figures["poolFeeUsdg"] == f"{100 * fee / 10**6:.6f}"
        told = (await check(yard, denom="token", amount="0.1")).json()
        assert told["figures"]["minimumReceived"] is None
        assert told["figures"]["maximumPaid"]["raw"] == told["decoded"]["swap"]["bound"]

    in_yard(tmp_path, work)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "result", "words"),
    [
        ("eth_maxPriorityFeePerGas", hex(10**19), "gas price that cannot be"),
        ("eth_maxPriorityFeePerGas", "lots", "malformed"),
        ("eth_getBlockByHash", None, "malformed"),
        ("eth_getBlockByHash", {"number": "0x1", "hash": "0x" + "22" * 32, "timestamp": "0x1"}, "malformed"),
        ("eth_getBalance", "-1", "malformed"),
        ("eth_getBalance", None, "malformed"),
        ("eth_estimateGas", {}, "malformed"),
    ],
)
def test_a_node_that_lies_about_money_is_down(tmp_path, method, result, words):
    async def work(yard):
        yard.node.results[method] = result
        answer = await check(yard)
        assert answer.status == 502, answer.body
        assert words in answer.error["message"]

    in_yard(tmp_path, work)


def test_a_chain_without_an_auction_needs_no_tip(tmp_path):
    def refuse(_):
        raise rpcnode.Refused(-32601, "the method does not exist")

    async def work(yard):
        yard.node.results["eth_maxPriorityFeePerGas"] = refuse
        told = (await check(yard)).json()
        assert {each["maxPriorityFeePerGas"] for each in told["calls"]["transactions"]} == {"0x0"}
        assert {each["maxFeePerGas"] for each in told["calls"]["transactions"]} == {hex(2 * 10**8)}

    in_yard(tmp_path, work)


def test_an_estimate_of_the_node_that_is_higher_raises_every_limit(tmp_path):
    """Where posting the data costs gas as well, only the node knows how much."""

    async def work(yard):
        low = [int(each["gas"], 16) for each in (await check(yard)).json()["calls"]["transactions"]]
        yard.node.results["eth_estimateGas"] = hex(1_000_000)
        high = [int(each["gas"], 16) for each in (await check(yard)).json()["calls"]["transactions"]]
        assert high[0] >= 1_000_000
        assert high[1] - low[1] > high[0] - low[0]

    in_yard(tmp_path, work)


def test_a_premium_that_cannot_be_judged_is_not_waved_through(tmp_path):
    async def work(yard):
        yard.issuer.is_down = True
        told = (await check(yard)).json()
        assert "quote_unreadable" in [each["code"] for each in told["issues"]]
        assert (told["figures"]["premiumPct"], (await check(yard, maxPremiumBps=100)).status) == (None, 502)

    in_yard(tmp_path, work)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"maxImpactBps": -1}, 400),
        ({"maxImpactBps": "5"}, 400),
        ({"maxPremiumBps": 100_001}, 400),
        ({"more": 1}, 400),
        ({"recipient": "0x" + "0" * 40}, 400),
        ({"symbol": "NOPE"}, 404),
        ({"amount": "999999999999"}, 422),
        ({"maxImpactBps": 0}, 422),
    ],
)
def test_what_cannot_be_checked_is_said(tmp_path, changes, status):
    async def work(yard):
        assert (await check(yard, **changes)).status == status

    in_yard(tmp_path, work)
