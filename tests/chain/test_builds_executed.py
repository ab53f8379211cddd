"""Builds, executed by the recipient in the order of their steps, and everything that must make them revert."""

from decimal import Decimal
from fractions import Fraction
from math import isqrt

import pytest
from eth_abi import decode

from proof import IS_FULL
from tickyard.market.mirror.offers import fills_of
from tickyard.market.swaps.fills import Trade, best_fill
from tickyard.market.swaps.gas import swap_gas
from tickyard.sandbox.node.abi import call_data
from tickyard.sandbox.node.transact import QueuedCall, send
from tickyard.sandbox.world.market import read_spots
from tickyard.sandbox.world.place import ROUTER, USDG
from tickyard.sandbox.world.wallets import MAKER
from yards.mirroring import Followed

pytestmark = pytest.mark.node

SWAP = "(address,address,uint24,address,uint256,uint256,uint160)"
ALLOWANCES = ("none", "one short", "exact", "plenty")


class Request:
    """One random build, and the swap it should become."""

    def __init__(self, service, rng):
        pool = rng.choice([pool for pool in service.yard.world.pools if pool.is_live])
        spot = service.yard.run(read_spots(service.yard.node, [pool]))[0]
        self.symbol, self.token = pool.symbol, pool.token
        self.side, self.denom = rng.choice(["buy", "sell"]), rng.choice(["usd", "token"])
        self.slippage_bps = rng.choice([1, 5, 50, 50, 300, 2500, 5000])
        self.allowance = rng.choice(ALLOWANCES)
        usdg = int(1000 * (spot.depth_e6 / 1000) ** rng.random())
        self.fixed = usdg if self.denom == "usd" else usdg * 10**12 * spot.price.den // spot.price.num
        deep = 9 * spot.depth_e6
        self.deep = deep if self.denom == "usd" else deep * 10**12 * spot.price.den // spot.price.num
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
        return f"{self.side} {self.fixed} {self.denom} of {self.symbol}, {self.slippage_bps} bps, {self.allowance}"


class Built:
    """A build, read by somebody else's codec."""

    def __init__(self, answer):
        assert answer.status == 200, answer.body
        self.json = answer.json()
        self.steps = [(step["to"].lower(), step["data"]) for step in self.json["steps"]]
        to, data = self.steps[-1]
        assert to == ROUTER
        assert data[2:10] == "5ae401dc"
        self.deadline, [inner] = decode(["uint256", "bytes[]"], bytes.fromhex(data[10:]))
        assert inner[:4].hex() in ("04e45aaf", "5023b4df")
        self.is_exact_in = inner[:4].hex() == "04e45aaf"
        [self.swap] = decode([SWAP], inner[4:])
        self.fixed, self.bound = self.swap[4], self.swap[5]
        quote = self.json["quote"]
        self.usdg = int(Decimal(quote["usdAmount"]).scaleb(6))
        self.tokens = int(Decimal(quote["tokenAmount"]).scaleb(18))
        self.spends = self.fixed if self.is_exact_in else self.bound

    def approval(self):
        """The approval step's (token, spender, amount); None without one."""
        if len(self.steps) == 1:
            return None
        (token, data), _ = self.steps
        assert data[2:10] == "095ea7b3"
        spender, amount = decode(["address", "uint256"], bytes.fromhex(data[10:]))
        return token, spender, amount


def prepare(service, wallet, request):
    """Give the wallet the allowance that was drawn for it, then build."""
    first = Built(service.build(**request.body(wallet.address)))
    amount = {"none": 0, "one short": first.spends - 1, "exact": first.spends, "plenty": 2 * first.spends}
    wallet.approve(request.token_in, amount[request.allowance])
    return Built(service.build(**request.body(wallet.address)))


def check_words(request, built, wallet):
    """What the calldata says is what was asked, and the bound is never looser."""
    token_in, token_out, fee, recipient, _, _, limit = built.swap
    assert (token_in, token_out, recipient, limit) == (request.token_in, request.token_out, wallet.address, 0)
    assert (built.is_exact_in, built.fixed) == (request.is_exact_in, request.fixed)
    assert fee == built.json["quote"]["feeTier"]
    assert all(step["value"] == "0" for step in built.json["steps"])
    slippage = Fraction(request.slippage_bps, 10_000)
    quoted = built.usdg if request.denom == "token" else built.tokens
    if request.is_exact_in:
        assert quoted * (1 - slippage) <= built.bound < quoted * (1 - slippage) + 1
    else:
        assert quoted * (1 + slippage) - 1 < built.bound <= quoted * (1 + slippage)
    if request.allowance in ("exact", "plenty"):
        assert built.approval() is None
    else:
        assert built.approval() == (request.token_in, ROUTER, built.spends)


@pytest.mark.timeout(900)
def test_builds_do_what_they_say_or_revert(service, wallet, proof):
    yard = service.yard
    requests = [Request(service, proof.rng("build", i)) for i in range(proof.count(200))]
    tokens = {request.token for request in requests}
    wallet.fund((USDG, 10**18), *[(token, 10**30) for token in tokens])
    for request in requests:
        with yard.undone():
            built = prepare(service, wallet, request)
            check_words(request, built, wallet)
            for to, data in built.steps[:-1]:
                wallet.send(to, data)
            check_too_late(yard, wallet, built, request)
            check_price_moved(yard, wallet, built, request)
            check_execution(wallet, built, request)


def check_execution(wallet, built, request):
    receipt = wallet.send(*built.steps[-1])
    paid, got = -wallet.moved(receipt, request.token_in), wallet.moved(receipt, request.token_out)
    assert (paid, got) == ((built.usdg, built.tokens) if request.side == "buy" else (built.tokens, built.usdg))
    if request.is_exact_in:
        assert (paid, got >= built.bound) == (request.fixed, True), request
    else:
        assert (got, paid <= built.bound) == (request.fixed, True), request


def check_too_late(yard, wallet, built, request):
    assert built.json["deadline"] == built.deadline
    with yard.undone():
        yard.rpc("evm_mine", built.deadline)
        assert wallet.refusal(*built.steps[-1]) is None, request
        yard.rpc("evm_mine", built.deadline + 1)
        assert "Transaction too old" in wallet.refusal(*built.steps[-1]), request


def check_price_moved(yard, wallet, built, request):
    """The price moves against the recipient by a little more than was allowed."""
    fee = built.json["quote"]["feeTier"]
    [pool] = [pool for pool in yard.world.pools if (pool.symbol, pool.fee) == (request.symbol, fee)]
    [spot] = yard.run(read_spots(yard.node, [pool]))
    bps = request.slippage_bps
    worse = Fraction(10_000 + bps, 10_000) if not request.is_exact_in else Fraction(10_000, 10_000 - bps)
    worse *= Fraction(101, 100)
    goes_up = pool.token_is_0 == (request.side == "buy")
    factor = worse if goes_up else 1 / worse
    square = spot.sqrt_x96**2 * factor.numerator // factor.denominator
    with yard.undone():
        yard.push_price(pool.pool, isqrt(square))
        # The exact allowance alone would stop an exact output (STF): the bound must hold without it too.
        assert wallet.refusal(*built.steps[-1]) is not None, request
        wallet.approve(request.token_in, 2**256 - 1)
        words = "Too little received" if request.is_exact_in else "Too much requested"
        [spot] = yard.run(read_spots(yard.node, [pool]))
        refusal = wallet.refusal(*built.steps[-1])
        # Where the move left all liquidity behind, the pool itself has nothing to trade.
        assert refusal is not None, request
        assert words in refusal or not spot.liquidity, request


def test_an_approval_step_comes_only_when_the_allowance_is_short(service, wallet):
    """To the unit: exactly enough needs none, one unit less needs one, for the exact amount again."""
    for side, denom, amount in (("buy", "usd", "250"), ("sell", "usd", "250"), ("buy", "token", "1.5")):
        token_in = USDG if side == "buy" else service.yard.world.tokens["AAPL"]
        body = {"symbol": "AAPL", "side": side, "denom": denom, "amount": amount, "recipient": wallet.address}
        needed = Built(service.build(**body)).spends
        for allowance, steps in ((0, 2), (needed - 1, 2), (needed, 1), (needed + 1, 1), (2**256 - 1, 1)):
            wallet.approve(token_in, allowance)
            built = Built(service.build(**body))
            assert len(built.steps) == steps, allowance
            assert built.approval() in (None, (token_in, ROUTER, needed))


@pytest.mark.timeout(300)
def test_the_gas_estimate_is_near_what_is_used(service, wallet, proof):
    """For a recipient who already holds both tokens, with exact allowance and balance to spare."""
    yard = service.yard
    requests = [Request(service, proof.rng("gas", i)) for i in range(proof.count(160))]
    wallet.fund((USDG, 10**18), *[(token, 10**30) for token in {request.token for request in requests}])
    for request in requests:
        request.allowance = "exact"
        with yard.undone():
            built = prepare(service, wallet, request)
            used = int(wallet.send(*built.steps[-1])["gasUsed"], 16)
            estimate = int(built.json["quote"]["gasEstimate"])
            assert abs(estimate - used) * 100 <= 15 * used, (request, estimate, used)


def trade_to_and_fro(yard, symbol):
    """Until the ticks around have been crossed, which makes it cheaper to cross them again."""
    markets = [market for market in yard.world.pools if market.symbol == symbol and market.is_live]
    for spot in yard.run(read_spots(yard.node, markets)):
        for percent in (120, 80, 100) if spot.is_usable else ():
            yard.push_price(spot.market.pool, spot.sqrt_x96 * percent // 100)


@pytest.mark.timeout(600)
def test_the_gas_estimate_from_memory_is_near_what_is_used(service, wallet, proof):
    """Without asking the quoter: from the steps and ticks of a swap that was only worked out here. Also of swaps
    that cross many ticks, and in pools that have been traded before."""
    yard = service.yard
    requests = [Request(service, proof.rng("gas from memory", i)) for i in range(proof.count(160))]
    wallet.fund((USDG, 10**18), *[(token, 10**30) for token in {request.token for request in requests}])
    followed = Followed.over(yard.node.url)
    yard.run(followed.book.discover([request.token for request in requests]))
    crossed = 0
    for index, request in enumerate(requests):
        request.allowance = "exact"
        if index % 4 < 2:
            request.fixed = request.deep
        with yard.undone():
            if index % 2:
                trade_to_and_fro(yard, request.symbol)
            built = prepare(service, wallet, request)
            trade = Trade.parse(request.side, request.denom, request.body("")["amount"])
            pools = followed.book.of(request.token)
            followed.mirror.serve(pools)
            # The second look, where what was undone has put the chain back.
            for _ in range(2):
                yard.run(followed.mirror.step())
            _, charts = followed.mirror.serve(pools)
            fill = best_fill(trade, fills_of(charts, trade))
            assert fill.before.pool.fee == built.json["quote"]["feeTier"]
            used = int(wallet.send(*built.steps[-1])["gasUsed"], 16)
            estimate = swap_gas(trade, fill)
            assert abs(estimate - used) * 100 <= 15 * used, (request, estimate, used)
            crossed += fill.pool_gas > 150_000
    yard.run(followed.rpc.close())
    assert crossed or not IS_FULL, "no swap crossed a tick"


@pytest.mark.parametrize(
    "name", ["zero", "one", "two", "router", "quoter", "factory", "permit2", "usdg", "token", "pool", "dry pool"]
)
def test_recipients_from_which_nothing_comes_back_are_refused(service, name):
    world = service.yard.world
    pools = [pool.pool for pool in world.pools if pool.symbol == "AAPL"]
    where = {
        "zero": "0x" + "0" * 40,
        "one": "0x" + "0" * 39 + "1",
        "two": "0x" + "0" * 39 + "2",
        "token": world.tokens["AAPL"],
        "pool": pools[0],
        "dry pool": pools[-1],
        **{key: world.contracts[key] for key in ("router", "quoter", "factory", "permit2", "usdg")},
    }
    before = service.deps.rpc.round_trips
    for recipient in (where[name], "0x" + where[name][2:].upper()):
        answer = service.build(symbol="AAPL", side="buy", amount="10", recipient=recipient)
        assert answer.status == 400
        assert "recipient" in answer.error["message"]
    assert service.deps.rpc.round_trips == before, "the chain need not be asked"


def test_warnings_tell_what_the_chain_will_do(service, wallet):
    """A blocked recipient and a missing balance: named in the note, and true."""
    yard, token = service.yard, service.yard.world.tokens["AAPL"]
    body = {"symbol": "AAPL", "side": "buy", "amount": "10", "recipient": wallet.address}
    note = Built(service.build(**body)).json["note"]
    assert "holds only 0.000000 USDG" in note
    wallet.fund((USDG, 10**8))
    note = Built(service.build(**body)).json["note"]
    assert "Warning" not in note, note
    wallet.approve(USDG, 10**8)
    yard.run(send(yard.node, MAKER, QueuedCall(token, call_data("setBlocked(address,bool)", wallet.address, True))))
    built = Built(service.build(**body))
    assert "blocks the recipient" in built.json["note"]
    assert wallet.refusal(*built.steps[-1]) is not None
