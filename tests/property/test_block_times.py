"""From moments to blocks: a bound is on the right side of its moment, and no further than it must be."""

from hypothesis import example, given
from hypothesis import strategies as st

from tickyard.payments.proof import span
from tickyard.payments.proof.span import BlockTimes

NEAR_S = 600


def taught(*pairs):
    times = BlockTimes()
    for number, timestamp in pairs:
        times.learn(number, timestamp)
    return times


@st.composite
def known_blocks(draw):
    """Blocks of one chain, in any order: later ones are never earlier, and several may share a second."""
    gaps = draw(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 900)), min_size=1, max_size=12))
    blocks, number, moment = [], draw(st.integers(0, 100)), draw(st.integers(10_000, 20_000))
    for blocks_on, seconds_on in gaps:
        number, moment = number + blocks_on, moment + seconds_on
        blocks.append((number, moment))
    return draw(st.permutations(blocks))


@given(known_blocks(), st.integers(9_000, 31_000))
@example([(5, 100), (6, 100), (7, 100)], 100)
def test_among_known_blocks_the_bounds_are_the_nearest_on_either_side(blocks, moment):
    times = taught(*blocks)
    assert {number: times.timestamp(number) for number, _ in blocks} == dict(blocks)
    assert times.timestamp(10**9) is None
    earlier = [number for number, at in blocks if at < moment]
    later = [number for number, at in blocks if at > moment]
    newest = max(number for number, _ in blocks)
    if earlier:
        assert times.before(moment) == times.before(moment, tries=3) == max(earlier)
    assert times.after(moment, is_sure=True) == min(later, default=newest)
    likely = times.after(moment)
    if not later or dict(blocks)[min(later)] - moment <= NEAR_S:
        assert likely == min(later, default=newest)
    else:
        # Somewhere between the known ones around it.
        assert max((number for number, at in blocks if at <= moment), default=-1) < likely <= min(later)


@given(st.integers(1, 12), st.integers(1, 4_000), st.integers(0, 3))
def test_before_all_that_is_known_a_steady_chain_is_dated_early_enough_and_four_times_earlier_each_try(
    pace, ago, tries
):
    first, last, start = 1_000_000, 1_001_000, 50_000_000
    times = taught((first, start), (last, start + 1_000 * pace))
    found = times.before(start - ago, tries=tries)
    back = first - found
    assert back * pace > ago, "not before its moment"
    assert back <= (2 * ago / pace + 64) * 4**tries
    assert back >= 4**tries * (first - times.before(start - ago)) - 4**tries


@given(st.integers(1, 12), st.integers(1, 999))
def test_long_after_its_moment_a_known_block_is_come_back_from_but_never_past_it(pace, share):
    first, last, start = 1_000_000, 1_100_000, 50_000_000
    times = taught((first, start), (last, start + 100_000 * pace))
    moment = start + 100 * share * pace
    when = start + (times.after(moment) - first) * pace
    assert 0 < when - moment <= NEAR_S


def test_what_is_known_to_be_too_early_is_never_come_back_to():
    """On a chain that stood still for long a guess would lie far before it."""
    times = taught((0, 0), (10, 1_000), (12, 9_000), (90_000, 10_000))
    assert times.after(1_000) == times.after(2_000) == 11


def test_nothing_is_before_the_first_block():
    assert taught((10, 1_000), (20, 1_020)).before(1) == 0
    assert taught((10, 10_000), (20, 10_010)).after(9) == 0


def test_without_a_pace_a_block_takes_a_second():
    """One block, two of the same moment, two too near each other: nothing to go by."""
    for blocks in ([(5_000, 9_000)], [(4_000, 9_000), (5_000, 9_000)], [(4_991, 9_000), (5_000, 9_009)]):
        times, oldest = taught(*blocks), blocks[0][0]
        assert times.before(8_000) == oldest - 2 * 1_000 - 64
        assert times.after(7_000) == oldest - 2_000 + NEAR_S // 2
    times = taught((4_991, 9_000), (5_011, 9_010))
    assert times.before(8_000) == 4_991 - 2 * 2_000 - 64


def test_news_drive_out_what_they_contradict_and_nothing_else():
    told = {10: 100, 20: 120, 30: 140, 40: 160}
    for number, at, left in (
        (25, 130, [10, 20, 25, 30, 40]),
        (20, 121, [10, 20, 30, 40]),
        (20, 119, [10, 20, 30, 40]),
        (20, 120, [10, 20, 30, 40]),
        (25, 120, [10, 20, 25, 30, 40]),
        (25, 140, [10, 20, 25, 30, 40]),
        (25, 119, [10, 25, 30, 40]),
        (25, 141, [10, 20, 25, 40]),
        (30, 100, [10, 30, 40]),
        (5, 200, [5]),
    ):
        times = taught(*told.items(), (number, at))
        assert [each for each in range(60) if times.timestamp(each) is not None] == left
        assert times.timestamp(number) == at
        assert len(times._known) == len(left), "a block has two times"


def test_of_very_many_blocks_the_oldest_are_forgotten(monkeypatch):
    monkeypatch.setattr(span, "_KEPT", 5)
    times = taught(*((number, 2 * number) for number in range(1, 9)))
    assert [number for number in range(10) if times.timestamp(number) is not None] == [4, 5, 6, 7, 8]
