"""Selectors, addresses and the small rules of the contracts we speak to."""

from contextlib import suppress

import pytest

from tickyard.chain import abi, aggregate3, erc20, stock_token
from tickyard.chain.address import checksum, has_valid_checksum
from tickyard.chain.keccak import keccak256
from tickyard.chain.rpc.trouble import (
    Lagging,
    NodeUnreachable,
    Refused,
    RpcError,
    Throttled,
    TooManyLogs,
    judge,
)
from tickyard.chain.v3 import pools, quoter, router, swap_reader
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address

A = Address("0x" + "11" * 20)
B = Address("0x" + "22" * 20)
SINGLE_QUOTE = "((address,address,uint256,uint24,uint160))"
SINGLE_SWAP = "((address,address,uint24,address,uint256,uint256,uint160))"


@pytest.mark.parametrize(
    ("calldata", "signature"),
    [
        (erc20.balance_of(A), "balanceOf(address)"),
        (erc20.allowance(A, B), "allowance(address,address)"),
        (erc20.approve(A, 1), "approve(address,uint256)"),
        (erc20.TOTAL_SUPPLY, "totalSupply()"),
        (erc20.DECIMALS, "decimals()"),
        (stock_token.UI_MULTIPLIER, "uiMultiplier()"),
        (stock_token.NEW_UI_MULTIPLIER, "newUIMultiplier()"),
        (stock_token.EFFECTIVE_AT, "effectiveAt()"),
        (stock_token.ORACLE_PAUSED, "oraclePaused()"),
        (stock_token.UID, "uid()"),
        (stock_token.is_blocked(A), "isBlocked(address)"),
        (pools.get_pool(A, B, 500), "getPool(address,address,uint24)"),
        (pools.FACTORY, "factory()"),
        (pools.TOKEN0, "token0()"),
        (pools.TOKEN1, "token1()"),
        (pools.FEE, "fee()"),
        (pools.SLOT0, "slot0()"),
        (pools.LIQUIDITY, "liquidity()"),
        (quoter.quote_exact_input(A, B, 1, 500), "quoteExactInputSingle" + SINGLE_QUOTE),
        (quoter.quote_exact_output(A, B, 1, 500), "quoteExactOutputSingle" + SINGLE_QUOTE),
        (router.exact_input_single(A, B, 500, A, 1, 1), "exactInputSingle" + SINGLE_SWAP),
        (router.exact_output_single(A, B, 500, A, 1, 1), "exactOutputSingle" + SINGLE_SWAP),
        (router.with_deadline(1, b""), "multicall(uint256,bytes[])"),
        (aggregate3.AGGREGATE3, "aggregate3((address,bool,bytes)[])"),
    ],
)
def test_a_selector_is_the_hash_of_its_signature(calldata, signature):
    assert calldata[:4] == keccak256(signature.encode())[:4]


def test_addresses_are_shown_in_mixed_case():
    for shown in (
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
        "0xcA11bde05977b3631167028862bE2a173976CA11",
        "0x000000000022D473030F116dDEE9F6B43aC78BA3",
    ):
        assert checksum(Address(shown.lower())) == shown
        assert has_valid_checksum(shown)
        assert has_valid_checksum(shown.lower())
        assert has_valid_checksum("0x" + shown[2:].upper())
        assert not has_valid_checksum("0x" + shown[2:].swapcase())


def test_a_multiplier_change_is_pending_only_ahead_of_time_and_when_it_changes_something():
    assert stock_token.pending_multiplier(10, 40, 1001, 1000) == 40
    assert stock_token.pending_multiplier(10, 40, 1000, 1000) is None
    assert stock_token.pending_multiplier(40, 40, 1001, 1000) is None
    assert stock_token.pending_multiplier(10, 40, 0, 1000) is None


def test_malformed_words_are_the_nodes_failure():
    one = abi.uint_word(1)
    bad = [
        lambda: abi.read_uint(b""),
        lambda: abi.read_uint(one + b"\0"),
        lambda: abi.read_uint(abi.uint_word(256), bits=8),
        lambda: abi.read_bool(abi.uint_word(2)),
        lambda: abi.read_address(b"\1" + bytes(31)),
        lambda: abi.read_int(abi.uint_word(1 << 23), bits=24),
        lambda: abi.words(one, 2),
        lambda: stock_token.read_multiplier(bytes(32)),
        lambda: stock_token.read_multiplier(abi.uint_word(10**24 + 1)),
        lambda: pools.read_slot0(one * 6),
        lambda: pools.read_slot0(one * 6 + abi.uint_word(2)),
    ]
    for read in bad:
        with pytest.raises(UpstreamDown, match="malformed"):
            read()


@pytest.mark.parametrize(("place", "bits"), [(0, 256), (1, 160), (2, 32), (3, 256)])
def test_every_figure_of_a_quote_has_its_width(place, bits):
    widest = [0, 0, 0, 0]
    widest[place] = 2**bits - 1
    assert list(quoter.read_quote(b"".join(map(abi.uint_word, widest)))) == widest
    if bits < 256:
        widest[place] += 1
        with pytest.raises(UpstreamDown):
            quoter.read_quote(b"".join(map(abi.uint_word, widest)))


def test_a_missing_pool_is_none():
    assert pools.read_pool(bytes(32)) is None
    assert pools.read_pool(abi.address_word(A)) == A


def test_token_order_is_the_order_of_the_addresses_as_numbers():
    usdg = Address("0x5fc5360d0400a0fd4f2af552add042d716f1d168")
    assert pools.is_token0(Address("0x322f0929c4625ed5bad873c95208d54e1c003b2d"), usdg)
    assert not pools.is_token0(Address("0xd0601ce157db5bdc3162bbac2a2c8af5320d9eec"), usdg)


def test_a_quote_that_ran_to_the_end_of_the_range_is_partial():
    for input_is_token0 in (True, False):
        limit = quoter.price_limit(1 << 96, input_is_token0)
        assert quoter.is_partial(quoter.Quoted(1, limit, 0, 0), limit)
        assert not quoter.is_partial(quoter.Quoted(1, 1 << 96, 0, 0), limit)


def test_a_quote_gives_up_at_sixteen_times_the_price_or_at_the_end_of_the_range():
    assert quoter.price_limit(1 << 96, input_is_token0=True) == 1 << 94
    assert quoter.price_limit(1 << 96, input_is_token0=False) == 1 << 98
    assert quoter.price_limit(4295128740, input_is_token0=True) == 4295128740
    highest = 1461446703485210103287273052203988822378723970341
    assert quoter.price_limit(highest, input_is_token0=False) == highest


def test_an_amount_of_zero_never_becomes_a_swap():
    with pytest.raises(ValueError, match="positive"):
        router.exact_input_single(A, B, 500, A, 0, 1)


@pytest.mark.parametrize("position", [0, 35, 67, 99, 131, 163, 167, 200, 400, 419])
def test_a_changed_byte_of_the_frame_of_a_swap_is_noticed(position):
    built = router.with_deadline(7, router.exact_input_single(A, B, 500, A, 5, 4))
    wanted = swap_reader.decode_swap(built)
    changed = bytearray(built)
    changed[position] ^= 0x40
    with suppress(swap_reader.UnreadableSwap):
        assert swap_reader.decode_swap(bytes(changed)) != wanted


@pytest.mark.parametrize(
    ("method", "code", "reason", "verdict"),
    [
        ("eth_call", -32005, "limit exceeded", Throttled),
        ("eth_call", -32005, "", Throttled),
        ("eth_call", -32029, "", Throttled),
        ("eth_call", -32097, "", Throttled),
        ("eth_call", -32006, "", Refused),
        ("eth_call", 429, "x", Throttled),
        ("eth_call", -32000, "Too Many Requests", Throttled),
        ("eth_getLogs", -32005, "rate limit reached", Throttled),
        ("eth_getLogs", -32005, "query returned more than 10000 results", TooManyLogs),
        ("eth_getLogs", -32000, "number of matched logs exceed 10000", TooManyLogs),
        ("eth_getLogs", -32602, "log query timed out", TooManyLogs),
        ("eth_getLogs", -32600, "eth_getLogs is limited to a 10 block range", TooManyLogs),
        ("eth_getLogs", -32000, "block range is bigger than maxBlockRange", TooManyLogs),
        ("eth_getLogs", -32602, "block range extends beyond current head block: requested 12, head 9", Lagging),
        ("eth_getLogs", -32602, "invalid block range params", Lagging),
        ("eth_getLogs", -32602, "invalid block range", Lagging),
        ("eth_getLogs", -32602, "invalid block range, at most 500 blocks", TooManyLogs),
        ("eth_getLogs", -32000, "block 12 is beyond the latest block 9 of this node, retry later", Lagging),
        ("eth_getLogs", -32603, "toBlock exceeds current head", Lagging),
        ("eth_getLogs", -32001, "8633830 could not be found", Lagging),
        ("eth_call", -32000, "header not found", Lagging),
        ("eth_call", -32000, "header for hash not found", Lagging),
        ("eth_getBalance", -32000, "header for hash not found", Lagging),
        ("eth_call", -32000, "block not found: hash 0x" + "1f" * 32, Lagging),
        ("eth_call", -32001, "0x" + "1f" * 32 + " could not be found", Lagging),
        ("eth_maxPriorityFeePerGas", -32601, "the method could not be found", RpcError),
        ("eth_sendRawTransaction", -32000, "exceeds block gas limit", RpcError),
        ("eth_call", -32600, "Must be authenticated!", NodeUnreachable),
        ("eth_call", -32603, "Internal error", NodeUnreachable),
        ("eth_call", 3, "execution reverted: rate limit", RpcError),
        ("eth_call", -32603, "VM Exception: reverted with reason string 'throttled'", RpcError),
        ("eth_call", -32000, "out of gas", RpcError),
    ],
)
def test_an_error_answer_is_sorted_by_what_to_do_about_it(method, code, reason, verdict):
    assert type(judge(method, code, reason, None)) is verdict


def test_revert_data_is_found_where_nodes_put_it():
    text = bytes.fromhex("08c379a0") + abi.uint_word(32) + abi.uint_word(3) + b"STF".ljust(32, b"\0")
    flat = RpcError(3, "execution reverted", "0x" + text.hex())
    nested = RpcError(-32603, "reverted", {"message": "x", "data": "0x" + text.hex()})
    assert abi.revert_text(flat.revert_data) == abi.revert_text(nested.revert_data) == "STF"
    assert RpcError(3, "x", "0xabc").revert_data is None
    assert abi.revert_text(b"\x08\xc3\x79\xa0") is None
    assert RpcError(-32000, "out of gas").is_too_heavy
    assert not RpcError(3, "execution reverted: out of gas").is_too_heavy
