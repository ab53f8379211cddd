"""The gate before a paid route: pure ASGI, around the very endpoint that serves the free twin.

Without a payment or a payer's signature nothing of the request is looked at: not its body, not its content type, not
its parameters. Every answer that leaves here is `no-store`.
"""

import asyncio
import hashlib
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tickyard.chain.address import checksum
from tickyard.doors.http.answers import send_error
from tickyard.doors.http.bodies import collect, declares_too_much
from tickyard.doors.paid.replies import Capture, failure_headers, receipt_value, send_challenge, send_reply
from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.operation import Operation
from tickyard.payments.books.reply import Reply
from tickyard.payments.facilitators.facilitator import VerifierDown
from tickyard.payments.offer.challenge import PaidOffer, header_value
from tickyard.payments.offer.sign_in import HEADER as SIGN_IN
from tickyard.payments.offer.sign_in import SignedIn
from tickyard.payments.receipts import ReceiptKey
from tickyard.payments.refusal import NOTHING_TAKEN, BadPayment, NotSettled, Refusal, TooManyPayments
from tickyard.payments.selling.budgets import Budget, Place
from tickyard.payments.selling.cashier import Cashier
from tickyard.payments.selling.identity import PayerIdentity, is_ordinary
from tickyard.payments.selling.sale import Sale, sale_of
from tickyard.payments.selling.standing import Bearer, PaidRequest, bearer_of
from tickyard.payments.signed.authorization import Payment, read_authorization
from tickyard.payments.signed.key import Key
from tickyard.payments.signed.payload import Given, choose, payment_header
from tickyard.payments.signed.signature import has_payer_signed

BODY_WAIT_S: Final = 15.0
BAD_PAYMENTS_PER_MINUTE: Final = 30

ClientKey = Callable[[Mapping[str, Any]], str]
"""From a scope to the name of the client that is calling."""
OwnAddress = Callable[[Mapping[str, Any]], str | None]
"""From a scope to an address that is nobody else's, if there is one."""

_BODY_HEADERS: Final = frozenset({b"content-length", b"transfer-encoding"})
# What changes an answer's form and not its content: a paid answer is always whole and plain, to be kept and replayed.
_FORM_HEADERS: Final = frozenset(
    {b"accept-encoding", b"if-none-match", b"payment-signature", b"x-payment", b"sign-in-with-x"}
)


class Doorkeeper:
    """What all gates of a process share: the cashier and the budget of bad payments per client."""

    def __init__(
        self,
        cashier: Cashier,
        clock: Clock,
        client_key: ClientKey,
        identity: PayerIdentity,
        *,
        bad_payments_per_minute: int | None = BAD_PAYMENTS_PER_MINUTE,
        body_wait_s: float = BODY_WAIT_S,
        receipt_key: ReceiptKey | None = None,
        own_address: OwnAddress | None = None,
    ) -> None:
        self.cashier = cashier
        self.clock = clock
        self.client_key = client_key
        self.own_address = own_address or client_key
        self.identity = identity
        self.bad_payments = Budget(
            bad_payments_per_minute, clock, "too many payments of this address are bad, or still being looked at"
        )
        self.body_wait_s = body_wait_s
        self.receipt_key = receipt_key


class Gate:
    def __init__(self, operation: Operation, endpoint: ASGIApp, offer: PaidOffer, keeper: Doorkeeper) -> None:
        self._method = operation.method
        self._endpoint = endpoint
        self._offer = offer
        self._keeper = keeper

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw_path, method = scope["raw_path"], scope["method"]
        try:
            given = payment_header(scope["headers"])
            if given is None and method == self._method and await self._fetch(scope, receive, send):
                return
            if given is None or method == "HEAD":
                await send_challenge(send, *self._offer.unpaid(raw_path), has_body=method != "HEAD")
                return
            if method != self._method:
                allow = f"{self._method}, HEAD, OPTIONS" if self._method == "GET" else f"{self._method}, OPTIONS"
                await send_error(
                    send, 405, "bad_request", f"this path takes {allow}", [(b"allow", allow.encode("ascii"))]
                )
                return
            await self._serve(given, scope, receive, send)
        except Refusal as refusal:
            challenge = self._offer.challenge(raw_path, refusal.reason)
            failed = failure_headers(refusal) if isinstance(refusal, NotSettled) else []
            await send_challenge(send, challenge, header_value(challenge), failed, has_body=method != "HEAD")
        except TooManyPayments as trouble:
            wait = (b"retry-after", b"%d" % trouble.retry_after_s)
            await send_error(send, 429, "bad_request", trouble.message, [wait])
        except UpstreamDown as failure:
            wait = (b"retry-after", b"%d" % (failure.retry_after_s or 1))
            await send_error(send, failure.status, failure.code, failure.message, [wait])

    async def _serve(self, given: Given, scope: Scope, receive: Receive, send: Send) -> None:
        keeper = self._keeper
        client = keeper.client_key(scope)
        payment = read_authorization(choose(given, self._offer.entries))
        place = await keeper.bad_payments.take(client)
        try:
            bearer = await self._bearer(payment, place, scope)
            body = await self._body(scope, receive)
            if body is None:
                await send_error(send, 400, "bad_request", f"the body did not arrive whole; {NOTHING_TAKEN}")
                return
            order = PaidRequest(
                payment=payment,
                bearer=bearer,
                client=client,
                fingerprint=fingerprint(scope, body),
                route=self._offer.route,
                request=self._offer.request(payment, scope["raw_path"]),
                run=lambda: self._run(scope, body),
                check_signature=lambda: keeper.identity.check(payment, is_seen=bearer.is_signature_seen),
                asks_account=lambda: self._ask_account(payment, place),
                is_gone=lambda: _is_gone(receive),
                place=place,
            )
            sale = await keeper.cashier.sell(order)
        except (BadPayment, NotSettled):
            place.spend()
            raise
        except VerifierDown as down:
            # One that no facilitator can judge costs more than a bad one. Where it is the facilitator that is down,
            # nobody has to wait for longer than that.
            if down.may_be_the_payments:
                place.spend()
            raise
        finally:
            place.give_back()
        if sale.transaction is None:
            await send_reply(send, sale.reply)
            return
        await self._hand_over(sale, payment.key, scope, receive, send)

    async def _fetch(self, scope: Scope, receive: Receive, send: Send) -> bool:
        """Whether a payer who signed in got the answer that they paid for."""
        signed_in = self._signed_in(scope)
        if signed_in is None:
            return False
        keeper = self._keeper
        networks = keeper.identity.ordinary_networks_of(signed_in) or await self._of_contract(signed_in, scope)
        body = await self._body(scope, receive) if networks else None
        if body is None:
            return False
        row = await keeper.cashier.pickup.find(signed_in.address, networks, fingerprint(scope, body))
        if row is None:
            return False
        await self._hand_over(sale_of(row), row.key, scope, receive, send)
        return True

    async def _of_contract(self, signed_in: SignedIn, scope: Scope) -> Collection[str]:
        """A chain is asked for whoever wants it, so only so often."""
        place = await self._keeper.bad_payments.take(self._keeper.client_key(scope))
        place.spend()
        return await self._keeper.identity.contract_networks_of(signed_in)

    async def _ask_account(self, payment: Payment, place: Place) -> bool:
        """What a contract says of another signature over a payment that we know: only so often, too."""
        place.spend()
        return await self._keeper.identity.accepts(payment)

    async def _hand_over(self, sale: Sale, key: Key, scope: Scope, receive: Receive, send: Send) -> None:
        receipt = self._receipt(sale, key, scope["raw_path"])
        is_gone = await _is_gone(receive)
        await send_reply(send, sale.reply, [(b"payment-response", receipt), (b"x-payment-response", receipt)])
        if not is_gone:
            self._keeper.cashier.deliveries.add(key)

    def _receipt(self, sale: Sale, paid: Key, raw_path: bytes) -> bytes:
        assert sale.transaction is not None
        network, payer, key = paid.network, checksum(paid.payer), self._keeper.receipt_key
        if key is None or sale.settled_at is None:
            return receipt_value(sale.transaction, network, payer)
        # By the moment of the settlement, so that a receipt sent again is the same receipt.
        moment = int(sale.settled_at.timestamp())
        signed = key.sign(
            network=network,
            url=self._offer.url(raw_path),
            payer=payer,
            transaction=sale.transaction,
            issued_at=moment,
        )
        return receipt_value(sale.transaction, network, payer, signed)

    async def _bearer(self, payment: Payment, place: Place, scope: Scope) -> Bearer:
        is_seen = has_payer_signed(payment) is True
        signed_in = self._signed_in(scope)
        is_signed_in = signed_in is not None and await self._is_of(signed_in, payment.key, place)
        address = self._keeper.own_address(scope)
        return bearer_of(payment, address, is_signature_seen=is_seen, is_signed_in=is_signed_in)

    async def _is_of(self, signed_in: SignedIn, key: Key, place: Place) -> bool:
        """Whether the payer has signed in. Of a contract its chain is asked, and that only so often."""
        if signed_in.address != key.payer or is_ordinary(signed_in):
            return signed_in.address == key.payer
        place.spend()
        return await self._keeper.identity.takes(signed_in, key.network)

    def _signed_in(self, scope: Scope) -> SignedIn | None:
        value = next((value for name, value in scope["headers"] if name == SIGN_IN), None)
        if value is None:
            return None
        return self._offer.sign_in.read(value, self._offer.url(scope["raw_path"]), self._keeper.clock.now())

    async def _body(self, scope: Scope, receive: Receive) -> bytes | None:
        """The request's body; one that is too long is refused by the endpoint itself. None: it broke off."""
        if not any(name in _BODY_HEADERS for name, _ in scope["headers"]):
            # There is none, so nobody has to be waited for.
            return await collect(receive)
        if declares_too_much(scope):
            return b""
        try:
            async with asyncio.timeout(self._keeper.body_wait_s):
                return await collect(receive)
        except TimeoutError:
            return None

    async def _run(self, scope: Scope, body: bytes) -> Reply:
        """The operation's own answer, from a request that carries no payment and asks for no special form."""
        headers = [(name, value) for name, value in scope["headers"] if name not in _FORM_HEADERS]
        is_read = False

        async def receive() -> Message:
            nonlocal is_read
            if is_read:
                return {"type": "http.disconnect"}
            is_read = True
            return {"type": "http.request", "body": body, "more_body": False}

        capture = Capture()
        await self._endpoint({**scope, "headers": headers}, receive, capture.send)
        return capture.reply()


async def _is_gone(receive: Receive) -> bool:
    """Whether the caller has hung up by now. What is sent to nobody is not delivered."""
    # uvicorn's own word, where it is the server: asking it as the protocol has it costs a task's breath each time.
    told = getattr(getattr(receive, "__self__", None), "disconnected", None)
    if told is not None:
        return bool(told)
    try:
        async with asyncio.timeout(0):
            return bool((await receive())["type"] == "http.disconnect")
    except TimeoutError:
        return False


def fingerprint(scope: Mapping[str, Any], body: bytes) -> str:
    """What makes two requests the same: method, path as sent, query in any order, body."""
    query = scope["query_string"]
    if b"&" in query:
        query = b"&".join(sorted(query.split(b"&")))
    parts = (scope["method"].encode(), scope["raw_path"], query, body)
    # With their lengths before them, no two requests are the same bytes.
    return hashlib.sha256(b"%d %d %d %d " % tuple(map(len, parts)) + b"".join(parts)).hexdigest()
