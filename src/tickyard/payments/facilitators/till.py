"""Where the payments of one network are verified and settled, and where that can be seen."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import UpstreamDown
from tickyard.payments.facilitators.facilitator import (
    Facilitator,
    FacilitatorRefused,
    Settled,
    Unknown,
    Valid,
    VerifierDown,
)
from tickyard.payments.facilitators.reasons import NONCE_USED
from tickyard.payments.offer.terms import FIRST
from tickyard.payments.proof.chain import ChainProof
from tickyard.payments.signed.key import Key

_CODE_S: Final = 1.0
"""The caller has waited for the facilitator by then."""


@dataclass(frozen=True, slots=True)
class Till:
    facilitators: Sequence[Facilitator]
    """In the order in which they are asked. One that is down is passed over when verifying, never when settling."""
    proof: ChainProof
    clock: Clock

    async def verify(self, request: bytes, key: Key, *, is_seen: bool) -> tuple[Valid | FacilitatorRefused, str]:
        """A verdict, and whose it is. VerifierDown when none of them gives one: nothing was refused.

        Facilitators see by themselves whether an EIP-3009 nonce is used, and a permit's not: that is a copy of
        somebody's finished payment, and we look while they do.
        """
        if key.network != FIRST:
            return await self._ask(request, key, is_seen)
        (verdict, name), is_used = await asyncio.gather(self._ask(request, key, is_seen), self._is_used(key))
        if is_used and isinstance(verdict, Valid):
            return FacilitatorRefused(NONCE_USED["permit2"]), name
        return verdict, name

    async def _ask(self, request: bytes, key: Key, is_seen: bool) -> tuple[Valid | FacilitatorRefused, str]:
        troubles: list[VerifierDown] = []
        for facilitator in self.facilitators:
            is_plain = await self._is_plain(facilitator, key, is_seen)
            try:
                return await facilitator.verify(request, is_plain=is_plain), facilitator.name
            except VerifierDown as down:
                troubles.append(down)
                if down.may_be_the_payments and is_plain and not await self._may_have_code(key):
                    # Nobody's code had a say in it.
                    down.may_be_the_payments = False
                    facilitator.blame()
        troubles[0].may_be_the_payments = any(each.may_be_the_payments for each in troubles)
        raise troubles[0]

    async def _is_plain(self, facilitator: Facilitator, key: Key, is_seen: bool) -> bool:
        """An account may have signed with its own key and have code all the same, which is asked instead of the key."""
        return is_seen and not (facilitator.is_wary and await self._may_have_code(key))

    async def _may_have_code(self, key: Key) -> bool:
        try:
            async with asyncio.timeout(_CODE_S):
                return await self.proof.has_code(key.payer)
        except (UpstreamDown, TimeoutError):
            return True

    async def _is_used(self, key: Key) -> bool:
        """When the chain does not answer, the facilitators' word has to do: whoever is then served is served by a
        transfer that is found later, and once."""
        try:
            return await self.proof.is_used(key)
        except UpstreamDown:
            return False

    async def settle(
        self, request: bytes, key: Key, name: str | None, *, is_seen: bool
    ) -> Settled | FacilitatorRefused | Unknown:
        """Ask the one by whom it was begun: another would not know what is under way. `is_seen`: as for verifying, of
        the signature in this request."""
        for facilitator in self.facilitators:
            if name in (None, facilitator.name):
                return await facilitator.settle(request, is_plain=await self._is_plain(facilitator, key, is_seen))
        return Unknown("withdrawn")
