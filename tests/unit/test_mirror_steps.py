"""The mirror step by step over a chain that a test can write down: what it holds, serves, doubts and lets go."""

import asyncio
from collections import Counter
from types import SimpleNamespace

import pytest

from tickyard.chain.v3.bitmap import TickLiquidity
from tickyard.chain.v3.events import TokensMoved
from tickyard.config.pinned import MAINNET
from tickyard.kernel.errors import UpstreamDown
from yards.written import FRESH_S, SIZE, World, block, pool

A, B, C = pool(1), pool(2), pool(3)


@pytest.fixture
def world():
    """Two pools, asked about and held at block 10."""
    made = World()
    assert made.serves(A, B) is None
    assert made.step() == {A.token, B.token}
    assert made.serves(A, B) == 10
    made.built.clear()
    return made


def test_what_was_confirmed_is_served_for_so_long_and_only_where_all_of_it_is(world):
    confirmed = world.clock.now
    assert (world.serves(A), world.serves(B), world.serves(A, C)) == (10, 10, None)
    world.clock.now = confirmed + FRESH_S
    assert world.serves(A) == 10
    world.clock.now += 0.01
    assert world.serves(A) is None


def test_a_pool_whose_tokens_do_not_move_is_shown_and_not_traded_with(world):
    assert world.serves(A, to_trade=True) == 10
    world.frozen.add(A.address)
    world.block = block(11)
    world.step()
    assert (world.serves(A), world.serves(A, to_trade=True), world.serves(B, to_trade=True)) == (11, None, 11)
    late = World()
    late.frozen.add(A.address)
    late.serves(A)
    late.step()
    assert (late.serves(A), late.serves(A, to_trade=True)) == (10, None)


def test_who_was_asked_about_within_a_minute_is_followed_the_latest_first_and_with_them_all_others():
    world = World()
    world.every = [C, A]
    assert world.mirror.followed() == []
    world.serves(A)
    world.clock.now += 1
    world.serves(B)
    assert (world.mirror.hot(), world.mirror.followed()) == ([B, A], [B, A, C])
    world.clock.now += 58.9
    assert world.mirror.hot() == [B, A]
    world.clock.now += 0.1
    assert (world.mirror.hot(), world.mirror.followed()) == ([B], [B, C, A])
    world.clock.now += 1
    assert (world.mirror.hot(), world.mirror.followed()) == ([], [])
    many = [pool(number) for number in range(10, 420)]
    world.every = many
    assert world.mirror.followed() == []
    world.serves(A)
    assert world.mirror.followed() == [A, *many[:399]]
    world.serves(*many)
    assert len(world.mirror.hot()) == 400


def test_what_is_proven_at_a_block_is_not_asked_again_there(world):
    world.witnessed.clear()
    world.serves(C)
    assert world.step() == {C.token}
    assert (world.witnessed, world.built) == ([], [[C.address]])
    assert world.serves(A, B, C) == 10
    world.clock.now += FRESH_S
    world.step()
    assert world.serves(A) == 10, "confirmed anew"


def test_a_newer_block_is_gone_to_when_the_node_bears_every_pool_out(world):
    world.block = block(12)
    world.witnessed.clear()
    assert world.step() == frozenset()
    assert world.log_reads == [([A.address, B.address], 10, 12)]
    assert (world.serves(A, B), sorted(world.witnessed), world.built) == (12, [A.address, B.address], [])


def test_a_log_moves_a_pool_and_one_that_does_not_fit_has_it_read_anew(world):
    world.block, world.usdg = block(11), Counter({A.address: 5})
    world.logs = [
        SimpleNamespace(pool=C.address, event=TokensMoved(-(10**30), 0)),
        SimpleNamespace(pool=A.address, event=TokensMoved(0, 5)),
    ]
    assert world.step() == frozenset()
    assert (world.serves(A, B), world.built) == (11, [])
    assert world.mirror._held[A.address].balances == (SIZE, SIZE + 5)
    world.block = block(12)
    world.logs = [
        SimpleNamespace(pool=A.address, event=TokensMoved(0, -(10**30))),
        SimpleNamespace(pool=A.address, event=TokensMoved(0, 5)),
    ]
    assert world.step() == {A.token}
    assert (world.serves(A, B), world.built) == (12, [[A.address]])


def test_a_pool_that_the_node_does_not_bear_out_is_read_anew(world):
    world.block, world.usdg = block(11), Counter({B.address: 1})
    assert world.step() == {B.token}
    assert (world.serves(A, B), world.built) == (11, [[B.address]])
    # And one that cannot be read is let go.
    world.block, world.usdg = block(12), Counter({B.address: 2})
    world.failing = {B.address}
    assert world.step() == frozenset()
    assert (world.serves(A), world.serves(B)) == (12, None)


@pytest.mark.parametrize(
    ("newest", "reads", "rebuilt"),
    [(block(1_010), 1, False), (block(1_011), 0, True), (block(10, branch=1), 0, True)],
    ids=["a thousand blocks", "one more", "another branch"],
)
def test_logs_are_read_over_a_thousand_blocks_of_one_branch(world, newest, reads, rebuilt):
    world.block = newest
    world.step()
    assert (len(world.log_reads), world.built) == (reads, [[A.address, B.address]] if rebuilt else [])
    assert world.serves(A, B) == newest.number


def test_where_the_logs_do_not_go_on_from_our_block_all_is_read_anew(world):
    world.block, world.logs = block(11), None
    world.step()
    assert (world.serves(A, B), world.built) == (11, [[A.address, B.address]])


def test_a_node_that_is_behind_stops_us_while_we_are_fresh_and_leads_us_when_we_are_not(world):
    world.block = block(9)
    assert world.step() == frozenset()
    assert world.serves(A) is None
    assert world.step() == {A.token, B.token}
    assert world.serves(A) == 9


@pytest.mark.parametrize("says", [1_000_010, 1_000_012])
def test_a_block_with_two_times_is_not_believed(world, says):
    world.block, world.time_says = block(11), says
    with pytest.raises(UpstreamDown, match="two times"):
        world.step()
    assert world.serves(A) == 10, "what was proven before is still fresh"


def test_a_time_that_differs_where_pools_are_read_drops_everything(world):
    world.serves(C)
    world.built_at = 1_000_011
    with pytest.raises(UpstreamDown, match="two times"):
        world.step()
    assert (world.serves(A), world.mirror._held) == (None, {})


def test_a_tick_that_we_never_heard_of_drops_everything(world):
    world.block, world.extra_ticks = block(11), {11}
    with pytest.raises(UpstreamDown, match="contradicts"):
        world.step()
    assert (world.serves(A), world.mirror.block, world.mirror._held) == (None, None, {})
    assert world.forgotten == [A.address, B.address]
    world.extra_ticks = set()
    assert world.step() == {A.token, B.token}


def test_every_pool_has_its_turn_to_be_compared_with_the_whole_bitmap(world):
    known = ["a", "b", "c", "d"]
    turns = [world.mirror._next_to_audit(known) for _ in range(8)]
    assert Counter(turns) == dict.fromkeys(known, 2)
    assert world.mirror._next_to_audit([]) is None


def test_who_was_dropped_meanwhile_stays_dropped(world):
    world.block, world.meanwhile = block(11), lambda: world.mirror.drop("audit")
    assert world.step() == frozenset()
    assert (world.serves(A), world.mirror._held) == (None, {})


def test_a_crowded_pool_is_left_alone_for_a_minute(world):
    world.crowded = {C.address}
    world.serves(C)
    assert world.step() == frozenset()
    assert (world.built.pop(), world.serves(C), world.serves(A)) == ([C.address], None, 10)
    for wait_s, looks in ((59.9, []), (0.1, [[C.address]])):
        world.clock.now += wait_s
        world.serves(A, B, C)
        world.step()
        assert world.built == looks


def test_a_pool_with_more_than_a_thousand_ticks_is_not_asked_about_tick_by_tick(world):
    held = world.mirror._held[A.address]
    for count, is_built in ((1_000, False), (1_001, True)):
        ticks = {60 * at: TickLiquidity(SIZE, 0) for at in range(count)}
        chart = SimpleNamespace(ticks=ticks, spot=held.chart.spot)
        many = SimpleNamespace(chart=chart, pool=A, map_words=(), witness=lambda _: held.witness(MAINNET))
        many.is_borne_out, many.covers, many.proven = held.is_borne_out, held.covers, held.proven
        proven, broken = asyncio.run(world.mirror._witness(world.block, [A], {A.address: many}, 10**9))
        assert (list(proven), broken) == (([], [A]) if is_built else ([A.address], []))


def test_the_pools_with_most_ticks_go_until_the_rest_can_be_borne(world):
    def lightened(*counts):
        pools = [pool(number + 1) for number in range(len(counts))]
        world.mirror._crowded.clear()
        world.mirror._held = {
            each.address: SimpleNamespace(chart=SimpleNamespace(ticks=range(count)), pool=each)
            for each, count in zip(pools, counts, strict=True)
        }
        world.mirror._lighten()
        return [number for number, each in enumerate(pools) if each.address in world.mirror._held]

    assert lightened(9_000, 11_000) == [0, 1]
    assert lightened(9_000, 11_001) == [0]
    assert lightened(1, 9_000, 11_000, 8_000, 2_000) == [0, 1, 3, 4]
    assert lightened(1, 18_000, 19_000, 17_000, 2_000) == [0, 3, 4]


def test_pools_that_nobody_asks_about_take_turns_forty_at_a_time():
    world, others = World(), list(range(100))
    turns = [world.mirror._turn_of(others) for _ in range(4)]
    assert turns == [others[:40], others[40:80], others[80:], others[20:60]]
    assert world.mirror._turn_of([]) == []


def test_reading_pools_from_nothing_ends_in_time_for_the_others():
    world = World()
    many = [pool(number) for number in range(1, 71)]
    world.serves(*many)
    world.build_s = 0.3
    world.step()
    assert [len(part) for part in world.built] == [20, 20]
    world.build_s = 0.0
    world.step()
    assert [len(part) for part in world.built] == [20, 20, 20, 10]
    assert world.serves(*many) == 10


def test_a_pool_that_nobody_follows_any_more_is_let_go(world):
    world.clock.now += 61
    world.serves(B)
    world.block = block(11)
    world.step()
    assert list(world.mirror._held) == [B.address]
