"""From the types of asks and answers to the text of annotations."""

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import inspect

from tickyard.kernel.wire import Ask


def annotation(kind: inspect.Type) -> str:
    """A type as one would write it in Python."""
    match kind:
        case inspect.Metadata(type=inner, extra_json_schema=schema):
            is_number = isinstance(inner, inspect.AnyType | inspect.RawType) and (schema or {}).get("type") == "number"
            return "float" if is_number else annotation(inner)
        case inspect.StructType(cls=cls) if issubclass(cls, Ask):
            # A part of what is sent: callers write it as they would in JSON.
            return "dict[str, str]"
        case inspect.StructType(cls=cls):
            return cls.__name__
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            return f"list[{annotation(item)}]"
        case inspect.DictType(key_type=key, value_type=value):
            return f"dict[{annotation(key)}, {annotation(value)}]"
        case inspect.UnionType(types=types):
            named = [annotation(part) for part in types if not isinstance(part, inspect.NoneType)]
            return " | ".join([*named, "None"] if len(named) < len(types) else named)
        case inspect.LiteralType(values=values):
            return f"Literal[{', '.join(repr(value) for value in values)}]"
        case inspect.BoolType():
            return "bool"
        case inspect.IntType():
            return "int"
        case inspect.FloatType():
            return "float"
        case inspect.StrType():
            return "str"
        case inspect.DateTimeType():
            return "datetime"
        case inspect.NoneType():
            return "None"
        case inspect.AnyType() | inspect.RawType():
            return "Any"
        case _:
            raise TypeError(f"no annotation for {kind}")


def extra_of(kind: inspect.Type) -> dict[str, Any]:
    """What a field's declaration says beside its type."""
    if isinstance(kind, inspect.UnionType):
        kind = next(part for part in kind.types if not isinstance(part, inspect.NoneType))
    return (kind.extra or {}) if isinstance(kind, inspect.Metadata) else {}


def structs_of(answers: Iterable[type[msgspec.Struct]]) -> dict[str, inspect.StructType]:
    """Every shape in these answers by name, the inner ones before those that contain them."""
    found: dict[str, inspect.StructType] = {}
    for answer in answers:
        _collect(inspect.type_info(answer), found)
    return found


def _collect(kind: inspect.Type, found: dict[str, inspect.StructType]) -> None:
    match kind:
        case inspect.Metadata(type=inner):
            _collect(inner, found)
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            _collect(item, found)
        case inspect.DictType(value_type=value):
            _collect(value, found)
        case inspect.UnionType(types=types):
            for part in types:
                _collect(part, found)
        case inspect.StructType(cls=cls, fields=fields):
            known = found.get(cls.__name__)
            assert known is None or known.cls is cls, f"two answers are called {cls.__name__}"
            for field in fields:
                _collect(field.type, found)
            found.setdefault(cls.__name__, kind)
        case _:
            pass
