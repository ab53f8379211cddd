"""SwapRouter02 calldata. Trap: here the fee and the recipient stand before the amounts.

The swap structs have no deadline, so a swap is always wrapped in `multicall(deadline, [swap])`.
What is built here is read back by `swap_reader`, which shares no code with it.
"""

from typing import Final

from tickyard.chain.abi import WORD, address_word, uint_word
from tickyard.kernel.ids import Address

_EXACT_INPUT_SINGLE: Final = bytes.fromhex("04e45aaf")
_EXACT_OUTPUT_SINGLE: Final = bytes.fromhex("5023b4df")
_MULTICALL: Final = bytes.fromhex("5ae401dc")
_NO_LIMIT: Final = bytes(WORD)


def exact_input_single(
    token_in: Address, token_out: Address, fee: int, recipient: Address, amount_in: int, min_out: int
) -> bytes:
    return _single(_EXACT_INPUT_SINGLE, token_in, token_out, fee, recipient, amount_in, min_out)


def exact_output_single(
    token_in: Address, token_out: Address, fee: int, recipient: Address, amount_out: int, max_in: int
) -> bytes:
    return _single(_EXACT_OUTPUT_SINGLE, token_in, token_out, fee, recipient, amount_out, max_in)


def _single(
    selector: bytes,
    token_in: Address,
    token_out: Address,
    fee: int,
    recipient: Address,
    amount: int,
    bound: int,
) -> bytes:
    if amount <= 0:
        # To the router an amount of 0 means "all that you hold".
        raise ValueError("a swap needs a positive amount")
    return b"".join(
        (
            selector,
            address_word(token_in),
            address_word(token_out),
            uint_word(fee),
            address_word(recipient),
            uint_word(amount),
            uint_word(bound),
            _NO_LIMIT,
        )
    )


def with_deadline(deadline: int, swap: bytes) -> bytes:
    """`multicall(uint256 deadline, bytes[] data)` with this one swap: reverts after the deadline."""
    return b"".join(
        (
            _MULTICALL,
            uint_word(deadline),
            uint_word(2 * WORD),
            uint_word(1),
            uint_word(WORD),
            uint_word(len(swap)),
            swap,
            bytes(-len(swap) % WORD),
        )
    )
