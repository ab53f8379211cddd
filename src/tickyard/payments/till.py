"""Where the payments of one network are verified and settled, and where that can be seen."""

from collections.abc import Sequence
from dataclasses import dataclass

from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import UpstreamDown
from tickyard.payments.facilitator import Facilitator, FacilitatorRefused, Settled, Unknown, Valid
from tickyard.payments.proof.chain import ChainProof


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

    async def settle(self, request: bytes, name: str | None) -> Settled | FacilitatorRefused | Unknown:
        """Ask the one by whom it was begun: another would not know what is under way."""
        for facilitator in self.facilitators:
            if name in (None, facilitator.name):
                return await facilitator.settle(request)
        return Unknown("withdrawn")
