"""What became of payouts, as far as the chain has decided it for good."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tickyard.chain.abi import address_word, malformed
from tickyard.chain.blocks import Finality, Header, final_header, header, read_header
from tickyard.chain.quantity import hash_text, quantity
from tickyard.chain.rpc.client import Rpc
from tickyard.chain.rpc.trouble import RpcError
from tickyard.chain.transfers import TRANSFER
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.observe.log import log
from tickyard.payout.halt import Halted
from tickyard.payout.ledger import Signed

Decided = tuple[Signed, bool, int]
"""A payout, whether it was paid, and in which block."""


@dataclass(slots=True)
class Outcomes:
    rpc: Rpc
    finality: Finality
    usdg: Address
    payer: Address
    _missing: list[Signed] = field(default_factory=list)
    """Payouts whose nonce is used and which the node did not show when it was last asked."""
    _final: int = 0
    _used: dict[int, Header] = field(default_factory=dict)
    """Nonces that are used though our transaction is not to be seen, and the block at which that was so."""
    _odd: set[str] = field(default_factory=set)
    """Payouts that somebody has been told to look at."""

    async def decided(self, payouts: Sequence[Signed]) -> list[Decided]:
        """Those of the payouts that are in a final block. The final block is asked for before the receipts."""
        final = await final_header(self.rpc, self.finality)
        receipts = await self.rpc.batch([("eth_getTransactionReceipt", [each.hash]) for each in payouts])
        decided: list[Decided] = []
        self._missing = missing = []
        self._final = final.number
        for payout, receipt in zip(payouts, receipts, strict=True):
            if receipt is None or isinstance(receipt, RpcError):
                # The nonce is used but the node does not show by what: it may lag, or forget. Wait.
                missing.append(payout)
                continue
            verdict = self._verdict(receipt, payout, final.number)
            if verdict is not None:
                decided.append(verdict)
        return decided

    def _verdict(self, receipt: Any, payout: Signed, final: int) -> Decided | None:
        if not isinstance(receipt, dict) or hash_text(receipt.get("transactionHash")) != payout.hash:
            raise malformed()
        block = quantity(receipt.get("blockNumber"))
        if block > final:
            return None
        if quantity(receipt.get("status")) == 0:
            return payout, False, block
        if _has_transfer(receipt.get("logs"), payout, self.usdg, self.payer):
            return payout, True, block
        # Succeeded without moving money: nothing in the protocol explains it, so nothing is released.
        if payout.hash not in self._odd:
            self._odd.add(payout.hash)
            log.error("a final payout has no transfer in it, somebody must look", nonce=payout.nonce, hash=payout.hash)
        return None

    async def check_missing(self) -> None:
        """Find out whether what was not there to see was replaced by something foreign, for good. Then Halted.

        A block is remembered at which the nonce was used. When it is final and still the same, a node that has it
        must have our transaction too, unless another one took the nonce.
        """
        missing = self._missing
        self._used = {each.nonce: self._used[each.nonce] for each in missing if each.nonce in self._used}
        new = [each for each in missing if each.nonce not in self._used]
        if new:
            head = await header(self.rpc, "latest")
            used = await self._nonce_at(head)
            for each in new:
                if each.nonce < used:
                    self._used[each.nonce] = head
                    log.warning("a nonce is used, but its payout is not there", nonce=each.nonce, hash=each.hash)
        for each in missing:
            seen = self._used.get(each.nonce)
            if seen is not None and seen.number <= self._final:
                await self._judge(each, seen)

    async def _judge(self, payout: Signed, seen: Header) -> None:
        # One batch goes to one node: it has the block, so it has what was in the blocks before it.
        block, receipt = await self.rpc.batch(
            [("eth_getBlockByNumber", [hex(seen.number), False]), ("eth_getTransactionReceipt", [payout.hash])]
        )
        if not isinstance(block, dict) or isinstance(receipt, RpcError):
            return
        if read_header(block).hash != seen.hash:
            del self._used[payout.nonce]
        elif receipt is None:
            raise Halted(
                f"nonce {payout.nonce} of the payout account was used by a transaction that is not in the books"
            )

    async def _nonce_at(self, head: Header) -> int:
        try:
            return quantity(await self.rpc.call("eth_getTransactionCount", [self.payer, {"blockHash": head.hash}]))
        except RpcError as error:
            raise UpstreamDown("the chain node refused to show a nonce") from error


def _has_transfer(logs: Any, payout: Signed, usdg: Address, payer: Address) -> bool:
    if not isinstance(logs, list):
        raise malformed()
    wanted = [TRANSFER, "0x" + address_word(payer).hex(), "0x" + address_word(payout.address).hex()]
    return any(
        isinstance(each, dict)
        and str(each.get("address")).lower() == usdg
        and [str(topic).lower() for topic in each.get("topics", [])] == wanted
        and quantity(each.get("data")) == payout.amount_raw
        for each in logs
    )
