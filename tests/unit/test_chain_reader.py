"""Which answers of a node are taken for the newest block's, and what a reading says of its time."""

import asyncio
from datetime import UTC, datetime

import pytest
from eth_abi import decode, encode

from tickyard.chain.multicall import Call
from tickyard.chain.rpc.client import Head, RpcError
from tickyard.chain.rpc.trouble import Stale
from tickyard.config.pinned import MAINNET
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.market.reading import ChainReader

NOW = 1_800_000_000
CALLS = [Call(Address("0x" + "1" * 40), b"\1"), Call(Address("0x" + "2" * 40), b"\2")]


class Node:
    """A client whose node answers every call with its data, at whatever time the test says."""

    def __init__(self):
        self.time, self.failing, self.code = NOW, set(), "0x6001"
        self.refuses, self.news, self.mute = None, False, ()
        self.asked, self.deadlines = [], []

    def deadline(self):
        return 77.0

    def seconds(self):
        return NOW

    async def head(self, *, deadline):
        self.deadlines.append(deadline)
        return Head(5, "0x" + "11" * 32, self.time)

    async def block_number(self, *, deadline):
        return 5

    async def call(self, method, params, *, deadline):
        self.asked.append((method, params))
        return self.code

    async def dated_call(self, to, data, read, *, deadline):
        if self.refuses is not None:
            raise self.refuses
        self.asked.append("latest")
        result, self.told_s = read(self._answer(data))
        self.deadlines.append(deadline)
        return result

    async def eth_call(self, to, data, *, block, deadline):
        self.asked.append(block)
        self.deadlines.append(deadline)
        return self._answer(data)

    async def batch(self, calls, *, deadline):
        self.deadlines.append(deadline)
        self.asked += [(method, params[1]) for method, params in calls]
        answers = ["0x" + self._answer(params[0]["data"][2:]).hex() for _, params in calls]
        if self.news:
            answers[1] = "0x" + encode(["(bool,bytes)[]"], [[(True, b"new"), (True, b"new")]]).hex()
        return [self.refuses if index in self.mute else each for index, each in enumerate(answers)]

    def _answer(self, data):
        [calls] = decode(["(address,bool,bytes)[]"], bytes.fromhex(data[8:]))
        outcomes = []
        for to, _, inner in calls:
            if to == MAINNET.multicall3:
                assert inner.hex() == "0f28c97d"
                outcomes.append(("time" not in self.failing, self.time.to_bytes(32, "big")))
            else:
                outcomes.append((inner not in self.failing, inner))
        return encode(["(bool,bytes)[]"], [outcomes])


def opened(**how):
    node = Node()
    return node, ChainReader(node, MAINNET.multicall3, node, **how)


def read(reader, calls=CALLS, **how):
    return asyncio.run(reader.read(calls, **how))


def test_a_reading_has_a_result_for_every_call_and_the_time_of_its_block():
    node, reader = opened()
    node.failing = {b"\2"}
    reading = read(reader)
    assert (reading.results, reading.at) == ([b"\1", None], datetime.fromtimestamp(NOW, UTC))
    assert (node.asked, node.deadlines, node.told_s) == (["latest"], [77.0], NOW)
    read(reader, deadline=5.0)
    assert node.deadlines == [77.0, 5.0]


@pytest.mark.parametrize("failing", [{"time"}, {b"\1", b"\2"}, {"time", b"\1", b"\2"}])
def test_a_node_that_fails_every_call_or_cannot_tell_its_time_is_in_trouble(failing):
    node, reader = opened()
    node.failing = failing
    with pytest.raises(UpstreamDown, match="failed every call"):
        read(reader)
    if "time" in failing:
        assert node.told_s == NOW, "that it is old it has not said"


def test_no_calls_are_answered_by_the_time_alone():
    _, reader = opened()
    assert read(reader, []).results == []


def test_a_time_ahead_of_ours_is_believed_for_ten_minutes_and_makes_nobody_look_old():
    node, reader = opened()
    node.time = NOW + 600
    assert read(reader).at == datetime.fromtimestamp(NOW + 600, UTC)
    assert asyncio.run(reader.head()).timestamp == NOW + 600
    node.time = NOW + 601
    with pytest.raises(UpstreamDown, match="has not come"):
        read(reader)
    with pytest.raises(UpstreamDown, match="has not come"):
        asyncio.run(reader.head())
    node.time = NOW - 30
    read(reader)


def test_a_node_half_a_minute_behind_what_was_shown_is_stuck():
    node, reader = opened()
    read(reader)
    for behind_s, is_stuck in ((30, False), (31, True)):
        node.time = NOW - behind_s
        if not is_stuck:
            assert read(reader).at == datetime.fromtimestamp(NOW - 30, UTC)
            assert asyncio.run(reader.head()).timestamp == NOW - 30
            continue
        with pytest.raises(Stale):
            read(reader)
        with pytest.raises(UpstreamDown, match="behind what it has shown"):
            asyncio.run(reader.head())
        # Where it must be read the careful way as well; an older block that is named is no news.
        node.refuses = RpcError(-32000, "out of gas")
        with pytest.raises(UpstreamDown, match="behind what it has shown"):
            read(reader)
        assert read(reader, block="0x" + "22" * 32).at == datetime.fromtimestamp(NOW - 31, UTC)


def test_what_is_too_much_for_one_request_or_of_a_named_block_is_asked_otherwise():
    named = "0x" + "22" * 32
    node, reader = opened(calls_max=3)
    assert read(reader).results == [b"\1", b"\2"]
    assert node.asked == ["latest"]
    node, reader = opened(calls_max=2)
    assert read(reader).results == [b"\1", b"\2"]
    assert node.asked == [5, 5], "two requests can only agree on a block that is named"
    node, reader = opened()
    assert read(reader, max_calls_per_chunk=2).results == [b"\1", b"\2"]
    assert node.asked == [5, 5]
    node, reader = opened()
    assert read(reader, block=named, deadline=3.0).results == [b"\1", b"\2"]
    assert (node.asked, node.deadlines) == ([named], [3.0])
    node.refuses = RpcError(-32000, "out of gas")
    assert read(reader).results == [b"\1", b"\2"]


@pytest.mark.parametrize(
    ("code", "is_code"),
    [("0x6001", True), ("0x", False), ("6001", False), ("0x600", False), (None, False), ("0x" + "00" * 24_577, False)],
)
def test_the_code_of_multicall_is_asked_for_once_until_it_is_doubted(code, is_code):
    node, reader = opened()
    node.code = code
    assert asyncio.run(reader.multicall_code()) == (code if is_code else None)
    asyncio.run(reader.multicall_code())
    assert node.asked == [("eth_getCode", [MAINNET.multicall3, "latest"])] * (1 if is_code else 2)
    reader.forget_code()
    node.code = "0x6002"
    assert asyncio.run(reader.multicall_code()) == "0x6002"


def test_the_newest_block_is_named_by_its_hash():
    _, reader = opened()
    assert asyncio.run(reader.newest()) == "0x" + "11" * 32
    assert reader.deadline() == 77.0


def test_what_has_changed_since_a_block_is_not_told_as_of_that_block():
    named = "0x" + "22" * 32
    node, reader = opened()
    node.failing.add(b"\2")
    assert asyncio.run(reader.read_unmoved(CALLS, named, deadline=3.0)) == [b"\1", None]
    assert node.asked == [("eth_call", {"blockHash": named}), ("eth_call", "latest")]
    assert node.deadlines == [3.0]
    node.news = True
    assert asyncio.run(reader.read_unmoved(CALLS, named)) is None
    node.news, node.refuses = False, RpcError(-32000, "header not found")
    for mute in ((0,), (1,), (0, 1)):
        node.mute = mute
        with pytest.raises(UpstreamDown, match="could not run the call"):
            asyncio.run(reader.read_unmoved(CALLS, named))
