"""An operation's answer, held back until it is paid for."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    body: bytes
    content_type: str
    retry_after: bytes | None = field(default=None, compare=False)

    @property
    def is_good(self) -> bool:
        """Worth its money. Anything but a plain success is not."""
        return 200 <= self.status < 300
