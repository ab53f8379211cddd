"""Everything that can stand in the way of a swap is provoked, and the check says what it is, before it happens."""

from contextlib import contextmanager
from dataclasses import replace

import pytest

from tickyard.chain import rehearsal
from tickyard.chain.multicall import Call
from tickyard.features.trades.calldata import Swap
from tickyard.features.trades.evidence import gather_evidence
from tickyard.features.trades.plan import Wanted
from tickyard.features.trades.reasons import WORDS
from tickyard.features.trades.rehearse import Rehearsal
from tickyard.features.trades.wire import BuildAsk
from tickyard.kernel.clock import WallClock
from tickyard.kernel.ids import Symbol
from tickyard.sandbox.node.abi import call_data
from tickyard.sandbox.node.process import NodeError
from tickyard.sandbox.node.transact import QueuedCall, send
from tickyard.sandbox.world.place import ROUTER, USDG
from tickyard.sandbox.world.wallets import MAKER

pytestmark = pytest.mark.node

ETHER = 10**18


def check(service, wallet, **changes):
    body = {"symbol": "AAPL", "side": "buy", "amount": "10", "recipient": wallet.address, **changes}
    answer = service.yard.run(service.ask("POST", "/v1/trade/check", body))
    assert answer.status == 200, answer.body
    return answer.json()


def as_admin(yard, to, signature, *values):
    yard.run(send(yard.node, MAKER, QueuedCall(to, call_data(signature, *values))))


@pytest.fixture
def ready(service, wallet):
    """A wallet that lacks nothing for a trade either way."""
    yard = service.yard
    wallet.fund((USDG, 10**9), (yard.world.tokens["AAPL"], 10**20))
    for token in (USDG, yard.world.tokens["AAPL"]):
        wallet.approve(token, 2**256 - 1)
    yard.rpc("hardhat_setBalance", wallet.address, hex(ETHER))
    return wallet


def codes(told):
    return [issue["code"] for issue in told["issues"]]


def test_a_wallet_that_lacks_nothing_has_no_issue(service, ready):
    for side, denom in (("buy", "usd"), ("sell", "usd"), ("buy", "token"), ("sell", "token")):
        told = check(service, ready, side=side, denom=denom, amount="1")
        assert told["simulation"]["success"]
        assert (told["simulationNote"], codes(told)) == (None, [])


def block(yard, ready):
    as_admin(yard, yard.world.tokens["AAPL"], "setBlocked(address,bool)", ready.address, True)


def block_pools(yard, _ready):
    for pool in yard.world.pools:
        if pool.symbol == "AAPL":
            as_admin(yard, pool.token, "setBlocked(address,bool)", pool.pool, True)


def pause(yard, _ready):
    as_admin(yard, yard.world.tokens["AAPL"], "setPaused(bool)", True)


def freeze(yard, ready):
    as_admin(yard, USDG, "freeze(address)", ready.address)


def pause_dollar(yard, _ready):
    as_admin(yard, USDG, "pause()")


def spend(yard, ready):
    for token in (USDG, yard.world.tokens["AAPL"]):
        ready.send(token, call_data("transfer(address,uint256)", MAKER, ready.holds(token)))


@pytest.mark.parametrize(
    ("trouble", "code", "issue"),
    [
        (block, "recipient_blocked", "recipient_blocked"),
        (block_pools, "recipient_blocked", "recipient_blocked"),
        (freeze, "recipient_blocked", "recipient_blocked"),
        (pause, "token_paused", "token_paused"),
        (pause_dollar, "token_paused", "token_paused"),
        (spend, "balance_short", "balance_short"),
    ],
    ids=lambda value: value.__name__ if callable(value) else value,
)
@pytest.mark.parametrize("side", ["buy", "sell"])
@pytest.mark.parametrize("allowed", [True, False], ids=["allowed", "with approval"])
def test_each_trouble_is_foretold_with_its_reason(service, ready, trouble, code, issue, side, allowed):
    yard = service.yard
    if not allowed:
        for token in (USDG, yard.world.tokens["AAPL"]):
            ready.approve(token, 0)
    trouble(yard, ready)
    told = check(service, ready, side=side, denom="token", amount="0.05")
    run = told["simulation"]
    assert run["success"] is False
    failed = next(step for step in run["steps"] if not step["success"])
    assert failed["reason"]["code"] == code, failed
    assert WORDS[code] in failed["reason"]["message"]
    assert [each["severity"] for each in told["issues"] if each["code"] == issue] == ["error"]
    assert all(change["change"] == "0" for change in run["balanceChanges"])
    # And it is so: the steps before it pass, it does not.
    for step, sent in zip(run["steps"], told["build"]["steps"], strict=True):
        if step is failed:
            assert ready.refusal(sent["to"], sent["data"]) is not None
            break
        ready.send(sent["to"], sent["data"])


def block_both(yard, ready):
    block(yard, ready)
    freeze(yard, ready)


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        (block, "The contract of AAPL blocks the recipient"),
        (freeze, "The contract of USDG blocks the recipient"),
        (block_both, "The contracts of AAPL and USDG block the recipient"),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
@pytest.mark.parametrize("side", ["buy", "sell"])
def test_a_build_alone_warns_of_a_recipient_to_whom_nothing_moves(service, ready, trouble, words, side):
    trouble(service.yard, ready)
    told = service.build(symbol="AAPL", side=side, denom="token", amount="0.05", recipient=ready.address)
    assert words in told.json()["note"]


@pytest.mark.parametrize("trouble", [pause, pause_dollar, block_pools], ids=lambda value: value.__name__)
@pytest.mark.parametrize("side", ["buy", "sell"])
def test_what_nobody_can_trade_is_refused_with_the_reason_unless_it_is_to_be_checked(service, ready, trouble, side):
    trouble(service.yard, ready)
    trade = {"symbol": "AAPL", "side": side, "denom": "token", "amount": "0.05"}
    for answer in (service.get("/v1/quote", **trade), service.build(**trade, recipient=ready.address)):
        assert (answer.status, answer.error["code"]) == (422, "no_liquidity")
        assert "nothing can be traded now" in answer.error["message"]
    [item] = service.yard.run(service.ask("POST", "/v1/quotes", {"quotes": [trade]})).json()["quotes"]
    assert item["error"]["code"] == "no_liquidity"
    assert check(service, ready, **trade)["simulation"]["success"] is False


@pytest.mark.parametrize("by", ["token", "dollar"])
@pytest.mark.parametrize(("side", "denom"), [("buy", "usd"), ("sell", "usd"), ("buy", "token"), ("sell", "token")])
def test_a_pool_from_which_a_token_does_not_move_is_passed_over(service, ready, by, side, denom):
    """The quoter alone does not see it where the pool would have to be paid: it never pays."""
    yard = service.yard
    trade = {"symbol": "AAPL", "side": side, "denom": denom, "amount": "1"}
    best = service.get("/v1/quote", **trade).json()["feeTier"]
    pool = next(pool for pool in yard.world.pools if (pool.symbol, pool.fee) == ("AAPL", best))
    if by == "token":
        as_admin(yard, pool.token, "setBlocked(address,bool)", pool.pool, True)
    else:
        as_admin(yard, USDG, "freeze(address)", pool.pool)
    told = check(service, ready, **trade)
    assert told["simulation"]["success"] is True
    built = service.build(**trade, recipient=ready.address).json()
    [item] = yard.run(service.ask("POST", "/v1/quotes", {"quotes": [trade]})).json()["quotes"]
    tiers = {
        each["feeTier"]
        for each in (service.get("/v1/quote", **trade).json(), built["quote"], told["build"]["quote"], item["quote"])
    }
    assert len(tiers) == 1
    assert best not in tiers
    assert ready.send(built["steps"][-1]["to"], built["steps"][-1]["data"])


def test_a_wallet_without_gas_money_is_told_so(service, ready):
    yard = service.yard
    yard.rpc("hardhat_setBalance", ready.address, "0x1")
    told = check(service, ready)
    assert told["simulation"]["success"] is False
    assert told["simulation"]["steps"][0]["reason"]["code"] == "gas_short"
    assert "Insufficient gas money" in told["simulation"]["steps"][0]["reason"]["message"]
    assert codes(told) == ["gas_short"]
    with pytest.raises(NodeError, match="enough funds"):
        yard.rpc("eth_sendTransaction", told["calls"]["transactions"][0])
    needed = sum(int(each["gas"], 16) * int(each["maxFeePerGas"], 16) for each in told["calls"]["transactions"])
    yard.rpc("hardhat_setBalance", ready.address, hex(needed))
    told = check(service, ready)
    assert told["simulation"]["success"]
    yard.rpc("eth_sendTransaction", told["calls"]["transactions"][0])


async def stale_run(service, swap):
    """Run a swap that was planned at another price or time."""
    deps = service.deps
    way = Rehearsal(swap, ROUTER, with_approval=False)
    head = await deps.rpc.head()
    [answer] = await deps.rpc.batch([way.request(await deps.market.reader.multicall_code(), head.hash)])
    return way.read(answer, allowance=2**256 - 1, balance=10**30)


async def planned(service, wallet, deadline=None, **changes):
    fields = {"side": "buy", "amount": "10", "recipient": wallet.address, "slippage_bps": 10, **changes}
    wanted = Wanted.read(service.deps, BuildAsk(symbol=Symbol("AAPL"), **fields))
    _, fills = await service.deps.market.offer_at_block(wanted.token, wanted.trade)
    return wanted.swap(fills, deadline or WallClock().seconds() + 3600)


@contextmanager
def moved(yard, swap, *, up):
    """The pool of a swap, two percent away."""
    spot = swap.fill.before
    root = spot.sqrt_price_x96 * (101 if up == spot.pool.token_is_0 else 99) // 100
    with yard.undone():
        yard.push_price(spot.pool.address, root)
        yield


@pytest.mark.parametrize(
    ("changes", "up", "code"),
    [
        ({"denom": "usd"}, True, "too_little_received"),
        ({"side": "sell", "denom": "token", "amount": "1"}, False, "too_little_received"),
        ({"denom": "token", "amount": "1"}, True, "too_much_requested"),
        ({"side": "sell", "denom": "usd"}, False, "too_much_requested"),
    ],
)
def test_a_price_beyond_the_bound_is_told_in_the_routers_words(service, ready, changes, up, code):
    yard = service.yard
    swap = yard.run(planned(service, ready, **changes))
    with moved(yard, swap, up=up):
        run = yard.run(stale_run(service, swap))
        assert run.steps[0].refusal.code == code
        words = "Too little received" if code == "too_little_received" else "Too much requested"
        assert words in run.steps[0].refusal.text
        assert words in ready.refusal(ROUTER, "0x" + swap.calldata().hex())
    assert yard.run(stale_run(service, swap)).is_success


def test_a_deadline_that_has_passed_is_told(service, ready):
    swap = service.yard.run(planned(service, ready, deadline=1))
    run = service.yard.run(stale_run(service, swap))
    assert (run.steps[0].refusal.code, run.is_success) == ("transaction_too_old", False)
    assert "Transaction too old" in run.steps[0].refusal.text


def test_the_node_runs_the_steps_as_the_recipient_and_as_nobody_else(service, ready):
    """Whoever asks for a transfer in a rehearsal moves the account's own tokens, and only there."""
    yard, deps = service.yard, service.deps
    other = "0x" + "77" * 20

    async def rehearse():
        transfer = Call(USDG, bytes.fromhex(call_data("transfer(address,uint256)", other, 7)[2:]))
        held = Call(USDG, bytes.fromhex(call_data("balanceOf(address)", other)[2:]))
        code = await deps.market.reader.multicall_code()
        request = rehearsal.request(ready.address, code, [transfer], [held], (await deps.rpc.head()).hash)
        return rehearsal.read((await deps.rpc.batch([request]))[0], 1, 1)

    told = yard.run(rehearse())
    assert told.steps[0].has_succeeded
    assert int.from_bytes(told.after[0].data, "big") == 7
    assert yard.read(USDG, "balanceOf(address)", other) == [0]


def test_what_an_own_wallet_contract_would_do_is_not_in_the_way(service, ready):
    """A recipient with code, such as a delegated account, is run like any other."""
    service.yard.rpc("hardhat_setCode", ready.address, "0x60006000fd")
    assert check(service, ready)["simulation"]["success"]


def test_limits_of_the_caller_refuse_with_the_figure(service, ready):
    yard = service.yard
    body = {"symbol": "AAPL", "side": "buy", "amount": "10", "recipient": ready.address}
    fine = check(service, ready, maxImpactBps=5000, maxPremiumBps=5000)
    impact = fine["figures"]["priceImpactPct"]
    answer = yard.run(service.ask("POST", "/v1/trade/check", {**body, "maxImpactBps": 0}))
    assert answer.status == 422
    assert answer.error["code"] == "no_liquidity"
    assert f"{impact} %" in answer.error["message"]
    [pool] = [
        pool for pool in yard.world.pools if pool.symbol == "AAPL" and pool.fee == fine["build"]["quote"]["feeTier"]
    ]
    root = yard.read(pool.pool, "slot0()")[0]
    for each in [pool for pool in yard.world.pools if pool.symbol == "AAPL" and pool.is_live]:
        root = yard.read(each.pool, "slot0()")[0]
        yard.push_price(each.pool, root * 11 // 10 if each.token_is_0 else root * 10 // 11)
    told = check(service, ready)
    assert "premium_high" in codes(told)
    [premium] = [issue["message"] for issue in told["issues"] if issue["code"] == "premium_high"]
    assert premium in told["build"]["note"]
    answer = yard.run(service.ask("POST", "/v1/trade/check", {**body, "maxPremiumBps": 500}))
    assert answer.status == 422
    assert f"{told['figures']['premiumPct']} % above the equity quote" in answer.error["message"]
    assert isinstance(yard.run(planned(service, ready)), Swap)


@pytest.mark.parametrize("number", [3, 9, 0x64])
def test_an_address_with_a_meaning_of_its_own_gets_an_answer_like_any_other(service, number):
    """A node may not let the code of a precompile be overridden: then there is no simulation, and no failure of ours."""
    body = {"symbol": "AAPL", "side": "buy", "amount": "10", "recipient": f"0x{number:040x}"}
    answer = service.yard.run(service.ask("POST", "/v1/trade/check", body))
    assert answer.status == 200, answer.body
    told = answer.json()
    assert (told["simulation"] is None) == (told["simulationNote"] is not None)


def test_a_run_that_moves_something_else_than_the_quote_is_noticed(service, ready):
    """What would send a check that was answered from memory back to the chain."""
    wanted = Wanted.read(
        service.deps, BuildAsk(symbol=Symbol("AAPL"), side="buy", amount="10", recipient=ready.address)
    )
    seen = service.yard.run(gather_evidence(service.deps, wanted))
    assert seen.run.is_success
    assert seen.is_borne_out
    fill = seen.swap.fill
    other = replace(seen.swap, fill=replace(fill, token=type(fill.token)(fill.token + 1)))
    assert not replace(seen, swap=other).is_borne_out
