"""The facilitator of one network: it verifies a payment and puts it on the chain. We only believe what it says whole.

Verifying may be asked again; settling is asked once per call of ours and never repeated here, because a lost answer
says nothing about the money.
"""

import asyncio
import hashlib
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import aiohttp
import msgspec
from yarl import URL

from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import UpstreamDown
from tickyard.payments.facilitators.credentials import Credentials
from tickyard.payments.facilitators.reasons import NOTHING_SENT
from tickyard.payments.refusal import NOTHING_TAKEN
from tickyard.sources.breaker import Breaker

Observe = Callable[[str, str, float], None]
"""Told (facilitator, outcome, seconds) after each call."""

_ANSWER_MAX_BYTES: Final = 64 * 1024
_OF_US: Final = (401, 403, 407)
"""Statuses that are about us and not about a payment, whatever their bodies say of it."""
_REASON_MAX_CHARS: Final = 100
_AT_ONCE: Final = 96
_OTHERS_AT_ONCE: Final = 24
"""Of all connections: payments whose signature may be somebody's code."""
_MANY: Final = 48
"""So many at once are worth asking the chain whose code may hold them up."""
_CROWDED: Final = "crowded"
_SILENCE_S: Final = 60
_HASH: Final = re.compile(r"0x[0-9a-fA-F]{64}")
_UNCLEAN: Final = re.compile(r"[^A-Za-z0-9_.: -]")


@dataclass(frozen=True, slots=True)
class Valid:
    """The facilitator would settle this payment."""


@dataclass(frozen=True, slots=True)
class FacilitatorRefused:
    """The facilitator says no. `transaction` is set when it says that it sent something all the same."""

    reason: str
    transaction: str | None = None

    @property
    def has_sent_nothing(self) -> bool:
        return self.transaction is None and self.reason in NOTHING_SENT


@dataclass(frozen=True, slots=True)
class Settled:
    transaction: str
    payer: str | None = None
    """Who paid, if it says so."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Settling ended without an answer that can be believed. `kind` is for logs and metrics."""

    kind: str


class VerifierDown(UpstreamDown):
    """There is no verdict. Nothing was taken by who says this; somebody else may have, meanwhile or before."""

    may_be_the_payments = False
    """Whether the payment itself may be why: the facilitator was asked about it, and has no word for it."""


class _Trouble(Exception):
    def __init__(self, kind: str, *, is_own: bool = False) -> None:
        super().__init__(kind)
        self.kind = kind
        self.is_own = is_own
        """Whether it happened before anybody had seen the payment."""


def _down(what: str) -> VerifierDown:
    return VerifierDown(f"the payment facilitator {what}; {NOTHING_TAKEN}", retry_after_s=2)


class Facilitator:
    def __init__(
        self,
        network: str,
        url: str,
        clock: Clock,
        *,
        connect_s: float = 2.0,
        verify_s: float = 5.0,
        settle_s: float = 30.0,
        place: int = 1,
        observe: Observe | None = None,
        credentials: Credentials | None = None,
    ) -> None:
        self.network = network
        self.settle_s = settle_s
        self._url = url.rstrip("/")
        # Rows remember it, so it says where and nothing secret: of a path, which may be one, only a few digits.
        whole = URL(self._url)
        rest = f"#{hashlib.sha256(whole.path_qs.encode()).hexdigest()[:8]}" if whole.path_qs != "/" else ""
        self.name = f"{whole.origin()}{rest}"
        self._clock = clock
        self._connect_s = connect_s
        self._verify_s = verify_s
        # Counted apart from one that is asked before it: that one's failures would drown in this one's successes.
        self._counted_as = f"facilitator-{network}-{{}}" + (f"-{place}" if place > 1 else "")
        self._observe = observe
        self._credentials = credentials
        # Two, because a payment whose signature is somebody's code may be one that no facilitator can judge, at the
        # cost of a request: these must not close the door to the others, nor be the ones that try whether it is well.
        self._breakers: Final = {True: Breaker(), False: Breaker()}
        self._others = asyncio.Semaphore(_OTHERS_AT_ONCE)
        self._under_way = 0
        self._silent_at = -math.inf
        self._session: aiohttp.ClientSession | None = None

    async def start(self) -> None:
        """Nothing is asked here: a challenge never needs a facilitator."""
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=_AT_ONCE, ttl_dns_cache=60),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"Accept": "application/json", "Content-Type": "application/json"},
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._connect_s),
            trust_env=False,
        )

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    @property
    def is_wary(self) -> bool:
        """Whether a payment got no verdict a moment ago, or many are waited for: somebody's code may be why."""
        return self._under_way >= _MANY or self._clock.monotonic() - self._silent_at < _SILENCE_S

    def blame(self) -> None:
        """That it gave no verdict was its own fault."""
        for breaker in self._breakers.values():
            breaker.failed(self._clock.monotonic())

    async def verify(self, request: bytes, *, is_plain: bool) -> Valid | FacilitatorRefused:
        """Whether it would settle. VerifierDown when it gives no answer that can be believed: nothing was refused.

        `is_plain`: the payer's own key has signed, and no code has a say in that.
        """
        if not self._breakers[is_plain].allows(self._clock.monotonic()):
            raise _down("did not answer")
        try:
            answer = await self._ask_of("verify", request, self._verify_s, is_plain=is_plain)
        except _Trouble as trouble:
            down = _down("did not answer")
            if trouble.is_own:
                self.blame()
            elif trouble.kind != _CROWDED:
                self._silent_at = self._clock.monotonic()
                down.may_be_the_payments = True
            raise down from None
        for breaker in self._breakers.values():
            breaker.succeeded()
        if answer.get("isValid") is True:
            return Valid()
        if answer.get("isValid") is False:
            return FacilitatorRefused(clean_reason(answer.get("invalidReason")))
        raise _down("gave no usable answer")

    async def _ask_of(self, call: str, request: bytes, limit_s: float, *, is_plain: bool) -> dict[str, Any]:
        if is_plain:
            return await self._ask(call, request, limit_s)
        # Somebody's code may take its time over a signature, first or last: these stand in a line of their own.
        try:
            async with asyncio.timeout(self._verify_s):
                await self._others.acquire()
        except TimeoutError:
            raise _Trouble(_CROWDED) from None
        try:
            return await self._ask(call, request, limit_s)
        finally:
            self._others.release()

    async def settle(self, request: bytes, *, is_plain: bool) -> Settled | FacilitatorRefused | Unknown:
        try:
            answer = await self._ask_of("settle", request, self.settle_s, is_plain=is_plain)
        except _Trouble as trouble:
            return Unknown(trouble.kind)
        transaction = answer.get("transaction")
        has_hash = isinstance(transaction, str) and _HASH.fullmatch(transaction) is not None
        if answer.get("success") is True and has_hash and answer.get("network") == self.network:
            payer = answer.get("payer")
            return Settled(str(transaction).lower(), None if payer in (None, "") else str(payer).lower())
        if answer.get("success") is False:
            return FacilitatorRefused(
                clean_reason(answer.get("errorReason")), str(transaction).lower() if has_hash else None
            )
        return Unknown("shape")

    async def _ask(self, call: str, request: bytes, limit_s: float) -> dict[str, Any]:
        began = self._clock.monotonic()
        outcome = "ok"
        self._under_way += 1
        try:
            async with asyncio.timeout(limit_s):
                return await self._post(call, request)
        except _Trouble as trouble:
            outcome = trouble.kind
            raise
        except TimeoutError:
            outcome = "timeout"
            raise _Trouble(outcome) from None
        except (aiohttp.ClientError, OSError) as error:
            outcome = "unreachable"
            raise _Trouble(outcome, is_own=isinstance(error, aiohttp.ClientConnectorError)) from None
        finally:
            self._under_way -= 1
            if self._observe is not None:
                self._observe(self._counted_as.format(call), outcome, self._clock.monotonic() - began)

    async def _post(self, call: str, request: bytes) -> dict[str, Any]:
        if self._session is None:
            raise RuntimeError("the facilitator was used before start()")
        url = URL(f"{self._url}/{call}", encoded=True)
        shown = {} if self._credentials is None else self._credentials.headers(url)
        async with self._session.post(url, data=request, headers=shown, allow_redirects=False) as response:
            if response.status in _OF_US:
                response.close()
                raise _Trouble("credentials")
            # A refusal may come with a status of its own; a fault of the server says nothing.
            if response.status != 200 and not 400 <= response.status < 429:
                response.close()
                raise _Trouble("status")
            body = bytearray()
            async for chunk in response.content.iter_any():
                body += chunk
                if len(body) > _ANSWER_MAX_BYTES:
                    response.close()
                    raise _Trouble("oversize")
        try:
            answer = msgspec.json.decode(body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise _Trouble("not_json") from None
        if not isinstance(answer, dict):
            raise _Trouble("shape")
        if response.status != 200 and (answer.get("isValid") is True or answer.get("success") is True):
            raise _Trouble("status")
        return answer


def clean_reason(reason: Any) -> str:
    """A facilitator's reason code, fit to be passed on: short, plain characters, never empty."""
    text = _UNCLEAN.sub("", reason)[:_REASON_MAX_CHARS].strip() if isinstance(reason, str) else ""
    return text or "payment_refused"
