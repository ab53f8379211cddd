"""JSON Schema in words: the type of a field, and the fields of a shape, nested ones indented."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

_DEPTH_MAX: Final = 3


@dataclass(frozen=True, slots=True)
class FieldRow:
    name: str
    kind: str
    text: str
    is_required: bool
    depth: int
    schema: dict[str, Any]


def type_text(schema: dict[str, Any]) -> str:
    """What a value may be, in a few words."""
    if "enum" in schema:
        return " | ".join(str(value) for value in schema["enum"])
    if "const" in schema:
        return str(schema["const"])
    if "$ref" in schema:
        return "object"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(type_text(part) for part in schema["anyOf"]))
    kind = schema.get("type", "any")
    if kind == "array":
        return f"list of {type_text(schema.get('items', {}))}"
    if isinstance(kind, list):
        kind = " or ".join(kind)
    return f"{kind}{_bounds(schema)}"


def _bounds(schema: dict[str, Any]) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        return f" {low} to {high}"
    shortest, longest = schema.get("minLength"), schema.get("maxLength")
    if shortest is not None and longest is not None:
        return f", {shortest} to {longest} characters"
    if schema.get("format"):
        return f" ({schema['format']})"
    return ""


def field_rows(schema: dict[str, Any], shapes: dict[str, Any], depth: int = 0) -> Iterator[FieldRow]:
    """The fields of an object, each followed by those inside it."""
    if depth > _DEPTH_MAX:
        return
    shape = inside(schema, shapes)
    for name, part in (shape or {}).get("properties", {}).items():
        required = name in (shape or {}).get("required", [])
        yield FieldRow(name, type_text(part), description(part), required, depth, part)
        yield from field_rows(part, shapes, depth + 1)


def description(schema: dict[str, Any]) -> str:
    texts = [schema.get("description"), *(part.get("description") for part in schema.get("anyOf", ()))]
    return next((str(text) for text in texts if text), "")


def inside(schema: dict[str, Any], shapes: dict[str, Any]) -> dict[str, Any] | None:
    """The object in a schema: itself, what it refers to, what a list of it holds, or the part that is not null."""
    if "$ref" in schema:
        return inside(shapes[schema["$ref"].rpartition("/")[2]], shapes)
    if "properties" in schema:
        return schema
    if schema.get("type") == "array":
        return inside(schema.get("items", {}), shapes)
    for part in schema.get("anyOf", ()):
        if (found := inside(part, shapes)) is not None:
            return found
    return None
