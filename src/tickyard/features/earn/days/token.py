"""The service token as it describes itself."""

from dataclasses import dataclass
from typing import Final, Self

from tickyard.chain.abi import WORD, malformed, read_uint
from tickyard.chain.erc20 import DECIMALS, SYMBOL, TOTAL_SUPPLY, balance_of, read_amount, read_decimals
from tickyard.chain.multicall import Call, aggregate
from tickyard.chain.rpc.client import Block, Rpc
from tickyard.kernel.ids import ZERO_ADDRESS, Address
from tickyard.kernel.units import ratio_text

_SYMBOL_MAX: Final = 32


@dataclass(frozen=True, slots=True)
class TokenFacts:
    symbol: str
    decimals: int

    @classmethod
    async def read(cls, rpc: Rpc, token: Address) -> Self:
        symbol = await rpc.eth_call(token, SYMBOL)
        return cls(_text(symbol), await decimals(rpc, token))

    def whole(self, raw: int) -> str:
        """Base units as whole tokens, exact."""
        return ratio_text(raw, 10**self.decimals, self.decimals)


async def decimals(rpc: Rpc, token: Address, block: Block = "latest") -> int:
    return read_decimals(await rpc.eth_call(token, DECIMALS, block=block))


async def balance(rpc: Rpc, token: Address, owner: Address, block: Block = "latest") -> int:
    return read_amount(await rpc.eth_call(token, balance_of(owner), block=block))


async def supply_in_hands(rpc: Rpc, multicall: Address, token: Address, block: Block) -> int:
    """The supply without what was thrown away to the zero address, where many tokens let anybody send some.

    Their logs look like a burn's, and the supply stays as it was: one unit, and no sum of holders would reach it again.
    """
    calls = [Call(token, TOTAL_SUPPLY), Call(token, balance_of(ZERO_ADDRESS))]
    supply, thrown = await aggregate(rpc, multicall, calls, block=block)
    if supply is None:
        raise malformed()
    # A token that shows no balance of nobody keeps none there.
    return read_amount(supply) - (0 if thrown is None else read_amount(thrown))


def _text(data: bytes) -> str:
    """An ABI string, cut and cleaned: it is somebody else's text."""
    if len(data) < 2 * WORD or read_uint(data[:WORD]) != WORD:
        raise malformed()
    size = read_uint(data[WORD : 2 * WORD])
    if len(data) < 2 * WORD + size:
        raise malformed()
    shown = data[2 * WORD : 2 * WORD + min(size, _SYMBOL_MAX)].decode("ascii", "replace")
    return "".join(letter for letter in shown if letter.isprintable() and letter.isascii())
