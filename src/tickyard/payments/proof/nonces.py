"""Whether a payment's nonce is used by the end of a block: the token keeps those of EIP-3009, Permit2 its own."""

from collections.abc import Sequence
from typing import Any, Final

from tickyard.chain.abi import address_word, malformed, read_bool, read_uint, uint_word
from tickyard.chain.aggregate3 import decode, encode
from tickyard.chain.multicall import Call
from tickyard.chain.quantity import bytes_of
from tickyard.chain.rpc.client import Rpc
from tickyard.chain.rpc.trouble import RpcError
from tickyard.config import pinned
from tickyard.kernel.errors import UpstreamDown
from tickyard.payments.books.row import PaymentRow
from tickyard.payments.signed.key import Key

_AUTHORIZATION_STATE: Final = bytes.fromhex("e94a0102")
_NONCE_BITMAP: Final = bytes.fromhex("4fe02b44")


class Nonces:
    def __init__(self, rpc: Rpc, *, is_eip3009: bool) -> None:
        self._rpc = rpc
        self._is_eip3009 = is_eip3009

    async def is_used(self, key: Key) -> bool:
        """By now, before anybody has done anything with it here."""
        call = self._question(key)
        try:
            return self._read(key, await self._rpc.eth_call(call.to, call.data))
        except RpcError:
            raise malformed() from None

    def used_at(self, rows: Sequence[PaymentRow], block: int) -> list[tuple[str, Sequence[Any]]]:
        """What to ask a node: whether each is used by the end of one block. One call for all, none for nobody."""
        if not rows:
            return []
        data = encode([self._question(row.key) for row in rows])
        return [("eth_call", [{"to": pinned.MAINNET.multicall3, "data": "0x" + data}, hex(block)])]

    def read_used(self, rows: Sequence[PaymentRow], answers: Sequence[Any | RpcError]) -> dict[Key, bool]:
        used: dict[Key, bool] = {}
        for answer in answers:
            if isinstance(answer, RpcError):
                raise UpstreamDown("the chain node could not run the call")
            told = decode(bytes_of(answer), len(rows))
            used |= {row.key: self._read(row.key, each) for row, each in zip(rows, told, strict=True)}
        return used

    async def states(self, questions: Sequence[tuple[PaymentRow, int]]) -> list[bool | None]:
        """By the end of a block of its own, for each payment; None where the node no longer knows."""
        if not questions:
            return []
        calls = []
        for row, block in questions:
            call = self._question(row.key)
            calls.append(("eth_call", [{"to": call.to, "data": "0x" + call.data.hex()}, hex(block)]))
        answers = await self._rpc.batch(calls)
        states: list[bool | None] = []
        for (row, _), answer in zip(questions, answers, strict=True):
            if isinstance(answer, RpcError):
                states.append(None)
            elif answer == "0x":
                # Before there was such a contract.
                states.append(False)
            else:
                states.append(self._read(row.key, bytes_of(answer)))
        return states

    async def first_used(self, early: dict[PaymentRow, int], late: int) -> dict[PaymentRow, int | None]:
        """The very block in which each was used, after the block that is given for it and up to `late`, by which all
        are; 0 for one that was used before, None where the node no longer knows. All are halved together: the number
        of requests does not grow with theirs."""
        found: dict[PaymentRow, int | None] = {}
        ranges = {row: (low, late) for row, low in early.items()}
        asked = early
        while asked:
            states = await self.states(list(asked.items()))
            for (row, block), is_used in zip(asked.items(), states, strict=True):
                low, high = ranges[row]
                if is_used is None:
                    found[row] = None
                elif is_used and block == low:
                    found[row] = 0
                else:
                    ranges[row] = (low, block) if is_used else (block, high)
            found |= {row: high for row, (low, high) in ranges.items() if high - low <= 1 and row not in found}
            asked = {row: (low + high) // 2 for row, (low, high) in ranges.items() if row not in found}
        return found

    def _question(self, key: Key) -> Call:
        nonce, payer = int(key.nonce, 16), address_word(key.payer)
        if self._is_eip3009:
            return Call(key.asset, _AUTHORIZATION_STATE + payer + uint_word(nonce))
        return Call(pinned.MAINNET.permit2, _NONCE_BITMAP + payer + uint_word(nonce >> 8))

    def _read(self, key: Key, answer: bytes | None) -> bool:
        if answer is None:
            raise malformed()
        if self._is_eip3009:
            return read_bool(answer)
        return read_uint(answer) >> (int(key.nonce, 16) & 255) & 1 == 1
