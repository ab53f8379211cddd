"""Sending transactions from unlocked accounts, one at a time or a whole world at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tickyard.sandbox.node.process import Node, NodeError

GAS = 50_000_000


@dataclass(frozen=True, slots=True)
class QueuedCall:
    """One transaction: where to and with what."""

    to: str
    data: str


def _request(sender: str, step: QueuedCall, nonce: int | None = None) -> tuple[str, list[Any]]:
    # No gas price: accounts without ETH send too, as long as the base fee is zero.
    transaction = {"from": sender, "to": step.to, "data": step.data, "gas": hex(GAS), "gasPrice": "0x0"}
    if nonce is not None:
        transaction["nonce"] = hex(nonce)
    return "eth_sendTransaction", [transaction]


async def send(node: Node, sender: str, step: QueuedCall) -> dict[str, Any]:
    """Send one transaction on an automining node and return its receipt."""
    hash_ = await node.call(*_request(sender, step))
    receipt: dict[str, Any] | None = await node.call("eth_getTransactionReceipt", [hash_])
    if receipt is None or receipt["status"] != "0x1":
        raise NodeError("a sandbox transaction was not mined or failed")
    return receipt


async def send_all(node: Node, sender: str, steps: Sequence[QueuedCall], *, per_block: int) -> None:
    """Send many in order, a few per block: the node's memory follows the size of its blocks."""
    await node.call("evm_setAutomine", [False])
    try:
        nonce = int(await node.call("eth_getTransactionCount", [sender, "latest"]), 16)
        hashes: list[str] = []
        for first in range(0, len(steps), per_block):
            group = steps[first : first + per_block]
            hashes += await node.batch([_request(sender, step, nonce + first + i) for i, step in enumerate(group)])
            await node.call("evm_mine")
    finally:
        await node.call("evm_setAutomine", [True])
    receipts = await node.batch([("eth_getTransactionReceipt", [hash_]) for hash_ in hashes])
    failed = [i for i, receipt in enumerate(receipts) if receipt is None or receipt["status"] != "0x1"]
    if failed:
        raise NodeError(f"{len(failed)} of {len(steps)} sandbox transactions failed, the first is number {failed[0]}")
