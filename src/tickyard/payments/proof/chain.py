"""What the chain itself says about a payment. Read only, and the only witness that counts for the books.

A used nonce alone proves nothing: it may have been cancelled. A transfer alone proves nothing either: the same payer
pays the same price many times. Together, with each transfer standing for one payment only, they do.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from tickyard.chain.abi import address_word, malformed, read_bool, read_uint, uint_word
from tickyard.chain.blocks import Finality, final_header, first_at
from tickyard.chain.quantity import quantity
from tickyard.chain.rpc.client import Rpc, TooManyLogs
from tickyard.chain.transfers import TRANSFER
from tickyard.config import pinned
from tickyard.payments.ledger import PaymentRow
from tickyard.payments.offer.terms import SECOND

AUTHORIZATION_USED: Final = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5"
_AUTHORIZATION_STATE: Final = bytes.fromhex("e94a0102")
_NONCE_BITMAP: Final = bytes.fromhex("4fe02b44")
_CLOCK_SKEW_S: Final = 120
"""How far the chain's clock may be from ours."""
EXPIRY_MARGIN_S: Final = 30
"""How long after its deadline a payment is given up, for blocks that are reorganised."""


@dataclass(frozen=True, slots=True)
class PaidTransfer:
    """One transfer of the payment's amount from its payer to us."""

    transaction: str
    log_index: int
    block: int


@dataclass(frozen=True, slots=True)
class Used:
    """The nonce is used. Any one of these transfers, all there are since the payment began, may have done it."""

    transfers: Sequence[PaidTransfer]
    is_over: bool


@dataclass(frozen=True, slots=True)
class Unused:
    is_over: bool
    """The chain's time is well past the deadline: what has not happened by now never will."""


class ChainProof:
    """The chain of one network."""

    def __init__(self, network: str, rpc: Rpc) -> None:
        self.network = network
        self._rpc = rpc
        self._is_eip3009 = network == SECOND

    async def search(self, row: PaymentRow) -> Used | Unused:
        """Whether the payment's nonce is used, and by which transfers it may have been."""
        head = await self._rpc.head()
        is_over = head.timestamp > row.valid_before + EXPIRY_MARGIN_S
        if not await self._is_used(row, head.number):
            return Unused(is_over)
        first = await first_at(self._rpc, row.network_time - _CLOCK_SKEW_S, head)
        if self._is_eip3009:
            return Used(await self._transfers_with(row, first, head.number), is_over)
        topics = [TRANSFER, _topic(address_word(row.key.payer)), _topic(address_word(row.pay_to))]
        logs = await self._logs(row, topics, first, head.number)
        return Used([found for log in logs if (found := read_transfer(log, row)) is not None], is_over)

    async def transfers_in(self, row: PaymentRow, transaction: str) -> Sequence[PaidTransfer] | None:
        """The payment's transfers in one transaction. None: the chain does not have it. Reverted: none."""
        receipt = await self._rpc.call("eth_getTransactionReceipt", [transaction])
        if receipt is None:
            return None
        if not isinstance(receipt, dict) or not isinstance(receipt.get("logs"), list):
            raise malformed()
        if receipt.get("status") != "0x1":
            return []
        if self._is_eip3009 and not any(_uses_nonce(log, row) for log in receipt["logs"]):
            return []
        return [found for log in receipt["logs"] if (found := read_transfer(log, row)) is not None]

    async def final_block(self, finality: Finality) -> int:
        """The newest block that will not change."""
        return (await final_header(self._rpc, finality)).number

    async def _is_used(self, row: PaymentRow, block: int) -> bool:
        nonce, payer = int(row.key.nonce, 16), address_word(row.key.payer)
        if self._is_eip3009:
            data = _AUTHORIZATION_STATE + payer + uint_word(nonce)
            return read_bool(await self._rpc.eth_call(row.key.asset, data, block=block))
        data = _NONCE_BITMAP + payer + uint_word(nonce >> 8)
        bitmap = read_uint(await self._rpc.eth_call(pinned.MAINNET.permit2, data, block=block))
        return bitmap >> (nonce & 255) & 1 == 1

    async def _transfers_with(self, row: PaymentRow, first: int, last: int) -> Sequence[PaidTransfer]:
        """EIP-3009 names the nonce in an event: the transaction that used it is known exactly."""
        topics = [AUTHORIZATION_USED, _topic(address_word(row.key.payer)), row.key.nonce]
        transfers: list[PaidTransfer] = []
        for log in await self._logs(row, topics, first, last):
            transfers += await self.transfers_in(row, _text(log, "transactionHash")) or []
        return transfers

    async def _logs(self, row: PaymentRow, topics: list[str], first: int, last: int) -> list[dict[str, Any]]:
        """Every log of the range: halved for as long as the node finds it too large."""
        try:
            return await self._rpc.get_logs(from_block=first, to_block=last, addresses=[row.key.asset], topics=topics)
        except TooManyLogs:
            if first == last:
                raise
        middle = (first + last) // 2
        return await self._logs(row, topics, first, middle) + await self._logs(row, topics, middle + 1, last)


def read_transfer(log: Any, row: PaymentRow) -> PaidTransfer | None:
    """The log as the payment's transfer; None when it is something else."""
    if not isinstance(log, dict) or not isinstance(topics := log.get("topics"), list):
        raise malformed()
    parties = [TRANSFER, _topic(address_word(row.key.payer)), _topic(address_word(row.pay_to))]
    if str(log.get("address")).lower() != row.key.asset or [str(topic).lower() for topic in topics] != parties:
        return None
    if log.get("removed") is True or quantity(log.get("data")) != row.amount_raw:
        return None
    return PaidTransfer(
        _text(log, "transactionHash").lower(), quantity(log.get("logIndex")), quantity(log.get("blockNumber"))
    )


def _uses_nonce(log: Any, row: PaymentRow) -> bool:
    """Whether this is the token's word that the payment's own nonce was used here."""
    if not isinstance(log, dict) or not isinstance(topics := log.get("topics"), list):
        raise malformed()
    named = [AUTHORIZATION_USED, _topic(address_word(row.key.payer)), row.key.nonce]
    return str(log.get("address")).lower() == row.key.asset and [str(topic).lower() for topic in topics] == named


def _topic(word: bytes) -> str:
    return "0x" + word.hex()


def _text(holder: dict[str, Any], name: str) -> str:
    value = holder.get(name)
    if not isinstance(value, str):
        raise malformed()
    return value
