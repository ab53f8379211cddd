"""What the client knows of an operation: where it is, what it takes, what comes back."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import quote, urlencode

import msgspec

_PARAM: Final = re.compile(r"\{([A-Za-z]+)\}")


class Answer(msgspec.Struct, rename="camel", kw_only=True):
    """An answer of the service. Fields it may gain later are ignored; unknown values are None, never zero."""


@dataclass(frozen=True, slots=True)
class Param:
    name: str
    """The wire name, camelCase."""
    kind: Any
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    """With its query."""
    body: bytes | None


@dataclass(frozen=True, slots=True)
class Route:
    method: str
    path: str
    answer: Any
    params: tuple[Param, ...] = ()
    is_read_only: bool = True
    is_paid: bool = False
    """It has a pay-per-call twin."""

    def untyped(self) -> "Route":
        return replace(self, answer=Any)

    def request(self, values: Mapping[str, Any], *, paid: bool) -> Request:
        """The HTTP request for these values, by wire name; None is left out."""
        path = "/v1/x402/" + self.path.removeprefix("/v1/") if paid else self.path
        in_path = _PARAM.findall(path)
        for name in in_path:
            path = path.replace("{" + name + "}", quote(str(values[name]), safe=""))
        rest = {name: value for name, value in values.items() if value is not None and name not in in_path}
        if self.method == "POST":
            return Request(self.method, path, msgspec.json.encode(rest))
        query = urlencode({name: str(value) for name, value in rest.items()}, safe=",")
        return Request(self.method, f"{path}?{query}" if query else path, None)


class AsyncGroup(ABC):
    """Operations of one subject; the client they belong to makes the calls."""

    @abstractmethod
    async def _call(self, route: Route, values: dict[str, Any]) -> Any: ...


class Group(ABC):
    """The same, for those who wait."""

    @abstractmethod
    def _call(self, route: Route, values: dict[str, Any]) -> Any: ...
