"""How one POST ended."""

from enum import StrEnum


class PostOutcome(StrEnum):
    DELIVERED = "delivered"
    """The receiver answered 2xx."""
    FAILED = "failed"
    """It answered something else. Redirects are not followed."""
    UNKNOWN = "unknown"
    """The request was written, at least in part, and no clear answer came back."""
    NOT_DELIVERED = "not_delivered"
    """Proven: no byte of the request was written."""
    ABORTED = "aborted"
    """`before_first_byte` said no; no byte was written."""
