"""A check tells what will happen: the same steps, sent in the next block, do exactly that."""

import asyncio
from contextlib import AsyncExitStack
from decimal import Decimal

import pytest

from tickyard.kernel.clock import WallClock
from tickyard.market.swaps.fills import Trade
from tickyard.sandbox.node.process import NodeError
from tickyard.sandbox.world.market import read_spots
from tickyard.sandbox.world.place import USDG
from yards.patience import STUCK_S

pytestmark = pytest.mark.node

ETHER = 10**21


class Request:
    """One random check, by a wallet that may or may not hold and allow enough."""

    def __init__(self, service, rng):
        pool = rng.choice([pool for pool in service.yard.world.pools if pool.is_live])
        spot = service.yard.run(read_spots(service.yard.node, [pool]))[0]
        self.symbol, self.token = pool.symbol, pool.token
        self.side, self.denom = rng.choice(["buy", "sell"]), rng.choice(["usd", "token"])
        self.slippage_bps = rng.choice([1, 50, 50, 300, 5000])
        self.allowance = rng.choice(["none", "one short", "exact", "plenty", "endless"])
        self.holds = rng.choices(["plenty", "exact", "one short"], [6, 2, 2])[0]
        self.knows_output = rng.random() < 0.7
        usdg = int(100 * (8 * spot.depth_e6 / 100) ** rng.random())
        self.fixed = max(1, usdg if self.denom == "usd" else usdg * 10**12 * spot.price.den // spot.price.num)
        self.token_in, self.token_out = (USDG, self.token) if self.side == "buy" else (self.token, USDG)
        self.is_exact_in = (self.side == "buy") == (self.denom == "usd")

    def body(self, recipient):
        return {
            "symbol": self.symbol,
            "side": self.side,
            "denom": self.denom,
            "amount": format(Decimal(self.fixed).scaleb(-6 if self.denom == "usd" else -18), "f"),
            "recipient": recipient,
            "slippageBps": self.slippage_bps,
        }

    def __repr__(self):
        return (
            f"{self.side} {self.fixed} {self.denom} of {self.symbol}, {self.slippage_bps} bps,"
            f" allowance {self.allowance}, holds {self.holds}, {'knows' if self.knows_output else 'is new to'} the output"
        )


def check(service, body):
    answer = service.yard.run(service.ask("POST", "/v1/trade/check", body))
    assert answer.status == 200, answer.body
    return answer.json()


def prepare(service, wallet, request):
    """The wallet as it was drawn: what it may spend and what it holds."""
    first = check(service, request.body(wallet.address))
    spends = int(first["decoded"]["swap"]["amount" if request.is_exact_in else "bound"])
    quote = first["build"]["quote"]
    usdg, tokens = int(Decimal(quote["usdAmount"]).scaleb(6)), int(Decimal(quote["tokenAmount"]).scaleb(18))
    pays = usdg if request.side == "buy" else tokens
    wallet.fund((request.token_in, {"plenty": 3 * spends, "exact": pays, "one short": pays - 1}[request.holds]))
    if request.knows_output:
        wallet.fund((request.token_out, 5))
    allowance = {"none": 0, "one short": spends - 1, "exact": spends, "plenty": 2 * spends, "endless": 2**256 - 1}
    if allowance[request.allowance]:
        wallet.approve(request.token_in, allowance[request.allowance])
    return check(service, request.body(wallet.address))


def execute(service, wallet, told, request):
    """Send the transactions as the check wrote them. Whether all worked, and the gas that each used."""
    yard = service.yard
    for step, transaction in zip(told["simulation"]["steps"], told["calls"]["transactions"], strict=True):
        try:
            hash_ = yard.rpc("eth_sendTransaction", transaction)
        except NodeError:
            # The engine tells a revert instead of mining it.
            assert not step["success"], (request, step)
            return False
        receipt = yard.rpc("eth_getTransactionReceipt", hash_)
        assert step["success"] == (receipt["status"] == "0x1"), (request, step)
        used, predicted = int(receipt["gasUsed"], 16), int(step["gasUsed"])
        assert abs(predicted - used) * 100 <= used, (request, step, used)
        assert used < int(transaction["gas"], 16), request
    return True


@pytest.mark.timeout(1800)
def test_what_a_check_predicts_is_what_happens_in_the_next_block(service, wallet, proof):
    yard = service.yard
    requests = [Request(service, proof.rng("check", i)) for i in range(proof.count(500))]
    yard.rpc("hardhat_setBalance", wallet.address, hex(ETHER))
    done = {True: 0, False: 0}
    for request in requests:
        with yard.undone():
            told = prepare(service, wallet, request)
            held = {
                (account, token): yard.read(token, "balanceOf(address)", account)[0]
                for account, token in accounts(told)
            }
            assert told["blockNumber"] == int(yard.rpc("eth_blockNumber"), 16)
            worked = execute(service, wallet, told, request)
            assert worked == told["simulation"]["success"], request
            done[worked] += 1
            for change in told["simulation"]["balanceChanges"]:
                account, token = change["account"].lower(), change["token"].lower()
                now = yard.read(token, "balanceOf(address)", account)[0]
                assert int(change["before"]) == held[account, token], request
                assert int(change["after"]) == now, request
                assert int(change["change"]) == now - held[account, token], request
    assert done[True] > done[False] > 0


def accounts(told):
    return [(each["account"].lower(), each["token"].lower()) for each in told["simulation"]["balanceChanges"]]


@pytest.mark.timeout(200)
def test_a_check_of_a_pool_in_memory_is_one_round_trip(built, tmp_path, wallet, open_service):
    """And it says the same as one that asks for everything, but for the time that has passed."""
    yard = built
    body = {"symbol": "AAPL", "side": "buy", "amount": "25", "recipient": wallet.address}

    async def scenario():
        async with AsyncExitStack() as stack:
            service = await open_service(stack, yard, tmp_path / "on", MIRROR="on", MIRROR_FRESH_MS="60000")
            plain = await open_service(stack, yard, tmp_path / "off")
            await service.ask("POST", "/v1/trade/check", body)
            market, clock = service.deps.market, WallClock()
            token, trade = yard.world.tokens["AAPL"], Trade.parse("buy", "usd", "25")
            async with asyncio.timeout(STUCK_S):
                while market.remembered_offer(token, trade) is None:
                    await clock.sleep(0.05)
            trips = []
            for _ in range(8):
                # The mirror itself looks for new blocks in between: the least is the check's own.
                before = service.deps.rpc.round_trips
                told = (await service.ask("POST", "/v1/trade/check", body)).json()
                trips.append(service.deps.rpc.round_trips - before)
            before = plain.deps.rpc.round_trips
            other = (await plain.ask("POST", "/v1/trade/check", body)).json()
            first = plain.deps.rpc.round_trips - before
            before = plain.deps.rpc.round_trips
            await plain.ask("POST", "/v1/trade/check", body)
            return told, other, min(trips), first, plain.deps.rpc.round_trips - before

    told, other, trips, first, later = yard.run(scenario())
    assert (trips, later) == (1, 3), (trips, first, later)
    for name in ("simulation", "issues", "blockHash"):
        assert told[name] == other[name]
    assert told["build"]["quote"] == other["build"]["quote"]


@pytest.mark.timeout(200)
def test_who_has_traded_a_moment_ago_is_not_told_what_was_allowed_before(built, tmp_path, wallet, open_service):
    """The mirror may stand at the block before: a build from there would leave out the approval that it takes again."""
    yard = built
    body = {"symbol": "AAPL", "side": "buy", "amount": "25", "recipient": wallet.address}
    token, trade = yard.world.tokens["AAPL"], Trade.parse("buy", "usd", "25")
    market = None

    async def open_it(stack):
        nonlocal market
        service = await open_service(stack, yard, tmp_path, MIRROR="on", MIRROR_FRESH_MS="60000")
        await service.ask("POST", "/v1/trade/build", body)
        market = service.deps.market
        async with asyncio.timeout(STUCK_S):
            while market.remembered_offer(token, trade) is None:
                await WallClock().sleep(0.05)
        return service

    with yard.undone():
        wallet.fund((USDG, 10**9))
        stack = AsyncExitStack()
        service = yard.run(open_it(stack))
        try:
            for amount, steps in ((25 * 10**6, 1), (0, 2), (10**8, 1), (25 * 10**6 - 1, 2)):
                wallet.approve(USDG, amount)
                for path in ("build", "check"):
                    told = yard.run(service.ask("POST", f"/v1/trade/{path}", body)).json()
                    assert len(told.get("build", told)["steps"]) == steps, (path, amount)
        finally:
            yard.run(stack.aclose())
