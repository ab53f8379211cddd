"""Our templates against eth-abi, and hostile return data against our decoders."""

from contextlib import suppress
from decimal import Decimal, localcontext

import pytest
from eth_abi import decode, encode
from hypothesis import example, given
from hypothesis import strategies as st

from tickyard.chain import abi, aggregate3, erc20
from tickyard.chain.multicall import Call
from tickyard.chain.v3 import pools, quoter, router, swap_reader
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.market.reading import CallTemplate

addresses = st.binary(min_size=20, max_size=20).map(lambda raw: Address("0x" + raw.hex()))
uints = st.integers(0, 2**256 - 1)
amounts = st.integers(1, 2**256 - 1)
fees = st.integers(0, 2**24 - 1)
sqrt_prices = st.integers(4295128739, 1461446703485210103287273052203988822378723970341)
payloads = st.binary(max_size=100)
outcomes = st.lists(st.tuples(st.booleans(), payloads), max_size=12)


@given(st.lists(st.tuples(addresses, payloads), max_size=12))
def test_aggregate_calldata_is_what_the_reference_encodes(calls):
    reference = encode(["(address,bool,bytes)[]"], [[(to, True, data) for to, data in calls]])
    assert aggregate3.encode([Call(*call) for call in calls]) == (aggregate3.AGGREGATE3 + reference).hex()


@given(addresses, addresses, addresses, st.lists(amounts, min_size=1, max_size=5), amounts)
def test_a_form_once_filled_is_what_the_calls_encode_to(multicall, target, wallet, limits, amount):
    def calls(wallet, amount, *limits):
        asked = [Call(target, quoter.quote_exact_input(target, wallet, amount, 500, limit)) for limit in limits]
        return [*asked, Call(wallet, pools.SLOT0), Call(target, erc20.balance_of(wallet))]

    form = CallTemplate(multicall, calls, (target, 0, *(0 for _ in limits)))
    values = (wallet, amount, *limits)
    assert form.fill(values) == aggregate3.encode(form.calls(*values))
    assert form.count == len(limits) + 3


@given(st.lists(st.integers(1, 256), min_size=1, max_size=8), st.data())
def test_numbers_of_given_widths_are_read_together_or_not_at_all(widths, data):
    numbers = tuple(data.draw(st.integers(0, 2**width - 1)) for width in widths)
    layout, words = abi.UintWords(*widths), [number.to_bytes(32, "big") for number in numbers]
    assert layout.read(b"".join(words)) == numbers
    for broken in (b"".join(words)[:-1], b"".join(words) + b"\0"):
        with pytest.raises(UpstreamDown):
            layout.read(broken)
    place = data.draw(st.integers(0, len(widths) - 1))
    if widths[place] < 256:
        words[place] = (2 ** widths[place]).to_bytes(32, "big")
        with pytest.raises(UpstreamDown):
            layout.read(b"".join(words))


@given(outcomes)
def test_aggregate_answers_are_read_as_the_reference_wrote_them(items):
    answer = encode(["(bool,bytes)[]"], [items])
    assert aggregate3.decode(answer, len(items)) == [data if ok else None for ok, data in items]


@given(st.lists(uints.map(abi.uint_word), min_size=1, max_size=12))
def test_the_fixed_stride_reads_the_same_as_following_offsets(values):
    answer = encode(["(bool,bytes)[]"], [[(True, value) for value in values]])
    assert aggregate3.decode(answer, len(values)) == values
    assert aggregate3.decode_by_offsets(answer, len(values)) == values


@given(st.binary(max_size=300), st.integers(0, 5))
def test_arbitrary_bytes_are_read_or_are_the_nodes_failure(data, count):
    read_or_upstream_down(data, count)


@given(outcomes.filter(bool), st.data())
def test_damaged_answers_are_read_or_are_the_nodes_failure(items, data):
    answer = bytearray(encode(["(bool,bytes)[]"], [items]))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(answer) // 32 - 1)) * 32
        word = data.draw(st.one_of(st.integers(0, len(answer) + 64), uints))
        answer[at : at + 32] = abi.uint_word(word)
    cut = data.draw(st.integers(0, len(answer)))
    read_or_upstream_down(bytes(answer), len(items))
    read_or_upstream_down(bytes(answer[:cut]), len(items))


def read_or_upstream_down(data, count):
    with suppress(UpstreamDown):
        assert len(aggregate3.decode(data, count)) == count


def test_results_that_share_their_bytes_are_refused():
    shared = abi.uint_word(1) + abi.uint_word(64) + abi.uint_word(640) + bytes(640)
    answer = abi.uint_word(32) + abi.uint_word(4) + abi.uint_word(128) * 4 + shared
    with pytest.raises(UpstreamDown):
        aggregate3.decode(answer, 4)


def test_an_answer_with_another_number_of_results_is_refused():
    answer = encode(["(bool,bytes)[]"], [[(True, bytes(32))] * 3])
    for count in (0, 2, 4):
        with pytest.raises(UpstreamDown):
            aggregate3.decode(answer, count)


some_calls = st.lists(st.tuples(addresses, payloads), min_size=1, max_size=5)


@given(st.lists(some_calls, min_size=1, max_size=5))
def test_calls_in_pieces_are_written_as_they_are_in_one(groups):
    pieces = [aggregate3.piece_of([Call(*call) for call in calls]) for calls in groups]
    together = [Call(*call) for calls in groups for call in calls]
    assert aggregate3.encode_pieces(pieces) == aggregate3.encode(together)


some_outcomes = st.lists(st.tuples(st.booleans(), payloads), min_size=1, max_size=5)


@given(st.lists(some_outcomes, min_size=1, max_size=5), some_outcomes)
def test_an_answer_in_pieces_says_what_it_says_as_one_whoever_stands_beside(groups, neighbour):
    pieces = [aggregate3.Piece((32,) * len(items), "") for items in groups]
    answer = encode(["(bool,bytes)[]"], [[item for items in groups for item in items]])
    parts = aggregate3.cut(answer, pieces)
    assert [part.results() for part in parts] == [[data if ok else None for ok, data in items] for items in groups]
    beside = aggregate3.Piece((32,) * len(neighbour), "")
    longer = encode(["(bool,bytes)[]"], [[*neighbour, *(item for items in groups for item in items)]])
    assert [part.raw for part in aggregate3.cut(longer, [beside, *pieces])][1:] == [part.raw for part in parts]


@given(st.lists(some_outcomes, min_size=1, max_size=4), st.data())
def test_a_damaged_answer_in_pieces_is_read_or_is_the_nodes_failure(groups, data):
    answer = bytearray(encode(["(bool,bytes)[]"], [[item for items in groups for item in items]]))
    answer[data.draw(st.integers(0, len(answer) - 1))] ^= data.draw(st.integers(1, 255))
    answer = answer[: data.draw(st.integers(0, len(answer)))]
    with suppress(UpstreamDown):
        for part in aggregate3.cut(bytes(answer), [aggregate3.Piece((32,) * len(items), "") for items in groups]):
            part.results()


@given(addresses, addresses, uints)
def test_token_calls_are_what_the_reference_encodes(owner, spender, amount):
    assert erc20.balance_of(owner)[4:] == encode(["address"], [owner])
    assert erc20.allowance(owner, spender)[4:] == encode(["address", "address"], [owner, spender])
    assert erc20.approve(spender, amount)[4:] == encode(["address", "uint256"], [spender, amount])
    assert erc20.read_amount(encode(["uint256"], [amount])) == amount


@given(addresses, addresses, uints, fees)
def test_quotes_put_the_amount_before_the_fee(token_in, token_out, amount, fee):
    reference = encode(["(address,address,uint256,uint24,uint160)"], [(token_in, token_out, amount, fee, 0)])
    assert quoter.quote_exact_input(token_in, token_out, amount, fee)[4:] == reference
    assert quoter.quote_exact_output(token_in, token_out, amount, fee)[4:] == reference


@given(uints, st.integers(0, 2**160 - 1), st.integers(0, 2**32 - 1), uints)
def test_quote_answers_are_read_field_by_field(amount, after, crossed, gas):
    fields = (amount, after, crossed, gas)
    assert quoter.read_quote(encode(["uint256", "uint160", "uint32", "uint256"], fields)) == fields


@given(addresses, addresses, fees, addresses, amounts, uints, uints, st.booleans())
def test_swaps_are_what_the_reference_encodes_and_read_back(
    token_in, token_out, fee, recipient, amount, bound, deadline, is_exact_input
):
    build = router.exact_input_single if is_exact_input else router.exact_output_single
    swap = build(token_in, token_out, fee, recipient, amount, bound)
    fields = (token_in, token_out, fee, recipient, amount, bound, 0)
    assert swap[4:] == encode(["(address,address,uint24,address,uint256,uint256,uint160)"], [fields])
    wrapped = router.with_deadline(deadline, swap)
    assert wrapped[4:] == encode(["uint256", "bytes[]"], [deadline, [swap]])
    assert swap_reader.decode_swap(wrapped) == swap_reader.DecodedSwap(
        deadline, is_exact_input, token_in, token_out, fee, recipient, amount, bound, 0
    )


@given(st.data())
def test_a_damaged_swap_never_reads_as_the_same_one(data):
    swap = router.exact_output_single(
        Address("0x" + "aa" * 20), Address("0x" + "bb" * 20), 500, Address("0x" + "cc" * 20), 5, 9
    )
    built = router.with_deadline(77, swap)
    damaged = bytearray(built)
    damaged[data.draw(st.integers(0, len(built) - 1))] ^= data.draw(st.integers(1, 255))
    extra = data.draw(st.binary(max_size=40))
    for bad in (bytes(damaged), built + extra + b"\0", built[: data.draw(st.integers(0, len(built) - 1))]):
        try:
            assert swap_reader.decode_swap(bad) != swap_reader.decode_swap(built)
        except swap_reader.UnreadableSwap:
            continue


@given(addresses, addresses, fees)
def test_pool_look_ups_are_what_the_reference_encodes(token_a, token_b, fee):
    assert pools.get_pool(token_a, token_b, fee)[4:] == encode(
        ["address", "address", "uint24"], [token_a, token_b, fee]
    )


@given(st.integers(0, 2**160 - 1), st.integers(-(2**23), 2**23 - 1), st.integers(0, 2**16 - 1), st.booleans())
def test_slot0_is_read_as_the_reference_wrote_it(price, tick, small, unlocked):
    types = ["uint160", "int24", "uint16", "uint16", "uint16", "uint8", "bool"]
    answer = encode(types, [price, tick, small, small, small, small % 256, unlocked])
    assert pools.read_slot0(answer) == (price, tick)
    assert decode(types, answer)[1] == tick


@given(sqrt_prices, st.booleans())
@example(sqrt_price_x96=2**96, token_is_token0=True)
def test_the_spot_price_is_exact_in_both_token_orders(sqrt_price_x96, token_is_token0):
    with localcontext(prec=200):
        ratio = (Decimal(sqrt_price_x96) / 2**96) ** 2
        reference = ratio * 10**12 if token_is_token0 else 10**12 / ratio
        price = pools.spot_price(sqrt_price_x96, token_is_token0)
        assert abs(Decimal(price.num) / price.den - reference) <= reference * Decimal(10) ** -150
        assert pools.price_e9(sqrt_price_x96, token_is_token0) == int(reference * 10**9 + Decimal(10) ** -60)
