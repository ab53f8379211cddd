"""What a new API description takes away from those who built on the released one."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

_METHODS: Final = ("get", "post", "put", "patch", "delete")
_SHRINKS: Final = ("maximum", "exclusiveMaximum", "maxLength", "maxItems")
_GROWS: Final = ("minimum", "exclusiveMinimum", "minLength", "minItems")


def breaking_changes(released: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """One sentence per change that can break a caller, empty when there is none."""
    return list(_Comparison(released, new).changes())


class _Comparison:
    def __init__(self, released: Mapping[str, Any], new: Mapping[str, Any]) -> None:
        self._old, self._new = released, new

    def changes(self) -> Iterator[str]:
        for path, item in self._old["paths"].items():
            for method in (m for m in _METHODS if m in item):
                where = f"{method.upper()} {path}"
                now = self._new["paths"].get(path, {}).get(method)
                if now is None:
                    yield f"{where} is gone"
                else:
                    yield from self._operation(where, item[method], now)

    def _operation(self, where: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
        if old["operationId"] != new["operationId"]:
            yield f"{where}: the operation is now called {new['operationId']}"
        yield from self._parameters(where, old, new)
        before, after = _body(old), _body(new)
        if after is not None and before is None:
            yield f"{where}: a body is now needed"
        elif before is not None and after is not None:
            yield from self._taken(f"{where}: body", before, after, set())
        for status, answer in old["responses"].items():
            if status not in new["responses"]:
                # A failure that no longer happens breaks nobody; an answer that no longer comes does.
                if status.startswith("2"):
                    yield f"{where}: there is no answer {status} any more"
                continue
            shape, now = _content(answer), _content(new["responses"][status])
            if shape is not None and now is None:
                yield f"{where}: answer {status} has no JSON any more"
            elif shape is not None and now is not None:
                yield from self._given(f"{where}: answer {status}", shape, now, set())

    def _parameters(self, where: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
        before = {(p["in"], p["name"]): p for p in old.get("parameters", [])}
        after = {(p["in"], p["name"]): p for p in new.get("parameters", [])}
        for key, parameter in before.items():
            named = f"{where}: parameter {key[1]}"
            if key not in after:
                yield f"{named} is gone"
            elif after[key]["required"] and not parameter["required"]:
                yield f"{named} is now required"
            else:
                yield from self._taken(named, parameter["schema"], after[key]["schema"], set())
        for key, parameter in after.items():
            if key not in before and parameter["required"]:
                yield f"{where}: parameter {key[1]} is new and required"

    def _taken(self, where: str, old: Any, new: Any, seen: set[str]) -> Iterator[str]:
        """What a caller sends: it must not become narrower."""
        old, new = self._resolve(self._old, old, seen), self._resolve(self._new, new, set())
        if old is None or new is None:
            return
        yield from _kinds(where, _kind(old), _kind(new))
        gone = set(map(str, old.get("enum", []))) - set(map(str, new.get("enum", old.get("enum", []))))
        yield from (f"{where} no longer takes {value}" for value in sorted(gone))
        if "enum" in new and "enum" not in old:
            yield f"{where} takes only certain values now"
        for key in (*_SHRINKS, *_GROWS):
            yield from _bound(where, key, old, new)
        if new.get("pattern") != old.get("pattern") and "pattern" in new:
            yield f"{where} has another pattern"
        properties, now = old.get("properties", {}), new.get("properties", {})
        for name, part in properties.items():
            if name not in now:
                yield f"{where} no longer takes {name}"
            else:
                yield from self._taken(f"{where}.{name}", part, now[name], set(seen))
        for name in sorted(set(new.get("required", [])) - set(old.get("required", []))):
            yield f"{where} now needs {name}"

    def _given(self, where: str, old: Any, new: Any, seen: set[str]) -> Iterator[str]:
        """What a caller reads: it must not lose anything, nor become something else."""
        old, new = self._resolve(self._old, old, seen), self._resolve(self._new, new, set())
        if old is None or new is None:
            return
        yield from _kinds(where, _kind(old), _kind(new))
        if _may_be_null(new) and not _may_be_null(old):
            yield f"{where} may be null now"
        added = set(map(str, new.get("enum", []))) - set(map(str, old.get("enum", new.get("enum", []))))
        yield from (f"{where} may be {value} now" for value in sorted(added))
        properties, now = old.get("properties", {}), new.get("properties", {})
        for name, part in properties.items():
            if name not in now:
                yield f"{where} has no {name} any more"
            else:
                yield from self._given(f"{where}.{name}", part, now[name], set(seen))
        for name in sorted(set(old.get("required", [])) - set(new.get("required", []))):
            if name in now:
                yield f"{where} may be without {name} now"
        if "items" in old and "items" in new:
            yield from self._given(f"{where}[]", old["items"], new["items"], set(seen))

    def _resolve(self, document: Mapping[str, Any], schema: Any, seen: set[str]) -> dict[str, Any] | None:
        """The schema itself, with the alternatives that are not null melted into one. None: already looked at."""
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            if name in seen:
                return None
            seen.add(name)
            return self._resolve(document, document["components"]["schemas"][name], seen)
        parts = [part for part in schema.get("anyOf", []) if part.get("type") != "null"]
        if len(parts) == 1:
            inner = self._resolve(document, parts[0], seen)
            return None if inner is None else {**inner, "nullable": len(schema["anyOf"]) > 1}
        return dict(schema)


def _body(operation: Mapping[str, Any]) -> Any:
    return _content(operation.get("requestBody", {}))


def _content(part: Mapping[str, Any]) -> Any:
    return part.get("content", {}).get("application/json", {}).get("schema")


def _kind(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type", "any")
    return "/".join(sorted(kind)) if isinstance(kind, list) else str(kind)


def _may_be_null(schema: Mapping[str, Any]) -> bool:
    return bool(schema.get("nullable")) or "null" in _kind(schema).split("/")


def _kinds(where: str, old: str, new: str) -> Iterator[str]:
    if old != new:
        yield f"{where} was {old} and is {new}"


def _bound(where: str, key: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    before, after = old.get(key), new.get(key)
    if after is None or before == after:
        return
    if before is None or (after < before if key in _SHRINKS else after > before):
        yield f"{where} has a narrower {key}"
