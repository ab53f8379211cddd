"""Which node is asked, how long one that failed rests, and what a caller is told: no sockets, and time by hand."""

import asyncio
from random import Random

import pytest

from tickyard.chain.rpc.endpoint import NodeUrl
from tickyard.chain.rpc.failover import Failover
from tickyard.chain.rpc.freshness import BlockAge
from tickyard.chain.rpc.trouble import (
    ForeignChain,
    Garbage,
    Lagging,
    NodeUnreachable,
    Refused,
    RpcError,
    Stale,
    Throttled,
)
from tickyard.kernel.errors import UpstreamDown

BUDGET_S = 8.0


class Clock:
    def __init__(self):
        self.now = 100.0
        self.slept = []

    def monotonic(self):
        return self.now

    def seconds(self):
        return int(self.now)

    async def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds


class Middle(Random):
    """Luck without luck: always the upper end."""

    def uniform(self, low, high):
        assert (low, high) == (0.5, 1.0)
        return high


class Scripted(NodeUrl):
    """Does what the script says, again and again its last line: fails, or answers with its own number."""

    def __init__(self, index, clock, asked, *script):
        super().__init__("http://nowhere", index, chain_id=1, max_bytes=1, max_lanes=1)
        self.clock, self.asked, self.script = clock, asked, list(script)

    async def post(self, body, read, *, is_check=False):
        self.asked.append((self.index, "check" if is_check else body.decode()))
        does = self.script.pop(0) if len(self.script) > 1 else self.script[0] if self.script else None
        self.clock.now += 0.001
        if isinstance(does, Exception):
            raise does
        return (does if is_check else self.index) if isinstance(does, int) else self.index


def nodes(*scripts, observe=None, age=None):
    clock, asked = Clock(), []
    endpoints = [Scripted(index, clock, asked, *script) for index, script in enumerate(scripts)]
    if age is not None:
        age = BlockAge(clock, age)
        age.judged = lambda read: read
    made = Failover(endpoints, clock=clock, rng=Middle(), budget_s=BUDGET_S, try_s=3.0, observe=observe, age=age)
    return made, clock, asked


def ask(made, **how):
    return asyncio.run(made.ask("eth_call", b"body", bytes, **how))


def order(asked):
    return [index for index, _ in asked]


@pytest.mark.parametrize(
    ("trouble", "words", "retry"),
    [
        (NodeUnreachable(), "did not answer", None),
        (Garbage(), "did not answer", None),
        (Lagging(), "does not have this block", None),
        (Stale(), "is behind the chain", None),
        (Throttled(retry_after_s=7), "throttling", 7),
        (ForeignChain(), "another chain", None),
    ],
)
def test_who_gives_up_is_told_why(trouble, words, retry):
    made, _, _ = nodes((trouble,))
    with pytest.raises(UpstreamDown, match=words) as told:
        ask(made)
    assert told.value.retry_after_s == retry


@pytest.mark.parametrize(("count", "tries"), [(1, 3), (2, 3), (3, 4), (5, 6)])
def test_every_node_is_asked_and_then_one_more_but_three_times_at_least(count, tries):
    made, clock, asked = nodes(*[(NodeUnreachable(),)] * count)
    with pytest.raises(UpstreamDown):
        ask(made)
    assert len(asked) == tries
    # The first that is asked again has rested for the longest.
    assert order(asked) == [*range(count), *[0] * (tries - count)]
    if count == 1:
        # A pause before one that rests, longer each time, and never beyond its rest.
        assert clock.slept == [pytest.approx(0.2), pytest.approx(0.5 - 0.2 - 0.001)]


def test_the_node_that_answered_last_is_asked_first():
    seen = []
    made, clock, asked = nodes((NodeUnreachable(), 0), (), (), observe=lambda *each: seen.append(each[:3]))
    assert ask(made) == 1
    assert seen == [(0, "eth_call", "unreachable"), (1, "eth_call", "ok")]
    clock.now += 100
    assert ask(made) == 1
    assert order(asked) == [0, 1, 1]
    # After the last comes the first.
    made._preferred = 2
    made.endpoints[2].rests_until = made.endpoints[1].rests_until = clock.now + 50
    assert ask(made) == 0


def test_a_refusal_is_an_answer_and_the_node_is_kept():
    seen = []
    made, _, asked = nodes((NodeUnreachable(),), (RpcError(3, "no"),), observe=lambda *each: seen.append(each))
    for _ in range(2):
        with pytest.raises(RpcError):
            ask(made)
    assert order(asked) == [0, 1, 1]
    assert [each[:3] for each in seen] == [
        (0, "eth_call", "unreachable"),
        (1, "eth_call", "rpc_error"),
        (1, "eth_call", "rpc_error"),
    ]
    assert all(each[3] == pytest.approx(0.001) for each in seen)


def test_what_one_node_refuses_another_is_asked_for_and_then_asked_first():
    seen = []
    refuses = (Refused(-32011, "no backend"),)
    made, _, asked = nodes(refuses, (ForeignChain(),), (2,), observe=lambda *each: seen.append(each[2]))
    assert ask(made) == ask(made) == 2
    assert order(asked) == [0, 1, 2, 2]
    assert seen == ["refused", "wrong_chain", "ok", "ok"]
    # It rests not: it is there for whatever else is asked.
    assert made.endpoints[0].rests_until == 0


@pytest.mark.parametrize("others", [[], [(Refused(-32000, "b"),)], [(NodeUnreachable(),)], [(ForeignChain(),)]])
def test_what_all_refuse_is_a_refusal(others):
    made, _, asked = nodes((Refused(-32000, "a"),), *others)
    with pytest.raises(Refused):
        ask(made)
    assert order(asked).count(0) == 1
    assert {*order(asked)} == set(range(len(others) + 1))


def test_a_node_that_is_well_again_has_no_past():
    made, clock, _ = nodes((NodeUnreachable(), Throttled(), 0))
    assert ask(made) == 0
    [endpoint] = made.endpoints
    assert (endpoint.failures, endpoint.rests_until, endpoint.is_throttled, endpoint.is_foreign) == (0, 0, False, False)
    assert not endpoint.is_resting(clock.now)


def test_a_throttle_is_waited_out_if_there_is_time_for_an_answer_then():
    made, clock, asked = nodes((Throttled(retry_after_s=2), 0))
    assert ask(made) == 0
    assert clock.slept == [pytest.approx(2)]
    assert order(asked) == [0, 0]
    # A quarter of the time must be left.
    for rest_s, is_waited in ((5.9, True), (6.0, False)):
        made, clock, asked = nodes(())
        [endpoint] = made.endpoints
        endpoint.is_throttled, endpoint.rests_until = True, clock.now + rest_s
        if is_waited:
            assert ask(made) == 0
        else:
            with pytest.raises(UpstreamDown, match="throttling") as told:
                ask(made)
            assert (told.value.retry_after_s, asked) == (6, [])


def test_of_nodes_that_rest_the_one_not_asked_yet_goes_before_and_a_long_throttle_last():
    made, clock, asked = nodes((), (), ())
    rests = {0: (5, True), 1: (7.5, True), 2: (6, False)}
    for index, (rest_s, is_throttled) in rests.items():
        made.endpoints[index].rests_until = clock.now + rest_s
        made.endpoints[index].is_throttled = is_throttled
    assert ask(made) == 0
    assert clock.slept == [5]
    made, clock, asked = nodes((NodeUnreachable(),), (NodeUnreachable(),))
    for endpoint, rest_s in zip(made.endpoints, (1, 2), strict=True):
        endpoint.rests_until = clock.now + rest_s
    with pytest.raises(UpstreamDown):
        ask(made)
    assert order(asked) == [0, 1, 0]
    # Nobody waits before the first try.
    assert len(clock.slept) == 2


def test_a_foreign_node_is_never_waited_for():
    made, _, asked = nodes((ForeignChain(),), (NodeUnreachable(), 1))
    assert ask(made) == 1
    assert order(asked) == [0, 1, 1]
    made, _, asked = nodes((ForeignChain(),), (ForeignChain(),))
    with pytest.raises(UpstreamDown, match="another chain"):
        ask(made)
    assert order(asked) == [0, 1]


def test_when_the_time_is_over_nobody_is_asked():
    made, clock, asked = nodes(())
    assert made.deadline() == clock.now + BUDGET_S
    with pytest.raises(UpstreamDown, match="did not answer"):
        ask(made, deadline=clock.now)
    assert asked == []
    assert ask(made, deadline=clock.now + 0.1) == 0


def test_the_age_of_a_node_is_looked_at_beside_a_request_unless_its_answer_shows_it():
    made, clock, asked = nodes((5,), age=60)
    assert ask(made) == 0
    assert sorted(asked)[0] == (0, "body")
    assert len(asked) == 2
    assert ask(made) == 0
    assert len(asked) == 3, "for a few seconds it need not be looked at again"
    clock.now += 5
    assert ask(made, shows_age=True) == 0
    assert ask(made) == 0
    assert asked[3:] == [(0, "body")] * 2, "who shows its age is fresh as well"
    clock.now += 5
    ask(made)
    assert len(asked) == 7


def seek(made, clock, than_s):
    async def scenario():
        made.seek_newer(than_s)
        if made._seeking is not None:
            await made._seeking

    asyncio.run(scenario())
    return made._preferred


def test_a_newer_block_elsewhere_is_gone_to_and_looked_for_now_and_then():
    made, clock, asked = nodes((0,), (90,), (96,), (99,), age=60)
    assert seek(made, clock, 95) == 0
    assert asked == [], "five seconds are not old"
    assert seek(made, clock, 94) == 2
    assert asked == [(1, "check"), (2, "check")]
    asked.clear()
    seek(made, clock, 94)
    assert asked == [], "not all the time"
    clock.now += 2
    assert seek(made, clock, 96) == 3
    assert order(asked) == [0, 1, 3], "not the one that is asked anyway"


def test_a_block_just_as_old_is_no_reason_to_go_nor_is_a_node_that_fails_foreign_or_throttled():
    made, clock, asked = nodes((0,), (90,), (Garbage(),), (99,), (99,), (98,), age=60)
    made.endpoints[3].is_foreign = True
    made.endpoints[4].is_throttled, made.endpoints[4].rests_until = True, clock.now + 9
    assert seek(made, clock, 90) == 5
    assert order(asked) == [1, 2, 5]
    made, clock, asked = nodes((0,), (99,))
    assert seek(made, clock, 0) == 0
    assert asked == [], "where any age will do"


def test_a_look_at_all_tells_who_answers_whether_they_are_asked_or_not():
    made, clock, asked = nodes((0,), (NodeUnreachable(),), (Stale(),), (99,), age=60)
    made.endpoints[3].is_throttled, made.endpoints[3].rests_until = True, clock.now + 9
    assert asyncio.run(made.look()) == [True, False, False, False]
    assert asked == [(0, "check"), (1, "check"), (2, "check")]
    clock.now += 9
    made.endpoints[1].script = [99]
    assert asyncio.run(made.look()) == [True, True, False, True]
    assert made._preferred == 0, "nobody goes anywhere for that"


def test_who_closes_ends_the_search_and_every_connection():
    made, clock, _ = nodes((0,), (99,), age=60)

    async def scenario():
        made.seek_newer(90)
        await made.close()
        return made._seeking.cancelled()

    assert asyncio.run(scenario())
    assert all(endpoint._is_closed for endpoint in made.endpoints)
    assert made._preferred == 0
    assert clock.slept == []


REST_CASES = [
    # (trouble, failures before, seconds it rests)
    (NodeUnreachable(), 0, 0.5),
    (NodeUnreachable(), 1, 1.0),
    (NodeUnreachable(), 5, 16.0),
    (NodeUnreachable(), 6, 30.0),
    (NodeUnreachable(), 2000, 30.0),
    (Throttled(), 0, 0.5),
    (Throttled(), 6, BUDGET_S / 2),
    (Throttled(retry_after_s=3), 6, 7.5),
    (Throttled(retry_after_s=3), 0, 3.0),
    (Throttled(retry_after_s=0), 0, 0.125),
    (Throttled(retry_after_s=3600), 0, BUDGET_S),
    (ForeignChain(), 0, 5.0),
    (ForeignChain(), 9, 5.0),
]


@pytest.mark.parametrize(("trouble", "failures", "rest_s"), REST_CASES)
def test_a_node_rests_for_longer_each_time_and_no_longer_than_anybody_could_wait(trouble, failures, rest_s):
    endpoint = Scripted(0, Clock(), [])
    endpoint.failures = failures
    endpoint.note_trouble(trouble, 100.0, Middle(), BUDGET_S)
    assert endpoint.rests_until == 100.0 + rest_s
    assert endpoint.failures == failures + 1
    assert endpoint.is_throttled is isinstance(trouble, Throttled)
    assert endpoint.is_foreign is isinstance(trouble, ForeignChain)
    assert endpoint.is_resting(100.0 + rest_s - 0.01)
    assert not endpoint.is_resting(100.0 + rest_s)


def test_many_callers_who_fail_together_are_one_failure():
    endpoint = Scripted(0, Clock(), [])
    endpoint.note_trouble(NodeUnreachable(), 100.0, Middle(), BUDGET_S)
    endpoint.note_trouble(NodeUnreachable(), 100.1, Middle(), BUDGET_S)
    assert (endpoint.failures, endpoint.rests_until) == (1, 100.5)
    # But what it asks for itself counts, and that it is on another chain.
    endpoint.note_trouble(Throttled(retry_after_s=4), 100.2, Middle(), BUDGET_S)
    assert (endpoint.failures, endpoint.rests_until, endpoint.is_throttled) == (2, 104.2, True)
    endpoint.note_trouble(ForeignChain(), 100.3, Middle(), BUDGET_S)
    assert (endpoint.failures, endpoint.rests_until, endpoint.is_foreign) == (3, 105.3, True)
