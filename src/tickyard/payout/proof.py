"""The desk's events held against its memory: what a node shows in logs, its state must say too."""

from collections.abc import Sequence

from tickyard.chain.blocks import Header
from tickyard.chain.rpc.client import Rpc
from tickyard.features.earn.books.desk import DeskEvent, read_paid
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.observe.log import log


async def must_be_true(
    rpc: Rpc, multicall: Address, desk: Address, events: Sequence[DeskEvent], final: Header, *, is_all: bool
) -> None:
    """Raise UpstreamDown when the node's logs and its state at the final block tell different stories.

    Whom the desk has paid stays paid, so later blocks than an event's are as good. Only whether it has not paid needs
    every event up to that block (`is_all`).
    """
    if not events:
        return
    whom = sorted({(event.epoch, event.account) for event in events})
    kept = dict(zip(whom, await read_paid(rpc, multicall, desk, whom, final.hash), strict=True))
    shown = {(event.epoch, event.account): event.amount for event in events if event.word == "paid"}
    for event in events:
        key = (event.epoch, event.account)
        if event.word == "failed":
            is_true = not kept[key] or key in shown or not is_all
        else:
            is_true = kept[key] == shown.get(key, kept[key]) != 0
        if not is_true:
            log.error(
                "the desk's events are not what its memory says", epoch=str(event.epoch),
                address=event.account, word=event.word, desk_raw=str(kept[key]),
            )  # fmt: skip
            raise UpstreamDown("the chain node shows events of the desk that its state contradicts")
