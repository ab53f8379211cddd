"""Broadcasting stored bytes, in nonce order, again and again until the chain has them."""

from collections.abc import Sequence
from typing import Final

from tickyard.chain.rpc import Rpc
from tickyard.chain.trouble import RpcError
from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import UpstreamDown
from tickyard.observe.log import log
from tickyard.payout.ledger import Signed, in_order

AGAIN_S: Final = 2.0
_AT_ONCE: Final = 20


class Sending:
    def __init__(self, rpc: Rpc, clock: Clock) -> None:
        self._rpc = rpc
        self._clock = clock
        self._sent_at: dict[str, float] = {}

    async def send(self, payouts: Sequence[Signed], chain_nonce: int) -> int:
        """Send what the chain has not mined and was not sent a moment ago. How many were sent.

        What a node says about it (known already, nonce too low, nothing at all) changes nothing.
        """
        waiting = in_order(payouts, chain_nonce)
        now = self._clock.monotonic()
        self._sent_at = {each.hash: self._sent_at[each.hash] for each in waiting if each.hash in self._sent_at}
        due = [each for each in waiting if now >= self._sent_at.get(each.hash, -AGAIN_S) + AGAIN_S]
        if due:
            # The chain takes no nonce out of turn: from the first that is due on, all go again.
            due = [each for each in waiting if each.nonce >= due[0].nonce]
        for start in range(0, len(due), _AT_ONCE):
            await self._broadcast(due[start : start + _AT_ONCE])
        return len(due)

    async def _broadcast(self, payouts: Sequence[Signed]) -> None:
        for each in payouts:
            self._sent_at[each.hash] = self._clock.monotonic()
        try:
            answers = await self._rpc.batch([("eth_sendRawTransaction", ["0x" + each.raw.hex()]) for each in payouts])
        except UpstreamDown as down:
            log.warning("payouts may not have been sent, they will be again", why=down.message, count=len(payouts))
            return
        for each, answer in zip(payouts, answers, strict=True):
            if isinstance(answer, RpcError):
                log.info("the node did not take a payout", nonce=each.nonce, hash=each.hash, why=answer.reason)
