"""`POST /v1/trade/check` over a node that runs the steps: every figure of the answer against what the run said."""

import asyncio

import pytest
from eth_abi import decode, encode

from tickyard.config.pinned import MAINNET
from tickyard.sandbox.node.abi import call_data
from yards import paperyard, rpcnode
from yards.patience import STUCK_S

WALLET = "0x875F7121A37a8Af309B8e85f297B46Aa19d85daD"
BODY = {"symbol": "AAPL", "side": "buy", "amount": "100", "recipient": WALLET}
HASH = "0x" + "11" * 32
FEE = 10**8
"""Of the paper chain, for a unit of gas; nobody is tipped."""
GAS_STEP = 64_000


class Runner:
    """A node that believes overrides: it has run the steps, and tells what came of it."""

    def __init__(self, yard):
        self.yard = yard
        self.honest = yard.node.results["eth_call"]
        self.fails = None
        self.more_got = 0
        self.overridden = []
        yard.node.results["eth_call"] = self.call

    def call(self, params):
        if len(params) < 3:
            return self.honest(params)
        self.overridden.append(params)
        [calls] = decode(["(address,bool,bytes)[]"], bytes.fromhex(params[0]["data"][10:]))
        probe = calls[0][0]
        left, outcomes = 10**7, []
        for index, (to, _, data) in enumerate(calls):
            is_probe = to == probe and not data
            if is_probe:
                left -= 630 if len(outcomes) < 2 else GAS_STEP // 64 * 63
            told = left.to_bytes(32, "big") if is_probe else self.told(to, data)
            is_swap = to == MAINNET.router
            if is_swap and self.fails is not None:
                outcomes.append((False, self.fails))
            else:
                outcomes.append((True, told))
            assert index or is_probe
        return "0x" + encode(["(bool,bytes)[]"], [outcomes]).hex()

    def told(self, to, data):
        answer = self.yard.chain.call(to, data)
        if data[:4] == bytes.fromhex("70a08231"):
            # Whoever looks at a balance afterwards sees what the trade has moved.
            held, is_mine = int.from_bytes(answer, "big"), data[16:36].hex() == WALLET[2:].lower()
            moved = -100_000_000 if to == MAINNET.usdg else self.got + self.more_got
            return (held + (moved if is_mine else -moved)).to_bytes(32, "big")
        return (1).to_bytes(32, "big") if answer is None else answer


def in_yard(folder, work):
    async def run():
        async with asyncio.timeout(STUCK_S), paperyard.open_yard(folder) as yard:
            runner = Runner(yard)
            quote = (await yard.get("/v1/quote", symbol="AAPL", side="buy", amount="100")).json()
            whole, _, part = quote["tokenAmount"].partition(".")
            runner.got = int(whole + part.ljust(18, "0"))
            return await work(yard, runner)

    return asyncio.run(run())


async def check(yard, **changes):
    answer = await yard.post("/v1/trade/check", {**BODY, **changes})
    assert answer.status == 200, answer.body
    return answer.json()


@pytest.mark.slow
def test_every_step_of_a_run_is_told_with_what_it_moves_and_is_ready_for_a_wallet(tmp_path):
    async def work(yard, runner):
        told = await check(yard)
        assert (told["simulationNote"], told["simulation"]["success"]) == (None, True)
        steps, build = told["simulation"]["steps"], told["build"]["steps"]
        assert [(step["description"], step["success"], step["reason"]) for step in steps] == [
            (made["description"], True, None) for made in build
        ]
        gas = [int(step["gasUsed"]) for step in steps]
        assert told["figures"]["gas"] == {
            "units": str(sum(gas)),
            "wei": str(sum(gas) * FEE),
            "eth": f"{sum(gas) * FEE / 10**18:.18f}".rstrip("0"),
            "usd": None,
        }
        token, usdg = told["build"]["tokenAddress"], told["decoded"]["swap"]["tokenIn"]
        changes = told["simulation"]["balanceChanges"]
        assert [(each["token"], each["unit"], int(each["change"])) for each in changes] == [
            (usdg, "USDG", -100_000_000),
            (token, "AAPL", runner.got),
            (usdg, "USDG", 100_000_000),
            (token, "AAPL", -runner.got),
        ]
        assert [each["account"] == WALLET for each in changes] == [True, True, False, False]
        assert all(int(each["after"]) - int(each["before"]) == int(each["change"]) for each in changes)
        assert (changes[0]["before"], changes[1]["before"]) == ("5000000000", "0")
        estimate = 100_000
        sizes = [len(step["data"]) for step in build]
        for_data = max(0, estimate - gas[0])
        limits = [gas[at] * 5 // 4 + -(-for_data * sizes[at] // sizes[0]) for at in range(2)]
        assert told["calls"] == {
            "sendCalls": {
                "version": "2.0.0",
                "chainId": "0x1237",
                "from": WALLET,
                "atomicRequired": False,
                "calls": [{"to": step["to"], "data": step["data"], "value": "0x0"} for step in build],
            },
            "transactions": [
                {
                    "type": "0x2",
                    "chainId": "0x1237",
                    "from": WALLET,
                    "to": step["to"],
                    "data": step["data"],
                    "value": "0x0",
                    "gas": hex(limit),
                    "maxFeePerGas": hex(2 * FEE),
                    "maxPriorityFeePerGas": "0x0",
                }
                for step, limit in zip(build, limits, strict=True)
            ],
        }
        for where in (told, told["figures"]):
            assert (where["blockNumber"], where["blockHash"]) == (1000, HASH)
        # Both ways were asked for: which one is needed is only known with the answers.
        assert len(runner.overridden) == 2
        assert all(params[1] == {"blockHash": HASH} for params in runner.overridden)

    in_yard(tmp_path, work)


@pytest.mark.slow
def test_an_allowance_that_suffices_leaves_one_step_and_one_unit_less_leaves_two(tmp_path):
    async def work(yard, runner):
        allowance = call_data("allowance(address,address)", WALLET, MAINNET.router)[2:10]
        for allowed, count in ((99_999_999, 2), (100_000_000, 1)):
            yard.chain.says[MAINNET.usdg, allowance] = allowed.to_bytes(32, "big")
            told = await check(yard)
            assert len(told["build"]["steps"]) == len(told["simulation"]["steps"]) == count
            assert (told["decoded"]["approval"] is None) is (count == 1)
            assert ("allowance_short" in [each["code"] for each in told["issues"]]) is (count == 2)
        assert told["decoded"]["swap"]["router"] == told["build"]["steps"][-1]["to"]
        assert told["decoded"]["swap"]["mode"] == "exactIn"

    in_yard(tmp_path, work)


@pytest.mark.slow
def test_a_run_that_contradicts_the_quote_is_not_served(tmp_path):
    async def work(yard, runner):
        for more in (1, -1, 10**18):
            runner.more_got = more
            answer = await yard.post("/v1/trade/check", BODY)
            assert (answer.status, answer.json()["error"]["code"]) == (502, "upstream_error")
            assert "moved something else than its own quote says" in answer.json()["error"]["message"]
        runner.more_got = 0
        assert (await check(yard))["simulation"]["success"]

    in_yard(tmp_path, work)


@pytest.mark.slow
def test_a_run_that_fails_moves_nothing_and_its_reason_is_told(tmp_path):
    async def work(yard, runner):
        runner.fails = bytes.fromhex("08c379a0") + encode(["string"], ["Too little received"])
        told = await check(yard)
        assert told["simulation"]["success"] is False
        approval, swap = told["simulation"]["steps"]
        assert (approval["success"], approval["reason"], swap["success"]) == (True, None, False)
        assert swap["reason"]["code"] == "too_little_received"
        assert swap["reason"]["data"] == "0x" + runner.fails.hex()
        assert {each["change"] for each in told["simulation"]["balanceChanges"]} == {"0"}
        # A contract may throw as much as it likes.
        runner.fails = bytes(range(256)) * 8
        data = (await check(yard))["simulation"]["steps"][1]["reason"]["data"]
        assert data == "0x" + runner.fails[:1024].hex()

    in_yard(tmp_path, work)


@pytest.mark.slow
def test_each_step_must_be_paid_for_with_what_the_ones_before_it_leave(tmp_path):
    async def work(yard, runner):
        told = await check(yard)
        limits = [int(each["gas"], 16) for each in told["calls"]["transactions"]]
        gas = [int(step["gasUsed"]) for step in told["simulation"]["steps"]]
        first, second = limits[0] * 2 * FEE, gas[0] * FEE + limits[1] * 2 * FEE
        assert first < second < sum(limits) * 2 * FEE
        for ether, failing, is_issue in (
            (first - 1, [0, 1], True),
            (first, [1], True),
            (second - 1, [1], True),
            (second, [], True),
            (sum(limits) * 2 * FEE - 1, [], True),
            (sum(limits) * 2 * FEE, [], False),
        ):
            yard.node.results["eth_getBalance"] = hex(ether)
            told = await check(yard)
            reasons = [step["reason"] for step in told["simulation"]["steps"]]
            assert [at for at, reason in enumerate(reasons) if reason] == failing, ether
            assert {reason["code"] for reason in reasons if reason} <= {"gas_short"}
            assert {reason["data"] for reason in reasons if reason} <= {"0x"}
            assert told["simulation"]["success"] is not bool(failing)
            assert [each["severity"] for each in told["issues"] if each["code"] == "gas_short"] == ["error"] * is_issue
        # What fails for a reason of its own keeps it.
        runner.fails = bytes.fromhex("08c379a0") + encode(["string"], ["Transaction too old"])
        yard.node.results["eth_getBalance"] = hex(first)
        assert (await check(yard))["simulation"]["steps"][1]["reason"]["code"] == "transaction_too_old"

    in_yard(tmp_path, work)


@pytest.mark.slow
def test_a_gas_price_and_an_estimate_are_believed_up_to_what_can_be(tmp_path):
    async def work(yard, runner):
        node, header = yard.node.results, yard.chain.rpc("eth_getBlockByHash", [])
        for estimate, is_believed in ((50_000_000, True), (50_000_001, False)):
            node["eth_estimateGas"] = hex(estimate)
            gas = int((await check(yard))["calls"]["transactions"][0]["gas"], 16)
            assert (gas > 10**7) is is_believed
        # Ten thousand gwei.
        for price, status in ((10**13, 200), (10**13 + 1, 502)):
            node["eth_maxPriorityFeePerGas"] = hex(price)
            assert (await yard.post("/v1/trade/check", BODY)).status == status
        node["eth_maxPriorityFeePerGas"] = hex(7)
        told = await check(yard)
        made = told["calls"]["transactions"][0]
        assert (made["maxFeePerGas"], made["maxPriorityFeePerGas"]) == (hex(2 * FEE + 7), "0x7")
        assert int(told["figures"]["gas"]["wei"]) == int(told["figures"]["gas"]["units"]) * (FEE + 7)
        for price, status in ((10**13, 200), (10**13 + 1, 502)):
            node["eth_getBlockByHash"] = {**header, "baseFeePerGas": hex(price)}
            assert (await yard.post("/v1/trade/check", BODY)).status == status

    in_yard(tmp_path, work)


@pytest.mark.slow
def test_a_node_that_cannot_run_the_steps_leaves_the_usual_gas(tmp_path):
    async def work(yard, runner):
        def call(params):
            if len(params) > 2:
                raise rpcnode.Refused(-32602, "too many arguments")
            return runner.honest(params)

        yard.node.results["eth_call"] = call
        told = await check(yard)
        assert told["simulation"] is None
        assert int(told["figures"]["gas"]["units"]) == 70_000 + int(told["build"]["quote"]["gasEstimate"])

    in_yard(tmp_path, work)
