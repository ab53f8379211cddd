"""Examples for the API description: worked-out figures, and else the examples that the fields themselves carry."""

from typing import Any

import msgspec
from msgspec import inspect

from tickyard.doors.describe.worked import WORKED
from tickyard.kernel.ids import EXAMPLE_WALLET


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
        case inspect.StructType(cls=cls, fields=fields):
            composed = {field.encode_name: _of_field(field) for field in fields}
            return _laid_over(composed, WORKED.get(cls.__name__, {}))
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            return [_example(item)]
        case inspect.UnionType(types=types):
            return _example(next(part for part in types if not isinstance(part, inspect.NoneType)))
        case inspect.LiteralType(values=values):
            return values[0]
        case inspect.BoolType():
            return False
        case inspect.IntType():
            return 12
        case inspect.FloatType():
            return 12.5
        case inspect.DictType():
            return {}
        case inspect.AnyType() | inspect.RawType():
            return None
        case inspect.StrType():
            return "text"
        case _:
            raise TypeError(f"no example for {kind}")


def _laid_over(composed: Any, worked: Any) -> Any:
    """The worked-out parts in place of the composed ones; a list of them over as many copies of the first entry."""
    if isinstance(worked, dict) and isinstance(composed, dict):
        return composed | {name: _laid_over(composed.get(name), value) for name, value in worked.items()}
    if isinstance(worked, list) and isinstance(composed, list) and composed:
        return [_laid_over(composed[0], part) for part in worked]
    return worked


def with_wallet(value: Any, wallet: str) -> Any:
    """The same with another wallet in place of the example's: in the sandbox, one that may be used."""
    match value:
        case str():
            return value.replace(EXAMPLE_WALLET, wallet)
        case dict():
            return {name: with_wallet(part, wallet) for name, part in value.items()}
        case list():
            return [with_wallet(part, wallet) for part in value]
        case _:
            return value
