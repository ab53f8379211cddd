"""What the mirror tells of itself and of the pools that moved, and that one pool's trouble is not another's."""

from contextlib import suppress

import pytest

from tickyard.chain.v3.events import Swapped, TokensMoved
from tickyard.chain.v3.math import swap
from tickyard.kernel.errors import UpstreamDown
from tickyard.market.mirror import mirror
from tickyard.observe import metrics
from yards.written import SIZE, World, block, pool

A, B, C = pool(1), pool(2), pool(3)
COUNTED = [
    *((metrics.mirror_drops, name) for name in ("branch", "misfit", "crowded", "audit", "time")),
    *((metrics.mirror_steps, name) for name in ("ok", "behind")),
    *((metrics.mirror_audits, name) for name in ("same", "different")),
]


def figures():
    return {name: counter.labels(name)._value.get() for counter, name in COUNTED}


@pytest.fixture
def world():
    made = World()
    made.serves(A, B)
    made.step()
    made.before = figures()
    return made


def counted(world):
    return {name: now - world.before[name] for name, now in figures().items() if now != world.before[name]}


class Log:
    def __init__(self, which, event):
        self.pool, self.event = which.address, event


def test_a_step_counts_and_so_does_the_pool_that_was_compared(world):
    world.block = block(11)
    world.step()
    assert counted(world) == {"ok": 1, "same": 1}
    assert metrics.mirror_pools._value.get() == 2
    world.frozen, world.block = {A.address}, block(12)
    world.step()
    assert metrics.mirror_pools._value.get() == 1


def test_a_step_has_the_time_in_which_it_is_of_use(world):
    world.deadlines.clear()
    world.block = block(11)
    world.step()
    assert world.deadlines == [3.0, 4.0]


@pytest.mark.parametrize(
    ("change", "counts"),
    [
        (lambda world: setattr(world, "logs", None), {"ok": 1, "branch": 1}),
        (lambda world: setattr(world, "logs", [Log(A, TokensMoved(-(10**30), 0))]), {"ok": 1, "misfit": 1, "same": 1}),
        (lambda world: setattr(world, "block", block(9)), {"behind": 1}),
        (lambda world: setattr(world, "extra_ticks", {11}), {"different": 1, "audit": 1}),
        (lambda world: (setattr(world, "logs", None), setattr(world, "built_at", 7)), {"branch": 1, "time": 1}),
        (
            lambda world: (setattr(world, "logs", None), world.crowded.add(B.address)),
            {"ok": 1, "branch": 1, "crowded": 1},
        ),
    ],
    ids=["branch", "misfit", "behind", "audit", "time", "crowded"],
)
def test_every_reason_to_let_go_is_counted_under_its_name(world, change, counts):
    world.block = block(11)
    change(world)
    with suppress(UpstreamDown):
        world.step()
    assert counted(world) == counts


@pytest.mark.parametrize("down", [True, False])
def test_the_tokens_are_told_whose_price_has_moved(world, down):
    curve = world.mirror._held[A.address].chart.spot.curve
    made = swap(curve, zero_for_one=down, amount=10**15)
    amounts = (made.amount_in, -made.amount_out) if down else (-made.amount_out, made.amount_in)
    world.logs = [Log(A, Swapped(*amounts, made.sqrt_price_after, SIZE, made.tick_after))]
    world.moved[A.address] = (made.sqrt_price_after, made.tick_after)
    world.block, world.usdg[A.address] = block(11), amounts[1]
    world.tokens[A.address] = amounts[0]
    assert world.step() == {A.token}
    assert world.built == [[A.address, B.address]], "from its logs, and not anew"
    assert world.serves(A, B) == 11


def test_a_pool_that_is_not_as_we_believe_is_not_compared_with_its_bitmap(world):
    world.block, world.extra_ticks = block(11), {11}
    world.usdg.update({A.address: 1, B.address: 1})
    assert world.step() == {A.token, B.token}
    assert "different" not in counted(world)


def test_an_answer_that_makes_no_sense_bears_nothing_out(world):
    world.block, world.nonsense = block(11), {A.address}
    assert world.step() == {A.token}
    assert world.built[1:] == [[A.address]]


@pytest.mark.parametrize("trouble", ["crowded", "failing"])
def test_a_pool_that_cannot_be_held_keeps_no_other_from_it(trouble):
    world = World()
    setattr(world, trouble, {A.address})
    world.serves(A, B, C)
    assert world.step() == {B.token, C.token}
    assert (world.serves(B, C), world.serves(A)) == (10, None)


def test_after_each_step_there_are_no_more_ticks_than_can_be_borne(world, monkeypatch):
    monkeypatch.setattr(mirror, "_TICKS_IN_ALL", 3)
    world.block = block(11)
    world.step()
    assert len(world.mirror._held) == 1
