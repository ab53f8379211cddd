"""Tools, made from catalog rows: what an agent is told about an operation, and what a call of it does.

The schemas are those of HTTP, the arguments pass the same binder, the structured result is the HTTP body.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite
from typing import Any, Final

import msgspec
from msgspec import inspect

from tickyard.doors.calling import Calling
from tickyard.doors.describe.examples import with_wallet
from tickyard.doors.describe.openapi import typed_enums
from tickyard.doors.http.binding import Binder
from tickyard.doors.http.cache import FrontCache
from tickyard.doors.http.limits import LimitVerdict
from tickyard.doors.mcp.texts import describe_tool
from tickyard.kernel.errors import BadRequest, Failure, UpstreamDown
from tickyard.kernel.ids import EXAMPLE_WALLET
from tickyard.kernel.operation import Operation
from tickyard.kernel.wire import StreamAnswer, error_body
from tickyard.observe.log import log

Take = Callable[[str], LimitVerdict]
"""Counts one call against a client's quota."""

_REF: Final = "#/$defs/{name}"
_BUG: Final = "something went wrong on our side; the request id is in the X-Request-Id header"
HTTP_ONLY: Final = "http_only"
"""Key of a field's `extra`: it chooses a form of the answer that only HTTP can carry."""
TOOL_NEEDS: Final = "tool_needs"
"""Marks a field that may be left out over HTTP, because a header can carry it."""


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The JSON text of a result, or of the Error object."""

    body: bytes
    is_error: bool


class Tool:
    """One operation, callable by agents."""

    def __init__(self, row: Operation, deps: Any, cache: FrontCache, take: Take | None = None) -> None:
        row = row.as_tool
        self._calling = Calling(row, deps, cache)
        self._take = take
        self.binder = self._calling.binder
        self.name = row.name
        self.asks_who = bool(self.binder.client_names or take)
        """Whether a call must tell who makes it."""
        self.hidden = _hidden(row, self.binder)
        self.input_schema = input_schema(row, self.hidden)
        self.annotations = annotations(row)
        self.description = describe_tool(row)

    async def call(self, arguments: Mapping[str, Any], client: str) -> ToolOutcome:
        """Bind, run and render. Whatever goes wrong is a result that says so, never an exception."""
        try:
            return ToolOutcome(await self._answer(arguments, client), is_error=False)
        except Failure as failure:
            return ToolOutcome(error_body(failure.code, failure.message), is_error=True)
        except Exception:  # noqa: BLE001  the last resort, as at the edge: whatever escapes is a bug
            log.exception("tool crashed", tool=self.name)
            return ToolOutcome(error_body("internal_error", _BUG), is_error=True)

    async def _answer(self, arguments: Mapping[str, Any], client: str) -> bytes:
        if self._take is not None and not (verdict := self._take(client)).is_allowed:
            raise BadRequest(f"too many requests from this address; try again in {verdict.retry_after_s} s")
        for name in arguments:
            if name in self.hidden:
                raise BadRequest(f"unknown field: {name}")
        exact = {name: _exact(value) for name, value in arguments.items()}
        ask = self.binder.from_arguments(exact, dict.fromkeys(self.binder.client_names, client))
        answer = await self._calling.answer(ask)
        assert not isinstance(answer, StreamAnswer), "a file is no tool"
        return answer.body


def build_tools(
    rows: Iterable[Operation],
    deps: Any,
    cache: FrontCache,
    quotas: Mapping[str, Take],
    example_wallet: str = EXAMPLE_WALLET,
) -> dict[str, Tool]:
    """`quotas`: by operation, the bucket that it shares with its HTTP route."""
    tools = {row.name: Tool(row, deps, cache, quotas.get(row.name)) for row in rows if row.is_tool}
    for tool in tools.values():
        tool.input_schema = with_wallet(tool.input_schema, example_wallet)
    return tools


def annotations(row: Operation) -> dict[str, bool]:
    """What a host may show a user before it lets an agent call this."""
    is_delete = row.method == "DELETE"
    return {
        "readOnlyHint": row.is_read_only,
        "destructiveHint": is_delete,
        "idempotentHint": row.is_read_only or is_delete,
        # A result that rests on chain, issuer or filings comes from a world we do not control.
        "openWorldHint": UpstreamDown in row.failures or not row.is_read_only,
    }


def input_schema(row: Operation, hidden: frozenset[str] = frozenset()) -> dict[str, Any]:
    schema = _schema(row.ask)
    parts = {name: part for name, part in schema.get("properties", {}).items() if name not in hidden}
    shown = {name: _without_repetition(_without_null(part)) for name, part in parts.items()}
    # What a class of ours is called and says of itself is no news to who knows the tool.
    for name in ("title", "description"):
        schema.pop(name, None)
    needed = [*schema.get("required", ()), *_marked(row, TOOL_NEEDS)]
    schema.pop("required", None)
    if needed:
        schema["required"] = needed
    return {**schema, "properties": shown, "additionalProperties": False}


def _without_null(part: dict[str, Any]) -> dict[str, Any]:
    """A field that may be left out is left out: nobody needs to be told of another way to say nothing."""
    match part:
        case {"anyOf": [dict() as kind, {"type": "null"}], "default": None}:
            return kind
    return part


def _without_repetition(part: dict[str, Any]) -> dict[str, Any]:
    """An example that is the default says nothing new, and what agents read is counted in bytes."""
    if "default" in part and part.get("examples") == [part["default"]]:
        return {name: said for name, said in part.items() if name != "examples"}
    return part


def _hidden(row: Operation, binder: Binder) -> frozenset[str]:
    """Fields that only an HTTP request has: headers, the caller's address, forms that are not JSON."""
    return frozenset({*binder.header_names.values(), *binder.client_names, *_marked(row, HTTP_ONLY)})


def _marked(row: Operation, mark: str) -> list[str]:
    described = inspect.type_info(row.ask)
    assert isinstance(described, inspect.StructType)
    return [field.encode_name for field in described.fields if _extra(field.type).get(mark)]


def _extra(kind: inspect.Type) -> dict[str, Any]:
    if isinstance(kind, inspect.UnionType):
        kind = next(part for part in kind.types if not isinstance(part, inspect.NoneType))
    return (kind.extra or {}) if isinstance(kind, inspect.Metadata) else {}


def _schema(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """JSON Schema of a shape with an object at its root, as older clients want it."""
    (root,), parts = msgspec.json.schema_components([kind], ref_template=_REF)
    named = parts.pop(root["$ref"].rpartition("/")[2])
    for part in parts.values():
        part.pop("title", None)
    whole = {"type": "object", **named, **({"$defs": parts} if parts else {})}
    typed: dict[str, Any] = typed_enums(whole)
    return typed


def _exact(value: Any) -> Any:
    """A number as its shortest decimal text means it; what is no number is left for the binder to refuse."""
    if isinstance(value, float):
        if not isfinite(value):
            raise BadRequest("NaN and Infinity are not JSON")
        return Decimal(repr(value))
    return value
