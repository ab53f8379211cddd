from datetime import timedelta

import pytest
from eth_account import Account
from eth_account.messages import encode_typed_data

from tickyard.kernel.errors import BadRequest, NoLiquidity, NotFound
from tickyard.kernel.units import Price
from tickyard.sandbox.node.abi import call_data
from tickyard.sandbox.node.process import NodeError
from tickyard.sandbox.node.transact import QueuedCall, send
from tickyard.sandbox.world.listing import by_symbol
from tickyard.sandbox.world.market import read_spots
from tickyard.sandbox.world.place import USDG
from tickyard.sandbox.world.trader import balance_of, deepest_spot, follow_clock, fund, move_price, trade_round
from tickyard.sandbox.world.walk import mid_e6

pytestmark = pytest.mark.node


def deepest(world, symbol):
    markets = [market for market in world.world.pools if market.symbol == symbol]
    return world.run(deepest_spot(world.node, markets))


def is_within(price: Price, wanted: Price, parts: int) -> bool:
    """Closer than one part in `parts`."""
    gap = abs(price.num * wanted.den - wanted.num * price.den)
    return gap * parts < wanted.num * price.den


# NVDA sorts after USDG and TSLA before it; five and a fifth times the price lie beyond all liquidity.
@pytest.mark.parametrize("symbol", ["NVDA", "TSLA"])
@pytest.mark.parametrize("percent", [20, 97, 99, 101, 104, 500])
def test_a_price_is_moved_to_within_a_basis_point(world, symbol, percent):
    before = deepest(world, symbol)
    price_e6 = before.price.num * 10**6 * percent // (before.price.den * 100)
    pool, price = world.run(move_price(world.node, world.world, symbol, price_e6))
    after = deepest(world, symbol)
    assert pool == before.market.pool == after.market.pool
    assert is_within(price, Price(price_e6, 10**6), 10_000)
    assert after.price.equals(price)
    assert after.depth_e6 >= before.depth_e6 * 99 // 100


@pytest.mark.parametrize("symbol", ["NVDA", "TSLA"])
@pytest.mark.parametrize("price_e6", [1, 10**15 - 1])
def test_the_ends_of_the_scale_can_be_reached(world, symbol, price_e6):
    _, price = world.run(move_price(world.node, world.world, symbol, price_e6))
    assert is_within(price, Price(price_e6, 10**6), 10_000)
    assert deepest(world, symbol).price.equals(price)


def test_moving_to_the_price_it_has_changes_nothing(world):
    _, price = world.run(move_price(world.node, world.world, "SPY", 700_000_000))
    assert world.run(move_price(world.node, world.world, "SPY", 700_000_000))[1].equals(price)


# No pool at all, never initialised, liquidity out of range, no deployment.
@pytest.mark.parametrize("symbol", ["AMC", "HPQ", "UAL", "SMR"])
def test_a_symbol_without_a_usable_pool_cannot_be_moved(world, symbol):
    with pytest.raises(NoLiquidity):
        world.run(move_price(world.node, world.world, symbol, 10_000_000))


def test_a_symbol_nobody_lists_cannot_be_moved(world):
    with pytest.raises(NotFound):
        world.run(move_price(world.node, world.world, "ZZZZ", 10_000_000))


def test_a_price_of_zero_is_refused(world):
    with pytest.raises(BadRequest):
        world.run(move_price(world.node, world.world, "NVDA", 0))


def test_a_paused_token_cannot_be_moved_and_does_not_stop_the_round(world):
    pause = QueuedCall(world.world.tokens["NVDA"], call_data("setPaused(bool)", True))
    world.run(send(world.node, world.world.maker, pause))
    with pytest.raises(NoLiquidity):
        world.run(move_price(world.node, world.world, "NVDA", 100_000_000))
    assert world.run(trade_round(world.node, world.world, world.now, seed=1)) > 30


def test_rounds_of_trades_pull_prices_near_the_walk_but_not_onto_it(world):
    moment = world.now + timedelta(hours=9)
    traded = [world.run(trade_round(world.node, world.world, moment, seed)) for seed in range(12)]
    assert all(30 < count <= 38 for count in traded)
    spots = [spot for spot in world.run(read_spots(world.node, world.world.pools)) if spot.is_usable]
    near = 0
    for spot in spots:
        listed = by_symbol()[spot.market.symbol]
        worth = Price(mid_e6(listed, moment) * listed.multiplier_e18, 10**24)
        assert not spot.price.equals(worth)
        near += is_within(spot.price, worth, 500)
    assert near > len(spots) * 3 // 4


def test_the_same_seed_trades_the_same(world):
    snapshot = world.rpc("evm_snapshot")
    rounds = []
    for _ in range(2):
        world.run(trade_round(world.node, world.world, world.now, seed=7))
        rounds.append(world.run(read_spots(world.node, world.world.pools)))
        world.rpc("evm_revert", snapshot)
        snapshot = world.rpc("evm_snapshot")
    assert rounds[0] == rounds[1]


def test_a_held_symbol_is_left_alone(world):
    _, price = world.run(move_price(world.node, world.world, "TSLA", 300_000_000))
    world.world.held.add("TSLA")
    for seed in range(8):
        world.run(trade_round(world.node, world.world, world.now, seed))
    assert deepest(world, "TSLA").price.equals(price)


def test_funding_adds_and_tells_the_balance(world):
    bob = world.world.wallets[2].address
    give = [("ETH", "1.5"), ("USDG", "10"), ("SERVICE", "1"), ("NVDA", "0.25")]
    told = [world.run(fund(world.node, world.world, bob, asset, amount)) for asset, amount in give]
    assert told == ["101.5", "510.000000", "1000000", "0.25"]
    assert world.run(balance_of(world.node, USDG, bob)) == 510 * 10**6


def test_funding_what_does_not_exist_is_not_found(world):
    with pytest.raises(NotFound):
        world.run(fund(world.node, world.world, world.world.maker, "SMR", "1"))


def test_the_chain_follows_the_clock_forward_only(world):
    later = world.now + timedelta(days=3)
    for moment in (later, later - timedelta(days=1)):
        world.run(follow_clock(world.node, moment))
        block = world.rpc("eth_getBlockByNumber", "latest", False)
        assert int(block["timestamp"], 16) >= int(later.timestamp())
        assert int(block["timestamp"], 16) < int(later.timestamp()) + 60


@pytest.mark.parametrize("form", ["vrs", "bytes"])
def test_a_signed_authorization_moves_dollars_once(world, form):
    demo, bob = world.world.wallets[0], world.world.wallets[2]
    types = ["address from", "address to", "uint256 value", "uint256 validAfter", "uint256 validBefore"]
    fields = [dict(zip(("type", "name"), text.split(), strict=True)) for text in [*types, "bytes32 nonce"]]
    until = int(world.now.timestamp()) + 3600
    values = [demo.address, bob.address, 5_000_000, 0, until, 7]
    message = dict(zip((field["name"] for field in fields), values, strict=True)) | {"nonce": (7).to_bytes(32, "big")}
    domain = {"name": "Global Dollar", "version": "1", "chainId": 4663, "verifyingContract": USDG}
    signable = encode_typed_data(domain, {"TransferWithAuthorization": fields}, message)
    signed = Account.sign_message(signable, demo.private_key)
    head = "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,"
    if form == "vrs":
        data = call_data(head + "uint8,bytes32,bytes32)", *values, signed.v, signed.r, signed.s)
    else:
        data = call_data(head + "bytes)", *values, bytes(signed.signature))
    before = world.run(balance_of(world.node, USDG, bob.address))
    world.run(send(world.node, world.world.maker, QueuedCall(USDG, data)))
    assert world.run(balance_of(world.node, USDG, bob.address)) == before + 5_000_000
    assert world.read(USDG, "authorizationState(address,bytes32)", demo.address, 7) == [1]
    with pytest.raises(NodeError, match="used or canceled"):
        world.run(send(world.node, world.world.maker, QueuedCall(USDG, data)))
