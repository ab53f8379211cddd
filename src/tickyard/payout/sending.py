"""Getting transactions onto the chain: signing, sending, sending again, and at a higher fee when they are stuck.

The nonce comes from the chain, and from what we have sent since. What a node says about a transaction (known already,
nonce too low, nothing at all) decides nothing.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from typing import Final

from tickyard.chain.blocks import header
from tickyard.chain.quantity import quantity
from tickyard.chain.rpc.client import Rpc
from tickyard.chain.rpc.trouble import RpcError
from tickyard.features.earn.books.desk import open_call, pay_call, read_payer
from tickyard.features.earn.books.digest import Books
from tickyard.features.earn.days.opening import first_offer
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.observe import metrics
from tickyard.observe.log import log
from tickyard.payout import ledger
from tickyard.payout.halt import Halted, must_not_be_halted
from tickyard.payout.signing.signer import Signer
from tickyard.payout.signing.transaction import CallTransaction, transaction_hash
from tickyard.payout.turn import NotOurTurn
from tickyard.store.engine import Store
from tickyard.store.leases import Lease, guard

UNMINED_MAX: Final = 16
"""So many transactions wait for the chain at most; those that are mined and not final count for nothing."""
AGAIN_S: Final = 2.0
STUCK_S: Final = 15.0
REFUSED_S: Final = 3.0
"""When the node did not take a nonce: somebody else's may be in its place."""
UNWANTED_S: Final = 1.0
"""How long to wait when the node says that a call would fail."""
_FEE_MOST: Final = 100
"""Times the first offer: what a replacement never goes over."""
_FIRST_TIP: Final = 10**6
"""Chains that serve in the order of arrival ignore it; the others want some, and more of it to replace."""
_PLAIN_GAS: Final = 100_000
_NO_GAS: Final = "the account is short of gas"


@dataclass(slots=True)
class Outbound:
    store: Store
    rpc: Rpc
    signer: Signer
    chain_id: int
    desk: Address
    books_of: Callable[[int], Awaitable[Books]]
    """The books that were checked: whatever is signed again is made from them."""
    mined: int | None = None
    """How many nonces the chain had taken when it was asked last."""
    _raw: dict[str, bytes] = field(default_factory=dict)
    """What was signed by this process, to send again."""
    _sent_at: dict[int, float] = field(default_factory=dict)
    """By nonce: when it was sent last."""
    _since: dict[int, float] = field(default_factory=dict)
    """By nonce: since when its newest form has been out."""
    _refused: set[int] = field(default_factory=set)
    """Nonces of which the node did not take the newest form."""
    _unwanted_until: float = 0.0
    _used: int | None = None
    _offer: int | None = None
    _wei: int | None = None

    def begin_round(self) -> None:
        """What the chain says is asked for at most once a round."""
        self._used = self._offer = self._wei = None

    async def is_opening(self, epoch: int) -> bool:
        """Whether an opening of this epoch is on its way."""
        return any(batch.opens and batch.epoch == epoch for batch in await self._unmined())

    async def has_room(self) -> bool:
        return len({batch.nonce for batch in await self._unmined()}) < UNMINED_MAX

    async def unmined_raw(self) -> int:
        """What the transactions that wait for the chain will take from the account."""
        used = await self._nonces_used()
        async with self.store.read() as tx:
            return await ledger.on_its_way(tx, self.signer.address, used)

    async def must_be_payer(self) -> None:
        """Raise NotOurTurn when the desk names another: what this key's account lacks, nobody needs then."""
        if (payer := await read_payer(self.rpc, self.desk)) != self.signer.address:
            raise NotOurTurn(f"the desk names another payer than this key: {payer}") from None

    async def send(self, lease: Lease, epoch: int, data: bytes, lines: Sequence[ledger.PayoutLine] = ()) -> int:
        """Sign, write down, send; without lines it is an opening. 0: the node says that it would fail."""
        gas = await self._gas(data)
        if gas is None:
            return 0
        offer, used = await self._fee(), await self._nonces_used()
        if await self._wei_left() < gas * offer:
            # A node that estimates does not look at the account; one that is to take it does.
            self._tell_unwanted(_NO_GAS)
            return 0
        async with self.store.begin() as tx:
            await guard(tx, lease)
            await must_not_be_halted(tx)
            taken = {each.nonce for each in await ledger.live_batches(tx) if each.payer == self.signer.address}
            nonce = next(each for each in count(used) if each not in taken)
            now = await self.store.now(tx)
            batch = await self._signed(nonce, epoch, not lines, gas, offer, _FIRST_TIP, data, now)
            await ledger.add_batch(tx, batch, lines)
        await self._broadcast([batch])
        return 1

    async def push(self, lease: Lease, batches: Sequence[ledger.Batch]) -> int:
        """Send again what the chain has not taken; what is stuck, at a higher fee. How many were replaced."""
        now = self.store.clock.monotonic()
        newest = {batch.nonce: batch for batch in batches}
        self._forget_all_but(newest)
        if not any(now >= self._sent_at.get(nonce, -AGAIN_S) + AGAIN_S for nonce in newest):
            return 0
        used = await self._nonces_used()
        # The chain takes no nonce out of turn: all of them go again.
        waiting = [each for nonce, each in sorted(newest.items()) if nonce >= used]
        replaced = 0
        for at, each in enumerate(waiting):
            if self._is_stuck(each, now):
                waiting[at] = await self._replace(lease, each)
                replaced += waiting[at] is not each
        await self._broadcast(waiting)
        return replaced

    def _forget_all_but(self, live: dict[int, ledger.Batch]) -> None:
        hashes = {batch.hash for batch in live.values()}
        self._raw = {name: raw for name, raw in self._raw.items() if name in hashes}
        self._sent_at = {nonce: at for nonce, at in self._sent_at.items() if nonce in live}
        self._since = {nonce: at for nonce, at in self._since.items() if nonce in live}
        self._refused &= live.keys()

    def _is_stuck(self, batch: ledger.Batch, now: float) -> bool:
        if batch.hash not in self._raw:
            # Signed in another life.
            return True
        return now >= self._since[batch.nonce] + (REFUSED_S if batch.nonce in self._refused else STUCK_S)

    async def _replace(self, lease: Lease, old: ledger.Batch) -> ledger.Batch:
        """The same call again at a higher fee, if the account can pay it."""
        data = await self._again(old)
        max_fee, tip = await self._next_fee(old)
        async with self.store.begin() as tx:
            await guard(tx, lease)
            await must_not_be_halted(tx)
            now = await self.store.now(tx)
            batch = await self._signed(old.nonce, old.epoch, old.opens, old.gas, max_fee, tip, data, now)
            if batch.hash == old.hash:
                return old
            await ledger.replace_batch(tx, batch)
        log.warning("a payout transaction is stuck, it goes again at another fee", nonce=old.nonce, hash=batch.hash)
        return batch

    async def _next_fee(self, old: ledger.Batch) -> tuple[int, int]:
        """What the next form of a stuck transaction offers at most, and its tip."""
        offer = await self._fee()
        payable = await self._wei_left(but=old.nonce) // old.gas
        wanted = min(max(old.max_fee * 5 // 4 + 1, offer), offer * _FEE_MOST)
        if old.max_fee > payable >= offer:
            # No node keeps what the account cannot pay, so nothing has to be outbid: from the beginning.
            return offer, _FIRST_TIP
        if wanted <= old.max_fee:
            log.error("a payout transaction is stuck at the highest fee", nonce=old.nonce, hash=old.hash)
        elif wanted <= payable:
            return wanted, min(old.tip * 5 // 4 + 1, wanted)
        else:
            self._tell_unwanted(_NO_GAS)
        return old.max_fee, old.tip

    async def _again(self, old: ledger.Batch) -> bytes:
        """What is left to do of a batch; nothing at all: a call of nobody, so that the nonces after it are free."""
        books = await self.books_of(old.epoch)
        if old.opens:
            return open_call(old.epoch, books.digest, books.pool_raw)
        async with self.store.read() as tx:
            lines = await ledger.batch_lines(tx, old)
        if any(books.share_of(address) != amount for address, amount in lines):
            raise Halted(f"a line of epoch {old.epoch} is not what the books say")
        return pay_call(old.epoch, lines) if lines else b""

    async def _signed(
        self, nonce: int, epoch: int, opens: bool, gas: int, max_fee: int, tip: int, data: bytes, now: datetime
    ) -> ledger.Batch:
        to = self.desk if data else self.signer.address
        call = CallTransaction(self.chain_id, nonce, tip, max_fee, gas, to, data)
        raw = call.signed(await self.signer.sign(call.digest))
        name = transaction_hash(raw)
        self._raw[name] = raw
        self._since[nonce] = self.store.clock.monotonic()
        self._refused.discard(nonce)
        return ledger.Batch(name, self.signer.address, nonce, epoch, opens, gas, max_fee, tip, now)

    async def _broadcast(self, batches: Sequence[ledger.Batch]) -> None:
        """Trouble is told of and decides nothing: all of it is sent again."""
        if not batches:
            return
        now = self.store.clock.monotonic()
        self._sent_at |= {each.nonce: now for each in batches}
        try:
            answers = await self.rpc.batch(
                [("eth_sendRawTransaction", ["0x" + self._raw[each.hash].hex()]) for each in batches]
            )
        except UpstreamDown as down:
            log.warning("payouts may not have been sent, they will be again", why=down.message, batches=len(batches))
            return
        for each, answer in zip(batches, answers, strict=True):
            if isinstance(answer, RpcError) and not _is_there_already(answer):
                self._refused.add(each.nonce)
                metrics.payout_refused.inc()
                log.warning("the node did not take a payout transaction", nonce=each.nonce, why=answer.reason)

    async def _gas(self, data: bytes) -> int | None:
        """What the call needs and a quarter more; None: it would fail now."""
        if self.store.clock.monotonic() < self._unwanted_until:
            return None
        call = {"from": self.signer.address, "to": self.desk, "data": "0x" + data.hex()}
        try:
            needed = quantity(await self.rpc.call("eth_estimateGas", [call]))
        except RpcError as error:
            await self.must_be_payer()
            self._tell_unwanted(error.reason)
            return None
        return needed * 5 // 4 + _PLAIN_GAS

    def _tell_unwanted(self, why: str) -> None:
        self._unwanted_until = self.store.clock.monotonic() + UNWANTED_S
        metrics.payout_refused.inc()
        log.error("the chain would refuse a payout now", why=why)

    async def _wei_left(self, *, but: int | None = None) -> int:
        """What the account has for gas, beside what may be taken for all that waits for the chain, but for one."""
        if self._wei is None:
            try:
                self._wei = quantity(await self.rpc.call("eth_getBalance", [self.signer.address, "latest"]))
            except RpcError as error:
                raise UpstreamDown("the chain node refused to show a balance") from error
        waiting = {each.nonce: each.gas * each.max_fee for each in await self._unmined() if each.nonce != but}
        return self._wei - sum(waiting.values())

    async def _fee(self) -> int:
        if self._offer is None:
            head = await header(self.rpc, "latest")
            self._offer = first_offer(head.base_fee)
        return self._offer

    async def _nonces_used(self) -> int:
        if self._used is None:
            try:
                used = await self.rpc.call("eth_getTransactionCount", [self.signer.address, "latest"])
            except RpcError as error:
                raise UpstreamDown("the chain node refused to show a nonce") from error
            self._used = self.mined = quantity(used)
        return self._used

    async def _unmined(self) -> list[ledger.Batch]:
        async with self.store.read() as tx:
            mine = [each for each in await ledger.live_batches(tx) if each.payer == self.signer.address]
        if not mine:
            return []
        used = await self._nonces_used()
        return [each for each in mine if each.nonce >= used]


def _is_there_already(error: RpcError) -> bool:
    """Nodes write it with and without a capital."""
    reason = error.reason.lower()
    return "already known" in reason or "known transaction" in reason or "nonce too low" in reason
