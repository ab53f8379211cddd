"""What a listener asks for."""

from typing import Annotated, Final

from msgspec import Meta

from tickyard.features.history.stream.told import EVENTS
from tickyard.kernel.errors import BadRequest
from tickyard.kernel.wire import Ask
from tickyard.market.batch import SymbolsField

_SAYS: Final = f"some of {', '.join(EVENTS)}, separated by commas"


def read_events(text: str) -> str:
    wanted = text.split(",")
    if not set(wanted) <= set(EVENTS):
        raise BadRequest(f"events must be {_SAYS}")
    return ",".join(name for name in EVENTS if name in wanted)


class StreamAsk(Ask):
    symbols: SymbolsField | None = None
    events: (
        Annotated[str, Meta(examples=["price,sample"], description=_SAYS, extra={"says": _SAYS, "read": read_events})]
        | None
    ) = None
    last_event_id: Annotated[str, Meta(extra={"says": "the id of an event", "header": "last-event-id"})] | None = None
    """Whatever its length: one that is none of ours is a gap. A refusal would end a browser's listening for good."""
