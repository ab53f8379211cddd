"""The desk on the chain, as everybody but its payer sees it: what it holds of an epoch, and what its events say."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from tickyard.chain.abi import address_word, malformed, read_address, read_bool, read_uint, uint_word
from tickyard.chain.erc20 import allowance, balance_of, moves
from tickyard.chain.multicall import Call, aggregate
from tickyard.chain.quantity import hash_text, quantity
from tickyard.chain.rpc.client import Block, Rpc
from tickyard.features.earn.rules import day_of
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address

MOST_LINES: Final = 100
"""Of one call of `pay`."""
NO_BOOKS: Final = "0" * 64
MOST_RAW: Final = 10**15
"""No payout is more than a billion dollars, and thousands of them still add up to what a column of the store holds."""

_OPEN: Final = bytes.fromhex("7206a199")
_PAY: Final = bytes.fromhex("df98b0ab")
_PAYER: Final = bytes.fromhex("123119cd")
_OWNER: Final = bytes.fromhex("8da5cb5b")
_TOKEN: Final = bytes.fromhex("fc0c546a")
_PAUSED: Final = bytes.fromhex("5c975abb")
_BOOKS: Final = bytes.fromhex("68744046")
_POOL: Final = bytes.fromhex("fe313112")
_SPENT: Final = bytes.fromhex("d5b5cc23")
_PAID_TO: Final = bytes.fromhex("a031fb7f")

PAID: Final = "0x4f2d18324ee95128de091ed2adc501295479000ce4c2cec607aeb1b67e189e2f"
SKIPPED: Final = "0x7d97edec1e1f4d9cce71aef7b28e745baf5e21d4caf8cc15f9c90a3c232c472b"
FAILED: Final = "0x588dcfcbb5374fc86c413296e3ed7c6c0f173823a87afd0016558cc6a5969ab6"
OPENED: Final = "0x76f32340e2f299f705dfd5812338f5b6c218a1d6d02a01a4935339f6cced4cf8"
PAYER_CHANGED: Final = "0x763d21278116eed797f5129d30cda4bbc982e95846002368f69d2ed610883d17"
"""The first thing that a desk says, when it is made."""
EVENTS: Final = (PAID, SKIPPED, FAILED)

Word = Literal["paid", "skipped", "failed"]
_WORDS: Final[dict[str, Word]] = {PAID: "paid", SKIPPED: "skipped", FAILED: "failed"}


@dataclass(frozen=True, slots=True)
class DeskEpoch:
    """What the desk has of one epoch."""

    books: str
    """Hex digits of the SHA-256; all zero: not open."""
    pool_raw: int
    spent_raw: int

    @property
    def is_open(self) -> bool:
        return self.books != NO_BOOKS


@dataclass(frozen=True, slots=True)
class DeskTill:
    """Who pays, and with what."""

    payer: Address
    is_paused: bool
    usdg_raw: int
    allowance_raw: int


class DeskEvent(NamedTuple):
    block: int
    log_index: int
    word: Word
    epoch: int
    account: Address
    amount: int
    tx: str

    @property
    def fits_a_line(self) -> bool:
        """Whoever once had the payer's key can have named any number to the desk as an epoch, and any amount."""
        return day_of(self.epoch) is not None and self.amount <= MOST_RAW


def open_call(epoch: int, books: str, pool_raw: int) -> bytes:
    return _OPEN + uint_word(epoch) + bytes.fromhex(books) + uint_word(pool_raw)


def pay_call(epoch: int, lines: Sequence[tuple[Address, int]]) -> bytes:
    if not 0 < len(lines) <= MOST_LINES:
        raise ValueError(f"a batch has 1 to {MOST_LINES} lines")
    rows = b"".join(address_word(account) + uint_word(amount) for account, amount in lines)
    return _PAY + uint_word(epoch) + uint_word(64) + uint_word(len(lines)) + rows


async def read_epochs(
    rpc: Rpc, multicall: Address, desk: Address, epochs: Sequence[int], block: Block = "latest"
) -> list[DeskEpoch]:
    """Several epochs at one block, in the order asked."""
    return await read_days(rpc, multicall, [(desk, epoch) for epoch in epochs], block)


async def read_days(
    rpc: Rpc, multicall: Address, days: Sequence[tuple[Address, int]], block: Block = "latest"
) -> list[DeskEpoch]:
    """Several epochs, each of the desk that pays it."""
    calls = [Call(desk, getter + uint_word(epoch)) for desk, epoch in days for getter in (_BOOKS, _POOL, _SPENT)]
    words = [_must(answer) for answer in await aggregate(rpc, multicall, calls, block=block)]
    return [
        DeskEpoch(words[at].hex(), read_uint(words[at + 1]), read_uint(words[at + 2]))
        for at in range(0, len(words), 3)
    ]  # fmt: skip


async def read_paid(
    rpc: Rpc, multicall: Address, desk: Address, whom: Sequence[tuple[int, Address]], block: Block
) -> list[int]:
    """What accounts were paid in epochs by the desk's own memory, in the order asked."""
    calls = [Call(desk, _PAID_TO + uint_word(epoch) + address_word(account)) for epoch, account in whom]
    return [read_uint(_must(answer)) for answer in await aggregate(rpc, multicall, calls, block=block)]


async def read_till(rpc: Rpc, multicall: Address, desk: Address, usdg: Address, block: Block = "latest") -> DeskTill:
    payer, paused = await aggregate(rpc, multicall, [Call(desk, _PAYER), Call(desk, _PAUSED)], block=block)
    who = read_address(_must(payer))
    held, allowed = await read_funds(rpc, multicall, desk, usdg, who, block)
    return DeskTill(who, read_bool(_must(paused)), held, allowed)


async def read_funds(
    rpc: Rpc, multicall: Address, desk: Address, usdg: Address, payer: Address, block: Block = "latest"
) -> tuple[int, int]:
    """What an account holds, and what of it the desk may move."""
    calls = [Call(usdg, balance_of(payer)), Call(usdg, allowance(payer, desk))]
    held, allowed = await aggregate(rpc, multicall, calls, block=block)
    return read_uint(_must(held)), read_uint(_must(allowed))


async def read_payable(
    rpc: Rpc, multicall: Address, desk: Address, usdg: Address, payer: Address, block: Block = "latest"
) -> int:
    """What the desk could pay from an account to one whom the token does not block.

    Nothing while the token is paused, or blocks the account or the desk: that is no fault of those who are paid.
    """
    calls = [Call(usdg, balance_of(payer)), Call(usdg, allowance(payer, desk)), Call(usdg, moves(payer, desk))]
    held, allowed, moved = await aggregate(rpc, multicall, calls, block=block)
    # As the desk reads the token's answer: none at all is a yes.
    is_moving = moved is not None and (not moved or (len(moved) == 32 and read_uint(moved) == 1))
    return min(read_uint(_must(held)), read_uint(_must(allowed))) if is_moving else 0


async def read_payer(rpc: Rpc, desk: Address, block: Block = "latest") -> Address:
    return read_address(await rpc.eth_call(desk, _PAYER, block=block))


async def read_owner_and_token(rpc: Rpc, desk: Address) -> tuple[Address, Address]:
    return read_address(await rpc.eth_call(desk, _OWNER)), read_address(await rpc.eth_call(desk, _TOKEN))


def read_event(log: Any, desk: Address) -> DeskEvent:
    """Whatever the desk can say is read. Raises UpstreamDown, with its place, for what no desk says."""
    block, log_index = quantity(log.get("blockNumber")), quantity(log.get("logIndex"))
    try:
        return _read_event(log, desk, block, log_index)
    except UpstreamDown as down:
        where = f"block {block}, log {log_index}"
        raise UpstreamDown(f"the chain node sent a malformed event of the desk: {where}") from down


def _read_event(log: Any, desk: Address, block: int, log_index: int) -> DeskEvent:
    topics, data = log.get("topics"), log.get("data")
    if str(log.get("address")).lower() != desk or not isinstance(topics, list) or len(topics) != 3:
        raise malformed()
    word = _WORDS.get(str(topics[0]).lower())
    if word is None or not isinstance(data, str) or len(data) != 66:
        raise malformed()
    return DeskEvent(
        block,
        log_index,
        word,
        quantity(topics[1]),
        read_address(bytes.fromhex(hash_text(topics[2])[2:])),
        quantity(data),
        hash_text(log.get("transactionHash")),
    )


def _must(answer: bytes | None) -> bytes:
    if answer is None or len(answer) != 32:
        raise malformed()
    return answer
