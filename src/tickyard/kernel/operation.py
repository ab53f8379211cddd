"""Operation: one row of the catalog.

A row says everything the doors need: where the operation is found, what it asks and answers, how it may
fail, how long its answer may be reused, what its paid twin costs. The HTTP route, the paid twin, the
tool, the index, the OpenAPI description and the docs are all made from it.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, TypeVar, get_args, get_type_hints

import msgspec

from tickyard.kernel.errors import BadRequest, Failure
from tickyard.kernel.units import UsdgAmount
from tickyard.kernel.wire import Ask, TextAnswer

A = TypeVar("A", bound=msgspec.Struct)

_LABEL: Final = re.compile(r"^\s*(Freshness|Limits|Advice):", re.MULTILINE)
"""Parts of a docstring that are for agents: how old an answer can be, what one call can give, which tool is better."""


def _unfolded(text: str) -> str:
    return " ".join(text.split())


@dataclass(frozen=True, slots=True)
class Kept(Generic[A]):
    """An answer that may be reused, by our front cache and by the caller, for so many seconds."""

    answer: A
    seconds: int


class NoAsk(Ask):
    """Nothing to send."""


@dataclass(frozen=True, slots=True)
class Operation:
    name: str
    """Operation id and tool name, verb_noun."""
    method: str
    path: str
    run: Callable[[Any, Any], Awaitable[Any]]
    """`await run(deps, ask)`; returns the answer, or `Kept` when it may be reused. Its docstring is public."""
    answer: type[msgspec.Struct]
    tag: str
    ask: type[Ask] = NoAsk
    failures: tuple[type[Failure], ...] = (BadRequest,)
    price: UsdgAmount | None = None
    status: int = 200
    at_once: Callable[[Any, Any], msgspec.Struct | None] | None = None
    """`at_once(deps, ask)`: what `run` would answer, where nothing has to be waited for. None, or a failure: run it."""
    quota_per_minute: int | None = None
    """A bucket of its own per client, beside the general rate limit."""
    is_tool: bool = True
    """Whether agents may call it as a tool. What claims or pays may not be one."""
    brief: Callable[[Any, Any], Awaitable[Any]] | None = None
    """What agents call instead of `run`, with an ask of its own: they read every byte, and pay for it."""
    is_file: bool = False
    """Whether the answer is a file: sent piece by piece, in no client and no tool."""
    changes: bool | None = None
    """Whether a call changes anything. None: as its method says, GET reads and the others change."""

    @property
    def is_read_only(self) -> bool:
        return self.method == "GET" if self.changes is None else not self.changes

    @property
    def as_tool(self) -> "Operation":
        """The row as agents see it. What is in brief is no answer of the route, and is never kept as one."""
        if self.brief is None:
            return self
        hints = get_type_hints(self.brief)
        answer, (_, ask) = _answer_of(hints.pop("return")), hints.values()
        return replace(self, run=self.brief, ask=ask, answer=answer, method="POST", changes=not self.is_read_only)

    @property
    def text(self) -> str:
        """The public description: the docstring of the function, unfolded, up to its first labelled part."""
        return _unfolded(_LABEL.split(self.run.__doc__ or "")[0])

    def part(self, label: str) -> str:
        """A labelled part of the docstring (`Freshness:`, `Limits:`, `Advice:`), unfolded; empty when it has none."""
        pieces = _LABEL.split(self.run.__doc__ or "")
        return next(
            (_unfolded(text) for name, text in zip(pieces[1::2], pieces[2::2], strict=True) if name == label), ""
        )

    @property
    def title(self) -> str:
        """The first sentence of the description."""
        return self.text.partition(". ")[0].rstrip(".")


@dataclass(frozen=True, slots=True)
class PushedEvent:
    """What the service sends by itself. The docstring of its body is public."""

    name: str
    tag: str
    body: type[msgspec.Struct]
    headers: Mapping[str, str]
    """What each says."""


def row(
    method: str,
    path: str,
    run: Callable[[Any, Any], Awaitable[Any]],
    tag: str,
    failures: tuple[type[Failure], ...],
    *,
    name: str = "",
    answer: type[msgspec.Struct] | None = None,
    **more: Any,
) -> Operation:
    """A row of the table. What it asks and answers is read off the function's own types, its name is the function's."""
    hints = get_type_hints(run)
    returned = hints.pop("return")
    return Operation(
        name=name or getattr(run, "__name__", ""),
        method=method,
        path=path,
        run=run,
        ask=list(hints.values())[1],
        answer=answer or _answer_of(returned),
        tag=tag,
        failures=failures,
        **more,
    )


def _answer_of(kind: Any) -> type[msgspec.Struct]:
    """The JSON answer in a return type: `Kept[Quote]`, `Quote`, or a union in which text is another form of it."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind is not TextAnswer:
        return kind
    return next(found for part in get_args(kind) if (found := _answer_of_or_none(part)) is not None)


def _answer_of_or_none(kind: Any) -> type[msgspec.Struct] | None:
    try:
        return _answer_of(kind)
    except StopIteration:
        return None
