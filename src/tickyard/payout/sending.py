"""Broadcasting stored bytes, in nonce order, again and again until the chain has them."""

from collections.abc import Sequence
from typing import Final

from tickyard.chain.rpc.client import Rpc
from tickyard.chain.rpc.trouble import RpcError
from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import UpstreamDown
from tickyard.observe.log import log
from tickyard.payout.ledger import Signed, in_order

AGAIN_S: Final = 2.0
_REFUSED_S: Final = 0.5
"""Sooner when the node refused some: one that it has lost, or never saw, keeps all behind it from being taken."""
_AT_ONCE: Final = 20


class Sending:
    def __init__(self, rpc: Rpc, clock: Clock) -> None:
        self._rpc = rpc
        self._clock = clock
        self._again_at: dict[str, float] = {}
        """When a payout that was sent is due again."""

    async def send(self, payouts: Sequence[Signed], chain_nonce: int) -> int:
        """Send what the chain has not mined and was not sent a moment ago. How many were sent.

        What a node says about it (known already, nonce too low, nothing at all) decides nothing.
        """
        waiting = in_order(payouts, chain_nonce)
        now = self._clock.monotonic()
        self._again_at = {each.hash: self._again_at[each.hash] for each in waiting if each.hash in self._again_at}
        due = [each for each in waiting if now >= self._again_at.get(each.hash, now)]
        if due:
            # The chain takes no nonce out of turn: from the first that is due on, all go again.
            due = [each for each in waiting if each.nonce >= due[0].nonce]
        sent = 0
        for start in range(0, len(due), _AT_ONCE):
            some = due[start : start + _AT_ONCE]
            sent += len(some)
            if await self._broadcast(some) == len(some):
                # Not one was taken: those behind them would not be either.
                break
        return sent

    async def _broadcast(self, payouts: Sequence[Signed]) -> int:
        """How many the node refused."""
        now = self._clock.monotonic()
        self._again_at |= {each.hash: now + AGAIN_S for each in payouts}
        try:
            answers = await self._rpc.batch([("eth_sendRawTransaction", ["0x" + each.raw.hex()]) for each in payouts])
        except UpstreamDown as down:
            log.warning("payouts may not have been sent, they will be again", why=down.message, count=len(payouts))
            return 0
        refused = [
            (each, answer) for each, answer in zip(payouts, answers, strict=True) if isinstance(answer, RpcError)
        ]
        if refused:
            first, why = refused[0]
            log.info("the node did not take payouts", count=len(refused), first=first.nonce, why=why.reason)
            self._again_at |= {each.hash: now + _REFUSED_S for each in payouts}
        return len(refused)
