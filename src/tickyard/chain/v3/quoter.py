"""QuoterV2: what a swap would give, asked of the chain. Trap: here the amount stands before the fee."""

from typing import Final, NamedTuple

from tickyard.chain.abi import UintWords, address_word, uint_word
from tickyard.chain.v3.math import HIGHEST_LIMIT, LOWEST_LIMIT
from tickyard.kernel.ids import Address

_QUOTE_EXACT_INPUT: Final = bytes.fromhex("c6a5026a")
_QUOTE_EXACT_OUTPUT: Final = bytes.fromhex("bd21704a")

_FARTHEST: Final = 4
"""How many times the square-root price may grow or shrink: sixteen times the price."""


_QUOTED: Final = UintWords(256, 160, 32, 256)


class Quoted(NamedTuple):
    amount: int
    """What comes out (exact input) or what must go in (exact output), base units."""
    sqrt_price_x96_after: int
    ticks_crossed: int
    gas: int
    """Of the pool call alone: no router, no transfers, no data fee."""


def quote_exact_input(token_in: Address, token_out: Address, amount_in: int, fee: int, limit: int = 0) -> bytes:
    return _quote(_QUOTE_EXACT_INPUT, token_in, token_out, amount_in, fee, limit)


def quote_exact_output(token_in: Address, token_out: Address, amount_out: int, fee: int, limit: int = 0) -> bytes:
    return _quote(_QUOTE_EXACT_OUTPUT, token_in, token_out, amount_out, fee, limit)


def _quote(selector: bytes, token_in: Address, token_out: Address, amount: int, fee: int, limit: int) -> bytes:
    return selector + b"".join(
        (address_word(token_in), address_word(token_out), uint_word(amount), uint_word(fee), uint_word(limit))
    )


def price_limit(sqrt_price_x96: int, input_is_token0: bool) -> int:
    """Where a quote gives up: far beyond any trade worth making, long before the end of the price range.

    A pool that runs dry would otherwise be searched to that end, which costs the node millions of gas.
    """
    if input_is_token0:
        return max(sqrt_price_x96 // _FARTHEST, LOWEST_LIMIT)
    return min(sqrt_price_x96 * _FARTHEST, HIGHEST_LIMIT)


def read_quote(data: bytes) -> Quoted:
    return Quoted(*_QUOTED.read(data))


def is_partial(quoted: Quoted, limit: int) -> bool:
    """Whether the pool ran dry: what it cannot fill does not always revert, the price runs to its limit."""
    return quoted.sqrt_price_x96_after == limit
