"""QuoterV2: what a swap would give, asked of the chain. Trap: here the amount stands before the fee."""

from typing import Final, NamedTuple

from tickyard.chain.abi import address_word, read_uint, uint_word, words
from tickyard.kernel.ids import Address

_QUOTE_EXACT_INPUT: Final = bytes.fromhex("c6a5026a")
_QUOTE_EXACT_OUTPUT: Final = bytes.fromhex("bd21704a")
_NO_LIMIT: Final = bytes(32)

# Without a limit of ours the quoter goes to the end of the price range, one step inside it.
LOWEST_LIMIT: Final = 4295128740
HIGHEST_LIMIT: Final = 1461446703485210103287273052203988822378723970341


class Quoted(NamedTuple):
    amount: int
    """What comes out (exact input) or what must go in (exact output), base units."""
    sqrt_price_x96_after: int
    ticks_crossed: int
    gas: int
    """Of the pool call alone: no router, no transfers, no data fee."""


def quote_exact_input(token_in: Address, token_out: Address, amount_in: int, fee: int) -> bytes:
    return _quote(_QUOTE_EXACT_INPUT, token_in, token_out, amount_in, fee)


def quote_exact_output(token_in: Address, token_out: Address, amount_out: int, fee: int) -> bytes:
    return _quote(_QUOTE_EXACT_OUTPUT, token_in, token_out, amount_out, fee)


def _quote(selector: bytes, token_in: Address, token_out: Address, amount: int, fee: int) -> bytes:
    return selector + b"".join(
        (address_word(token_in), address_word(token_out), uint_word(amount), uint_word(fee), _NO_LIMIT)
    )


def read_quote(data: bytes) -> Quoted:
    amount, after, crossed, gas = words(data, 4)
    return Quoted(read_uint(amount), read_uint(after, 160), read_uint(crossed, 32), read_uint(gas))


def is_partial(quoted: Quoted, input_is_token0: bool) -> bool:
    """Whether the pool ran dry: an exact input it cannot fill does not revert, the price runs to its end."""
    return quoted.sqrt_price_x96_after == (LOWEST_LIMIT if input_is_token0 else HIGHEST_LIMIT)
