"""Binding: from a request to an ask, or a sentence that says what is wrong.

The same binder serves every door: path and query texts, a JSON body, a tool's arguments.
"""

import json
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

import msgspec

from tickyard.doors.http.bodies import holds_half_a_character
from tickyard.doors.http.fields import FieldRule, in_list, rules_of, sentence
from tickyard.kernel.errors import BadRequest
from tickyard.kernel.operation import Operation
from tickyard.kernel.wire import Ask

NUMBER_MAX_CHARS = 100
_NOTHING: Mapping[str, str] = MappingProxyType({})

_PARAM = re.compile(r"\{([A-Za-z]+)\}")
_BAD_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")


class Binder:
    """Turns what a caller sent for one operation into its ask."""

    def __init__(self, operation: Operation) -> None:
        self._ask = operation.ask
        self._path = operation.path
        self.rules = rules_of(operation.ask)
        self.path_names = tuple(_PARAM.findall(operation.path))
        self.header_names = {rule.header.encode(): name for name, rule in self.rules.items() if rule.header}
        self.client_names = tuple(name for name, rule in self.rules.items() if rule.is_client)
        apart = {*self.path_names, *self.header_names.values(), *self.client_names}
        self.other_names = tuple(name for name in self.rules if name not in apart)
        self.takes_body = operation.method in ("POST", "PUT", "PATCH")

    def around(self, headers: Iterable[tuple[bytes, bytes]], client: str) -> dict[str, str]:
        """What an ask takes from around the request: its headers, and whose it is."""
        values = dict.fromkeys(self.client_names, client)
        if self.header_names:
            for key, raw in headers:
                if (name := self.header_names.get(key)) is not None:
                    if name in values:
                        raise BadRequest(f"the header {key.decode()} is given twice")
                    # The parser leaves the blanks behind a value, which are no part of it.
                    values[name] = raw.decode("latin-1").rstrip(" \t")
        return values

    def from_url(self, path_values: dict[str, str], query: bytes, around: Mapping[str, str] = _NOTHING) -> Ask:
        """The ask of a request whose parameters are all in its URL. Unknown parameters are ignored."""
        values = {**self._path_texts(path_values), **around}
        if self.other_names and query:
            for name, raw in _query_pairs(query):
                if name not in self.other_names:
                    continue
                if name in values:
                    raise BadRequest(f"{name} is given twice")
                values[name] = _decode(raw, name)
        return self._convert({name: self.rules[name].from_text(text) for name, text in values.items()})

    def from_body(self, path_values: dict[str, str], body: bytes, around: Mapping[str, str] = _NOTHING) -> Ask:
        """The ask of a request with a JSON body. Unknown fields and duplicate keys are refused."""
        values = read_json_object(body)
        for name, text in {**self._path_texts(path_values), **around}.items():
            if name in values:
                raise BadRequest(f"unknown field: {name}")
            values[name] = self.rules[name].from_text(text)
        return self._convert(values)

    def from_arguments(self, arguments: Mapping[str, Any], around: Mapping[str, str] = _NOTHING) -> Ask:
        """The ask of a tool call or a command line, whose values are typed already."""
        for name in arguments:
            if name in self.client_names:
                raise BadRequest(f"unknown field: {name}")
        return self._convert({**arguments, **around})

    def canonical_target(self, ask: Ask) -> bytes:
        """The one spelling of this ask's URL, defaults left out: the key under which its answer is kept."""
        path = self._path
        for name in self.path_names:
            path = path.replace("{" + name + "}", _escaped(str(self._value(ask, name))))
        given = [(name, self._value(ask, name)) for name in self.other_names]
        query = "&".join(
            [f"{name}={_escaped(str(value))}" for name, value in given if value != self.rules[name].default]
        )
        return f"{path}?{query}".encode() if query else path.encode()

    def _value(self, ask: Ask, name: str) -> Any:
        return getattr(ask, self.rules[name].attribute)

    def _path_texts(self, path_values: dict[str, str]) -> dict[str, str]:
        return {name: _decode(path_values[name].encode("latin-1"), name) for name in self.path_names}

    def _convert(self, values: dict[str, Any]) -> Ask:
        for name, rule in self.rules.items():
            if rule.read and isinstance(text := values.get(name), str):
                values[name] = _read(rule, text)
        try:
            return msgspec.convert(values, self._ask)
        except msgspec.ValidationError as error:
            lists = (in_list(rule, values.get(name)) for name, rule in self.rules.items())
            raise BadRequest(next(filter(None, lists), None) or sentence(error, self.rules)) from None


def _read(rule: FieldRule, text: str) -> Any:
    try:
        assert rule.read is not None
        return rule.read(text)
    except BadRequest:
        raise rule.refusal() from None


def _query_pairs(query: bytes) -> list[tuple[str, bytes]]:
    pairs = []
    for part in query.replace(b"+", b" ").split(b"&"):
        name, _, value = part.partition(b"=")
        # A name that does not decode cannot be one of ours, and unknown parameters are ignored.
        pairs.append((_unescape(name).decode("utf-8", "replace"), value))
    return pairs


def _decode(raw: bytes, name: str) -> str:
    if b"%" in raw:
        if _BAD_ESCAPE.search(raw):
            raise BadRequest(f"{name} has a broken percent escape")
        raw = _unescape(raw)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise BadRequest(f"{name} is not UTF-8 text") from None


def _escaped(text: str) -> str:
    # Nearly every value is a symbol, a word or a number: those have nothing to escape.
    return text if text.isascii() and text.isalnum() else quote(text, safe="")


def _unescape(raw: bytes) -> bytes:
    if b"%" not in raw:
        return raw
    return _ESCAPE.sub(lambda found: bytes.fromhex(found[1].decode()), raw)


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise BadRequest("the body has a key twice")
    return values


def _no_constants(name: str) -> Any:
    raise BadRequest(f"{name} is not JSON")


def read_json_object(body: bytes) -> dict[str, Any]:
    """A JSON object, strictly: no duplicate keys, no NaN or Infinity, no absurd nesting or numbers."""
    try:
        values = json.loads(
            body.decode("utf-8"),
            object_pairs_hook=_no_duplicates,
            parse_constant=_no_constants,
            parse_int=_read_int,
            parse_float=_read_decimal,
        )
    except (ValueError, RecursionError):
        raise BadRequest("the body is not valid JSON") from None
    if holds_half_a_character(body):
        raise BadRequest("the body is not valid JSON")
    if not isinstance(values, dict):
        raise BadRequest("the body must be a JSON object")
    return values


def _read_int(text: str) -> int:
    return int(_short(text))


def _read_decimal(text: str) -> Decimal:
    return Decimal(_short(text))


def _short(text: str) -> str:
    if len(text) > NUMBER_MAX_CHARS:
        raise BadRequest("the body has a number that is too long")
    return text
