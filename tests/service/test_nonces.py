"""When a payment's nonce was used: asked block by block of a node that does not remember all of them."""

import asyncio
from typing import NamedTuple

import pytest

from tickyard.chain.rpc.client import Rpc
from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.payments.proof.nonces import Nonces
from tickyard.payments.signed.key import Key
from yards import rpcnode
from yards.patience import STUCK_S

ASSET, PAYER = (Address("0x" + digit * 40) for digit in "12")
YES, NO = "0x" + f"{1:064x}", "0x" + f"{0:064x}"


class Row(NamedTuple):
    """All that is asked of a row here."""

    key: Key


def row(nonce):
    return Row(Key("eip155:8453", ASSET, PAYER, f"0x{nonce:064x}"))


class Memory:
    """A token that knows since which block each nonce is used, on a node that knows the blocks from `oldest` on."""

    def __init__(self, since, oldest=0, born=0):
        self.since, self.oldest, self.born = since, oldest, born
        self.asked = []

    def __call__(self, params):
        call, block = params[0], int(params[1], 16)
        assert call["to"] == ASSET
        assert call["data"][:10] == "0xe94a0102"
        nonce = int(call["data"][-64:], 16)
        self.asked.append((nonce, block))
        if block < self.oldest:
            raise rpcnode.Refused(-32000, "missing trie node")
        if block < self.born:
            return "0x"
        return YES if block >= self.since[nonce] else NO


def ask(memory, work):
    async def run():
        async with asyncio.timeout(STUCK_S), rpcnode.Node() as node:
            node.results["eth_call"] = memory
            async with Rpc([node.url], chain_id=4663, clock=WallClock()) as rpc:
                return await work(Nonces(rpc, is_eip3009=True))

    return asyncio.run(run())


def test_the_very_block_is_found_of_all_at_once():
    rows = [row(nonce) for nonce in range(5)]
    memory = Memory({0: 37, 1: 1001, 2: 100_000, 3: 10, 4: 11})
    found = ask(memory, lambda nonces: nonces.first_used(dict.fromkeys(rows, 10), 100_000))
    assert [found[each] for each in rows] == [37, 1001, 100_000, 0, 11]
    assert len(memory.asked) < 5 * 20


@pytest.mark.parametrize("late", [11, 12, 13, 30])
def test_whichever_block_of_a_range_it_is_it_is_found(late):
    rows = {row(block): block for block in range(11, late + 1)}
    memory = Memory({block: block for block in rows.values()})
    assert ask(memory, lambda nonces: nonces.first_used(dict.fromkeys(rows, 10), late)) == rows


def test_where_a_node_has_forgotten_nothing_is_known_of_that_payment_alone():
    forgotten, known = row(0), row(1)
    memory = Memory({0: 30, 1: 90}, oldest=20)
    found = ask(memory, lambda nonces: nonces.first_used({forgotten: 10, known: 25}, 100))
    assert found == {forgotten: None, known: 90}


def test_before_the_token_was_there_nothing_was_used():
    found = ask(Memory({0: 60}, born=50), lambda nonces: nonces.states([(row(0), at) for at in (10, 55, 60)]))
    assert found == [False, False, True]


def test_nobody_costs_no_question():
    memory = Memory({})
    assert ask(memory, lambda nonces: nonces.states([])) == []
    assert ask(memory, lambda nonces: nonces.first_used({}, 100)) == {}
    assert memory.asked == []


@pytest.mark.parametrize("answer", [NO[:-2], None, 7, {}, "0x" + "zz" * 32])
def test_what_is_no_word_is_the_nodes_failure(answer):
    with pytest.raises(UpstreamDown):
        ask(lambda _params: answer, lambda nonces: nonces.states([(row(0), 10)]))


def test_a_node_that_cannot_run_the_call_has_not_said_that_a_nonce_is_unused():
    memory = Memory({0: 30}, oldest=10**9)
    memory_at_latest = lambda params: memory([params[0], "0x1"])  # noqa: E731
    with pytest.raises(UpstreamDown):
        ask(memory_at_latest, lambda nonces: nonces.is_used(row(0).key))
    known = Memory({0: 30})
    for block, is_used in ((29, False), (30, True)):
        told = ask(lambda params, at=block: known([params[0], hex(at)]), lambda nonces: nonces.is_used(row(0).key))
        assert told is is_used
