"""Where the payments of one network are verified and settled, and where that can be seen."""

from collections.abc import Sequence
from dataclasses import dataclass

from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import UpstreamDown
from tickyard.payments.facilitator import Facilitator, FacilitatorRefused, Settled, Unknown, Valid
from tickyard.payments.offer.terms import FIRST
from tickyard.payments.proof.chain import ChainProof
from tickyard.payments.signed.key import Key


@dataclass(frozen=True, slots=True)
class Till:
    facilitators: Sequence[Facilitator]
    """In the order in which they are asked. One that is down is passed over when verifying, never when settling."""
    proof: ChainProof
    clock: Clock

    async def verify(self, request: bytes) -> tuple[Valid | FacilitatorRefused, str]:
        """A verdict, and whose it is. UpstreamDown when none of them gives one: nothing was refused."""
        trouble: UpstreamDown | None = None
        for facilitator in self.facilitators:
            try:
                return await facilitator.verify(request), facilitator.name
            except UpstreamDown as down:
                trouble = trouble or down
        assert trouble is not None, "a network is served by somebody"
        raise trouble

    async def is_used_already(self, key: Key) -> bool:
        """Whether the payment's nonce is used before we have begun: a copy of somebody's finished payment.

        Facilitators see that of an EIP-3009 nonce themselves, and of a permit's not. When the chain does not answer,
        their word has to do: whoever is then served is served by a transfer that is found later, and once.
        """
        if key.network != FIRST:
            return False
        try:
            return await self.proof.is_used(key)
        except UpstreamDown:
            return False

    async def settle(self, request: bytes, name: str | None) -> Settled | FacilitatorRefused | Unknown:
        """Ask the one by whom it was begun: another would not know what is under way."""
        for facilitator in self.facilitators:
            if name in (None, facilitator.name):
                return await facilitator.settle(request)
        return Unknown("withdrawn")
