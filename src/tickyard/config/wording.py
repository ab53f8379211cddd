"""From what an operator wrote to a value of the right kind, or a sentence that a person understands."""

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
from msgspec import inspect

_ON_OFF: Final = {
    "true": True,
    "1": True,
    "on": True,
    "yes": True,
    "false": False,
    "0": False,
    "off": False,
    "no": False,
}

_SO_MANY: Final = 10**9
"""A bound so high is not worth a word to who went below the other one."""


class Wrong(Exception):
    """A value does not fit. The message is the rest of a sentence that begins with the setting's name."""


def read_text(kind: Any, text: str) -> Any:
    """A value from the environment, where everything is text: or bytes of another machine's, for which none stands."""
    if not _is_text(text):
        raise Wrong("must be plain text in UTF-8")
    described = inspect.type_info(kind)
    if isinstance(described, inspect.BoolType):
        return read_value(kind, _ON_OFF.get(text.strip().lower(), text))
    if isinstance(described, inspect.VarTupleType):
        return read_value(kind, [part.strip() for part in text.split(",") if part.strip()])
    return read_value(kind, text)


def read_value(kind: Any, value: Any) -> Any:
    described = inspect.type_info(kind)
    match described, value:
        case inspect.VarTupleType(item_type=inspect.LiteralType()), list():
            # A network is a name, which looks like a number: a file of settings has both.
            value = [str(each) if type(each) is int else each for each in value]
    try:
        return msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError:
        raise Wrong(f"must be {_wanted(described, value)}") from None


def _wanted(kind: inspect.Type, value: Any) -> str:
    match kind:
        case inspect.IntType(ge=ge, gt=gt, le=le, lt=lt):
            least = ge if ge is not None else gt + 1 if gt is not None else None
            most = le if le is not None else lt - 1 if lt is not None else None
            if most is not None and most >= _SO_MANY and not (_is_whole(value) and int(str(value)[:40]) > most):
                most = None
            return _number(least, most, is_number=_is_whole(value))
        case inspect.BoolType():
            return "on or off"
        case inspect.LiteralType(values=values):
            return " or ".join(str(each) for each in values)
        case inspect.VarTupleType(item_type=item):
            if isinstance(value, list | tuple):
                return f"a list of which each part is {_wanted(item, next(iter(value), ''))}"
            return "a list"
        case _:
            return "a text in quotes"


def _number(least: int | None, most: int | None, *, is_number: bool) -> str:
    what = "" if is_number else "a whole number, "
    if least is not None and most is not None:
        return f"{what}from {least} to {most}"
    return f"{what}{least} or more" if least is not None else "a whole number"


def _is_text(text: str) -> bool:
    """The environment's bytes that are not UTF-8 come as halves of characters, which nothing can write down again."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_whole(value: Any) -> bool:
    text = str(value).strip()
    return text.removeprefix("-").isdigit() and text.isascii()


def strangers(names: Iterable[str], known: Iterable[str]) -> Mapping[str, str]:
    """Names that nobody knows, each with the nearest that somebody does (or nothing)."""
    right = list(known)
    unknown = sorted(set(names) - set(right))
    return {name: next(iter(difflib.get_close_matches(name, right, n=1, cutoff=0.6)), "") for name in unknown}
