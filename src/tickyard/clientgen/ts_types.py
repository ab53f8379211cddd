"""From the types of asks and answers to the text of TypeScript."""

import json
import textwrap
from collections.abc import Iterator

from msgspec import inspect

_WIDTH = 116


def ts_type(kind: inspect.Type) -> str:
    """A type as one would write it in TypeScript."""
    match kind:
        case inspect.Metadata(type=inner, extra_json_schema=schema):
            return _said_type((schema or {}).get("type")) if _is_open(inner) else ts_type(inner)
        case inspect.StructType(cls=cls):
            return cls.__name__
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            inner_text = ts_type(item)
            return f"({inner_text})[]" if " " in inner_text else f"{inner_text}[]"
        case inspect.DictType(value_type=value):
            return f"Record<string, {ts_type(value)}>"
        case inspect.UnionType(types=types):
            named = [ts_type(part) for part in types if not isinstance(part, inspect.NoneType)]
            return " | ".join([*named, "null"] if len(named) < len(types) else named)
        case inspect.LiteralType(values=values):
            return " | ".join(json.dumps(value) for value in values)
        case inspect.BoolType():
            return "boolean"
        case inspect.IntType() | inspect.FloatType():
            return "number"
        case inspect.StrType() | inspect.DateTimeType():
            return "string"
        case inspect.NoneType():
            return "null"
        case inspect.AnyType() | inspect.RawType():
            return "unknown"
        case _:
            raise TypeError(f"no TypeScript for {kind}")


def _is_open(kind: inspect.Type) -> bool:
    return isinstance(kind, inspect.AnyType | inspect.RawType)


def _said_type(said: object) -> str:
    """What a field that our own types leave open is declared to be."""
    known = {"number": "number", "integer": "number", "string": "string", "boolean": "boolean", "null": "null"}
    names = said if isinstance(said, list) else [said]
    return " | ".join(dict.fromkeys(known.get(str(name), "unknown") for name in names))


def interface(
    name: str, fields: list[inspect.Field], *, says: str | None, sorted_optional: bool = False
) -> Iterator[str]:
    """The lines of an interface; each field with what its declaration says of it."""
    yield from comment([says] if says else [], "")
    yield f"export interface {name} {{"
    for field in fields:
        yield from comment(list(_said(field)), "  ")
        optional = "?" if sorted_optional and not field.required else ""
        yield f"  {field.encode_name}{optional}: {ts_type(field.type)};"
    yield "}"


def _said(field: inspect.Field) -> Iterator[str]:
    kind = field.type
    if isinstance(kind, inspect.UnionType):
        kind = next(part for part in kind.types if not isinstance(part, inspect.NoneType))
    if not isinstance(kind, inspect.Metadata):
        return
    schema = kind.extra_json_schema or {}
    if "description" in schema:
        yield str(schema["description"])
    elif (says := (kind.extra or {}).get("says")) is not None:
        yield f"{str(says)[:1].upper()}{str(says)[1:]}."
    for example in schema.get("examples", [])[:1]:
        yield f"Example: `{example if isinstance(example, str) else json.dumps(example)}`"


def comment(parts: list[str], indent: str) -> Iterator[str]:
    """A doc comment of these paragraphs, or nothing."""
    # What closes a comment must not stand inside of one.
    lines = [line for part in parts for line in textwrap.wrap(part.replace("*/", "* /"), _WIDTH - len(indent))]
    if len(lines) == 1:
        yield f"{indent}/** {lines[0]} */"
    elif lines:
        yield f"{indent}/**"
        yield from (f"{indent} * {line}" for line in lines)
        yield f"{indent} */"
