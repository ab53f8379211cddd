"""The relayer's hand: the reference signer, sending one transaction at a time."""

import threading
from typing import Any

from x402.mechanisms.evm.signers import FacilitatorWeb3Signer


class RelayerSigner(FacilitatorWeb3Signer):
    """A node that mines at once takes no transaction out of turn, so from nonce to broadcast nobody else goes."""

    def __init__(self, private_key: str, rpc_url: str, confirmation_timeout_seconds: float) -> None:
        super().__init__(private_key, rpc_url, confirmation_timeout_seconds=confirmation_timeout_seconds)
        self._sending = threading.Lock()

    def write_contract(
        self, address: str, abi: list[dict[str, Any]], function_name: str, *args: Any, data_suffix: str | None = None
    ) -> str:
        with self._sending:
            return super().write_contract(address, abi, function_name, *args, data_suffix=data_suffix)

    def _reserve_nonce(self) -> int:
        # The reference counts by itself from the first one on: a broadcast that fails would leave a gap for good.
        return int(self._w3.eth.get_transaction_count(self._account.address, "pending"))
