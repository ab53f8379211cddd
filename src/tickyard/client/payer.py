"""Paying for calls, never more than was allowed. The reference x402 client signs; it is imported when it is needed.

pip install "x402[evm]" eth-account
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from tickyard.client.errors import PaymentRequired, SpendingLimit
from tickyard.config.pinned import CHAIN_ID, MAINNET
from tickyard.kernel.units import UsdgAmount

FIRST_NETWORK: Final = f"eip155:{CHAIN_ID}"


@dataclass(frozen=True, slots=True)
class Signed:
    """One signed payment: the headers that carry it, and what it may cost."""

    headers: dict[str, str]
    amount_raw: int = field(default=0)


class Payer:
    def __init__(self, private_key: str, *, limit_usd: str, network: str | None = None) -> None:
        """`limit_usd`: the most that may be spent in this object's life, such as "0.50". `network`: pay on this one
        only, `eip155:4663` (USDG) or `eip155:8453` (USDC); by default on the first that is offered."""
        self._private_key = private_key
        self._network = network
        self._limit = UsdgAmount.parse(limit_usd)
        self._spent = 0
        self._http: Any = None

    @property
    def spent_usd(self) -> str:
        """Signed for so far. A payment that the service refused is not counted."""
        return UsdgAmount(self._spent).text()

    @property
    def left_usd(self) -> str:
        return UsdgAmount(self._limit - self._spent).text()

    async def sign(self, headers: Mapping[str, str], challenge: bytes, url: str) -> Signed:
        """Sign a payment for this challenge. Raises SpendingLimit before anything is signed."""
        price = self._price(challenge)
        if self._spent + price > self._limit:
            raise SpendingLimit(f"a call costs {UsdgAmount(price).text()} USD and {self.left_usd} may still be spent")
        client = self._open()
        # Counted before it is signed: two calls at the same time cannot both take the last cent.
        self._spent += price
        signed = Signed({}, price)
        try:
            paying, _payload = await client.handle_402_response(dict(headers), challenge, url)
        except Exception:
            self.release(signed)
            raise
        return Signed(paying, price)

    def release(self, signed: Signed) -> None:
        """The service did not take this payment."""
        self._spent -= signed.amount_raw

    def _price(self, challenge: bytes) -> int:
        try:
            offers = msgspec.json.decode(challenge)["accepts"]
            amounts = [
                int(offer["amount"])
                for offer in offers
                if self._network in (None, offer["network"]) and offer["scheme"] == "exact"
            ]
        except (msgspec.DecodeError, KeyError, TypeError, ValueError):
            raise PaymentRequired("payment_required", "the offer cannot be read", status=402) from None
        if not amounts or min(amounts) < 0:
            raise PaymentRequired("payment_required", "nothing is offered that this payer can pay", status=402)
        # Whichever the signer picks, it is not more than this.
        return max(amounts)

    def _open(self) -> Any:
        if self._http is None:
            from eth_account import Account
            from x402 import x402Client
            from x402.http import x402HTTPClient
            from x402.mechanisms.evm.exact import ExactEvmClientScheme
            from x402.mechanisms.evm.signers import EthAccountSigner

            client = x402Client()
            client.register("eip155:*", ExactEvmClientScheme(EthAccountSigner(Account.from_key(self._private_key))))
            # USDG is a coin that no client knows by itself.
            most = str(int(self._limit))
            client.set_spend_controls(
                {"allowed_assets": [{"network": FIRST_NETWORK, "asset": MAINNET.usdg, "max_amount_per_payment": most}]}
            )
            if self._network is not None:
                client.register_policy(lambda _version, offers: [o for o in offers if o.network == self._network])
            self._http = x402HTTPClient(client)
        return self._http
