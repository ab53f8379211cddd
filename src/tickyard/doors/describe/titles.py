"""What the service and its operations are called where people read it."""

from typing import Final

from tickyard.kernel.operation import Operation

API_VERSION: Final = "1.0.0"
TITLE: Final = "tickyard"


def headline(row: Operation) -> str:
    """A title that fits a menu: get_vote_power is "Get vote power"."""
    return row.name.replace("_", " ").capitalize()
