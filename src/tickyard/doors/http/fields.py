"""Sentences and readers for the fields of an ask.

msgspec checks shapes; its messages speak of types. A caller deserves a sentence that names the parameter and
says what it must be, so the sentence is made here from the field's own declaration.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec import inspect

from tickyard.kernel.errors import BadRequest
from tickyard.kernel.wire import Ask

# More digits than any bound we set; int() of thousands of digits is slow and raises.
_INTEGER = re.compile(r"-?[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class FieldRule:
    name: str
    """The wire name, camelCase."""
    attribute: str
    must_be: str
    is_integer: bool
    read: Callable[..., Any] | None
    default: Any
    header: str | None
    """The request header that carries it, instead of query or body."""
    is_client: bool
    """Filled in by the door with the caller's address; never settable by the caller."""
    item: type[Ask] | None = None
    """What it is a list of."""
    among: tuple[str, ...] = ()
    """What each of a list must be one of."""

    def from_text(self, text: str) -> str | int:
        """A query or path value, which always arrives as text, as the type the ask declares."""
        if not self.is_integer:
            return text
        if not _INTEGER.fullmatch(text):
            raise self.refusal()
        return int(text)

    def refusal(self) -> BadRequest:
        return BadRequest(f"{self.name} must be {self.must_be}")


def rules_of(ask: type[Ask]) -> dict[str, FieldRule]:
    """The rules of an ask's fields, by wire name."""
    described = inspect.type_info(ask)
    assert isinstance(described, inspect.StructType)
    hints = get_type_hints(ask)
    return {field.encode_name: _rule(field, hints[field.name]) for field in described.fields}


def _rule(field: inspect.Field, hint: Any) -> FieldRule:
    kind = field.type
    extra: dict[str, Any] = {}
    if isinstance(kind, inspect.Metadata):
        extra = kind.extra or {}
        kind = kind.type
    if isinstance(kind, inspect.UnionType):
        kind = next(part for part in kind.types if not isinstance(part, inspect.NoneType))
        if isinstance(kind, inspect.Metadata):
            extra = kind.extra or {}
            kind = kind.type
    return FieldRule(
        name=field.encode_name,
        attribute=field.name,
        must_be=extra.get("says") or _choices(hint) or _says(kind),
        is_integer=isinstance(kind, inspect.IntType),
        read=extra.get("read"),
        default=None if field.default is msgspec.NODEFAULT else field.default,
        header=extra.get("header"),
        is_client=bool(extra.get("client")),
        item=_item(kind),
        among=_among(hint),
    )


def _item(kind: inspect.Type) -> type[Ask] | None:
    if isinstance(kind, inspect.ListType) and isinstance(kind.item_type, inspect.StructType):
        return kind.item_type.cls if issubclass(kind.item_type.cls, Ask) else None
    return None


def _among(hint: Any) -> tuple[str, ...]:
    for part in (hint, *get_args(hint)):
        if get_origin(part) is list and get_origin(of := get_args(part)[0]) is Literal:
            return get_args(of)
    return ()


def _choices(hint: Any) -> str | None:
    """The choices of a field in the order in which they were written: msgspec's description sorts them as text."""
    for part in (hint, *get_args(hint)):
        if get_origin(part) is Literal:
            return _one_of(get_args(part))
    return None


def _one_of(choices: Iterable[Any]) -> str:
    return "one of " + ", ".join(map(str, choices))


def _says(kind: inspect.Type) -> str:
    match kind:
        case inspect.IntType(ge=low, le=high) if low is not None and high is not None:
            return f"an integer from {low} to {high}"
        case inspect.IntType():
            return "an integer"
        case inspect.FloatType():
            return "a number"
        case inspect.BoolType():
            return "true or false"
        case inspect.StrType(min_length=low, max_length=high) if low is not None and high is not None:
            return f"text of {low} to {high} characters"
        case inspect.StrType():
            return "text"
        case _:
            return "of the documented shape"


def _shown(given: Any) -> str:
    """What somebody sent, as far as it can be repeated."""
    return "".join(c if c.isprintable() else "?" for c in given[:64]) if isinstance(given, str) else "no string"


_AT = re.compile(r"at `\$\.([A-Za-z0-9_]+)")
_NO_TEXT = re.compile(r"Expected `str(?: \| null)?`, got")
_TOO_LONG = re.compile(r"Expected `str` of length <= (\d+)")
_NAMED = re.compile(r"(missing required|unknown) field `([^`]*)`")


def sentence(error: msgspec.ValidationError, rules: dict[str, FieldRule]) -> str:
    """What is wrong, naming the field."""
    text = str(error)
    if found := _NAMED.search(text):
        what, name = found.groups()
        shown = _shown(name)
        return f"{shown} is required" if what.startswith("missing") else f"unknown field: {shown}"
    if (found := _AT.search(text)) and found[1] in rules:
        rule = rules[found[1]]
        if _NO_TEXT.match(text):
            return f"{rule.name} must be a string: {rule.must_be}"
        if longest := _TOO_LONG.match(text):
            return f"{rule.name} must be at most {longest[1]} characters long"
        return rule.refusal().message
    return "the body must be a JSON object with the documented fields"


def in_list(rule: FieldRule, given: Any) -> str | None:
    """What is wrong with one of a list, and with which, counted from 0. None: with the list itself."""
    if not isinstance(given, list):
        return None
    if rule.among:
        wrong = ((index, each) for index, each in enumerate(given) if each not in rule.among)
        return next(
            (f"{rule.name}[{index}] is {_shown(each)}, not {_one_of(rule.among)}" for index, each in wrong), None
        )
    if rule.item is None:
        return None
    for index, each in enumerate(given):
        try:
            msgspec.convert(each, rule.item)
        except msgspec.ValidationError as error:
            if not isinstance(each, dict):
                return None
            return f"{rule.name}[{index}]: {sentence(error, rules_of(rule.item))}"
    return None
