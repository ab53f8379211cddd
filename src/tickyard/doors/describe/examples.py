"""Examples for the API description, composed from the examples that the fields themselves carry."""

from typing import Any

import msgspec
from msgspec import inspect


def example_of(kind: type[msgspec.Struct]) -> Any:
    """One well-formed value of this shape, as it looks on the wire."""
    return _example(inspect.type_info(kind))


def _of_field(field: inspect.Field) -> Any:
    """The default, where nobody chose a better example: it is what most calls carry."""
    has_default = field.default is not msgspec.NODEFAULT and field.default is not None
    return field.default if has_default and not _is_shown(field.type) else _example(field.type)


def _is_shown(kind: inspect.Type) -> bool:
    """Whether the field carries an example of its own."""
    if isinstance(kind, inspect.UnionType):
        return any(_is_shown(part) for part in kind.types)
    return isinstance(kind, inspect.Metadata) and bool((kind.extra_json_schema or {}).get("examples"))


def _example(kind: inspect.Type) -> Any:
    match kind:
        case inspect.Metadata(type=inner, extra_json_schema=schema):
            examples = (schema or {}).get("examples")
            return examples[0] if examples else _example(inner)
        case inspect.StructType(fields=fields):
            return {field.encode_name: _of_field(field) for field in fields}
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            return [_example(item)]
        case inspect.UnionType(types=types):
            return _example(next(part for part in types if not isinstance(part, inspect.NoneType)))
        case inspect.LiteralType(values=values):
            return values[0]
        case inspect.BoolType():
            return False
        case inspect.IntType():
            return 1
        case inspect.FloatType():
            return 1.5
        case inspect.DictType():
            return {}
        case inspect.AnyType() | inspect.RawType():
            return None
        case inspect.StrType():
            return "text"
        case _:
            raise TypeError(f"no example for {kind}")
