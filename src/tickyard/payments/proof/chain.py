"""What the chain itself says about payments. Read only, and the only witness that counts for the books.

A used nonce alone proves nothing: it may have been cancelled. A transfer alone proves nothing either: the same payer
pays the same price many times. EIP-3009: the token names the nonce in the log before the transfer. Permit2 names it
nowhere: the payment's own bit must have flipped in the very block of the transfer, and not by hand. A node whose states
deny what its own transactions name is not believed in either.

Many payments are looked at together, in a number of calls that does not grow with theirs.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from tickyard.chain.blocks import Finality, header, read_header
from tickyard.chain.rpc.client import Rpc
from tickyard.chain.rpc.trouble import RpcError
from tickyard.config import pinned
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.observe.log import log
from tickyard.payments.books.row import PaymentRow
from tickyard.payments.offer.terms import SECOND
from tickyard.payments.proof import account as account_rules
from tickyard.payments.proof.finding import Finding, Paid, Spent, Tip, Unclear, Unused
from tickyard.payments.proof.logs import Span, TransferReader
from tickyard.payments.proof.nonces import Nonces
from tickyard.payments.proof.span import BlockTimes
from tickyard.payments.proof.transactions import Shown, known, show
from tickyard.payments.proof.transfer import PaidTransfer, ReadLog, is_cancelled, is_cancelled_by, is_transfer, is_use
from tickyard.payments.signed.key import Key

_CLOCK_SKEW_S: Final = 120
"""How far the chain's clock may be from ours."""
_CLOCK_SKEW_MAX_S: Final = 86_400
"""How far it is believed to be before a nonce is called used by somebody who was there before us."""
_CANDIDATES_MAX: Final = 4
_DENIED_MAX: Final = 300
_DENIED_OVER_MAX: Final = 1_000
"""So many transactions are read of a payment that the states deny, the newest; more after its deadline, when "not paid"
would end it: as many as its payer has made in the time of one by paying twice a second."""

AT_ONCE: Final = 100
"""Payments that are looked at together."""

_Flip = tuple[PaymentRow, tuple[PaidTransfer, ...]]
"""A payment, and the transfers of its amount in the block in which its bit has flipped."""


class ChainProof:
    """The chain of one network."""

    def __init__(self, network: str, rpc: Rpc, spender: Address = pinned.SPENDER) -> None:
        self.network = network
        self.clock = rpc.clock
        self._spender = spender
        self._rpc = rpc
        self._is_eip3009 = network == SECOND
        self.bears = AT_ONCE
        """How many payments its node can tell of in one round, as far as that is known."""
        self._times = BlockTimes()
        self._nonces = Nonces(rpc, is_eip3009=self._is_eip3009)
        self._logs = TransferReader(rpc, self._times, is_eip3009=self._is_eip3009)

    def note_round(self, rows: int, *, is_done: bool) -> None:
        """What was too much for a node once would be too much for ever: fewer the next time, and slowly more again."""
        self.bears = min(max(self.bears, 2 * rows), AT_ONCE) if is_done else max(1, min(self.bears, rows // 2))

    async def tip(self, finality: Finality = 0) -> Tip:
        if isinstance(finality, int):
            head = await self._rpc.head()
            self._times.learn(head.number, head.timestamp)
            return Tip(head.number, head.timestamp, max(0, head.number - finality))
        named = [("eth_getBlockByNumber", [name, False]) for name in ("latest", finality)]
        newest, final = await self._rpc.batch(named)
        if isinstance(newest, RpcError) or isinstance(final, RpcError):
            raise UpstreamDown("the chain node does not show its newest blocks")
        latest, last = read_header(newest), read_header(final)
        for each in (latest, last):
            self._times.learn(each.number, each.timestamp)
        # Two nodes behind one address may answer for each other: nothing is final that was not looked at.
        return Tip(latest.number, latest.timestamp, min(last.number, latest.number))

    async def time_of(self, block: int) -> int:
        known = self._times.timestamp(block)
        if known is None:
            known = (await header(self._rpc, block)).timestamp
            self._times.learn(block, known)
        return known

    async def examine(self, rows: Sequence[PaymentRow], tip: Tip) -> dict[Key, Finding]:
        """What became of each payment's nonce, as of the newest block."""
        # A chain whose newest block is long ago has a slow clock, or a node that lags: both date payments too early.
        slow_s = min(max(0, self._rpc.clock.seconds() - tip.timestamp), _CLOCK_SKEW_MAX_S) + _CLOCK_SKEW_S
        spans = [Span(row.network_time - slow_s, row.valid_before, row) for row in rows]
        entries = await self._logs.read(spans, tip.number)
        found = self._by_use(rows, entries) if self._is_eip3009 else {}
        flipped = [] if self._is_eip3009 else await self._flipped(rows, entries)
        # Whose bit has flipped is used; the others are asked for beside the transactions.
        over = {*found, *(row.key for row, _ in flipped)}
        rest = [row for row in rows if row.key not in over]
        denied = [] if self._is_eip3009 else self._denied(rest, entries, tip)
        wanted = [each for _, transfers in flipped for each in transfers]
        wanted += [each for row, transfers in denied for each in _newest(row, transfers, tip)]
        shown, used = await show(self._rpc, wanted, self._nonces.used_at(rest, tip.number))
        told = [(row.key, self._tell(row, transfers, shown)) for row, transfers in flipped]
        found |= {key: each for key, each in told if not isinstance(each, Spent)}
        is_used = self._nonces.read_used(rest, used)
        found |= {row.key: Unused() for row in rest if not is_used[row.key]}
        closely = [row for row in rows if row.key not in found]
        found |= await self._closely(closely, tip) if closely else {}
        return found | self._contradicted(denied, found, shown, tip)

    async def gone(self, rows: Sequence[PaymentRow], *beside: int) -> set[Key]:
        """Which of these are in blocks that are no longer on the chain. Of the blocks beside only the time is wanted:
        it need not be asked for after that."""
        wanted = {number for number in beside if self._times.timestamp(number) is None}
        blocks = sorted(wanted | {row.mined_block for row in rows if row.mined_block is not None})
        if not blocks:
            return set()
        answers = await self._rpc.batch([("eth_getBlockByNumber", [hex(block), False]) for block in blocks])
        hashes: dict[int | None, str] = {}
        for block, answer in zip(blocks, answers, strict=True):
            if isinstance(answer, RpcError):
                raise UpstreamDown("the chain node does not show a block")
            shown = None if answer is None else read_header(answer)
            hashes[block] = "" if shown is None else shown.hash
            if shown is not None and block in wanted:
                self._times.learn(block, shown.timestamp)
        return {row.key for row in rows if hashes[row.mined_block] != row.mined_hash}

    async def is_used(self, key: Key) -> bool:
        """Whether a nonce is used by now, before anybody has done anything with it here."""
        return await self._nonces.is_used(key)

    async def has_code(self, account: Address) -> bool:
        return await account_rules.has_code(self._rpc, account)

    async def accepts(self, account: Address, digest: bytes, signature: bytes, *, age_s: int = 0) -> bool:
        """Whether the account is a contract that takes this for its owner's signature, made so long ago at least."""
        return await account_rules.accepts(self._rpc, account, digest, signature, age_s=age_s)

    def _by_use(self, rows: Sequence[PaymentRow], entries: Sequence[ReadLog]) -> dict[Key, Finding]:
        transfers = {(each.place.transaction, each.place.log_index): each for each in entries}
        found: dict[Key, Finding] = {}
        for use in entries:
            for row in rows:
                if not is_use(use, row.key):
                    continue
                # The token writes the transfer right after the nonce: any other in the same transaction is another's.
                after = transfers.get((use.place.transaction, use.place.log_index + 1))
                if after is not None and is_transfer(after, row.key, row.pay_to, row.amount_raw):
                    found[row.key] = Paid((after.place,))
        return found

    async def _flipped(self, rows: Sequence[PaymentRow], entries: Sequence[ReadLog]) -> list[_Flip]:
        """Whose bit has flipped in the block of a transfer, and which transfers there are."""
        asked: list[tuple[PaymentRow, int, tuple[PaidTransfer, ...]]] = []
        for row in rows:
            mine = [each.place for each in entries if is_transfer(each, row.key, row.pay_to, row.amount_raw)]
            named = [each for each in mine if each.transaction in (row.transaction, row.mined)]
            for block in sorted({each.block for each in named or mine})[-_CANDIDATES_MAX:]:
                here = [each for each in entries if each.place.block == block]
                if not any(is_cancelled_by(each, pinned.MAINNET.permit2, row.key) for each in here):
                    asked.append((row, block, tuple(each for each in mine if each.block == block)))
        # What was seen once is so in that very block for ever, and its state may be forgotten before it is final.
        flipped = [(row, transfers) for row, _, transfers in asked if transfers[0].block_hash == row.mined_hash]
        asked = [each for each in asked if each[2][0].block_hash != each[0].mined_hash]
        states = await self._nonces.states([(row, at) for row, block, _ in asked for at in (block - 1, block)])
        flipped += [
            (row, transfers)
            for n, (row, _block, transfers) in enumerate(asked)
            if states[2 * n] is False and states[2 * n + 1] is True
        ]
        return flipped

    def _denied(self, rows: Sequence[PaymentRow], entries: Sequence[ReadLog], tip: Tip) -> list[_Flip]:
        """Payments of whose amount there are transfers, newest first, and in no block of these a flip: the states may
        be those of another block than was asked for. Only where "not paid" would be believed: what is settled is not
        given up before its deadline."""
        denied: list[_Flip] = []
        for row in rows:
            if row.state == "settled" and row.valid_before > tip.timestamp:
                continue
            mine = [each.place for each in entries if is_transfer(each, row.key, row.pay_to, row.amount_raw)]
            if mine:
                denied.append((row, tuple(sorted(mine, key=lambda each: each.block, reverse=True))))
        return denied

    def _contradicted(
        self, denied: Sequence[_Flip], found: Mapping[Key, Finding], shown: Shown, tip: Tip
    ) -> dict[Key, Finding]:
        """Those that were found not to be paid, while a transaction with such a transfer is theirs, names them, or was
        not read."""
        unclear: dict[Key, Finding] = {}
        for row, transfers in denied:
            says = found[row.key]
            if not isinstance(says, Unused | Spent):
                continue
            read = _newest(row, transfers, tip)
            naming = [each for each in known(row, read, shown) if each.names(row)]
            if naming:
                log.warning("a chain node's states deny what its transactions name", network=self.network)
            if any(each.is_call_of(row, self._spender) for each in naming) or any(
                each.transaction not in shown for each in read
            ):
                unclear[row.key] = Unclear()
            elif naming or len(read) < len(transfers):
                unclear[row.key] = Unclear(says)
        return unclear

    def _tell(self, row: PaymentRow, transfers: Sequence[PaidTransfer], shown: Shown) -> Finding:
        """By which of the transfers in the block of its flip it is paid: those whose transactions speak of its permit.
        None does when somebody hid it in theirs; then all that may hide one, and what they do speak of. The spender's
        own call carries one permit and hides none, whoever sold what it pays for."""
        if not transfers:
            return Spent(is_told=False)
        these = known(row, transfers, shown)
        named = tuple(each for each in these if each.names(row))
        if not named and any(each.transaction not in shown for each in transfers):
            return Unclear()
        hiding = tuple(each for each in these if each.asked != self._spender)
        # Its own transfer may be one that the node keeps to itself.
        return Paid(named or hiding) if named or hiding else Spent(is_told=not these)

    async def _closely(self, rows: Sequence[PaymentRow], tip: Tip) -> dict[Key, Finding]:
        try:
            return await self._in_their_blocks(rows, tip)
        except UpstreamDown:
            # The others are known already: what cannot be read is no reason to forget them.
            return {row.key: Unclear() for row in rows}

    async def _in_their_blocks(self, rows: Sequence[PaymentRow], tip: Tip) -> dict[Key, Finding]:
        """Find the very blocks in which the nonces were used, and read all of their logs: a node that leaves out logs
        of a long range, or a payer with a thousand equal transfers, cannot hide a payment there."""
        blocks: dict[PaymentRow, int | None] = dict.fromkeys(rows, 0)
        for skew_s in (_CLOCK_SKEW_S, _CLOCK_SKEW_MAX_S):
            early = {row: self._times.before(row.network_time - skew_s) for row, at in blocks.items() if at == 0}
            blocks |= await self._nonces.first_used(early, tip.number)
        found: dict[Key, Finding] = {row.key: Spent(is_told=True) for row, block in blocks.items() if block == 0}
        found |= {row.key: Unclear() for row, block in blocks.items() if block is None}
        entries, hidden = await self._logs.blocks([(row, block) for row, block in blocks.items() if block])
        found |= {key: Unclear() for key in hidden}
        left = [row for row in rows if row.key not in found]
        return found | (
            self._by_end(left, entries) if self._is_eip3009 else await self._by_permit(left, blocks, entries)
        )

    def _by_end(self, rows: Sequence[PaymentRow], entries: Sequence[ReadLog]) -> dict[Key, Finding]:
        # A use without its transfer tells of none: it may be the node that shows the one and not the other.
        told: dict[Key, Finding] = {
            row.key: Spent(is_told=any(is_cancelled(each, row.key) for each in entries)) for row in rows
        }
        return told | self._by_use(rows, entries)

    async def _by_permit(
        self, rows: Sequence[PaymentRow], blocks: Mapping[PaymentRow, int | None], entries: Sequence[ReadLog]
    ) -> dict[Key, Finding]:
        found: dict[Key, Finding] = {}
        flipped: list[_Flip] = []
        for row in rows:
            here = [each for each in entries if each.place.block == blocks[row]]
            if any(is_cancelled_by(each, pinned.MAINNET.permit2, row.key) for each in here):
                found[row.key] = Spent(is_told=True)
            else:
                mine = tuple(each.place for each in here if is_transfer(each, row.key, row.pay_to, row.amount_raw))
                flipped.append((row, mine))
        shown, _ = await show(self._rpc, [each for _, transfers in flipped for each in transfers])
        return found | {row.key: self._tell(row, transfers, shown) for row, transfers in flipped}


def _newest(row: PaymentRow, transfers: Sequence[PaidTransfer], tip: Tip) -> Sequence[PaidTransfer]:
    """Those of a payment that is denied whose transactions are read."""
    return transfers[: _DENIED_MAX if row.valid_before > tip.timestamp else _DENIED_OVER_MAX]
