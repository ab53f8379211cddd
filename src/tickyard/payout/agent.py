"""The payout agent: sign what is reserved, send what is signed, end what is final.

    reserved claim --sign--> bytes and hash stored --send, the same bytes again and again--> mined --final--> ended

Nothing is ever decided by an error, a time-out or a missing answer. Only the chain decides, and only at finality.
A crash anywhere leaves rows from which the next run goes on: before the commit nothing has left this process, after
it the bytes are in the store.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tickyard.chain.blocks import Finality, header
from tickyard.chain.quantity import quantity
from tickyard.chain.rpc.client import Rpc
from tickyard.chain.rpc.trouble import RpcError
from tickyard.features.earn.desk import GAS_LIMIT, max_fee
from tickyard.features.earn.digest import Sealed
from tickyard.features.earn.message import EarnTerms
from tickyard.features.earn.rules import accruing_epoch, starts_at
from tickyard.kernel.errors import UpstreamDown
from tickyard.observe.log import log
from tickyard.payout import ledger
from tickyard.payout.accepted import AcceptedSnapshots
from tickyard.payout.halt import Halted
from tickyard.payout.judge import Allowance, Claim, ClaimRefused, Held, PayoutCaps, amount_of
from tickyard.payout.outcome import Outcomes
from tickyard.payout.sending import Sending
from tickyard.payout.signer import Signer
from tickyard.payout.transaction import TransferTransaction, transaction_hash
from tickyard.store.engine import Store, Transaction
from tickyard.store.leases import Lease, guard

_SIGN_AT_ONCE: Final = 50
_LOOK_AT_ONCE: Final = 500
_SNAPSHOTS_KEPT: Final = 3


@dataclass(slots=True)
class Did:
    """What one round did."""

    signed: int = 0
    refused: int = 0
    held: int = 0
    sent: int = 0
    confirmed: int = 0
    failed: int = 0

    @property
    def is_idle(self) -> bool:
        return not (self.signed or self.refused or self.sent or self.confirmed or self.failed)


@dataclass(slots=True)
class Agent:
    store: Store
    rpc: Rpc
    signer: Signer
    terms: EarnTerms
    caps: PayoutCaps
    accepted: AcceptedSnapshots
    finality: Finality
    stop_file: Path | None = None
    """While this file exists nothing is signed or sent."""
    _sealed: dict[int, Sealed] = field(default_factory=dict)
    _finished: set[int] = field(default_factory=set)
    _told: set[tuple[int, str, str]] = field(default_factory=set)
    """Claims that are held, and why: said once."""
    _sending: Sending = field(init=False)
    _outcomes: Outcomes = field(init=False)

    def __post_init__(self) -> None:
        self._sending = Sending(self.rpc, self.store.clock)
        self._outcomes = Outcomes(self.rpc, self.finality, self.terms.usdg, self.signer.address)

    async def run_once(self, lease: Lease) -> Did:
        """One round. Raises Halted, LostLease, or UpstreamDown when the node or the store is in trouble."""
        did = Did()
        if self.stop_file is not None and self.stop_file.exists():
            return did
        chain_nonce, epochs = await self._look(lease)
        for epoch, state in epochs:
            if epoch not in self._finished:
                await self._sign_due(lease, epoch, state, did)
        async with self.store.read() as tx:
            payouts = await ledger.in_flight(tx, _LOOK_AT_ONCE)
        if payouts:
            did.sent = await self._sending.send(payouts, chain_nonce)
            await self._end_final(lease, [each for each in payouts if each.nonce < chain_nonce], did)
        return did

    async def _look(self, lease: Lease) -> tuple[int, list[tuple[int, str]]]:
        """The chain's nonce for our account, which can never be ahead of the books, and the epochs to pay for.

        The chain is asked first: our own payouts only ever raise the books before the chain.
        """
        mined = quantity(await self._ask("eth_getTransactionCount", self.signer.address, "latest"))
        async with self.store.read() as tx:
            booked = await ledger.next_nonce(tx, self.terms.chain_id, self.signer.address)
            epochs = await ledger.payable_epochs(tx)
        if booked is None:
            async with self.store.begin() as tx:
                await guard(tx, lease)
                await ledger.introduce(tx, self.terms.chain_id, self.signer.address, mined)
        elif mined > booked:
            raise Halted(f"the chain has seen {mined} transactions of the payout account, the books know {booked}")
        return mined, epochs

    async def _sign_due(self, lease: Lease, epoch: int, state: str, did: Did) -> None:
        """Sign what is reserved in one epoch, some at a time, each batch in one transaction."""
        held = did.held
        while True:
            # Those that a cap holds are passed over: they must not keep smaller ones waiting.
            passed = did.held - held
            async with self.store.read() as tx:
                waiting = await ledger.unpaid_claims(tx, epoch, 1, passed)
            if not waiting:
                break
            sealed = await self._snapshot(epoch)
            head = await header(self.rpc, "latest")
            async with self.store.begin() as tx:
                await guard(tx, lease)
                await self._sign_some(tx, sealed, max_fee(head.base_fee), passed, did)
        if state == "closed" and did.held == held:
            self._finished.add(epoch)

    async def _sign_some(self, tx: Transaction, sealed: Sealed, fee: int, passed: int, did: Did) -> None:
        now = await self.store.now(tx)
        claims = await ledger.unpaid_claims(tx, sealed.epoch, _SIGN_AT_ONCE, passed)
        first = await ledger.next_nonce(tx, self.terms.chain_id, self.signer.address)
        if first is None:
            raise Halted("the books have lost the payout account")
        day = starts_at(accruing_epoch(now))
        allowance = Allowance(
            self.caps,
            sealed.pool_raw,
            await ledger.spent_in_epoch(tx, sealed.epoch),
            await ledger.spent_since(tx, day),
        )
        nonce = first
        for claim in claims:
            try:
                amount = amount_of(claim, sealed, self.terms)
                if claim.attempt and await ledger.is_paid_or_on_its_way(tx, claim):
                    raise Halted(f"{claim.address} claims epoch {claim.epoch} again, though its payout has not failed")
                allowance.spend(amount)
            except ClaimRefused as refused:
                log.error("a claim is refused", epoch=claim.epoch, address=claim.address, why=str(refused))
                await ledger.refuse(tx, claim, str(refused), now)
                did.refused += 1
            except Held as held:
                self._tell_held(claim, str(held))
                did.held += 1
            else:
                await ledger.add(tx, await self._signed(claim, amount, nonce, fee), now)
                nonce += 1
                did.signed += 1
        if nonce > first:
            await ledger.take_nonces(tx, self.terms.chain_id, first, nonce - first)

    def _tell_held(self, claim: Claim, why: str) -> None:
        if (claim.epoch, claim.address, why) not in self._told:
            self._told.add((claim.epoch, claim.address, why))
            log.error("a claim is held", epoch=claim.epoch, address=claim.address, why=why)

    async def _signed(self, claim: Claim, amount: int, nonce: int, fee: int) -> ledger.Signed:
        transfer = TransferTransaction(
            chain_id=self.terms.chain_id,
            nonce=nonce,
            max_fee=fee,
            gas_limit=GAS_LIMIT,
            usdg=self.terms.usdg,
            receiver=claim.address,
            amount_raw=amount,
        )
        raw = transfer.signed(await self.signer.sign(transfer.digest))
        return ledger.Signed(claim.epoch, claim.address, claim.attempt, amount, nonce, raw, transaction_hash(raw))

    async def _end_final(self, lease: Lease, payouts: list[ledger.Signed], did: Did) -> None:
        """Confirm or fail what the chain has decided for good."""
        if not payouts:
            return
        if decided := await self._outcomes.decided(payouts):
            async with self.store.begin() as tx:
                await guard(tx, lease)
                now = await self.store.now(tx)
                for payout, is_paid, block in decided:
                    if await ledger.end(tx, payout, "confirmed" if is_paid else "failed", block, now):
                        did.confirmed += is_paid
                        did.failed += not is_paid
        # What is decided is written by now: doubts about one payout hold up no other.
        await self._outcomes.check_missing()

    async def _snapshot(self, epoch: int) -> Sealed:
        """The sealed snapshot, checked against the books' digest and against our own memory."""
        known = self._sealed.get(epoch)
        if known is not None:
            return known
        found, digest = await ledger.sealed(self.store, epoch)
        if found.digest != digest:
            raise Halted(f"the snapshot of epoch {epoch} is not what its digest says")
        self.accepted.accept(found)
        while len(self._sealed) >= _SNAPSHOTS_KEPT:
            del self._sealed[min(self._sealed)]
        self._sealed[epoch] = found
        return found

    async def _ask(self, method: str, *params: object) -> object:
        try:
            return await self.rpc.call(method, list(params))
        except RpcError as error:
            raise UpstreamDown("the chain node refused the call") from error
