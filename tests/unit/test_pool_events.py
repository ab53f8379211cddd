"""A pool's logs, written here by an independent encoder, and what is read of them."""

import pytest
from eth_abi import encode
from eth_utils import keccak

from tickyard.chain.v3.events import Initialized, Resized, Swapped, TokensMoved, read_log
from tickyard.kernel.errors import UpstreamDown

POOL, OWNER = "0x" + "aB" * 20, "0x" + "11" * 20


def topic(kind, value):
    return "0x" + encode([kind], [value]).hex()


def log(signature, topics, kinds, values, **changes):
    return {
        "address": POOL,
        "topics": ["0x" + keccak(text=signature).hex(), *topics],
        "data": "0x" + encode(kinds, values).hex(),
        "blockNumber": "0x10",
        "logIndex": "0x3",
        "blockHash": "0x" + "cd" * 32,
    } | changes


WHO = topic("address", OWNER)
RANGE = [topic("int24", -887_220), topic("int24", 887_220)]
INITIALIZE = log("Initialize(uint160,int24)", [], ["uint160", "int24"], [2**160 - 1, -5])
SWAP = log(
    "Swap(address,address,int256,int256,uint160,uint128,int24)",
    [WHO, WHO],
    ["int256", "int256", "uint160", "uint128", "int24"],
    [-7, 2**254, 2**96, 2**128 - 1, -887_272],
)
MINT = log(
    "Mint(address,address,int24,int24,uint128,uint256,uint256)",
    [WHO, *RANGE],
    ["address", "uint128", "uint256", "uint256"],
    [OWNER, 100, 20, 3],
)
BURN = log(
    "Burn(address,int24,int24,uint128,uint256,uint256)",
    [WHO, *RANGE],
    ["uint128", "uint256", "uint256"],
    [100, 20, 3],
)
COLLECT = log(
    "Collect(address,address,int24,int24,uint128,uint128)",
    [WHO, *RANGE],
    ["address", "uint128", "uint128"],
    [OWNER, 20, 3],
)
COLLECT_PROTOCOL = log("CollectProtocol(address,address,uint128,uint128)", [WHO, WHO], ["uint128", "uint128"], [20, 3])
FLASH = log(
    "Flash(address,address,uint256,uint256,uint256,uint256)",
    [WHO, WHO],
    ["uint256", "uint256", "uint256", "uint256"],
    [10**18, 10**18, 20, 3],
)


@pytest.mark.parametrize(
    ("told", "event"),
    [
        (INITIALIZE, Initialized(2**160 - 1, -5)),
        (SWAP, Swapped(-7, 2**254, 2**96, 2**128 - 1, -887_272)),
        (MINT, Resized(-887_220, 887_220, 100, 20, 3)),
        (BURN, Resized(-887_220, 887_220, -100, -20, -3)),
        # What is fetched leaves the pool; of what is lent, the fee stays there.
        (COLLECT, TokensMoved(-20, -3)),
        (COLLECT_PROTOCOL, TokensMoved(-20, -3)),
        (FLASH, TokensMoved(20, 3)),
    ],
)
def test_every_event_is_read_as_the_pool_sees_it(told, event):
    read = read_log(told)
    assert read == (16, 3, POOL.lower(), "0x" + "cd" * 32, event)


@pytest.mark.parametrize("good", [INITIALIZE, SWAP, MINT, BURN, COLLECT, COLLECT_PROTOCOL, FLASH])
@pytest.mark.parametrize(
    "changes",
    [
        {"removed": True},
        {"address": "0x12"},
        {"topics": []},
        {"topics": ["0x" + "77" * 32]},
        {"data": "0x00"},
        {"data": None},
        {"data": "0xzz"},
        {"blockNumber": "-0x1"},
        {"blockHash": "0x12"},
    ],
)
def test_what_is_no_log_of_a_pool_is_the_nodes_failure(good, changes):
    with pytest.raises(UpstreamDown):
        read_log(good | changes)


@pytest.mark.parametrize("good", [MINT, BURN])
def test_a_range_without_its_end_or_with_more_data_is_the_nodes_failure(good):
    for changes in ({"topics": good["topics"][:3]}, {"data": "0x" + "00" * 32 + good["data"][2:]}):
        with pytest.raises(UpstreamDown):
            read_log(good | changes)
