"""What a lying node or a strange token says of the reward program is never taken for a figure."""

import asyncio

import pytest
from eth_abi import encode
from hypothesis import example, given
from hypothesis.strategies import integers

from tickyard.chain.rpc.client import Rpc
from tickyard.features.earn import rules
from tickyard.features.earn.books.desk import PAID, read_epochs, read_event
from tickyard.features.earn.days.token import TokenFacts, supply_in_hands
from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from yards import rpcnode
from yards.patience import STUCK_S

DESK = Address("0x" + "de" * 20)
ACCOUNT = "0x" + "00" * 12 + "ab" * 20
EVENT = {
    "address": DESK,
    "topics": [PAID, "0x" + f"{20261116:064x}", ACCOUNT],
    "data": "0x" + f"{7:064x}",
    "blockNumber": "0x10",
    "logIndex": "0x0",
    "transactionHash": "0x" + "cd" * 32,
}


def test_an_event_of_the_desk_is_read():
    told = read_event(EVENT, DESK)
    assert (told.word, told.epoch, told.account, told.amount) == ("paid", 20261116, "0x" + "ab" * 20, 7)


@pytest.mark.parametrize(
    "lie",
    [
        {"address": "0x" + "ee" * 20},
        {"topics": EVENT["topics"][:2]},
        {"topics": "0x"},
        {"topics": ["0x" + "11" * 32, *EVENT["topics"][1:]]},
        {"data": "0x07"},
        {"data": None},
        {"topics": [*EVENT["topics"][:2], "0x" + "00" * 11 + "01" + "ab" * 20]},
    ],
)
def test_an_event_that_is_none_of_the_desks_is_refused_and_its_place_is_named(lie):
    with pytest.raises(UpstreamDown, match="malformed event of the desk: block 16, log 0"):
        read_event(EVENT | lie, DESK)


@given(epoch=integers(0, 2**256 - 1), account=integers(0, 2**160 - 1), amount=integers(0, 2**256 - 1))
@example(epoch=20261116, account=0, amount=0)
def test_all_that_a_desk_can_say_is_read(epoch, account, amount):
    topics = [PAID, f"0x{epoch:064x}", f"0x{account:064x}"]
    told = read_event(EVENT | {"topics": topics, "data": f"0x{amount:064x}"}, DESK)
    assert (told.epoch, told.account, told.amount) == (epoch, f"0x{account:040x}", amount)
    assert told.fits_a_line == (rules.day_of(epoch) is not None and amount <= 10**15)


def asked(answers, work):
    """What `work` makes of a node that gives these answers to calls, in turn."""

    async def run():
        left = iter(answers)
        async with asyncio.timeout(STUCK_S), rpcnode.Node() as node:
            node.results["eth_call"] = lambda _params: "0x" + next(left).hex()
            async with Rpc([node.url], chain_id=4663, clock=WallClock(), budget_s=2.0) as rpc:
                return await work(rpc)

    return asyncio.run(run())


def facts(symbol):
    return asked([symbol, (18).to_bytes(32, "big")], lambda rpc: TokenFacts.read(rpc, DESK))


def test_the_tokens_name_is_shown_cut_and_cleaned():
    assert facts(encode(["string"], ["TICK"])).symbol == "TICK"
    # To the last byte of its word.
    assert facts(encode(["string"], ["T" * 32])).symbol == "T" * 32
    assert facts(encode(["string"], ["A\x1b[2J\nB" + "x" * 90])).symbol == "A[2JB" + "x" * 25


@pytest.mark.parametrize("symbol", [b"", b"MKR".ljust(32, b"\0"), encode(["string"], ["x" * 64])[:96]])
def test_a_token_without_a_proper_name_is_the_nodes_failure(symbol):
    with pytest.raises(UpstreamDown):
        facts(symbol)


def test_an_epoch_of_which_the_desk_says_less_than_a_word_is_no_epoch():
    short = encode(["(bool,bytes)[]"], [[(True, b"\1" * 32), (True, b"\1"), (True, b"\1" * 32)]])
    with pytest.raises(UpstreamDown):
        asked([short], lambda rpc: read_epochs(rpc, DESK, DESK, [20261116], block=7))


def test_what_is_no_date_is_no_epoch():
    with pytest.raises(ValueError, match="YYYYMMDD"):
        rules.closes_at(20261332)


def test_the_supply_is_what_is_in_hands_and_no_supply_is_the_nodes_failure():
    def supply(*answers):
        told = encode(["(bool,bytes)[]"], [list(answers)])
        return asked([told], lambda rpc: supply_in_hands(rpc, DESK, DESK, 7))

    ten, three = ((True, number.to_bytes(32, "big")) for number in (10, 3))
    assert supply(ten, three) == 7
    assert supply(ten, (False, b"")) == 10
    with pytest.raises(UpstreamDown):
        supply((False, b""), three)
