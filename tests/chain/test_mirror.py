"""The mirror against the quoter, to the base unit, while everything that can move a pool moves it."""

import pytest

from yards.mirroring import Bustle, Followed, asked, random_trade

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
            for _ in range(blocks):
                snapshot = kept = None
                if rng.random() < 0.08:
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
