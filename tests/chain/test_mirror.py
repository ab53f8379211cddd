"""The mirror against the quoter, to the base unit, while everything that can move a pool moves it."""

from dataclasses import replace

import pytest

from tickyard.kernel.errors import UpstreamDown
from tickyard.market.swaps.fills import Trade
from tickyard.sandbox.world.place import TICK_SPACINGS, TRADING_DESK
from yards.mirroring import Bustle, Followed, asked, random_trade, signed

pytestmark = pytest.mark.node


def symbols_of(world, rng, count):
    """Tokens that between them have every tier."""
    by_fee = {}
    for pool in world.pools:
        if pool.is_live:
            by_fee.setdefault(pool.fee, []).append(pool.symbol)
    drawn = [rng.choice(by_fee[fee]) for fee in by_fee for _ in range(count // len(by_fee))]
    return sorted(set(drawn))


@pytest.mark.timeout(3000)
def test_ten_thousand_quotes_over_three_hundred_blocks_equal_the_quoters(world, proof):
    rng = proof.rng("mirror")
    blocks, quotes = proof.count(300), proof.count(10_000)
    symbols = symbols_of(world.world, rng, 16)
    bustle = Bustle(world, rng, symbols)
    tokens = [world.world.tokens[symbol] for symbol in symbols]
    seen = {"filled": 0, "dry": 0, "absent": 0, "reorganised": 0}

    async def compare(followed, count):
        for _ in range(count):
            token, trade = rng.choice(tokens), random_trade(rng)
            offered = followed.offer(token, trade)
            if offered is None:
                seen["absent"] += 1
                continue
            head, fills = offered
            assert head.hash == (await world.node.call("eth_getBlockByNumber", ["latest", False]))["hash"]
            told = await asked(world.node, followed.book, token, trade)
            assert fills == told, (token, trade, bustle.done)
            seen["filled" if told else "dry"] += 1

    async def proof_of_the_mirror():
        followed = Followed.over(world.node.url)
        async with followed.rpc:
            await followed.book.discover(tokens)
            for token in tokens:
                followed.offer(token, random_trade(rng))
            await followed.mirror.step()
            for block in range(blocks):
                snapshot = kept = None
                if rng.random() < 0.08 or block == blocks // 2:
                    snapshot, kept = await world.node.call("evm_snapshot", []), list(bustle.positions)
                for _ in range(rng.randint(1, 3)):
                    if await bustle.act() == "open":
                        await followed.book.discover(tokens)
                if rng.random() < 0.7:
                    await followed.mirror.step()
                if snapshot:
                    # The branch that we may have followed never was; another one grows past it.
                    await world.node.call("evm_revert", [snapshot])
                    bustle.positions[:] = kept
                    for _ in range(rng.randint(1, 6)):
                        await bustle.act()
                    seen["reorganised"] += 1
                    await followed.mirror.step()
                    # Whoever keeps the book looks again when a pool that it knows is not there.
                    await followed.book.discover(tokens)
                await followed.mirror.step()
                await compare(followed, quotes // blocks)
                # Whoever was absent has been asked for by now.
                await followed.mirror.step()

    world.run(proof_of_the_mirror())
    print(seen, bustle.done)
    assert seen["filled"] > quotes // 2
    assert seen["dry"] > quotes // 50
    assert seen["absent"] < quotes // 10
    assert seen["reorganised"]


def test_a_position_that_was_taken_away_on_a_branch_that_never_was_is_there_again(world):
    """Burning moves no token: the pool's price, liquidity and balances are the same on both branches."""
    [pool] = [pool for pool in world.world.pools if pool.symbol == "AAPL" and pool.is_live][:1]
    token = pool.token
    trades = [Trade.parse("buy", "usd", str(10**power)) for power in range(3, 8)]

    async def offers(followed):
        told = [followed.offer(token, trade)[1] for trade in trades]
        assert told == [await asked(world.node, followed.book, token, trade) for trade in trades]
        return told

    async def taken_back():
        bustle = Bustle(world, None, ["AAPL"])
        followed = Followed.over(world.node.url)
        spacing = TICK_SPACINGS[pool.fee]
        tick = abs(at := signed((await bustle.view(pool.pool, "slot0()"))[1])) // spacing * (1 if at >= 0 else -1)
        async with followed.rpc:
            await followed.book.discover([token])
            await bustle.call(TRADING_DESK, "add(address,(int24,int24,uint128)[])", pool.pool, [(7, 9, 10**17)])
            await bustle.call(TRADING_DESK, "add(address,(int24,int24,uint128)[])", pool.pool, [(-9, -7, 10**17)])
            followed.offer(token, trades[0])
            await followed.mirror.step()
            snapshot = await world.node.call("evm_snapshot", [])
            for low, high in ((7, 9), (-9, -7)):
                ends = ((tick + low) * spacing, (tick + high) * spacing)
                await bustle.as_desk(pool.pool, "burn(int24,int24,uint128)", *ends, 10**17)
            await followed.mirror.step()
            burned = await offers(followed)
            await world.node.call("evm_revert", [snapshot])
            for _ in range(3):
                await world.node.call("evm_mine", [])
            await followed.mirror.step()
            assert await offers(followed) != burned

    world.run(taken_back())


def test_a_pool_with_a_tick_that_we_never_heard_of_drops_the_mirror(world):
    """Collected and put in elsewhere in one go, the tokens are all there: only the bitmap tells."""
    [pool] = [pool for pool in world.world.pools if pool.symbol == "AAPL" and pool.is_live][:1]

    async def every_turn(mirror):
        for _ in range(len(mirror._held) + 1):
            await world.node.call("evm_mine", [])
            await mirror.step()

    async def unheard_of():
        followed = Followed.over(world.node.url)
        async with followed.rpc:
            await followed.book.discover([pool.token])
            followed.offer(pool.token, Trade.parse("buy", "usd", "1"))
            await followed.mirror.step()
            mirror = followed.mirror
            [at] = [at for at in mirror._held if at == pool.pool]
            held = mirror._held[at]
            # As if the logs of one position had been kept from us, and its tokens had been there before.
            ticks = dict(held.chart.ticks)
            first = min(ticks)
            del ticks[first]
            curve = replace(held.chart.spot.curve, ticks=held.chart.spot.curve.ticks[1:])
            chart = replace(held.chart, ticks=ticks, spot=replace(held.chart.spot, curve=curve))
            mirror._held[at] = replace(held, chart=chart, seen=None)
            with pytest.raises(UpstreamDown, match="contradicts"):
                await every_turn(mirror)
            assert followed.offer(pool.token, Trade.parse("buy", "usd", "1")) is None
            await mirror.step()
            trade = Trade.parse("buy", "usd", "1000000")
            assert followed.offer(pool.token, trade)[1] == await asked(world.node, followed.book, pool.token, trade)

    world.run(unheard_of())


def test_a_drop_in_the_middle_of_a_step_is_not_undone_by_the_step(world):
    """The audit of a quote runs beside the steps: what it found wrong must not come back with the next block."""
    token = next(pool.token for pool in world.world.pools if pool.is_live)
    trade = Trade.parse("buy", "usd", "100")

    async def drop_and_step():
        followed = Followed.over(world.node.url)
        async with followed.rpc:
            await followed.book.discover([token])
            followed.offer(token, trade)
            await followed.mirror.step()
            assert followed.offer(token, trade) is not None
            await world.node.call("evm_mine", [])
            ask = followed.rpc.eth_call

            async def ask_while_the_audit_ends(*values, **more):
                told = await ask(*values, **more)
                followed.mirror.drop("audit")
                return told

            followed.rpc.eth_call = ask_while_the_audit_ends
            await followed.mirror.step()
            assert followed.offer(token, trade) is None
            followed.rpc.eth_call = ask
            await followed.mirror.step()
            assert followed.offer(token, trade) is not None

    world.run(drop_and_step())
