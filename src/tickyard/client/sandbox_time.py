"""Signing by the clock of a sandbox, which may be ahead of the wall. It needs the reference x402 client."""

from typing import Any


def scheme_ahead(signer: Any, ahead_s: int) -> Any:
    """The reference scheme adds a route's time limit to wall time; a clock that is ahead makes it longer."""
    from x402.mechanisms.evm.exact import ExactEvmClientScheme

    class Ahead(ExactEvmClientScheme):
        def create_payment_payload(self, requirements: Any, extensions: dict[str, Any] | None = None) -> dict[str, Any]:
            # Only what is signed changes: the payment still names the offer as the service made it.
            limit = requirements.max_timeout_seconds + ahead_s
            longer = requirements.model_copy(update={"max_timeout_seconds": limit})
            made: dict[str, Any] = super().create_payment_payload(longer, extensions)
            return made

    return Ahead(signer)
