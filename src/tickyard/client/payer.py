"""Paying for calls, never more than was allowed. The reference x402 client signs; it is imported when it is needed.

pip install "x402[evm]" eth-account
"""

import base64
import os
import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from tickyard.client.errors import PaymentRequired, SpendingLimit
from tickyard.client.kept import KeptPayments, SignedPayment
from tickyard.config.pinned import CHAIN_ID, MAINNET, SECOND_CHAIN_ID, USDC_8453
from tickyard.kernel.clock import Clock, WallClock
from tickyard.kernel.units import UsdgAmount

FIRST_NETWORK: Final = f"eip155:{CHAIN_ID}"
SECOND_NETWORK: Final = f"eip155:{SECOND_CHAIN_ID}"
# What a cent is made of on either network. Nothing else is ever signed for, whatever is offered.
_COINS: Final = {FIRST_NETWORK: MAINNET.usdg, SECOND_NETWORK: USDC_8453}
_VALID_AT_LEAST_S: Final = 30
_VALID_AT_MOST_S: Final = 86_400
"""What is good for longer can be kept for longer by whoever was shown it."""
_SAYS_NOTHING: Final = (408, 425, 429)
"""Said before anybody has looked at the payment, which may be under way all the same."""
_OVER_AFTER_S: Final = 60
"""How long after its deadline, by the service's clock, a refused payment is over for sure: blocks have times of their
own."""


class Payer:
    def __init__(
        self,
        private_key: str,
        *,
        limit_usd: str,
        network: str | None = None,
        clock: Clock | None = None,
        file: str | os.PathLike[str] | None = None,
    ) -> None:
        """`limit_usd`: the most that may be signed for in this object's life, such as "0.50": whatever a service says
        or does, it cannot take more. `network`: pay on this one only, `eip155:4663` (USDG) or `eip155:8453` (USDC); by
        default on the first that is offered. `file`: where payments are remembered whose end is not known yet, so that
        a restarted program presents them again before it signs new ones."""
        self._private_key = private_key
        self._network = network
        self._limit = UsdgAmount.parse(limit_usd)
        self._clock = clock or WallClock()
        self._signed = 0
        self._refused = 0
        self._own: set[str] = set()
        """The payments of this life, by their headers."""
        self._kept = KeptPayments(file)
        self._client: Any = None
        self._ahead_s = 0

    @property
    def spent_usd(self) -> str:
        """Signed for so far, without the payments that the service says it did not take."""
        return UsdgAmount(self._signed - self._refused).text()

    @property
    def left_usd(self) -> str:
        """What may still be signed for. A payment that is out of our hands counts, refused or not."""
        return UsdgAmount(self._limit - self._signed).text()

    def uncertain(self, name: str) -> SignedPayment | None:
        """The payment that was signed for this request and whose end is not known. It is presented again before
        anything else: the service keeps the answer that was paid for."""
        return self._kept.repeat(name)

    def is_uncertain(self, name: str) -> bool:
        """Whether there is one."""
        return self._kept.find(name) is not None

    def begun_on(self, name: str) -> str | None:
        """On which network that payment was signed: not always the one that a later call would pay on."""
        kept = self._kept.find(name)
        if kept is None:
            return None
        try:
            payload = msgspec.json.decode(base64.b64decode(kept.headers["PAYMENT-SIGNATURE"]))
            return str(payload["accepted"]["network"])
        except (KeyError, TypeError, ValueError):
            return "a network that cannot be read"

    async def sign(self, headers: Mapping[str, str], name: str, *, is_local: bool = False) -> SignedPayment:
        """A payment for the challenge in these headers, remembered under the name of its request. Raises SpendingLimit
        before anything is signed. `is_local`: the service is on this machine. A sandbox there has a chain whose clock
        may be ahead of the wall, and is believed when it says so; nobody else is, because a payment that is good for
        longer can be kept for longer."""
        challenge = _challenge(headers)
        offers = self._payable(challenge)
        # Another wallet's payment is that wallet's money, although both are kept in one file.
        terms = f"{self._address()} {offers}"
        spare = self._kept.take_spare(terms)
        if spare is not None and spare.until - self._clock.timestamp() > _VALID_AT_LEAST_S:
            if str(spare.headers) in self._own:
                self._refused -= spare.amount_raw
            self._kept.keep(name, spare)
            return spare
        # Whichever the signer picks, it is not more than this.
        price = max(int(offer["amount"]) for offer in offers)
        if self._signed + price > self._limit:
            raise SpendingLimit(
                f"a call costs {UsdgAmount(price).text()} USD and {self.left_usd} may still be signed for"
            )
        # Counted before it is signed: two calls at the same time cannot both take the last cent.
        self._signed += price
        now = self._clock.timestamp()
        until = now + max(int(offer["maxTimeoutSeconds"]) for offer in offers)
        try:
            ahead_s = _ahead_s(challenge, headers, now) if is_local else 0
            paying = await self._make(challenge, offers, ahead_s)
            signed = SignedPayment(paying, price, terms, until)
            self._kept.keep(name, signed)
        except Exception:
            self._signed -= price
            raise
        self._own.add(str(paying))
        return signed

    def judge(self, signed: SignedPayment, status: int, headers: Mapping[str, str], *, is_first: bool) -> bool:
        """What an answer says about the payment that was sent with it. True: it is over, and a new one may be signed.

        An answer ends it; so does a 402 once nobody can take it any more, but no other 4xx: that may be the word of a
        proxy that knows nothing of it. A 4xx to its very first presentation (`is_first`) says that nothing was taken,
        and unless an equal call presents it too, it pays for the next call on the same terms. After anything else its
        end is not known, and it stays: what was presented before may have been taken then.
        """
        if 200 <= status < 300:
            self._kept.forget(signed)
            return True
        if not 400 <= status < 500 or status in _SAYS_NOTHING:
            return False
        if status == 402 and self._service_time(headers) >= signed.until + _OVER_AFTER_S:
            self._kept.forget(signed)
            self._give_back(signed)
            return True
        if is_first and status != 402 and self._kept.spare(signed):
            self._give_back(signed)
        return False

    def _service_time(self, headers: Mapping[str, str]) -> float:
        """Chains go by it: to a clock that is ahead, or leaps ahead, a payment is over before it is. Whatever a
        challenge says, it is not later than our own, and at most a day before."""
        now = self._clock.timestamp()
        try:
            made = _issued_at(_challenge(headers))
        except (PaymentRequired, KeyError, TypeError, ValueError, OverflowError):
            return now
        return min(max(made, now - _VALID_AT_MOST_S), now)

    def _give_back(self, signed: SignedPayment) -> None:
        # What an earlier life signed for was never counted in this one.
        if str(signed.headers) in self._own:
            self._refused += signed.amount_raw

    def _payable(self, challenge: dict[str, Any]) -> list[dict[str, Any]]:
        try:
            offers = [
                offer
                for offer in challenge["accepts"]
                if offer["scheme"] == "exact"
                and self._network in (None, offer["network"])
                and offer["asset"].lower() == _COINS.get(offer["network"])
                and int(offer["amount"]) > 0
                and 0 < int(offer["maxTimeoutSeconds"]) <= _VALID_AT_MOST_S
            ]
        except (KeyError, TypeError, ValueError, AttributeError):
            raise PaymentRequired("payment_required", "the offer cannot be read", status=402) from None
        if not offers:
            raise PaymentRequired("payment_required", "nothing is offered that this payer can pay", status=402)
        return offers

    async def _make(self, challenge: dict[str, Any], offers: list[dict[str, Any]], ahead_s: int) -> dict[str, str]:
        """The headers of a signed payment. Only what was looked at here is shown to the signer: some extensions would
        have it sign more than a payment."""
        from x402 import PaymentError
        from x402.http.utils import encode_payment_signature_header
        from x402.schemas import PaymentRequired as Challenge

        if self._client is None or ahead_s != self._ahead_s:
            self._client, self._ahead_s = self._open(ahead_s), ahead_s
        shown = {"x402Version": 2, "accepts": offers, "resource": challenge.get("resource")}
        try:
            payment = await self._client.create_payment_payload(Challenge.model_validate(shown))
            # A name that only we know: with it the answer can be fetched again from anywhere, and by nobody else.
            payment.extensions = {"payment-identifier": {"info": {"required": False, "id": secrets.token_hex(16)}}}
        except (PaymentError, ValueError, TypeError, KeyError) as error:
            kind = type(error).__name__
            raise PaymentRequired("payment_required", f"the offer cannot be paid ({kind})", status=402) from None
        return {"PAYMENT-SIGNATURE": encode_payment_signature_header(payment)}

    def _address(self) -> str:
        from eth_account import Account

        return str(Account.from_key(self._private_key).address)

    def _open(self, ahead_s: int) -> Any:
        from eth_account import Account
        from x402 import x402Client
        from x402.mechanisms.evm.exact import ExactEvmClientScheme
        from x402.mechanisms.evm.signers import EthAccountSigner

        from tickyard.client.sandbox_time import scheme_ahead

        client, signer = x402Client(), EthAccountSigner(Account.from_key(self._private_key))
        client.register("eip155:*", ExactEvmClientScheme(signer))
        client.register(FIRST_NETWORK, scheme_ahead(signer, ahead_s))
        most = str(int(self._limit))
        client.set_spend_controls(
            {
                "allowed_assets": [
                    {"network": network, "asset": asset, "max_amount_per_payment": most}
                    for network, asset in _COINS.items()
                ]
            }
        )
        return client


def _ahead_s(challenge: dict[str, Any], headers: Mapping[str, str], now: float) -> int:
    """By how many seconds a sandbox's clock is ahead: its challenge says when it was made."""
    profile = next((value for name, value in headers.items() if name.lower() == "x-tickyard-profile"), "")
    if profile != "sandbox":
        return 0
    try:
        return max(0, round(_issued_at(challenge) - now))
    except (KeyError, TypeError, ValueError, OverflowError):
        return 0


def _issued_at(challenge: dict[str, Any]) -> float:
    """When it was made, by the service's clock."""
    return datetime.fromisoformat(challenge["extensions"]["sign-in-with-x"]["info"]["issuedAt"]).timestamp()


def _challenge(headers: Mapping[str, str]) -> dict[str, Any]:
    """The challenge of a 402. Standard clients pay what the header says, so nothing else is read."""
    value = next((value for name, value in headers.items() if name.lower() == "payment-required"), "")
    try:
        challenge = msgspec.json.decode(base64.b64decode(value, validate=True))
    except ValueError:
        challenge = None
    if not isinstance(challenge, dict) or challenge.get("x402Version") != 2:
        raise PaymentRequired("payment_required", "the offer cannot be read", status=402)
    return challenge
