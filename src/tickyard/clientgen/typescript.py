"""Writes `clients/typescript/src/generated/`: typed asks, answers and methods for every row of the catalogs."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from tickyard.catalog import CATALOG, EVENTS, STREAM
from tickyard.clientgen.files import shown_fields
from tickyard.clientgen.ts_types import comment, interface
from tickyard.clientgen.types import structs_of
from tickyard.config.pinned import CHAIN_ID, MAINNET, SECOND_CHAIN_ID, SPENDER, USDC_8453
from tickyard.kernel.operation import Operation
from tickyard.kernel.units import UsdgAmount
from tickyard.kernel.wire import TextAnswer
from tickyard.sandbox.controls.catalog import SANDBOX_CATALOG

TS_FOLDER: Final = Path(__file__).parents[3] / "clients" / "typescript" / "src" / "generated"
_NOTE: Final = "Written by `make client` from the service's own table. Change the table, not this file."
_THROWN: Final = {"UpstreamDown": "UpstreamError"}
"""Failures that a caller knows by another name."""


def ts_files(
    rows: Iterable[Operation] = CATALOG, sandbox_rows: Iterable[Operation] = SANDBOX_CATALOG
) -> dict[str, str]:
    """File name -> text."""
    # A file is for a downloader: what the methods answer is read as JSON.
    rows, sandbox_rows = [row for row in rows if not row.is_file], list(sandbox_rows)
    return {
        "answers.ts": _answers(rows, [*(event.body for event in EVENTS), *STREAM.values()]) + _stream(),
        "operations.ts": _operations(rows, "Operations", "answers", "One method per operation of the service."),
        "pinned.ts": _pinned(),
        "sandbox_answers.ts": _answers(sandbox_rows, ()),
        "sandbox.ts": _operations(sandbox_rows, "SandboxControls", "sandbox_answers", "The hands on a sandbox world."),
    }


def _answers(rows: list[Operation], events: Iterable[type[msgspec.Struct]]) -> str:
    structs = structs_of([*(row.answer for row in rows if not _is_text(row)), *events])
    lines = [f"// The shapes of all answers. {_NOTE}"]
    for name, struct in structs.items():
        lines += ["", *interface(name, list(struct.fields), says=_own_words(struct.cls))]
    return "\n".join(lines) + "\n"


def _stream() -> str:
    """What each event of the stream says, by its name."""
    lines = [f"  {name}: {shape.__name__};" for name, shape in STREAM.items()]
    return "\n".join(["", "/** The events of the stream. */", "export interface StreamData {", *lines, "}"]) + "\n"


def _pinned() -> str:
    """What a signer compares an offer or a build with, whatever a service says."""
    known = {
        "CHAIN_ID": CHAIN_ID,
        "SECOND_CHAIN_ID": SECOND_CHAIN_ID,
        "USDG": MAINNET.usdg,
        "USDC": USDC_8453,
        "ROUTER": MAINNET.router,
        "PERMIT2": MAINNET.permit2,
        "SPENDER": SPENDER,
    }
    lines = [f"// Chains and contracts, pinned; addresses in lower case. {_NOTE}", ""]
    return "\n".join([*lines, *(f"export const {name} = {value!r};" for name, value in known.items())]) + "\n"


def _own_words(cls: type[msgspec.Struct]) -> str | None:
    """The class's own docstring; an inherited one speaks of something else."""
    words = cls.__dict__.get("__doc__")
    return " ".join(words.split()) if words else None


def _operations(rows: list[Operation], name: str, answers: str, says: str) -> str:
    used = sorted({row.answer.__name__ for row in rows if not _is_text(row)})
    lines = [f"// The operations. {_NOTE}", "", f"import type {{ {', '.join(used)} }} from './{answers}.js';"]
    lines += ["import { Group, type CallOptions, type Route } from '../route.js';"]
    asks = [row.ask for row in rows]
    for part, struct in structs_of(asks).items():
        if struct.cls not in asks:
            says_part = _own_words(struct.cls)
            lines += ["", *interface(part, list(struct.fields), says=says_part, sorted_optional=True)]
    for row in rows:
        fields = shown_fields(row)
        if fields:
            what = f"What `{camel(row.name)}` takes."
            lines += ["", *interface(ask_name(row), fields, says=what, sorted_optional=True)]
    lines += ["", f"/** {says} */", f"export abstract class {name} extends Group {{"]
    for row in rows:
        lines += [*_method(row), ""]
    lines[-1] = "}"
    return "\n".join(lines) + "\n"


def _method(row: Operation) -> Iterator[str]:
    fields = shown_fields(row)
    answer = "string" if _is_text(row) else row.answer.__name__
    yield from comment(list(_explained(row)), "  ")
    takes = ""
    if fields:
        takes = f"ask: {ask_name(row)}{'' if any(field.required for field in fields) else ' = {}'}, "
    yield f"  {camel(row.name)}({takes}options?: CallOptions): Promise<{answer}> {{"
    yield f"    return this.call({_route(row)}, {'ask' if fields else '{}'}, options);"
    yield "  }"


def _explained(row: Operation) -> Iterator[str]:
    yield row.text
    if freshness := row.part("Freshness"):
        yield f"Freshness: {freshness}"
    if limits := row.part("Limits"):
        yield f"Limits: {limits}"
    if row.failures:
        yield f"Throws {', '.join(_THROWN.get(failure.__name__, failure.__name__) for failure in row.failures)}."
    if row.price is not None:
        yield f"Free; with a payer {UsdgAmount(row.price).text().rstrip('0')} USD a call."
    yield f"`{row.method} {row.path}`"


def _route(row: Operation) -> str:
    """`[method, path, flags]`: short, because it travels to every browser. `w` writes, `p` has a paid twin."""
    flags = ("" if row.is_read_only else "w") + ("p" if row.price is not None else "")
    parts = [row.method, row.path, *([flags] if flags else [])]
    return json.dumps(parts).replace('"', "'") + " as Route"


def _is_text(row: Operation) -> bool:
    return issubclass(row.answer, TextAnswer)


def ask_name(row: Operation) -> str:
    return camel(row.name)[:1].upper() + camel(row.name)[1:] + "Ask"


def camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(part.capitalize() for part in others)
