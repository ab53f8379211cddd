"""The chain is down, slow or lies. Never a wrong number, never a 500, never late."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import UpstreamDown
from yards import paperyard
from yards.patience import STUCK_S, beside_naps

word = paperyard.paper.word
ME = "0x" + "ab" * 20
SYMBOL = "HOOD"
ROUTES = {
    "quote": ("GET", f"/v1/quote?symbol={SYMBOL}&side=buy&amount=100"),
    "build": ("POST", {"symbol": SYMBOL, "side": "sell", "amount": "1", "denom": "token", "recipient": ME}),
    "stats": ("GET", f"/v1/stats/{SYMBOL}"),
    "portfolio": ("GET", f"/v1/portfolio/{ME}"),
    "markets": ("GET", "/v1/markets?limit=5"),
}
# An answer's readings share five seconds (chain/rpc/client.py); after that it has one to be said.
BUDGET_S, SAY_S = 5.0, 1.0


def live(scenario, tmp_path):
    async def run():
        async with asyncio.timeout(STUCK_S), paperyard.open_yard(tmp_path) as yard:
            await scenario(yard)

    asyncio.run(run())


async def ask(yard, route):
    method, what = ROUTES[route]
    return await (yard.raw(what) if method == "GET" else yard.post("/v1/trade/build", what))


async def ask_all(yard, routes=tuple(ROUTES)):
    answers = await asyncio.gather(*(ask(yard, route) for route in routes))
    return dict(zip(routes, answers, strict=True))


def forget(yard):
    """What a front cache may still have for some seconds is not what this is about."""
    for tell in yard.deps.market.registry.on_change:
        tell()


# --- the node is not well

MODES = ["reset", "429", "rpc-throttle", "html", "truncated", "wrong-id", "500", "cut-off", "hang"]


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_a_node_that_is_not_well_is_502_in_time(tmp_path):
    """Every mode has a service of its own, so that all of them can be waited for at once."""

    async def bad_day(yard, mode):
        clock = WallClock()
        if mode == "another chain":
            yard.node.chain_id = 1
            yard.node.drop_connections()
        elif mode == "gone":
            yard.node._server.close()
            yard.node.drop_connections()
        else:
            yard.node.mode = mode
        answers, took, budget = await beside_naps(clock, BUDGET_S, ask_all(yard))
        assert {route: answer.status for route, answer in answers.items()} == dict.fromkeys(ROUTES, 502), mode
        for answer in answers.values():
            assert answer.error["code"] == "upstream_error"
            assert "secret-key" not in answer.error["message"]
        assert took < budget + SAY_S, mode

    async def run():
        async with AsyncExitStack() as stack:
            modes = [*MODES, "another chain", "gone"]
            chain = paperyard.LyingChain()
            opening = [paperyard.open_yard(tmp_path / mode, chain=chain) for mode in modes]
            yards = [await stack.enter_async_context(each) for each in opening]
            # Once in peace, so that nothing has to be worked out on the bad day itself.
            assert {answer.status for answer in (await ask_all(yards[0])).values()} == {200}
            forget(yards[0])
            await asyncio.gather(*(bad_day(*pair) for pair in zip(yards, modes, strict=True)))

    asyncio.run(run())


@pytest.mark.slow
def test_a_node_that_was_throttled_once_is_asked_again(tmp_path):
    async def scenario(yard):
        yard.node.script = ["429"]
        assert (await ask(yard, "quote")).status == 200

    live(scenario, tmp_path)


# --- the node lies

SLOT0, LIQUIDITY, BALANCE, MULTIPLIER = "3850c7bd", "1a686502", "70a08231", "a60bf13d"
EXACT_IN, SUPPLY, ALLOWANCE = "c6a5026a", "18160ddd", "dd62ed3e"
POOL_ROUTES = ("quote", "build", "stats")


def pool_of(yard, fee=500):
    token = next(token for token, listed in yard.chain.tokens.items() if listed.symbol == SYMBOL)
    return yard.chain.by_pair[token, fee]


LIES = {
    "a pool loses its price": ((*POOL_ROUTES, "markets"), SLOT0, lambda good: bytes(32) + good[32:]),
    "a price below all prices": (POOL_ROUTES, SLOT0, lambda good: word(5) + good[32:]),
    "slot0 is one word short": (POOL_ROUTES, SLOT0, lambda good: good[:-32]),
    "slot0 is one byte short": (POOL_ROUTES, SLOT0, lambda good: good[:-1]),
    "slot0 is empty": (POOL_ROUTES, SLOT0, lambda good: b""),
    "slot0 reverts": (POOL_ROUTES, SLOT0, lambda good: None),
    "liquidity over 128 bits": (POOL_ROUTES, LIQUIDITY, lambda good: word(1 << 128)),
    "liquidity reverts": (POOL_ROUTES, LIQUIDITY, lambda good: None),
    "short balances": (("build", "stats", "portfolio"), BALANCE, lambda good: good[:31]),
    "no balances": (("build", "stats", "portfolio", "markets"), BALANCE, lambda good: None),
    "a multiplier of zero": (("stats", "portfolio"), MULTIPLIER, lambda good: word(0)),
    "a multiplier beyond sense": (("stats", "portfolio"), MULTIPLIER, lambda good: word(10**25)),
    "no supply": (("stats",), SUPPLY, lambda good: None),
    "no allowance": (("build",), ALLOWANCE, lambda good: None),
    "more than the price": (("quote", "build"), EXACT_IN, lambda good: word(10**30) + good[32:]),
    "an amount over 255 bits": (("quote", "build"), EXACT_IN, lambda good: word(2**256 - 1) + good[32:]),
    "a price the wrong way": (("quote", "build"), EXACT_IN, lambda good: good[:32] + word(7) + good[64:]),
    "a quote one word short": (("quote", "build"), EXACT_IN, lambda good: good[:-32]),
}


@pytest.mark.slow
def test_a_lie_is_502_and_the_truth_is_served_again(tmp_path):
    async def scenario(yard):
        sample = pool_of(yard)
        quoter = yard.deps.settings.contracts.quoter
        token = yard.chain.pools[sample][0].token
        for name, (routes, selector, twist) in LIES.items():
            spoiled = {SLOT0: sample, LIQUIDITY: sample, EXACT_IN: quoter}.get(selector, "*")
            good = await good_answer(yard, spoiled, selector, token)
            yard.chain.says[spoiled, selector] = twist(good)
            forget(yard)
            for route, answer in (await ask_all(yard, routes)).items():
                assert answer.status == 502, (name, route, answer.body)
            yard.chain.says.clear()
            forget(yard)
            for route, answer in (await ask_all(yard, routes)).items():
                assert answer.status == 200, (name, route, answer.body)

    async def good_answer(yard, to, selector, token):
        if selector != EXACT_IN:
            return yard.chain.call(token if to == "*" else to, bytes.fromhex(selector) + bytes(64))
        usdg = yard.deps.settings.contracts.usdg
        types, values = "(address,address,uint256,uint24,uint160)", (usdg, token, 10**8, 500, 0)
        return yard.chain.call(to, bytes.fromhex(selector) + paperyard.paper.encode([types], [values]))

    live(scenario, tmp_path)


@pytest.mark.slow
def test_when_every_call_failed_nobody_is_told_that_there_is_nothing(tmp_path):
    async def scenario(yard):
        for harm in ("fails_all", "cuts"):
            setattr(yard.chain, harm, 1)
            forget(yard)
            for route, answer in (await ask_all(yard)).items():
                assert answer.status == 502, (harm, route, answer.body)
            setattr(yard.chain, harm, 0)

    live(scenario, tmp_path)


@pytest.mark.slow
def test_a_node_with_little_gas_is_asked_in_pieces_at_one_block(tmp_path):
    async def scenario(yard):
        whole = await ask_all(yard)
        yard.chain.longest = 60_000
        forget(yard)
        del yard.node.seen[:]
        pieces = await ask_all(yard)
        for route in ("portfolio", "markets", "stats", "quote"):
            assert (pieces[route].status, pieces[route].body) == (200, whole[route].body), route
        blocks = [body["params"][1] for body in yard.node.seen if body["method"] == "eth_call"]
        assert hex(yard.chain.block) in blocks, "pieces agree on a block"

    live(scenario, tmp_path)


@pytest.mark.slow
def test_when_only_the_quotes_revert_there_is_no_liquidity(tmp_path):
    async def scenario(yard):
        yard.chain.says[yard.deps.settings.contracts.quoter, EXACT_IN] = None
        for route in ("quote", "build"):
            answer = await ask(yard, route)
            assert (answer.status, answer.error["code"]) == (422, "no_liquidity")

    live(scenario, tmp_path)


@pytest.mark.slow
def test_a_chain_whose_time_goes_backwards_is_not_read(tmp_path):
    async def scenario(yard):
        assert {answer.status for answer in (await ask_all(yard)).values()} == {200}
        yard.chain.time -= 29
        forget(yard)
        assert {answer.status for answer in (await ask_all(yard)).values()} == {200}, "nodes may differ a little"
        yard.chain.time -= 2
        forget(yard)
        assert {answer.status for answer in (await ask_all(yard)).values()} == {502}

    live(scenario, tmp_path)


@pytest.mark.slow
def test_a_time_that_has_not_come_is_neither_served_nor_remembered(tmp_path):
    async def scenario(yard):
        honest = yard.chain.time
        for ahead in (3600, 2**39, 2**40, 2**200):
            yard.chain.time = honest + ahead
            forget(yard)
            assert {answer.status for answer in (await ask_all(yard)).values()} == {502}, ahead
            yard.chain.time = honest
            assert {answer.status for answer in (await ask_all(yard)).values()} == {200}, ahead

    live(scenario, tmp_path)


@pytest.mark.slow
def test_a_time_that_is_a_little_ahead_is_not_held_against_the_next_answer(tmp_path):
    async def scenario(yard):
        for ahead in (590, 0):
            yard.chain.time = WallClock().seconds() + ahead
            forget(yard)
            assert {answer.status for answer in (await ask_all(yard)).values()} == {200}, ahead

    live(scenario, tmp_path)


# --- what the factory says is checked
FEE, TOKEN0, TOKEN1 = "ddca3f43", "0dfe1681", "d21220a7"


def open_pool(yard, token, address):
    model = yard.chain.pools[pool_of(yard)][0]
    is_0 = int(token, 16) < int(yard.deps.settings.contracts.usdg, 16)
    yard.chain.pools[address] = (type(model)("NEW", address, token, 500, model.shape, is_0), 2**96, 10**18)
    yard.chain.by_pair[token, 500] = address


@pytest.mark.slow
def test_a_pool_is_used_only_when_it_says_what_the_factory_said(tmp_path):
    async def scenario(yard):
        pools, addresses = yard.deps.market.pools, yard.deps.market.registry.addresses()
        lonely = [address for address in addresses if not pools.of(address)]
        lies = ((FEE, word(3000)), (TOKEN0, word(0xABC)), (TOKEN1, word(0xABC)))
        for number, (selector, lie) in enumerate(lies):
            token, new = lonely[number], f"0x{0xCD00 + number:040x}"
            open_pool(yard, token, new)
            yard.chain.says[new, selector] = lie
            await pools.discover(addresses)
            assert pools.of(token) == (), selector
            yard.chain.says.clear()
            await pools.discover(addresses)
            assert [pool.address for pool in pools.of(token)] == [new]

    live(scenario, tmp_path)


@pytest.mark.slow
def test_a_node_that_fails_a_getter_leaves_what_was_known(tmp_path):
    async def scenario(yard):
        pools, addresses = yard.deps.market.pools, yard.deps.market.registry.addresses()
        known = {address: pools.of(address) for address in addresses}
        token = next(address for address in addresses if not known[address])
        new = "0x" + "cd" * 20
        open_pool(yard, token, new)
        yard.chain.says[new, FEE] = None
        with pytest.raises(UpstreamDown):
            await pools.discover(addresses)
        assert {address: pools.of(address) for address in addresses} == known

    live(scenario, tmp_path)


@pytest.mark.slow
def test_a_pool_without_a_price_is_looked_at_again_until_it_has_one(tmp_path):
    """Also when the factory has nothing new to say."""

    async def scenario(yard):
        pools, addresses = yard.deps.market.pools, yard.deps.market.registry.addresses()
        token = next(address for address in addresses if not pools.of(address))
        open_pool(yard, token, "0x" + "cd" * 20)
        yard.chain.says["0x" + "cd" * 20, SLOT0] = bytes(32 * 7)
        await pools.discover(addresses)
        [pool] = pools.of(token)
        assert pools.last_sqrt_price(pool) is None
        yard.chain.says.clear()
        await pools.discover([])
        assert pools.last_sqrt_price(pool) == 2**96

    live(scenario, tmp_path)
