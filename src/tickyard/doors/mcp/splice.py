"""Putting our own bytes into the protocol's envelope.

A tool's result is the HTTP body, which exists as bytes already. Handed to the package it would be parsed, validated,
copied and encoded three times over. So the package gets a small stand-in, does everything the protocol asks of it,
and the stand-in is exchanged for the real body on its way out.
"""

import secrets
from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tickyard.doors.mcp.tools import ToolOutcome
from tickyard.kernel.wire import encode

_OUTCOME: Final = "tickyard.outcome"
SHORT_CHARS: Final = 2000
"""Longer answers are not sent twice to who reads the structure."""
# Nobody outside can know it, so nothing that a caller sends and we echo can be taken for it.
_MARK: Final = secrets.token_hex(16)
_TEXT: Final = f'"{_MARK}"'.encode()
_STRUCTURE: Final = f'{{"{_MARK}":1}}'.encode()


def result_in_place(is_error: bool) -> dict[str, Any]:
    """A result that keeps an outcome's place.

    The body goes out as structure, and as text too: all of it for callers of the first generation, who may know nothing
    else, and for the others only where it is short. An Error object is text only: it is no answer.
    """
    structure = {} if is_error else {"structuredContent": {_MARK: 1}}
    return {"content": [{"type": "text", "text": _MARK}], **structure, "isError": is_error}


def hold(scope: Scope, outcome: ToolOutcome, *, reads_structure: bool) -> None:
    """Remember what belongs into the answer to this request."""
    scope[_OUTCOME] = outcome, reads_structure


class Splice:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        held: list[Message] = []

        async def forward(message: Message) -> None:
            held_back = scope.get(_OUTCOME)
            if held_back is None:
                await send(message)
            elif message["type"] == "http.response.start":
                held.append(message)
            else:
                start, body = held.pop(), _put_in_place(message["body"], *held_back)
                headers = [(name, value) for name, value in start["headers"] if name != b"content-length"]
                await send({**start, "headers": [*headers, (b"content-length", b"%d" % len(body))]})
                await send({**message, "body": body})

        await self._app(scope, receive, forward)


def _put_in_place(envelope: bytes, outcome: ToolOutcome, reads_structure: bool) -> bytes:
    text = outcome.body.decode()
    if not outcome.is_error:
        before, found, after = envelope.partition(_STRUCTURE)
        envelope = before + outcome.body + after
        if not found:
            raise RuntimeError("the protocol lost the structured result")
        if reads_structure and len(text) > SHORT_CHARS:
            text = f"The answer is in structuredContent: {len(text)} characters of JSON."
    before, found, after = envelope.partition(_TEXT)
    if not found:
        raise RuntimeError("the protocol lost the result")
    return before + encode(text) + after
