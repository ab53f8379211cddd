"""Signing by the clock of a sandbox, which may be ahead of the wall. It needs the reference x402 client."""

from typing import Any

from x402.mechanisms.evm.exact import ExactEvmClientScheme
from x402.mechanisms.evm.signers import EthAccountSigner
from x402.schemas import PaymentRequirements


class ByAnotherClock(ExactEvmClientScheme):
    """The reference scheme adds a route's time limit to wall time; a clock that is ahead makes it longer."""

    def __init__(self, signer: EthAccountSigner, ahead_s: int) -> None:
        super().__init__(signer)
        self._ahead_s = ahead_s

    def create_payment_payload(
        self, requirements: PaymentRequirements, extensions: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        # Only what is signed changes: the payment still names the offer as the service made it.
        limit = requirements.max_timeout_seconds + self._ahead_s
        return super().create_payment_payload(
            requirements.model_copy(update={"max_timeout_seconds": limit}), extensions
        )
