"""How a call can fail, as exceptions.

ServiceError          the service answered with a failure; has code, status, message and request id
  BadRequest          400  an argument is wrong; the message names it
  NotFound            404  no such thing
  NoLiquidity         422  no pool can fill the swap
  TooManyRequests     429  wait retry_after_s seconds
  PaymentRequired     402  the route costs money, or the payment was refused
  UpstreamError       502  a source of the service did not answer; try again
  InternalError       500  a bug of the service; the request id names the call
Unreachable           the service did not answer at all
  NodeUnreachable     the node to send through did not answer, or is of another chain; nothing was signed
SpendingLimit         the next call would cost more than may still be spent; nothing was signed
KeptUnreadable        the file of payments whose end is not known cannot be read or written; nothing is sent
WebhookRefused        a received webhook is not genuine
TradeRefused          a build does not say what was ordered, or a step would fail; what was not sent will not be
TradeUnsettled        a step is signed and sent, and the chain does not have it yet; continue with its `sent`
"""

from typing import Any


class TickyardError(Exception):
    """Whatever this client raises on purpose."""


class ServiceError(TickyardError):
    status: int = 0
    """The HTTP status of the answer; of the class, the one it stands for."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int,
        request_id: str | None = None,
        retry_after_s: int | None = None,
    ) -> None:
        super().__init__(f"{code} ({status}): {message}")
        self.code = code
        self.message = message
        self.status = status
        self.request_id = request_id
        self.retry_after_s = retry_after_s


class BadRequest(ServiceError):
    status = 400


class NotFound(ServiceError):
    status = 404


class NoLiquidity(ServiceError):
    status = 422


class TooManyRequests(ServiceError):
    status = 429


class PaymentRequired(ServiceError):
    status = 402


class UpstreamError(ServiceError):
    status = 502


class InternalError(ServiceError):
    status = 500


class Unreachable(TickyardError):
    pass


class NodeUnreachable(Unreachable):
    """Not the service: the node that a trade is sent through."""


class KeptUnreadable(TickyardError):
    """What was signed before cannot be known, so nothing new is."""


class SpendingLimit(TickyardError):
    pass


class WebhookRefused(TickyardError):
    pass


class TradeRefused(TickyardError):
    pass


class TradeUnsettled(TickyardError):
    def __init__(self, message: str, sent: list[Any]) -> None:
        super().__init__(message)
        self.sent = sent
        """The signed steps. Hand them to the next `send` of the same build: nothing is signed twice."""


_BY_STATUS: dict[int, type[ServiceError]] = {
    kind.status: kind
    for kind in (BadRequest, NotFound, NoLiquidity, TooManyRequests, PaymentRequired, UpstreamError, InternalError)
}


def error_of(
    status: int, code: str, message: str, *, request_id: str | None = None, retry_after_s: int | None = None
) -> ServiceError:
    """The exception for an answer. Statuses without one of their own are a wrong request or a broken service."""
    kind = _BY_STATUS.get(status) or (BadRequest if status < 500 else InternalError)
    return kind(code, message, status=status, request_id=request_id, retry_after_s=retry_after_s)
