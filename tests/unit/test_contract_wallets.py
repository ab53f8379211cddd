"""Whether a contract takes a signature for its owner's: by the chain's word, and only by a chain that is that far."""

import asyncio
from datetime import UTC, datetime

import pytest
from eth_abi import encode

from tickyard.chain.rpc.trouble import RpcError
from tickyard.config import pinned
from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.payments.proof.account import accepts, has_code

NOW = 1_800_000_000
WALLET = Address("0x" + "5c" * 20)
DIGEST = bytes(range(32))
YES = "0x1626ba7e" + "00" * 28


class Clock(WallClock):
    def __init__(self):
        self.slept = 0.0

    def seconds(self):
        return NOW + int(self.slept)

    def now(self):
        return datetime.fromtimestamp(self.seconds(), UTC)

    def monotonic(self):
        return self.slept

    async def sleep(self, seconds):
        self.slept += seconds


class Node:
    """Says what it is told of code and calls; its newest block is as old as `late_s` says."""

    def __init__(self, code="0x60", says=YES, late_s=0, code_after_s=0, would_say=None):
        self.clock, self.code, self.says, self.would_say = Clock(), code, says, would_say
        self.late_s, self.code_after_s = late_s, code_after_s
        self.asked = []

    async def batch(self, calls):
        self.asked.append(calls)
        code = self.code if self.clock.slept >= self.code_after_s else "0x"
        block = {"number": "0x1", "hash": "0x" + "00" * 32, "timestamp": hex(self.clock.seconds() - self.late_s)}
        return [code, self.says, block, self.would_say][: len(calls)]

    async def call(self, method, params):
        assert (method, params) == ("eth_getCode", [WALLET, "latest"])
        return self.code


def ask(node, signature=b"\x01" * 65, age_s=0):
    return asyncio.run(accepts(node, WALLET, DIGEST, signature, age_s=age_s))


@pytest.mark.parametrize("size", [1, 31, 32, 33, 65, 96])
def test_a_wallet_is_asked_as_the_standard_has_it(size):
    node, signature = Node(), bytes(range(1, size + 1))
    assert ask(node, signature)
    ((code, call, block),) = node.asked
    assert (code, block) == (("eth_getCode", [WALLET, "latest"]), ("eth_getBlockByNumber", ["latest", False]))
    assert call[1][0]["data"] == "0x1626ba7e" + encode(["bytes32", "bytes"], [DIGEST, signature]).hex()
    assert (call[0], call[1][0]["to"], call[1][1]) == ("eth_call", WALLET, "latest")


FACTORY, DEPLOY, INNER = "0x" + "11" * 20, b"deploy" * 9, bytes(range(70))
WRAPPED = encode(["address", "bytes", "bytes"], [FACTORY, DEPLOY, INNER]) + bytes.fromhex("6492" * 16)


def would_say(told, *, is_good=True, is_deployed=True):
    """The answer to both calls: what deploys the wallet, and the wallet's own."""
    return "0x" + encode(["(bool,bytes)[]"], [[(is_deployed, b""), (is_good, bytes.fromhex(told[2:]))]]).hex()


def test_of_a_signature_for_a_wallet_to_be_deployed_the_wallet_is_shown_its_own_part():
    node = Node()
    assert ask(node, WRAPPED)
    assert node.asked[0][1][1][0]["data"][10:] == encode(["bytes32", "bytes"], [DIGEST, INNER]).hex()


def test_a_wallet_that_is_not_deployed_yet_is_deployed_for_the_question():
    node = Node(code="0x", would_say=would_say(YES))
    assert ask(node, WRAPPED)
    ((_, (_, (plain, _)), _, (method, (both, block))),) = node.asked
    assert (method, both["to"], block) == ("eth_call", pinned.MAINNET.multicall3, "latest")
    calls = [(FACTORY, True, DEPLOY), (WALLET, True, bytes.fromhex(plain["data"][2:]))]
    assert both["data"] == "0x82ad56cb" + encode(["(address,bool,bytes)[]"], [calls]).hex()
    assert int(both["gas"], 16) == 5_000_000


@pytest.mark.parametrize(
    ("told", "is_yes"),
    [
        # By somebody else, in another transaction just now.
        (would_say(YES, is_deployed=False), True),
        (would_say(YES, is_good=False), False),
        (would_say("0x1626ba7e"), False),
        (would_say("0x" + "00" * 32), False),
        # Nothing was deployed there.
        (would_say("0x"), False),
        (RpcError(-32000, "out of gas"), False),
    ],
)
def test_a_wallet_that_would_be_deployed_says_yes_in_one_way_and_no_in_many(told, is_yes):
    assert ask(Node(code="0x", would_say=told), WRAPPED) is is_yes


def test_what_would_be_deployed_says_nothing_of_a_wallet_that_is():
    assert not ask(Node(says="0x" + "00" * 32, would_say=would_say(YES)), WRAPPED)


@pytest.mark.parametrize("told", [RpcError(-32000, "busy"), "0x", 7])
def test_a_node_in_trouble_says_nothing_of_a_wallet_to_be_deployed(told):
    with pytest.raises(UpstreamDown):
        ask(Node(code="0x", would_say=told), WRAPPED)


@pytest.mark.parametrize("nonsense", ["", "ff", "00" * 96, "ff" * 96])
def test_whoever_wraps_nonsense_is_nobody(nonsense):
    node = Node(code="0x", would_say=would_say("0x"))
    assert not ask(node, bytes.fromhex(nonsense + "6492" * 16))


@pytest.mark.parametrize(
    ("says", "is_yes"),
    [
        (YES, True),
        (YES.upper().replace("0X", "0x"), True),
        ("0x1626ba7e", False),
        ("0x" + "00" * 32, False),
        ("0x", False),
        (None, False),
        (RpcError(3, "execution reverted"), False),
        *(
            (RpcError(-32000, reason), False)
            for reason in ("out of gas", "invalid opcode: INVALID", "Stack Underflow (0)")
        ),
    ],
)
def test_a_contract_says_yes_in_one_way_and_no_in_many(says, is_yes):
    assert ask(Node(says=says)) is is_yes


@pytest.mark.parametrize(
    "wrong", [{"says": RpcError(-32000, "busy")}, {"code": RpcError(-32000, "busy")}, {"code": 7}, {"code": "60"}]
)
def test_a_node_in_trouble_says_neither(wrong):
    with pytest.raises(UpstreamDown):
        ask(Node(**wrong))


@pytest.mark.parametrize(("late_s", "age_s", "is_far"), [(0, 0, True), (1, 0, False), (30, 30, True), (31, 30, False)])
def test_that_there_is_no_wallet_is_believed_of_a_node_that_has_come_as_far_as_the_signature(late_s, age_s, is_far):
    node = Node(code="0x", late_s=late_s, code_after_s=0)
    # The chain goes on as time does, so it comes as far in the end.
    assert ask(node, age_s=age_s) is False
    assert len(node.asked) == (1 if is_far else 2)


def test_a_wallet_that_shows_up_while_a_late_node_is_waited_for_is_asked():
    node = Node(late_s=1_000, code_after_s=2)
    assert ask(node)
    assert len(node.asked) == 3


def test_a_node_that_stays_late_is_given_up_after_five_seconds():
    node = Node(code="0x", late_s=1_000)
    with pytest.raises(UpstreamDown, match="do not pay again") as told:
        ask(node)
    assert (told.value.retry_after_s, node.clock.slept) == (2, 5)


def test_an_account_has_code_when_there_is_a_byte_of_it():
    assert asyncio.run(has_code(Node(code="0x60"), WALLET))
    assert not asyncio.run(has_code(Node(code="0x"), WALLET))
