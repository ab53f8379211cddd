"""Every way a call can fail on purpose.

    Failure
      BadRequest     400  the caller can fix it
      NotFound       404  no such asset, alert or epoch
      NoLiquidity    422  no pool can fill the swap
      UpstreamDown   502  a source we depend on did not answer

Anything else that escapes is a bug and becomes internal_error, 500.
Edges translate into these, doors render them, nobody in between catches.
"""

from typing import ClassVar


class Failure(Exception):
    """A failure with a public code, an HTTP status and a sentence for the caller."""

    code: ClassVar[str]
    status: ClassVar[int]

    def __init__(self, message: str, *, retry_after_s: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.retry_after_s = retry_after_s


class BadRequest(Failure):
    code = "bad_request"
    status = 400


class NotFound(Failure):
    code = "not_found"
    status = 404


class NoLiquidity(Failure):
    code = "no_liquidity"
    status = 422


class UpstreamDown(Failure):
    code = "upstream_error"
    status = 502
