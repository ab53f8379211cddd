"""What the client asks and how it reads the answers, letter by letter: no node, no sockets."""

import asyncio
import json
from datetime import UTC, datetime

import pytest

from tickyard.chain.rpc.client import Head, Rpc, block_param
from tickyard.chain.rpc.trouble import Garbage, Lagging, RpcError, Stale
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address

TOKEN, ME = Address("0x" + "11" * 20), Address("0x" + "22" * 20)
HASH = "0x" + "ab" * 32
NOW = 1_000_000


class Clock:
    def now(self):
        return datetime.fromtimestamp(NOW, UTC)

    def seconds(self):
        return NOW

    def monotonic(self):
        return 50.0


class Script:
    """In the place of all nodes: notes what is asked, and reads what the test has them say."""

    def __init__(self, count, *answers):
        self.endpoints = [None] * count
        self.answers, self.asked = list(answers), []
        self.sought = []

    def deadline(self):
        return 99.0

    async def ask(self, method, body, read, deadline=None, *, shows_age=False):
        asked = json.loads(body)
        self.asked.append((method, asked, deadline, shows_age))
        say = self.answers.pop(0)
        if isinstance(say, Exception):
            raise say
        if isinstance(asked, list):
            told = [
                {"jsonrpc": "2.0", "id": each["id"], "result": value} for each, value in zip(asked, say, strict=True)
            ]
        else:
            told = {"jsonrpc": "2.0", "id": asked["id"], "result": say}
        return read(json.dumps(told).encode())

    def seek_newer(self, than_s):
        self.sought.append(than_s)


def client(*answers, count=1, **how):
    rpc = Rpc(["http://a"] * count, chain_id=1, clock=Clock(), **how)
    rpc._nodes = Script(count, *answers)
    return rpc, rpc._nodes.asked


def header(number=16, block_hash=HASH, timestamp=NOW, **more):
    return {"number": hex(number), "hash": block_hash, "timestamp": hex(timestamp), **more}


@pytest.mark.parametrize(
    ("block", "param"), [(16, "0x10"), (0, "0x0"), ("latest", "latest"), (HASH, {"blockHash": HASH})]
)
def test_a_block_is_named_by_its_number_its_tag_or_its_hash(block, param):
    assert block_param(block) == param


def test_an_address_of_a_node_is_http():
    for urls in ([], ["ws://a"], ["http://a", "ftp://b"], ["a"]):
        with pytest.raises(ValueError, match="http"):
            Rpc(urls, chain_id=1, clock=Clock())
    assert Rpc(["http://a", "https://b"], chain_id=7, clock=Clock()).chain_id == 7


def test_a_call_of_a_contract_says_whom_from_whom_and_at_which_block():
    rpc, asked = client("0x0102", "0x", "0x03")
    assert asyncio.run(rpc.eth_call(TOKEN, b"\xab\xcd", deadline=5.0)) == b"\1\2"
    assert asyncio.run(rpc.eth_call(TOKEN, "abcd", block=HASH, sender=ME)) == b""
    assert asyncio.run(rpc.dated_call(TOKEN, b"\xab\xcd", lambda data: (data * 2, NOW))) == b"\3\3"
    call = {"to": TOKEN, "data": "0xabcd"}
    frame = {"jsonrpc": "2.0", "method": "eth_call"}
    assert asked == [
        ("eth_call", {**frame, "id": 1, "params": [call, "latest"]}, 5.0, False),
        ("eth_call", {**frame, "id": 2, "params": [{"from": ME, **call}, {"blockHash": HASH}]}, None, False),
        ("eth_call", {**frame, "id": 3, "params": [call, "latest"]}, None, True),
    ]


def test_an_answer_that_shows_its_age_is_judged_by_it():
    for age_s, is_stale in ((60, False), (61, True)):
        for answer, ask in (
            ("0x00", lambda rpc, at: rpc.dated_call(TOKEN, b"", lambda data: (7, at))),
            (header(timestamp=NOW - age_s), lambda rpc, at: rpc.head()),
        ):
            rpc, _ = client(answer, max_age_s=60)
            if is_stale:
                with pytest.raises(Stale):
                    asyncio.run(ask(rpc, NOW - age_s))
            else:
                assert asyncio.run(ask(rpc, NOW - age_s))
    rpc, _ = client("0x00")
    assert asyncio.run(rpc.dated_call(TOKEN, b"", lambda data: (7, 0))) == 7, "any age will do"

    def nonsense(data):
        raise UpstreamDown("no")

    rpc, _ = client("0x00")
    with pytest.raises(Garbage):
        asyncio.run(rpc.dated_call(TOKEN, b"", nonsense))


def test_the_newest_block_is_read_from_its_header_and_a_newer_one_looked_for():
    rpc, asked = client(header(), "0x11")
    assert asyncio.run(rpc.head(deadline=3.0)) == Head(16, HASH, NOW)
    assert rpc._nodes.sought == [NOW]
    assert asyncio.run(rpc.block_number()) == 17
    assert [(each[0], each[1]["params"], *each[2:]) for each in asked] == [
        ("eth_getBlockByNumber", ["latest", False], 3.0, True),
        ("eth_blockNumber", [], None, False),
    ]
    assert rpc.highest_block == 17


@pytest.mark.parametrize(
    "answer",
    [None, {}, "0x1", header(block_hash=HASH[:-2]), header(block_hash=HASH + "00"), header() | {"number": "16"}],
)
def test_a_header_of_another_shape_is_garbage(answer):
    rpc, _ = client(answer)
    with pytest.raises(Garbage):
        asyncio.run(rpc.head())


def test_a_node_far_behind_is_passed_over_unless_all_are():
    rpc, _ = client("0x64", "0x32", "0x31", count=2)
    ask = rpc.block_number
    assert [asyncio.run(ask()) for _ in range(2)] == [100, 50]
    with pytest.raises(Lagging):
        asyncio.run(ask())
    assert rpc.highest_block == 100
    lone, _ = client("0x64", "0x31", "0x32", count=1)
    assert [asyncio.run(lone.block_number()) for _ in range(3)] == [100, 49, 50]
    assert lone.highest_block == 50


def test_when_all_who_answered_are_behind_the_highest_of_them_counts():
    rpc, _ = client(count=3)
    rpc.highest_block = 1000

    def give_up(*numbers):
        with rpc._not_backwards() as accept:
            for number in numbers:
                with pytest.raises(Lagging):
                    accept(number)
            raise UpstreamDown("no")

    for numbers in ((7, 9), ()):
        with pytest.raises(UpstreamDown):
            give_up(*numbers)
        assert rpc.highest_block == 9, "who said nothing is not held against it"


def test_logs_are_asked_for_by_range_address_and_topic_and_are_a_list_of_objects():
    rpc, asked = client([{"a": 1}], {"a": 1}, [{"a": 1}, 5])
    wanted = {"from_block": 16, "to_block": 32, "addresses": (TOKEN,), "topics": ("0x1", None, ["0x2", "0x3"])}
    assert asyncio.run(rpc.get_logs(**wanted, deadline=4.0)) == [{"a": 1}]
    [(method, body, deadline, shows_age)] = asked
    assert (method, deadline, shows_age) == ("eth_getLogs", 4.0, False)
    assert (body["jsonrpc"], body["id"], body["method"], len(body)) == ("2.0", 1, "eth_getLogs", 4)
    assert body["params"] == [
        {"fromBlock": "0x10", "toBlock": "0x20", "address": [TOKEN], "topics": ["0x1", None, ["0x2", "0x3"]]}
    ]
    for _ in range(2):
        with pytest.raises(UpstreamDown, match="malformed"):
            asyncio.run(rpc.get_logs(**wanted))


def test_a_batch_that_is_refused_is_halved_and_a_lone_call_is_its_refusal():
    refused = RpcError(-32600, "batch too large")
    calls = [("m", [number]) for number in range(5)]
    rpc, asked = client(refused, [0, 1], [2, 3], [4])
    assert asyncio.run(rpc.batch(calls, deadline=2.0)) == [0, 1, 2, 3, 4]
    assert [[each["params"] for each in body] for _, body, _, _ in asked] == [
        [[0], [1], [2], [3], [4]],
        [[0], [1]],
        [[2], [3]],
        [[4]],
    ]
    assert {(method, deadline) for method, _, deadline, _ in asked} == {("batch", 2.0)}
    assert len({each["id"] for _, body, _, _ in asked for each in body}) == 10
    rpc, _ = client(refused)
    with pytest.raises(RpcError):
        asyncio.run(rpc.batch(calls[:1]))
    rpc, asked = client([7])
    assert asyncio.run(rpc.batch(calls[:1])) == [7]
    assert asked[0][2] == 99.0
    rpc, asked = client()
    assert (asyncio.run(rpc.batch([])), asked) == ([], [])
