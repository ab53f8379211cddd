"""The service token as it describes itself."""

from dataclasses import dataclass
from typing import Final, Self

from tickyard.chain.abi import WORD, malformed, read_uint
from tickyard.chain.erc20 import DECIMALS, TOTAL_SUPPLY, balance_of, read_amount, read_decimals
from tickyard.chain.rpc.client import Block, Rpc
from tickyard.kernel.ids import Address
from tickyard.kernel.units import ratio_text

_SYMBOL: Final = bytes.fromhex("95d89b41")
_SYMBOL_MAX: Final = 32


@dataclass(frozen=True, slots=True)
class TokenFacts:
    symbol: str
    decimals: int

    @classmethod
    async def read(cls, rpc: Rpc, token: Address) -> Self:
        symbol = await rpc.eth_call(token, _SYMBOL)
        return cls(_text(symbol), read_decimals(await rpc.eth_call(token, DECIMALS)))

    def whole(self, raw: int) -> str:
        """Base units as whole tokens, exact."""
        return ratio_text(raw, 10**self.decimals, self.decimals)


async def balance(rpc: Rpc, token: Address, owner: Address, block: Block = "latest") -> int:
    return read_amount(await rpc.eth_call(token, balance_of(owner), block=block))


async def total_supply(rpc: Rpc, token: Address, block: Block) -> int:
    return read_amount(await rpc.eth_call(token, TOTAL_SUPPLY, block=block))


def _text(data: bytes) -> str:
    """An ABI string, cut and cleaned: it is somebody else's text."""
    if len(data) < 2 * WORD or read_uint(data[:WORD]) != WORD:
        raise malformed()
    size = read_uint(data[WORD : 2 * WORD])
    if len(data) < 2 * WORD + size:
        raise malformed()
    shown = data[2 * WORD : 2 * WORD + min(size, _SYMBOL_MAX)].decode("ascii", "replace")
    return "".join(letter for letter in shown if letter.isprintable() and letter.isascii())
