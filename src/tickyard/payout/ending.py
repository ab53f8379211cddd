"""What the desk has done, for good: its events in final blocks end lines, and used-up nonces end batches.

Nothing is ever decided by an error, a time-out or a missing answer, nor by an event that the desk's memory contradicts.

    Paid                paid, whoever sent it, also when the books know nothing of it; a theft where it fits no line
    Skipped             paid before, by an event that was not shown to us
    Failed              the transfer was refused; the claim is released, unless our own account could have paid nobody:
                        it was short, or the token was paused or blocked it. Then it is sent again
    none of these       the transaction was replaced, reverted or kept from us: its lines are sent again, which is
                        harmless, because the desk pays nobody twice
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import bindparam, or_, select, text, update

from tickyard.chain.abi import uint_word
from tickyard.chain.blocks import Finality, Header, final_header, header
from tickyard.chain.quantity import quantity
from tickyard.chain.rpc.client import Rpc
from tickyard.chain.rpc.stride import Stride
from tickyard.chain.rpc.trouble import RpcError, TooManyLogs
from tickyard.chain.transfers import RawLogs, read_logs
from tickyard.features.earn.books.desk import EVENTS, PAID, DeskEvent, read_event, read_payable, read_payer
from tickyard.features.earn.tables import FOREIGN, IN_ADVANCE, earn_batch, earn_desk_mark, earn_epoch, earn_line
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.observe.log import log
from tickyard.payout.branch import unpaid_again, unpaid_of
from tickyard.payout.foreign import find_early, sort_out
from tickyard.payout.halt import LOOKED_AT, Halted, halt_with
from tickyard.payout.hidden import add_hidden, epochs_with_hidden
from tickyard.payout.ledger import Batch, nonces_of
from tickyard.payout.lines import Ended, end_some
from tickyard.payout.proof import must_be_true
from tickyard.store.engine import Store
from tickyard.store.leases import Lease, guard
from tickyard.store.statement import Bulk, Query

_AT_ONCE: Final = 500
_AGAIN_S: Final = 600.0
_set_mark: Final = Bulk(
    earn_desk_mark,
    key=["desk"],
    merge=lambda new: {"block_number": new.block_number, "block_hash": new.block_hash},
)
_MARK: Final = Query(
    select(earn_desk_mark.c.block_number, earn_desk_mark.c.block_hash).where(
        earn_desk_mark.c.desk == bindparam("of_desk")
    )
)
_NOT_ASKED_FOR: Final = (
    select(earn_line.c.address)
    .join(earn_epoch, earn_epoch.c.id == earn_line.c.epoch)
    .where(
        earn_line.c.epoch == bindparam("of_epoch"),
        text(FOREIGN),
        # Of a closed day only what cannot have been this desk's: a restored one may have a million others.
        or_(earn_epoch.c.state != "closed", earn_line.c.reason == IN_ADVANCE),
    )
    .limit(1)
)
"""What a desk, this one or another, has paid and these books did not ask for."""


@dataclass(slots=True)
class Endings:
    store: Store
    rpc: Rpc
    multicall: Address
    desk: Address
    usdg: Address
    first_block: int = 0
    """The desk is not older than this block."""
    stride: Stride = field(default_factory=Stride)
    _searched: dict[int, int] = field(default_factory=dict)
    """Epochs that were searched for hidden payments, and what the desk had paid of them by then."""
    _again_at: float = 0.0
    """When what is still unknown may be read again."""
    _settled: set[int] = field(default_factory=set)
    """Epochs in which no line stands by the word of another desk."""

    async def read_on(self, lease: Lease, final: Header, ended: Ended, *, steps: int = 50) -> bool:
        """Read the desk's events up to the final block. False: there is more to read."""
        for _ in range(steps):
            mark = await self._mark()
            first = self.first_block if mark is None else mark[0] + 1
            if first > final.number:
                return True
            if mark is not None and mark[1].startswith(LOOKED_AT):
                await self._take_branch(lease, mark, final, ended)
                continue
            if (some := await self._logs(list(EVENTS), first, final)) is None:
                continue
            last, found, events = some
            if mark is not None and found.parent_hash != mark[1]:
                raise Halted(f"block {mark[0]} was final, and is not on the chain any more")
            await must_be_true(self.rpc, self.multicall, self.desk, events, final, is_all=last == final.number)
            await self._apply(lease, events, ended, (last, found.last_hash))
            self.stride.went_well(len(events), last - first + 1)
        return False

    async def _logs(
        self, words: Sequence[str], first: int, final: Header, of_day: int | None = None
    ) -> tuple[int, RawLogs, list[DeskEvent]] | None:
        """What the desk says from a block on, and up to which. None: it is to be asked for fewer blocks."""
        last = min(first + self.stride.blocks - 1, final.number)
        topics: list[Any] = [list(words)] if of_day is None else [list(words), "0x" + uint_word(of_day).hex()]
        try:
            found = await read_logs(self.rpc, self.desk, topics, first, last)
        except TooManyLogs:
            if not self.stride.refused(last - first + 1):
                raise
            return None
        except UpstreamDown:
            self.stride.stumbled(last - first + 1)
            raise
        return last, found, sorted(read_event(each, self.desk) for each in found.logs)

    async def _take_branch(self, lease: Lease, mark: tuple[int, str], final: Header, ended: Ended) -> None:
        """Go on after a halt: from where the desk was read, if that is still on the chain; else as it is there now."""
        before = await header(self.rpc, mark[0])
        if before.hash != mark[1].removeprefix(LOOKED_AT):
            again, first = await unpaid_again(self.store, self.rpc, self.multicall, self.desk, lease, final)
            ended.again += again
            # No desk is in the very first block.
            before = await header(self.rpc, max(1, self.first_block if first is None else first) - 1)
        async with self.store.begin() as tx:
            await guard(tx, lease)
            await _set_mark.run(tx, [{"desk": self.desk, "block_number": before.number, "block_hash": before.hash}])

    async def end_batches(self, lease: Lease, final: Header, batches: Sequence[Batch], ended: Ended) -> None:
        """End those whose nonce a final block has used, all of whose events have been read by now."""
        used = {payer: await self._used(payer, final) for payer in {batch.payer for batch in batches}}
        over = {(batch.payer, batch.nonce) for batch in batches if batch.nonce < used[batch.payer]}
        if not over:
            return
        async with self.store.begin() as tx:
            await guard(tx, lease)
            now = await self.store.now(tx)
            for payer, nonce in sorted(over):
                mine = (earn_line.c.payer == payer, earn_line.c.nonce == nonce, text("earn_line.state = 'sent'"))
                again = (await tx.execute(update(earn_line).where(*mine).values(state="due"))).rowcount
                ended.again += again
                if again:
                    log.warning("a batch ended without a word about its lines, they go again", nonce=nonce, lines=again)
                ending = update(earn_batch).where(earn_batch.c.payer == payer, earn_batch.c.nonce == nonce)
                await tx.execute(ending.values(ended_at=now))

    async def find_hidden(self, lease: Lease, final: Header, ended: Ended) -> None:
        """What no event has told of, when all events were read."""
        spent = await epochs_with_hidden(self.store, self.rpc, self.multicall, self.desk, final)
        for epoch, raw in spent.items():
            if self._searched.get(epoch) != raw:
                added = await add_hidden(self.store, self.rpc, self.multicall, self.desk, lease, final, epoch)
                ended.confirmed += added
                self._searched[epoch] = raw
                if added:
                    continue
            if self.store.clock.monotonic() >= self._again_at:
                self._again_at = self.store.clock.monotonic() + _AGAIN_S
                await self._read_again(lease, final, ended, epoch)

    async def _read_again(self, lease: Lease, final: Header, ended: Ended, epoch: int) -> None:
        """The payments of one day that a node may show by now.

        A thief who paid himself has no share: there is no list of those about whom the desk's memory could be asked.
        """
        log.warning("the desk has paid whom no event has told of, its events are read again", epoch=epoch)
        first = self.first_block
        while first <= final.number:
            if (some := await self._logs([PAID], first, final, epoch)) is not None:
                last, _, events = some
                await must_be_true(self.rpc, self.multicall, self.desk, events, final, is_all=False)
                await self._apply(lease, events, ended)
                self.stride.went_well(len(events), last - first + 1)
                first = last + 1

    async def set_aside(self, lease: Lease, epoch: int, finality: Finality) -> bool:
        """What another desk, replaced since, paid of a day that is this one's: nobody must be taken for paid by it.

        False: not yet, for this node is behind the one that told of it. What it has not seen may be this desk's.
        """
        if epoch in self._settled:
            return True
        async with self.store.read() as tx:
            was_anybody_paid = (await tx.execute(_NOT_ASKED_FOR, {"of_epoch": epoch})).first() is not None
        if was_anybody_paid:
            final, mark = await final_header(self.rpc, finality), await self._mark()
            if mark is not None and mark[0] > final.number:
                return False
            await unpaid_of(self.store, self.rpc, self.multicall, self.desk, lease, final, epoch)
        self._settled.add(epoch)
        return True

    async def _used(self, payer: Address, final: Header) -> int:
        """How many nonces are used for good. All, when the desk takes nothing from this payer any more."""
        if await read_payer(self.rpc, self.desk, final.hash) != payer:
            return 2**63
        try:
            used = await self.rpc.call("eth_getTransactionCount", [payer, {"blockHash": final.hash}])
        except RpcError as error:
            raise UpstreamDown("the chain node refused to show a nonce") from error
        return quantity(used)

    async def _mark(self) -> tuple[int, str] | None:
        async with self.store.read() as tx:
            found = await tx.fetch(_MARK, {"of_desk": self.desk})
        return (found[0][0], found[0][1]) if found else None

    async def _apply(
        self, lease: Lease, events: Sequence[DeskEvent], ended: Ended, mark: tuple[int, str] | None = None
    ) -> None:
        """End what the events are about and move the mark, in one transaction."""
        short, early = await self._short(events), await find_early(self.store, self.rpc, events)
        async with self.store.begin() as tx:
            await guard(tx, lease)
            now = await self.store.now(tx)
            lines, wrong = await sort_out(tx, self.desk, events)
            for epoch in sorted({event.epoch for event in lines}):
                mine = [event for event in lines if event.epoch == epoch]
                for start in range(0, len(mine), _AT_ONCE):
                    wrong += await end_some(tx, epoch, mine[start : start + _AT_ONCE], short, early, now, ended)
            if mark is not None:
                await _set_mark.run(tx, [{"desk": self.desk, "block_number": mark[0], "block_hash": mark[1]}])
            if wrong:
                # These events are not read again: whoever dies here must have told the others.
                await halt_with(tx, "; ".join(wrong[:3]), now)
        if wrong:
            raise Halted("; ".join(wrong[:3]))

    async def _short(self, events: Sequence[DeskEvent]) -> set[tuple[int, str]]:
        """Of the refused ones, by block and account, those for which our own account could not pay so much.

        It may have been filled up or emptied in the same block, after the transfer or before it: both ends count.
        """
        failed = [event for event in events if event.word == "failed"]
        if not failed:
            return set()
        async with self.store.read() as tx:
            payers = {name: payer for name, (payer, _) in (await nonces_of(tx, {each.tx for each in failed})).items()}
        asked = {(event.block, payers[event.tx]) for event in failed if event.tx in payers}
        funds = {
            (block, payer): min(await self._funds(block - 1, payer), await self._funds(block, payer))
            for block, payer in sorted(asked)
        }
        return {
            (event.block, event.account)
            for event in failed
            if event.tx in payers and funds[event.block, payers[event.tx]] < event.amount
        }

    async def _funds(self, block: int, payer: str) -> int:
        try:
            return await read_payable(self.rpc, self.multicall, self.desk, self.usdg, Address(payer), block)
        except UpstreamDown:
            # In trouble, or without the state of that block by now. To send again is harmless, and tells.
            return 0
