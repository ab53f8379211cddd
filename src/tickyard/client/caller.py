"""One call over HTTP: send, try again where that is safe, pay where that is asked for, read what came back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from ipaddress import ip_address
from random import Random
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp
import msgspec
from yarl import URL

from tickyard.client.errors import ServiceError, Unreachable, error_of
from tickyard.client.kept import SignedPayment
from tickyard.client.payer import Payer
from tickyard.client.routes import Request, Route
from tickyard.kernel.clock import Clock, WallClock

DEFAULT_URL: Final = "http://127.0.0.1:8402"
ANSWER_MAX_BYTES: Final = 16 * 2**20
_PAUSE_S: Final = 0.2
_PAUSE_MAX_S: Final = 10.0
_WORTH_A_RETRY: Final = frozenset({429, 502, 503})


class _Error(msgspec.Struct):
    code: str
    message: str


class _ErrorBody(msgspec.Struct):
    error: _Error


@dataclass(frozen=True, slots=True)
class RawReply:
    status: int
    headers: Mapping[str, str]
    body: bytes
    before: tuple["RawReply | None", ...] = ()
    """What the tries before this one were answered. None: one that was not answered at all."""

    @property
    def tries(self) -> int:
        """How often it was asked for."""
        return len(self.before) + 1

    @property
    def is_good(self) -> bool:
        return 200 <= self.status < 300


OnPaid = Callable[[RawReply], None]


class Caller:
    def __init__(
        self,
        base_url: str = DEFAULT_URL,
        *,
        payer: Payer | None = None,
        retries: int = 2,
        timeout_s: float = 30.0,
        clock: Clock | None = None,
    ) -> None:
        """`payer`: pay for what has a price, instead of using the free routes. `retries`: of calls that only read."""
        self._base_url = base_url.rstrip("/")
        self._payer = payer
        self._is_local = _is_loopback(urlsplit(self._base_url).hostname or "")
        self._retries = retries
        self._timeout = aiohttp.ClientTimeout(total=timeout_s)
        self._clock = clock or WallClock()
        self._rng = Random()  # noqa: S311  jitter, not secrets
        self._session: aiohttp.ClientSession | None = None

    async def call(self, route: Route, values: Mapping[str, Any]) -> Any:
        """The decoded answer; raises a TickyardError."""
        paid = self._payer is not None and route.is_paid
        request = route.request(values, paid=paid)
        reply = await self.fetch(request, is_repeatable=route.is_read_only, answer=route.answer)
        if reply.is_good:
            return _decoded(reply, route.answer)
        raise failure_of(reply)

    @property
    def base_url(self) -> str:
        return self._base_url

    @property
    def clock(self) -> Clock:
        return self._clock

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def fetch(
        self, request: Request, *, is_repeatable: bool, answer: Any = Any, on_paid: OnPaid | None = None
    ) -> RawReply:
        """The answer to one request, paid for if that is asked for. What was signed for it before comes first.

        `answer`: what it must be readable as before a payment counts as answered. `on_paid`: given what was paid for
        before the payment is forgotten: whoever is interrupted in it asks again, and gets it again."""
        name = self._name_of(request)
        # All of them, one after the other: any may be the one that was taken.
        while self._payer is not None and (uncertain := self._payer.uncertain(name)) is not None:
            reply, is_over = await self._present(request, uncertain, answer, on_paid, is_first=False)
            if reply.status != 402 or not is_over:
                return reply
        reply = await self._repeat(request, {}, is_repeatable)
        if reply.status == 402 and self._payer is not None:
            signed = await self._payer.sign(reply.headers, name, is_local=self._is_local)
            reply, _ = await self._present(request, signed, answer, on_paid, is_first=True)
        return reply

    def is_uncertain(self, request: Request) -> bool:
        """Whether a payment for this request is out of our hands, and its end not known."""
        return self._payer is not None and self._payer.is_uncertain(self._name_of(request))

    def begun_on(self, request: Request) -> str | None:
        """The network of that payment."""
        return None if self._payer is None else self._payer.begun_on(self._name_of(request))

    def _name_of(self, request: Request) -> str:
        return f"{request.method} {self._base_url}{request.path} {sha256(request.body or b'').hexdigest()}"

    async def _present(
        self, request: Request, signed: SignedPayment, answer: Any, on_paid: OnPaid | None, *, is_first: bool
    ) -> tuple[RawReply, bool]:
        """The same payment again is never a second one: the service keeps the answer that was paid for."""
        assert self._payer is not None
        reply = await self._repeat(request, signed.headers, is_repeatable=True)
        if reply.is_good:
            # What cannot be read is no answer, whoever gave it: the payment stays, and is presented again.
            _decoded(reply, answer)
        if not _is_the_services(reply):
            # Somebody in between, who knows nothing of the payment that they may have let through.
            if reply.is_good:
                raise Unreachable("the service answered something else than expected (there is no receipt)")
            return reply, False
        if reply.is_good and on_paid is not None:
            on_paid(reply)
        return reply, self._payer.judge(signed, reply.status, reply.headers, is_first=is_first and reply.tries == 1)

    async def _repeat(self, request: Request, headers: Mapping[str, str], is_repeatable: bool) -> RawReply:
        tries = 1 + (self._retries if is_repeatable else 0)
        before: list[RawReply | None] = []
        for attempt in range(tries):
            is_last = attempt == tries - 1
            wait_s = _PAUSE_S * 2**attempt * (1 + self._rng.random())
            try:
                reply = await self._send(request, headers)
            # A name that no host can have is no less out of reach.
            except (aiohttp.ClientError, TimeoutError, OSError, UnicodeError) as error:
                if is_last:
                    raise Unreachable(f"the service did not answer ({type(error).__name__})") from None
                before.append(None)
            else:
                wait_s = max(wait_s, float(_retry_after(reply) or 0))
                if is_last or reply.status not in _WORTH_A_RETRY or wait_s > _PAUSE_MAX_S:
                    return replace(reply, before=tuple(before))
                before.append(reply)
            await self._clock.sleep(wait_s)
        raise AssertionError

    async def _send(self, request: Request, headers: Mapping[str, str]) -> RawReply:
        if self._session is None:
            # Cookies are not ours to keep, redirects not ours to follow.
            self._session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar(), timeout=self._timeout)
        sent = {"Accept": "application/json", **headers}
        if request.body is not None:
            sent["Content-Type"] = "application/json"
        url = self._base_url + request.path
        async with self._session.request(
            request.method, _as_is(url), data=request.body, headers=sent, allow_redirects=False
        ) as response:
            return RawReply(response.status, dict(response.headers), await _read(response))


def _decoded(reply: RawReply, answer: Any) -> Any:
    try:
        return msgspec.json.decode(reply.body, type=answer)
    except msgspec.DecodeError as error:
        raise Unreachable(f"the service answered something else than expected ({error})") from None


def _is_the_services(reply: RawReply) -> bool:
    """Whether an answer to a payment is the service's own word, and no proxy's or firewall's: with a receipt when it
    was taken, with an offer when it was refused, and else with an error in the service's own form."""
    if reply.is_good:
        return _header(reply, "payment-response") is not None
    if reply.status == 402:
        return _header(reply, "payment-required") is not None
    try:
        msgspec.json.decode(reply.body, type=_ErrorBody)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True


def _as_is(url: str) -> URL:
    """aiohttp would decode and encode again what is encoded already."""
    return URL(url, encoded=True)


async def _read(response: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > ANSWER_MAX_BYTES:
            raise aiohttp.ClientPayloadError("the answer is too long")
    return bytes(body)


def _header(reply: RawReply, name: str) -> str | None:
    return next((value for key, value in reply.headers.items() if key.lower() == name), None)


def _retry_after(reply: RawReply) -> int | None:
    text = _header(reply, "retry-after") or ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 7 else None


def failure_of(reply: RawReply) -> ServiceError:
    try:
        error = msgspec.json.decode(reply.body, type=_ErrorBody).error
        code, message = error.code, error.message
    except (msgspec.DecodeError, UnicodeDecodeError):
        code = "payment_required" if reply.status == 402 else "unexpected_answer"
        message = _reason(reply) or f"the service answered {reply.status}"
    return error_of(
        reply.status, code, message, request_id=_header(reply, "x-request-id"), retry_after_s=_retry_after(reply)
    )


def _reason(reply: RawReply) -> str | None:
    """Why a payment was refused: the challenge says it."""
    try:
        challenge = msgspec.json.decode(reply.body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    reason = challenge.get("error") if isinstance(challenge, dict) else None
    return reason if isinstance(reason, str) else None


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
