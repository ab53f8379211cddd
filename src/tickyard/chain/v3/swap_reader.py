"""Reading swap and approval calldata back, strictly and on its own.

This is the second pair of eyes before calldata leaves the house: it shares nothing with the encoder, follows
offsets as the contract would, and refuses every byte it cannot explain. A refusal here is a bug of ours.
"""

from dataclasses import dataclass

from tickyard.kernel.ids import Address

_SWAPS = {"04e45aaf": True, "5023b4df": False}


class UnreadableSwap(ValueError):
    """The calldata is not exactly one deadline-wrapped single-pool swap."""


@dataclass(frozen=True, slots=True)
class DecodedSwap:
    deadline: int
    is_exact_input: bool
    token_in: Address
    token_out: Address
    fee: int
    recipient: Address
    amount: int
    """amountIn (exact input) or amountOut (exact output)."""
    bound: int
    """amountOutMinimum (exact input) or amountInMaximum (exact output)."""
    price_limit: int


def decode_swap(data: bytes) -> DecodedSwap:
    """Read `multicall(deadline, [exactInputSingle | exactOutputSingle])` and nothing else."""
    outer = _Reader(data, "5ae401dc")
    deadline = outer.number(0)
    array_at = outer.number(32)
    if outer.number(array_at) != 1:
        raise UnreadableSwap("not exactly one inner call")
    item_at = array_at + 32 + outer.number(array_at + 32)
    size = outer.number(item_at)
    inner = outer.slice(item_at + 32, size)
    padding = outer.slice(item_at + 32 + size, -size % 32)
    if any(padding):
        raise UnreadableSwap("padding is not zero")
    # deadline, array offset, array length, item offset, item length: five words, each used exactly once.
    if (array_at, item_at) != (64, 128) or outer.size != 160 + size + len(padding):
        raise UnreadableSwap("bytes that no field explains")
    return _decode_single(inner, deadline)


def _decode_single(data: bytes, deadline: int) -> DecodedSwap:
    selector = data[:4].hex()
    if selector not in _SWAPS:
        raise UnreadableSwap("not a single-pool swap")
    reader = _Reader(data, selector)
    if reader.size != 7 * 32:
        raise UnreadableSwap("wrong length of the swap")
    return DecodedSwap(
        deadline=deadline,
        is_exact_input=_SWAPS[selector],
        token_in=reader.address(0),
        token_out=reader.address(32),
        fee=reader.number(64, below=1 << 24),
        recipient=reader.address(96),
        amount=reader.number(128),
        bound=reader.number(160),
        price_limit=reader.number(192, below=1 << 160),
    )


@dataclass(frozen=True, slots=True)
class DecodedApproval:
    spender: Address
    amount: int


def decode_approval(data: bytes) -> DecodedApproval:
    """Read `approve(spender, amount)` and not a byte more."""
    reader = _Reader(data, "095ea7b3")
    if reader.size != 2 * 32:
        raise UnreadableSwap("wrong length of the approval")
    return DecodedApproval(reader.address(0), reader.number(32))


class _Reader:
    """Arguments after a selector; every position is counted from their start."""

    def __init__(self, data: bytes, selector: str) -> None:
        if data[:4].hex() != selector:
            raise UnreadableSwap("unexpected function")
        self._arguments = memoryview(data)[4:]
        self.size = len(self._arguments)

    def slice(self, start: int, length: int) -> bytes:
        if start < 0 or start + length > self.size:
            raise UnreadableSwap("an offset points outside")
        return bytes(self._arguments[start : start + length])

    def number(self, start: int, below: int = 1 << 256) -> int:
        value = int(self.slice(start, 32).hex(), 16)
        if value >= below:
            raise UnreadableSwap("a number is out of range")
        return value

    def address(self, start: int) -> Address:
        return Address(f"0x{self.number(start, below=1 << 160):040x}")
