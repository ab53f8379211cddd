"""What a pool says when it changes: its logs, read with suspicion.

Only what changes a pool's curve or what it holds is asked for; amounts are signed as the pool sees them.
"""

from typing import Any, Final, NamedTuple

from tickyard.chain.abi import malformed, read_int, read_uint, words
from tickyard.chain.quantity import bytes_of, hash_text, quantity
from tickyard.kernel.ids import Address, is_address

# The hashes of what the pools declare, each named above it; a test works them out anew.
# Initialize(uint160,int24)
INITIALIZE: Final = "0x98636036cb66a9c19a37435efc1e90142190214e8abeb821bdba3f2990dd4c95"
# Swap(address,address,int256,int256,uint160,uint128,int24)
SWAP: Final = "0xc42079f94a6350d7e6235f29174924f928cc2ac818eb64fed8004e115fbcca67"
# Mint(address,address,int24,int24,uint128,uint256,uint256)
MINT: Final = "0x7a53080ba414158be7ec69b987b5fb7d07dee101fe85488f0853ae16239d0bde"
# Burn(address,int24,int24,uint128,uint256,uint256)
BURN: Final = "0x0c396cd989a39f4459b5fa1aed6a9a8dcdbc45908acfd67e028cd568da98982c"
# Collect(address,address,int24,int24,uint128,uint128)
_COLLECT: Final = "0x70935338e69775456a85ddef226c395fb668b63fa0115f5f20610b388e6ca9c0"
# CollectProtocol(address,address,uint128,uint128)
_COLLECT_PROTOCOL: Final = "0x596b573906218d3411850b26a6b437d6c4522fdb43d2d2386263f86d50b8b151"
# Flash(address,address,uint256,uint256,uint256,uint256)
_FLASH: Final = "0xbdbdb71d7860376ba52b25a5028beea23581364a40522f6bcfb86bb1f2dca633"
TOPICS: Final = (INITIALIZE, SWAP, MINT, BURN, _COLLECT, _COLLECT_PROTOCOL, _FLASH)


class Initialized(NamedTuple):
    sqrt_price_x96: int
    tick: int


class Swapped(NamedTuple):
    amount0: int
    amount1: int
    sqrt_price_x96: int
    liquidity: int
    tick: int


class Resized(NamedTuple):
    """Liquidity between two ticks, more of it or less."""

    lower: int
    upper: int
    liquidity: int
    amount0: int
    amount1: int


class TokensMoved(NamedTuple):
    """Tokens that came in or went out without a change of the curve."""

    amount0: int
    amount1: int


PoolEvent = Initialized | Swapped | Resized | TokensMoved


class PoolLog(NamedTuple):
    block: int
    place: int
    """Its index in the block."""
    pool: Address
    block_hash: str
    event: PoolEvent


def read_log(log: Any) -> PoolLog:
    """One log of a pool; whatever is not one is the node's failure."""
    if not isinstance(log, dict) or log.get("removed"):
        raise malformed()
    address, topics, data = log.get("address"), log.get("topics"), log.get("data")
    if not isinstance(address, str) or not is_address(address) or not isinstance(topics, list) or not topics:
        raise malformed()
    event = _event([_word(topic) for topic in topics], bytes_of(data))
    return PoolLog(
        quantity(log.get("blockNumber")),
        quantity(log.get("logIndex")),
        Address(address.lower()),
        hash_text(log.get("blockHash")),
        event,
    )


def _event(topics: list[bytes], data: bytes) -> PoolEvent:
    name = "0x" + topics[0].hex()
    if name == SWAP:
        amount0, amount1, price, liquidity, tick = words(data, 5)
        return Swapped(
            read_int(amount0),
            read_int(amount1),
            read_uint(price, bits=160),
            read_uint(liquidity, bits=128),
            read_int(tick, bits=24),
        )
    if name in (MINT, BURN):
        if len(topics) != 4:
            raise malformed()
        liquidity, amount0, amount1 = words(data[-96:], 3)
        if len(data) != (128 if name == MINT else 96):
            raise malformed()
        sign = 1 if name == MINT else -1
        lower, upper = read_int(topics[2], bits=24), read_int(topics[3], bits=24)
        size = read_uint(liquidity, bits=128)
        return Resized(lower, upper, sign * size, sign * read_uint(amount0), sign * read_uint(amount1))
    if name == INITIALIZE:
        price, tick = words(data, 2)
        return Initialized(read_uint(price, bits=160), read_int(tick, bits=24))
    if name in (_COLLECT, _COLLECT_PROTOCOL):
        amounts = words(data, 3)[1:] if name == _COLLECT else words(data, 2)
        return TokensMoved(-read_uint(amounts[0], bits=128), -read_uint(amounts[1], bits=128))
    if name == _FLASH:
        *_, paid0, paid1 = words(data, 4)
        return TokensMoved(read_uint(paid0), read_uint(paid1))
    raise malformed()


def _word(text: Any) -> bytes:
    return bytes.fromhex(hash_text(text)[2:])
