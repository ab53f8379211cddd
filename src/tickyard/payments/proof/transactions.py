"""What the transactions of transfers were asked: Permit2 names a nonce in no log, but its calldata does."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tickyard.chain.rpc.client import Rpc
from tickyard.payments.books.row import PaymentRow
from tickyard.payments.proof.transfer import PaidTransfer

Shown = Mapping[str, dict[str, Any]]
"""Transactions by their names, as far as the node shows them."""


async def show(
    rpc: Rpc, transfers: Sequence[PaidTransfer], beside: Sequence[tuple[str, Sequence[Any]]] = ()
) -> tuple[Shown, list[Any]]:
    """The transactions of these transfers, and the answers to what is asked beside."""
    names = sorted({each.transaction for each in transfers})
    answers = await rpc.batch([*beside, *(("eth_getTransactionByHash", [name]) for name in names)])
    # A node that has not come so far does not show them all.
    read = zip(names, answers[len(beside) :], strict=True)
    return {name: each for name, each in read if isinstance(each, dict)}, answers[: len(beside)]


def known(row: PaymentRow, transfers: Sequence[PaidTransfer], shown: Shown) -> tuple[PaidTransfer, ...]:
    """The transfers with what their transactions were asked, but those that the payer asked the token for directly:
    these have nothing to do with any permit."""
    read = [
        replace(each, calldata=_text(shown[each.transaction], "input"), asked=_text(shown[each.transaction], "to"))
        for each in transfers
        if each.transaction in shown
    ]
    return tuple(each for each in read if each.asked != row.key.asset)


def _text(transaction: Mapping[str, Any], name: str) -> str:
    return str(transaction.get(name, "")).lower()
