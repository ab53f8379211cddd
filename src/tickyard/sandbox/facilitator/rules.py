"""What a facilitator of ours refuses before the reference code looks, through the hooks made for that.

The reference code serves every EVM network once it serves one, and it only knows wall time. Ours serves one
network, and by the clock of its chain. The sandbox's clock is never behind wall time, so looking at the end of
a payment's time here is enough; both reference clients let its beginning be zero.
"""

from typing import Any

from x402.mechanisms.evm.constants import (
    ERR_NETWORK_MISMATCH,
    ERR_PERMIT2_DEADLINE_EXPIRED,
    ERR_VALID_BEFORE_EXPIRED,
    PERMIT2_DEADLINE_BUFFER,
)
from x402.schemas import AbortResult, SettleContext, VerifyContext

from tickyard.kernel.clock import Clock

MALFORMED = "invalid_payload"


class Rules:
    def __init__(self, network: str, clock: Clock) -> None:
        self._network = network
        self._clock = clock

    def check(self, context: VerifyContext | SettleContext) -> AbortResult | None:
        """A hook for verify and settle: what to answer instead, or None to go on."""
        named = {context.requirements.network, context.payment_payload.get_network()}
        reason = (
            ERR_NETWORK_MISMATCH
            if named != {self._network}
            else refusal(context.payment_payload.payload, self._clock.seconds())
        )
        return AbortResult(reason) if reason else None


def refusal(payload: dict[str, Any], now: int) -> str | None:
    """Why a signed payment cannot be taken at this moment, as the reference code would say it."""
    try:
        if "permit2Authorization" in payload:
            reason, ends = ERR_PERMIT2_DEADLINE_EXPIRED, int(payload["permit2Authorization"]["deadline"])
        else:
            reason, ends = ERR_VALID_BEFORE_EXPIRED, int(payload["authorization"]["validBefore"])
    except (KeyError, TypeError, ValueError):
        return MALFORMED
    return reason if ends < now + PERMIT2_DEADLINE_BUFFER else None
