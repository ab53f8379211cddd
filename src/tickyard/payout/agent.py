"""The payout agent: what is claimed and not paid goes to the desk, what is final ends.

    claim --gathered--> batch --sent, again, at a higher fee--> mined --final--> the desk's events end its lines

The agent remembers next to nothing. That nobody is paid twice is the desk's doing, so everything here may be done
again: by another agent, after a crash, on an old backup, with a new key. What is written before sending is only there
to tell claimants their transaction, and to know a refusal of our own from others'.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from tickyard.chain.blocks import Finality, final_header
from tickyard.chain.rpc.client import Rpc
from tickyard.features.earn.books.desk import MOST_LINES, open_call, pay_call, read_epochs, read_payable
from tickyard.features.earn.books.digest import Books
from tickyard.features.earn.claims.message import EarnTerms
from tickyard.features.earn.rules import accruing_epoch, starts_at
from tickyard.kernel.ids import Address
from tickyard.observe import metrics
from tickyard.observe.log import log
from tickyard.payout import ledger
from tickyard.payout.accepted import AcceptedBooks
from tickyard.payout.ending import Endings
from tickyard.payout.halt import Halted, halt, must_not_be_halted
from tickyard.payout.judge import Allowance, CapReached, Claim, ClaimRefused, PayoutCaps, amount_of
from tickyard.payout.lines import Ended
from tickyard.payout.sending import Outbound
from tickyard.payout.signing.signer import Signer
from tickyard.payout.telling import Waits
from tickyard.payout.turn import Turn
from tickyard.store.engine import Store
from tickyard.store.leases import Lease, guard

GATHER_S: Final = 1.0
"""After a batch claims are gathered for so long, unless enough for a whole one are there."""
_LOOK_AT_ONCE: Final = 10 * MOST_LINES
_LOOK_AGAIN_S: Final = 60
"""Claims are written under a moment that is a little older than when they are to be seen."""
_IDLE_TIMES: Final = 10
_HELD_S: Final = 60.0
_BOOKS_KEPT: Final = 2
_SHORT: Final = "the account is short of USDG or allowance, or USDG is paused or blocks it"
_LONG_AGO: Final = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class Did:
    """What one round did."""

    opened: int = 0
    sent: int = 0
    batches: int = 0
    replaced: int = 0
    refused: int = 0
    held: int = 0
    ended: Ended = field(default_factory=Ended)

    @property
    def confirmed(self) -> int:
        return self.ended.confirmed

    @property
    def failed(self) -> int:
        return self.ended.failed

    @property
    def is_idle(self) -> bool:
        return not (self.opened or self.sent or self.replaced or self.refused or self.confirmed or self.failed)


@dataclass(slots=True)
class Agent:
    store: Store
    rpc: Rpc
    signer: Signer
    terms: EarnTerms
    desk: Address
    multicall: Address
    caps: PayoutCaps
    accepted: AcceptedBooks
    finality: Finality
    first_block: int = 0
    """The desk is not older than this block."""
    stop_file: Path | None = None
    """While this file exists nothing is signed or sent."""
    final_every_s: float = 1.0
    """How often to look what has become final."""
    _books: dict[int, Books] = field(default_factory=dict)
    _on_desk: set[int] = field(default_factory=set)
    """Epochs whose books the desk has, as far as we have seen."""
    _finished: set[int] = field(default_factory=set)  # until something of that day goes again
    _seen: dict[int, datetime] = field(default_factory=dict)
    """Up to when claims have been looked at."""
    _look_all_at: float = 0.0
    _held: dict[tuple[int, str], float] = field(default_factory=dict)
    """Claims over a cap, and when to look again."""
    _left_raw: int | None = None
    """What the account can still pay in this round."""
    _day: tuple[int, datetime, int] | None = None
    """Of which lease and day, and what was sent on it."""
    _final_at: float = 0.0
    _sent_at: float = -GATHER_S
    _outbound: Outbound = field(init=False)
    _endings: Endings = field(init=False)
    _waits: Waits = field(init=False)
    _turn: Turn = field(init=False)

    def __post_init__(self) -> None:
        self._outbound = Outbound(self.store, self.rpc, self.signer, self.terms.chain_id, self.desk, self._read_books)
        self._endings = Endings(self.store, self.rpc, self.multicall, self.desk, self.terms.usdg, self.first_block)
        self._waits = Waits(self.store, self.signer.address)
        self._turn = Turn(self.desk)

    def _is_stopped(self) -> bool:
        """A person wants nothing to be signed: looked at before every batch."""
        return self.stop_file is not None and self.stop_file.exists()

    async def run_once(self, lease: Lease) -> Did:
        """One round. Raises Halted, LostLease, NotOurTurn, or UpstreamDown for trouble of node or store."""
        did = Did()
        async with self.store.read() as tx:
            # By the rows: whoever saw that a payment has left the chain may have died, or stumbled, over it.
            self._finished -= await ledger.due_epochs(tx)
        await self._waits.tell(self._finished, self._outbound.mined)
        if self._is_stopped():
            return did
        self._outbound.begin_round()
        self._left_raw = None
        async with self.store.read() as tx:
            await must_not_be_halted(tx)
            await self._turn.must_be_ours(tx)
            epochs = [each for each in await ledger.payable_epochs(tx, self.desk) if each[0] not in self._finished]
            batches = await ledger.live_batches(tx)
        try:
            if self.store.clock.monotonic() >= self._final_at:
                await self._end_final(lease, batches, did)
            if mine := [batch for batch in batches if batch.payer == self.signer.address]:
                did.replaced += await self._outbound.push(lease, mine)
            for epoch, state in epochs:
                if self._is_stopped():
                    break
                if await self._endings.set_aside(lease, epoch, self.finality):
                    await self._serve(lease, epoch, state, did, {batch.epoch for batch in batches})
        except Halted as halted:
            # Before anything else: the row stops the others too.
            await halt(self.store, str(halted))
            raise
        return did

    async def _end_final(self, lease: Lease, batches: list[ledger.Batch], did: Did) -> None:
        final = await final_header(self.rpc, self.finality)
        if await self._endings.read_on(lease, final, did.ended):
            # With nothing on its way, only what others may have sent to the desk is to be found.
            pause_s = self.final_every_s * (1 if batches else _IDLE_TIMES)
            self._final_at = self.store.clock.monotonic() + pause_s
            await self._endings.end_batches(lease, final, batches, did.ended)
            await self._endings.find_hidden(lease, final, did.ended)
            if did.failed:
                # What has failed was not spent, and is claimed again.
                self._day = None

    async def _serve(self, lease: Lease, epoch: int, state: str, did: Did, on_their_way: set[int]) -> None:
        """Open the desk for an epoch, and pay what is claimed of it. What is on its way may come back."""
        if state != "closed" and epoch not in self._on_desk:
            await self._open(lease, epoch, did)
        if state == "sealed":
            return
        claims, is_all = await self._waiting(epoch)
        if not claims:
            if state == "closed" and is_all and epoch not in on_their_way:
                self._finished.add(epoch)
            return
        if not await self._open(lease, epoch, did):
            return
        due = self.store.clock.monotonic() >= self._sent_at + GATHER_S
        while len(claims) >= MOST_LINES or (claims and due):
            if self._is_stopped() or not await self._outbound.has_room():
                return
            some, claims = claims[:MOST_LINES], claims[MOST_LINES:]
            if not await self._pay(lease, epoch, some, did):
                self._sent_at = self.store.clock.monotonic()
                return

    async def _waiting(self, epoch: int) -> tuple[list[Claim], bool]:
        """Claims, mostly the newest, that nothing was done about, and whether there is no other, not even one held."""
        clock = self.store.clock
        if clock.monotonic() >= self._look_all_at:
            self._look_all_at = clock.monotonic() + _LOOK_AGAIN_S
            self._seen.clear()
        self._held = {key: until for key, until in self._held.items() if until > clock.monotonic()}
        async with self.store.read() as tx:
            since = self._seen.get(epoch, _LONG_AGO)
            found = await ledger.waiting_claims(tx, epoch, since, _LOOK_AT_ONCE + len(self._held))
            now = await self.store.now(tx)
        claims = [claim for claim in found if (epoch, claim.address) not in self._held]
        if not claims:
            self._seen[epoch] = now - timedelta(seconds=_LOOK_AGAIN_S)
        return claims, not found and since == _LONG_AGO

    async def _open(self, lease: Lease, epoch: int, did: Did) -> bool:
        """Whether the desk has our books of this epoch. Sends the opening when it has none."""
        books = await self._read_books(epoch)
        if epoch in self._on_desk:
            return True
        (on_desk,) = await read_epochs(self.rpc, self.multicall, self.desk, [epoch])
        if on_desk.is_open:
            if (on_desk.books, on_desk.pool_raw) != (books.digest, books.pool_raw):
                raise Halted(f"the desk has other books of epoch {epoch} than the store")
            self._on_desk.add(epoch)
            return True
        if not await self._outbound.is_opening(epoch):
            did.opened += await self._outbound.send(lease, epoch, open_call(epoch, books.digest, books.pool_raw))
        return False

    async def _pay(self, lease: Lease, epoch: int, claims: list[Claim], did: Did) -> bool:
        """Pay these, as far as the account can. False: it is short, and those who are left wait."""
        books = await self._read_books(epoch)
        lines = []
        left, day, is_short = await self._left(), await self._spent_today(lease), False
        async with self.store.begin() as tx:
            await guard(tx, lease)
            await must_not_be_halted(tx)
            now = await self.store.now(tx)
            gone = await ledger.not_kept(tx, epoch, claims)
            if gone is None:
                return True
            allowance = Allowance(self.caps, books.pool_raw, await ledger.spent_in_epoch(tx, epoch), day)
            for claim in claims:
                try:
                    if (claim.address, claim.attempt) in gone:
                        raise ClaimRefused("written after the closing")
                    amount = amount_of(claim, books, self.terms)
                    if amount > left:
                        # The desk would call it failed, and that would release the claim.
                        is_short = True
                        continue
                    if not claim.is_again:
                        allowance.spend(amount)
                except ClaimRefused as refused:
                    log.error("a claim is refused", epoch=epoch, address=claim.address, why=str(refused))
                    await ledger.refuse(tx, claim, str(refused), now)
                    did.refused += 1
                except CapReached as held:
                    log.error("a claim is held", epoch=epoch, address=claim.address, why=str(held))
                    self._held[epoch, claim.address] = self.store.clock.monotonic() + _HELD_S
                    did.held += 1
                else:
                    lines.append(ledger.PayoutLine(claim, amount))
                    left -= amount
        if is_short:
            # Who has been replaced is short for good: the money went to the new account.
            await self._outbound.must_be_payer()
            metrics.payout_refused.inc()
            log.error("the chain would refuse a payout now", why=_SHORT)
        if not lines:
            return not is_short
        data = pay_call(epoch, [(line.claim.address, line.amount_raw) for line in lines])
        if await self._outbound.send(lease, epoch, data, lines):
            self._day = (*self._day[:2], allowance.day_raw) if self._day else None
            self._sent_at = self.store.clock.monotonic()
            self._left_raw = left
            did.sent += len(lines)
            did.batches += 1
        else:
            # It may be that the opening has left the chain again.
            self._on_desk.discard(epoch)
        return not is_short

    async def _left(self) -> int:
        """What the account can pay beside what is on its way. Asked after the nonces: rather too little."""
        if self._left_raw is None:
            taken = await self._outbound.unmined_raw()
            funds = await read_payable(self.rpc, self.multicall, self.desk, self.terms.usdg, self.signer.address)
            self._left_raw = funds - taken
        return self._left_raw

    async def _spent_today(self, lease: Lease) -> int:
        """Added up once, and counted on from there: nobody else sends while we hold the lease."""
        async with self.store.read() as tx:
            day = starts_at(accruing_epoch(await self.store.now(tx)))
            if self._day is None or self._day[:2] != (lease.fence, day):
                self._day = (lease.fence, day, await ledger.spent_since(tx, day))
        return self._day[2]

    async def _read_books(self, epoch: int) -> Books:
        """The books, checked against the store's digest and against our own memory."""
        known = self._books.get(epoch)
        if known is not None:
            return known
        found, digest = await ledger.read_books(self.store, epoch)
        if found.digest != digest or not found.is_whole:
            raise Halted(f"the books of epoch {epoch} are not what their digest says")
        self.accepted.accept(found)
        while len(self._books) >= _BOOKS_KEPT:
            del self._books[min(self._books)]
        self._books[epoch] = found
        return found
