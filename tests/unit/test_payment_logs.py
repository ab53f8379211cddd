"""Reading logs over ranges of blocks: all of them, each once, and of no block too few or too many."""

import asyncio
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from tickyard.chain.rpc.trouble import RpcError, TooManyLogs
from tickyard.chain.transfers import ChainMoved
from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.payments.books.row import PaymentRow
from tickyard.payments.offer.terms import FIRST, SECOND
from tickyard.payments.proof.logs import Span, TransferReader, _are_wide_enough, _Range
from tickyard.payments.proof.span import BlockTimes
from tickyard.payments.signed.key import Key
from yards.askable import Askable
from yards.facilitator import Chain
from yards.selling import PAY_TO

NOW = 1_800_000_000
PAYER = Address("0x" + "5c" * 20)
BOTH = pytest.mark.parametrize("network", [FIRST, SECOND])


class Noon(WallClock):
    at = NOW

    def seconds(self):
        return self.at


OTHERS = [Address(f"0x{n:040x}") for n in range(1, 9)]


class Yard:
    """A hundred blocks, ten seconds each, with a payment in every one: block 1000 + n pays with nonce n."""

    def __init__(self, network, *, known=(1001, 1100)):
        self.chain = Chain(network, Noon())
        self.chain.times = {number: self.time_of(number) for number in range(1001)}
        for n in range(1, 101):
            self.chain.clock.at = self.time_of(1000 + n)
            self.chain.pay(PAYER, n, 10_000)
        self.rpc = Askable(self.chain)
        self.crowds = []
        self.times = BlockTimes()
        for number in known:
            self.times.learn(number, self.time_of(number))
        self.reader = TransferReader(self.rpc, self.times, is_eip3009=network == SECOND)

    def time_of(self, number):
        return NOW + 10 * (number - 1000)

    def crowd(self, number, payer):
        """Somebody's transfers of nothing in the payer's name: more in one block than the node shows at once."""

        def is_crowded(query):
            is_theirs = f"0x{payer[2:]:0>64}" in query["topics"][1]
            return is_theirs and int(query["fromBlock"], 16) <= number <= int(query["toBlock"], 16)

        self.crowds.append(is_crowded)
        self.rpc.refused["eth_getLogs"] = lambda params: (
            TooManyLogs(-32005, "too many") if any(each(params[0]) for each in self.crowds) else ...
        )

    def span(self, n, since, until, payer=PAYER):
        """A payment with nonce n that may be in the blocks from `since` to `until`."""
        key = Key(self.chain.network, self.chain.asset, payer, f"0x{n:064x}")
        then = datetime.fromtimestamp(NOW, UTC)
        row = PaymentRow(key, "unknown", "h", then, "f", "r", 10_000, PAY_TO, 0, 0, then, 1, None, None)
        return Span(self.time_of(since), self.time_of(until), row)

    def read(self, *spans, head=1100):
        self.rpc.asked.clear()
        return self.places(asyncio.run(self.reader.read(spans, head)))

    def blocks(self, *wanted):
        entries, hidden = asyncio.run(self.reader.blocks([(self.span(n, 1, 1).row, at) for n, at in wanted]))
        assert not hidden
        return self.places(entries)

    def places(self, entries):
        """The blocks of the logs of transfers, in order."""
        return sorted(each.place.block for each in entries if len(each.data) == 66)

    @property
    def ranges(self):
        wanted = (params[0] for method, params in self.rpc.asked if method == "eth_getLogs")
        return sorted({(int(each["fromBlock"], 16), int(each["toBlock"], 16)) for each in wanted})


@BOTH
def test_spans_that_touch_are_read_as_one_and_others_apart(network):
    yard = Yard(network, known=range(1001, 1101))
    found = yard.read(yard.span(5, 1005, 1010), yard.span(7, 1006, 1008), yard.span(12, 1013, 1015))
    # The block before the first and the one after the last moment are the bounds.
    assert yard.ranges == [(1004, 1016)]
    assert found == list(range(1004, 1017))
    yard.read(yard.span(14, 1014, 1015), yard.span(5, 1005, 1010))
    assert yard.ranges == [(1004, 1011), (1013, 1016)]
    yard.read(yard.span(40, 1040, 1050), yard.span(5, 1005, 1010), yard.span(6, 1006, 1007))
    assert yard.ranges == [(1004, 1011), (1039, 1051)]


@BOTH
def test_nothing_is_read_beyond_the_newest_block_and_nothing_for_nobody(network):
    yard = Yard(network, known=range(1001, 1101))
    assert yard.read(yard.span(95, 1095, 1200), head=1097) == [1094, 1095, 1096, 1097]
    assert yard.read(yard.span(99, 1099, 1200), head=1097) == [1097]
    assert (yard.read(), yard.blocks(), yard.rpc.asked) == ([], [], [])


@pytest.mark.parametrize("known", [(1100,), (1001, 1100), (1090, 1100), (1050, 1060, 1100), (1004, 1005, 1099, 1100)])
@pytest.mark.parametrize(("since", "until"), [(1005, 1010), (1050, 1055), (1060, 1060), (1090, 1200)])
def test_whatever_is_known_of_times_all_logs_between_two_moments_are_found(known, since, until):
    yard = Yard(SECOND, known=known)
    found = yard.read(yard.span(since - 1000, since, until))
    assert len(set(found)) == len(found)
    assert set(found) >= set(range(since, min(until, 1100) + 1))


@pytest.mark.parametrize("known", [range(1001, 1101), range(1002, 1101, 2), range(1001, 1101, 2), (1020, 1021, 1100)])
@pytest.mark.parametrize(("since", "until"), [(1020, 1021), (1021, 1022), (1019, 1020), (1060, 1061)])
def test_of_blocks_that_share_a_second_none_is_left_out(known, since, until):
    yard = Yard(SECOND, known=())
    yard.chain.times = {number: NOW + 10 * (number // 2) for number in range(1101)}
    yard.chain.clock.at = yard.chain.times[1100]
    yard.time_of = yard.chain.times.get
    for number in known:
        yard.times.learn(number, yard.time_of(number))
    inside = [at for at, moment in yard.chain.times.items() if yard.time_of(since) <= moment <= yard.time_of(until)]
    assert set(yard.read(yard.span(1, since, until))) >= set(inside)


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("most", [1, 2, 3, 7, 50, 99, 100])
def test_a_node_that_shows_few_blocks_at_once_shows_all_of_them_in_parts(network, most):
    yard = Yard(network)
    yard.chain.refuse_logs_over = most
    assert yard.read(yard.span(5, 1002, 1200)) == list(range(1001, 1101))
    assert yard.read(yard.span(5, 1002, 1200)) == list(range(1001, 1101))
    # Parts lie side by side.
    shown = [each for each in yard.ranges if each[1] - each[0] < most]
    assert shown[0][0] == 1001
    assert all(before[1] + 1 == after[0] for before, after in pairwise(shown))
    assert shown[-1][1] == 1100


@pytest.mark.slow
def test_the_next_time_a_node_is_asked_for_little_more_than_it_has_shown():
    yard = Yard(SECOND, known=(1002, 1100))
    yard.chain.refuse_logs_over = 50
    yard.read(yard.span(5, 1003, 1200))
    assert yard.ranges == [(1002, 1050), (1002, 1100), (1051, 1099), (1100, 1100)]
    # An eighth more than was shown.
    yard.read(yard.span(5, 1003, 1200))
    assert yard.ranges == [(1002, 1029), (1002, 1057), (1030, 1057), (1058, 1100)]
    yard.chain.refuse_logs_over = None
    for _ in range(100):
        yard.read(yard.span(5, 1003, 1200))
    assert yard.ranges == [(1002, 1100)]
    assert yard.reader._widest == 1_000_000


def test_one_of_two_questions_that_is_refused_is_cut_as_well():
    yard = Yard(FIRST)

    def answer(params):
        is_long = int(params[0]["toBlock"], 16) - int(params[0]["fromBlock"], 16) >= 30
        return TooManyLogs(-32005, "too many") if is_long and len(params[0]["topics"]) == 2 else ...

    yard.rpc.refused["eth_getLogs"] = answer
    assert yard.read(yard.span(5, 1002, 1200)) == list(range(1001, 1101))


def test_a_single_block_of_too_many_logs_is_the_nodes_failure():
    yard = Yard(SECOND)
    yard.rpc.refused["eth_getLogs"] = TooManyLogs(-32005, "too many")
    with pytest.raises(UpstreamDown):
        yard.read(yard.span(5, 1005, 1010))


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("crowded", [[1050], [1050, 1051], [1001], [1100], list(range(1040, 1072))])
def test_blocks_that_are_crowded_in_one_payers_name_are_shown_for_all_others(network, crowded):
    yard = Yard(network)
    for at in crowded:
        yard.crowd(at, OTHERS[3])
        yard.crowd(at, OTHERS[4])
    spans = [yard.span(5, 1002, 1200), *(yard.span(1, 1002, 1200, payer=each) for each in OTHERS)]
    assert yard.read(*spans) == list(range(1001, 1101))
    # The crowd says nothing of how much the node shows at once: what lies beside it is read as before.
    yard.rpc.asked.clear()
    assert yard.read(*spans) == list(range(1001, 1101))
    assert max(last - first for first, last in yard.ranges) >= 24
    assert len(yard.ranges) <= 16 + 4 * len(crowded)


def test_of_more_crowded_blocks_than_anybody_fills_it_is_the_node_that_shows_nothing():
    yard = Yard(SECOND)
    for at in range(1040, 1073):
        yard.crowd(at, OTHERS[3])
    with pytest.raises(UpstreamDown):
        yard.read(yard.span(5, 1002, 1200), yard.span(1, 1002, 1200, payer=OTHERS[3]))


@BOTH
def test_a_payment_in_a_block_that_is_crowded_in_its_payers_name_is_named(network):
    yard = Yard(network)
    yard.crowd(1007, OTHERS[3])
    mine, theirs = yard.span(7, 1, 1).row, yard.span(1, 1, 1, payer=OTHERS[3]).row
    entries, hidden = asyncio.run(yard.reader.blocks([(mine, 1007), (theirs, 1007), (mine, 1009)]))
    assert (yard.places(entries), hidden) == ([1007, 1009], {theirs.key})
    # Single blocks say nothing of how many are shown at once.
    assert yard.reader._widest == 1_000_000


def test_a_node_that_showed_one_block_at_a_time_is_asked_for_more_by_and_by():
    yard = Yard(SECOND)
    yard.chain.refuse_logs_over = 1
    assert yard.read(yard.span(5, 1002, 1200)) == list(range(1001, 1101))
    yard.chain.refuse_logs_over = None
    for _ in range(40):
        yard.read(yard.span(5, 1002, 1200))
    assert yard.ranges == [(1001, 1100)]


def test_a_node_that_showed_nothing_at_all_was_busy_and_is_asked_as_before():
    yard = Yard(SECOND)
    yard.rpc.refused["eth_getLogs"] = TooManyLogs(-32005, "query timed out")
    with pytest.raises(UpstreamDown):
        yard.read(yard.span(5, 1002, 1200))
    yard.rpc.refused.clear()
    yard.read(yard.span(5, 1002, 1200))
    assert yard.ranges == [(1001, 1100)]


@BOTH
def test_single_blocks_are_read_each_once(network):
    yard = Yard(network)
    assert yard.blocks((5, 1005), (6, 1005), (9, 1009)) == [1005, 1009]
    assert yard.ranges == [(1005, 1005), (1009, 1009)]


@BOTH
@pytest.mark.parametrize(
    ("method", "which"), [("eth_getLogs", 0), ("eth_getBlockByNumber", 0), ("eth_getBlockByNumber", 1)]
)
def test_a_node_that_keeps_anything_to_itself_has_said_nothing(network, method, which):
    yard = Yard(network, known=range(1001, 1101))
    asked = []

    def answer(params):
        asked.append(params)
        return RpcError(-32000, "no") if len(asked) == which + 1 else ...

    yard.rpc.refused[method] = answer
    with pytest.raises(UpstreamDown):
        yard.read(yard.span(5, 1005, 1010))


@pytest.mark.parametrize("wrong", [None, {}, "0x"])
def test_logs_that_are_no_list_are_the_nodes_failure(wrong):
    yard = Yard(SECOND)
    yard.rpc.refused["eth_getLogs"] = wrong
    with pytest.raises(UpstreamDown):
        yard.read(yard.span(5, 1005, 1010))


@pytest.mark.parametrize(("first", "last", "is_taken"), [(1004, 1011, True), (1003, 1011, False), (1004, 1012, False)])
def test_logs_of_other_blocks_than_were_asked_for_are_the_nodes_failure(first, last, is_taken):
    yard = Yard(SECOND, known=range(1001, 1101))

    def answer(params):
        return yard.chain._logs([params[0] | {"fromBlock": hex(first), "toBlock": hex(last)}])

    yard.rpc.refused["eth_getLogs"] = answer
    if is_taken:
        assert yard.read(yard.span(5, 1005, 1010)) == list(range(1004, 1012))
    else:
        with pytest.raises(UpstreamDown):
            yard.read(yard.span(5, 1005, 1010))


def test_a_chain_that_moved_while_it_was_read_is_read_another_time():
    yard = Yard(SECOND, known=range(1001, 1101))
    asked = []

    def answer(params):
        asked.append(params)
        block = yard.chain._block(params)
        return block | {"hash": "0x" + "ee" * 32} if len(asked) == 3 else block

    yard.rpc.refused["eth_getBlockByNumber"] = answer
    with pytest.raises(ChainMoved):
        yard.read(yard.span(5, 1005, 1010))


def test_the_first_block_of_all_may_be_later_than_a_payment():
    """A chain that began a moment ago has nothing older to show."""
    yard = Yard(SECOND, known=(1100,))
    yard.rpc.refused["eth_getBlockByNumber"] = lambda params: (
        yard.chain._block(params) | {"timestamp": hex(yard.time_of(1001))} if int(params[0], 16) < 1001 else ...
    )
    assert yard.read(yard.span(5, 1001, 1010))[:3] == [1001, 1002, 1003]


def test_a_node_without_any_block_before_a_payment_is_given_up():
    yard = Yard(SECOND, known=(1100,))
    late = {"timestamp": hex(yard.time_of(1200))}
    yard.rpc.refused["eth_getBlockByNumber"] = lambda params: {**yard.chain._block(params), **late}
    yard.times.before = lambda _moment, *, tries: 900 - tries
    with pytest.raises(UpstreamDown, match="no block before"):
        yard.read(yard.span(5, 1005, 1010))


@pytest.mark.parametrize(
    ("first", "first_s", "last", "last_s", "is_wide"),
    [
        (10, 99, 20, 201, True),
        # In a second there may be several blocks: one of the very moment is no bound.
        (10, 100, 20, 201, False),
        (10, 99, 20, 200, False),
        (10, None, 20, 201, False),
        (10, 99, 20, None, False),
        # There is nothing before the first block, and nothing after the newest.
        (0, 100, 20, 201, True),
        (1, 100, 20, 201, False),
        (10, 99, 30, 200, True),
        (10, 99, 30, None, True),
    ],
)
def test_a_range_is_wide_enough_when_its_ends_lie_outside_of_both_moments(first, first_s, last, last_s, is_wide):
    row = Yard(SECOND).span(1, 1001, 1002).row
    span, range_ = Span(100, 200, row), _Range(first, last, (row,))
    assert _are_wide_enough([span], [range_], {first: first_s, last: last_s}, 30) is is_wide
