"""Writes `client/answers/` and `client/operations/`: types and methods for every row of the catalog.

    make client

The files are kept in the repository, so that editors and type checkers see them and the client can be imported
without the service. A test compares them with the catalog.
"""

import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from textwrap import fill
from typing import Final

import msgspec
from msgspec import inspect

from tickyard.catalog import CATALOG, EVENTS
from tickyard.clientgen.types import annotation, extra_of, structs_of
from tickyard.kernel.operation import Operation

FOLDER: Final = Path(__file__).parents[1] / "client"
ROOMS: Final = ("answers", "operations")
_NOTE: Final = "Written by `python -m tickyard.clientgen`."
_HIDDEN: Final = ("client", "header", "http_only")


def files(rows: Iterable[Operation] = CATALOG) -> dict[str, str]:
    """Path in the client's folder -> text, formatted."""
    by_tag: dict[str, list[Operation]] = {}
    for row in (each for each in rows if not each.is_file):
        by_tag.setdefault(row.tag, []).append(row)
    needed = {tag: structs_of(row.answer for row in its) for tag, its in by_tag.items()}
    uses = Counter(name for structs in needed.values() for name in structs)
    shared = {name: struct for its in needed.values() for name, struct in its.items() if uses[name] > 1}
    made = {"answers/shared.py": _answers("more than one group", shared, [])} if shared else {}
    for tag, its in by_tag.items():
        own = {name: struct for name, struct in needed[tag].items() if name not in shared}
        made[f"answers/{tag}.py"] = _answers(f"the group {tag!r}", own, [n for n in needed[tag] if n in shared])
        made[f"operations/{tag}.py"] = _module(tag, its, shared)
    made["answers/events.py"] = _answers("webhooks", structs_of(event.body for event in EVENTS), [])
    made["answers/__init__.py"] = f'"""Shapes of all answers. {_NOTE}"""\n'
    made["operations/__init__.py"] = _package(by_tag)
    return {name: _formatted(text) for name, text in made.items()}


def _formatted(text: str) -> str:
    fix = ["check", "--fix", "--fixable", "I001,F401,RUF100", "--exit-zero", "--quiet"]
    for command in (fix, ["format", "--quiet"]):
        run = [sys.executable, "-m", "ruff", *command, "--stdin-filename", "src/tickyard/client/operations/x.py", "-"]
        text = subprocess.run(run, input=text, capture_output=True, text=True, check=True).stdout  # noqa: S603
    return text


# `id` is what the service calls it; a method's argument may too.
_HEAD: Final = "# ruff: noqa: A002"


def _answers(where: str, structs: dict[str, inspect.StructType], borrowed: list[str]) -> str:
    imports = "\nfrom datetime import datetime\nfrom typing import Any, Literal\n"
    imports += "\nfrom tickyard.client.routes import Answer\n"
    if borrowed:
        imports += f"from tickyard.client.answers.shared import {', '.join(borrowed)}\n"
    return "\n\n".join([f'"""Shapes of the answers in {where}. {_NOTE}"""\n{imports}', *_classes(structs)])


def _module(tag: str, rows: list[Operation], shared: dict[str, inspect.StructType]) -> str:
    imports = (
        "from typing import Any, Literal, cast\n\nfrom tickyard.client.routes import AsyncGroup, Group, Param, Route\n"
    )
    own = [row.answer.__name__ for row in rows if row.answer.__name__ not in shared]
    borrowed = [row.answer.__name__ for row in rows if row.answer.__name__ in shared]
    for names, where in ((own, tag), (borrowed, "shared")):
        if names:
            imports += f"from tickyard.client.answers.{where} import {', '.join(dict.fromkeys(names))}\n"
    routes = "ROUTES: dict[str, Route] = {\n" + "".join(_route(row) for row in rows) + "}"
    text = [f'"""The operations of the group {tag!r}. {_NOTE}"""\n\n{_HEAD}\n\n{imports}', routes]
    for before, prefix in (("async ", "Async"), ("", "")):
        methods = [_method(row, is_async=bool(before)) for row in rows]
        text.append(f"class {prefix}{class_name(tag)}({prefix}Group):\n" + "\n\n".join(methods))
    return "\n\n".join(text)


def _package(by_tag: dict[str, list[Operation]]) -> str:
    names = {tag: class_name(tag) for tag in by_tag}
    lines = [f'"""Every operation of the service. {_NOTE}"""', "", "from tickyard.client.routes import Route"]
    lines += [f"from tickyard.client.operations import {', '.join(by_tag)}", ""]
    lines += ["ROUTES: dict[str, Route] = {" + ", ".join(f"**{tag}.ROUTES" for tag in by_tag) + "}", "", ""]
    for prefix in ("Async", ""):
        bases = ", ".join(f"{tag}.{prefix}{name}" for tag, name in names.items())
        lines += [f"class {prefix}Operations({bases}):", '    """One method per operation."""', "", ""]
    return "\n".join(lines)


def class_name(tag: str) -> str:
    return "".join(part.capitalize() for part in tag.replace("-", "_").split("_")) + "Group"


def _classes(structs: dict[str, inspect.StructType]) -> list[str]:
    made = []
    for name, struct in structs.items():
        fields = "\n".join(f"    {field.name}: {annotation(field.type)}" for field in struct.fields)
        made.append(f"class {name}(Answer):\n{fields or '    pass'}")
    return made


def shown_fields(row: Operation) -> list[inspect.Field]:
    """What a caller may give, the required ones first."""
    described = inspect.type_info(row.ask)
    assert isinstance(described, inspect.StructType)
    shown = [field for field in described.fields if not any(extra_of(field.type).get(key) for key in _HIDDEN)]
    return sorted(shown, key=lambda field: not field.required)


def _route(row: Operation) -> str:
    params = "".join(
        f"Param({field.encode_name!r}, {annotation(field.type)}{', is_required=True' if field.required else ''}),"
        for field in shown_fields(row)
    )
    more = f", params=({params})" if params else ""
    more += "" if row.is_read_only else ", is_read_only=False"
    more += ", is_paid=True" if row.price is not None else ""
    return f"{row.name!r}: Route({row.method!r}, {row.path!r}, {row.answer.__name__}{more}),\n"


def _method(row: Operation, *, is_async: bool) -> str:
    fields = shown_fields(row)
    parameters = "".join(f", {field.name}: {annotation(field.type)}{_default(field)}" for field in fields)
    values = ", ".join(f"{field.encode_name!r}: {field.name}" for field in fields)
    before, wait = ("async ", "await ") if is_async else ("", "")
    call = f"{wait}self._call(ROUTES[{row.name!r}], {{{values}}})"
    answer = row.answer.__name__
    return (
        f"    {before}def {row.name}(self{', *' if parameters else ''}{parameters}) -> {answer}:\n"
        f"{_docstring(row)}\n"
        f"        return cast({answer}, {call})\n"
    )


def _docstring(row: Operation) -> str:
    indent = " " * 8
    return fill(f'"""{row.title}."""', 118, initial_indent=indent, subsequent_indent=indent)


def _default(field: inspect.Field) -> str:
    if field.required:
        return ""
    return f" = {None if field.default is msgspec.NODEFAULT else field.default!r}"
