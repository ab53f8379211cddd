"""What became of payouts, as far as the chain has decided it for good."""

from collections.abc import Sequence
from typing import Any, Final

from tickyard.chain.abi import address_word, malformed
from tickyard.chain.rpc import Rpc
from tickyard.chain.trouble import RpcError
from tickyard.features.earn.blocks import Finality, final_header, hash_text, quantity
from tickyard.kernel.ids import Address
from tickyard.observe.log import log
from tickyard.payout.ledger import Signed

_TRANSFER: Final = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"

Decided = tuple[Signed, bool, int]
"""A payout, whether it was paid, and in which block."""


async def outcomes(
    rpc: Rpc, finality: Finality, usdg: Address, payer: Address, payouts: Sequence[Signed]
) -> list[Decided]:
    """Those of the payouts that are in a final block. The final block is asked for before the receipts."""
    final = await final_header(rpc, finality)
    receipts = await rpc.batch([("eth_getTransactionReceipt", [each.hash]) for each in payouts])
    decided: list[Decided] = []
    for payout, receipt in zip(payouts, receipts, strict=True):
        if receipt is None or isinstance(receipt, RpcError):
            # The nonce is used but the node does not show by what: it may lag, or forget. Wait.
            log.warning("a payout's nonce is used, but its receipt is not there", nonce=payout.nonce, hash=payout.hash)
            continue
        verdict = _verdict(receipt, payout, usdg, payer, final.number)
        if verdict is not None:
            decided.append(verdict)
    return decided


def _verdict(receipt: Any, payout: Signed, usdg: Address, payer: Address, final: int) -> Decided | None:
    if not isinstance(receipt, dict) or hash_text(receipt.get("transactionHash")) != payout.hash:
        raise malformed()
    block = quantity(receipt.get("blockNumber"))
    if block > final:
        return None
    if quantity(receipt.get("status")) == 0:
        return payout, False, block
    if _has_transfer(receipt.get("logs"), payout, usdg, payer):
        return payout, True, block
    # Succeeded without moving money: nothing in the protocol explains it, so nothing is released.
    log.error("a final payout has no transfer in it, somebody must look", nonce=payout.nonce, hash=payout.hash)
    return None


def _has_transfer(logs: Any, payout: Signed, usdg: Address, payer: Address) -> bool:
    if not isinstance(logs, list):
        raise malformed()
    wanted = [_TRANSFER, "0x" + address_word(payer).hex(), "0x" + address_word(payout.address).hex()]
    return any(
        isinstance(each, dict)
        and str(each.get("address")).lower() == usdg
        and [str(topic).lower() for topic in each.get("topics", [])] == wanted
        and quantity(each.get("data")) == payout.amount_raw
        for each in logs
    )
