"""The `bazaar` extension: what a paid route takes and answers, for directories and agents.

`info` shows one call and its answer; `schema` is a JSON Schema that `info` itself satisfies. Both are made from the
row of the catalog. They travel in a response header, so they are kept short.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from tickyard.kernel.operation import Operation

_PARAM: Final = re.compile(r"\{([A-Za-z]+)\}")
_REF: Final = "#/$defs/{name}"
_DROPPED: Final = frozenset({"title", "examples", "default", "description"})
_ALWAYS: Final = ("type", "method", "bodyType", "body")
_BODY_METHODS: Final = ("POST", "PUT", "PATCH")


def paid_path(operation: Operation) -> str:
    """Where the paid twin of an operation is found."""
    return "/v1/x402/" + operation.path.removeprefix("/v1/")


def versions(operation: Operation, ask_example: dict[str, Any], answer_example: Any) -> Iterator[dict[str, Any]]:
    """The extension, from its fullest form to its shortest: the first that fits the header is taken."""
    for example in _shorter(answer_example):
        yield _extension(operation, ask_example, example)


def _extension(operation: Operation, ask_example: dict[str, Any], answer_example: Any) -> dict[str, Any]:
    path = paid_path(operation)
    in_path = _PARAM.findall(path)
    schema = _ask_schema(operation)
    rest = [name for name in schema["properties"] if name not in in_path]
    shown: dict[str, Any] = {"type": "http", "method": operation.method}
    shape: dict[str, Any] = {"type": {"const": "http"}, "method": {"const": operation.method}}
    if operation.method in _BODY_METHODS:
        shown |= {"bodyType": "json", "body": {name: ask_example[name] for name in rest}}
        shape |= {"bodyType": {"const": "json"}, "body": _part(schema, rest)}
    else:
        # Also when there are none: directories look for inputs here.
        shown["queryParams"] = {name: ask_example[name] for name in rest}
        shape["queryParams"] = _part(schema, rest)
    if in_path:
        shown["pathParams"] = {name: ask_example[name] for name in in_path}
        shape["pathParams"] = _part(schema, in_path)
    return {
        "info": {"input": shown, "output": {"type": "json", "example": answer_example}},
        "schema": {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "input": _object(shape, [name for name in shape if name in _ALWAYS or "required" in shape[name]]),
                "output": {"type": "object", "properties": {"type": {"const": "json"}, "example": {"type": "object"}}},
            },
            "required": ["input"],
        },
        **({"routeTemplate": _PARAM.sub(r":\1", path)} if in_path else {}),
    }


def _part(schema: dict[str, Any], names: list[str]) -> dict[str, Any]:
    required = [name for name in schema.get("required", []) if name in names]
    return _object({name: schema["properties"][name] for name in names}, required)


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    needed = {"required": required} if required else {}
    return {"type": "object", "properties": properties, **needed, "additionalProperties": False}


def _ask_schema(operation: Operation) -> dict[str, Any]:
    """The ask's schema with nothing to look up and no words in it."""
    (reference,), definitions = msgspec.json.schema_components([operation.ask], ref_template=_REF)
    name = reference["$ref"].rpartition("/")[2]
    bare: dict[str, Any] = {"properties": {}} | _bare(definitions[name], definitions)
    return bare


def _bare(schema: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_bare(part, definitions) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _bare(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    # A property may be called "title" or "description": only the words about a schema go.
    return {
        key: {name: _bare(part, definitions) for name, part in value.items()}
        if key == "properties"
        else _bare(value, definitions)
        for key, value in schema.items()
        if key not in _DROPPED
    }


def _shorter(example: Any) -> Iterator[Any]:
    """The example itself, then without what is deep inside it, then with fewer and fewer of its fields."""
    yield example
    if not isinstance(example, dict):
        yield {}
        return
    for levels in (2, 1):
        yield _cut(example, levels)
    plain = [(name, value) for name, value in example.items() if not isinstance(value, dict | list)]
    for count in range(len(plain), -1, -1):
        yield dict(plain[:count])


def _cut(value: Any, levels: int) -> Any:
    if isinstance(value, dict):
        return {name: _cut(part, levels - 1) for name, part in value.items()} if levels > 0 else {}
    if isinstance(value, list):
        return [_cut(part, levels - 1) for part in value] if levels > 0 else []
    return value
