"""The machine-readable contract, generated from the catalog: OpenAPI 3.1.

Nothing is written by hand here but the frame. Schemas come from the asks and answers, texts from docstrings,
statuses from the failures that a row declares.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from tickyard.catalog import EVENTS
from tickyard.doors.describe.examples import example_of
from tickyard.doors.describe.frame import (
    FRAME_KINDS,
    FRAME_TAG,
    PAYMENT_PARAMETERS,
    RECEIPT_HEADERS,
    frame_paths,
    webhooks,
)
from tickyard.doors.describe.payment_info import payment_info, price_text
from tickyard.doors.describe.titles import API_VERSION, TITLE, headline
from tickyard.doors.http.binding import Binder
from tickyard.kernel.operation import Operation
from tickyard.kernel.wire import Answer
from tickyard.payments.offer.bazaar import paid_path

_REF: Final = "#/components/schemas/{name}"

# What every operation may meet, whatever its row declares.
_ALWAYS: Final = (405, 429, 500)
_STATUS_TEXT: Final = {
    400: ("bad_request", "A parameter is missing or out of shape; the message names it."),
    404: ("not_found", "There is no such thing."),
    405: ("bad_request", "Another method of this path; Allow names those it takes."),
    413: ("bad_request", "The body is over 64 KiB."),
    415: ("bad_request", "The body is not application/json."),
    422: ("no_liquidity", "No pool can fill the swap."),
    429: ("bad_request", "Too many requests from this address; Retry-After says how long to wait."),
    500: ("internal_error", "A bug on our side; the X-Request-Id header names the request."),
    502: ("upstream_error", "A source we depend on did not answer, or answered nonsense."),
}


class PaymentResource(Answer):
    url: str
    description: str
    mime_type: str


class PaymentChallenge(Answer):
    """An x402 version 2 challenge."""

    x402_version: int = msgspec.field(name="x402Version")
    error: str
    resource: PaymentResource
    accepts: list[dict[str, Any]]
    extensions: dict[str, Any]


def as_text(rows: Sequence[Operation]) -> str:
    """The description for a reader: the production routes, indented, with a placeholder for the address."""
    document = describe(rows, base_url="https://tickyard.example", description=TITLE)
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()


def describe(rows: Sequence[Operation], *, base_url: str, description: str) -> dict[str, Any]:
    """The whole OpenAPI document."""
    kinds: set[type[msgspec.Struct]] = (
        {row.answer for row in rows if not row.is_file}
        | {row.ask for row in rows if row.method == "POST"}
        | {event.body for event in EVENTS}
        | {*FRAME_KINDS}
    )
    if any(row.price is not None for row in rows):
        kinds.add(PaymentChallenge)
    asks = {row.ask for row in rows}
    _, components = msgspec.json.schema_components(sorted(kinds | asks, key=lambda k: k.__name__), ref_template=_REF)
    paths: dict[str, dict[str, Any]] = {}
    for row in rows:
        for name in Binder(row).client_names:
            components[row.ask.__name__]["properties"].pop(name, None)
        described = _operation(row, components)
        paths.setdefault(row.path, {})[row.method.lower()] = described
        if row.price is not None:
            paths.setdefault(paid_path(row), {})[row.method.lower()] = _paid(row, described)
    body_asks = {row.ask.__name__ for row in rows if row.method == "POST"}
    url_asks = {ask.__name__ for ask in asks} - body_asks
    return {
        "openapi": "3.1.0",
        "info": {
            "title": TITLE,
            "version": API_VERSION,
            "description": description,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": base_url}],
        "security": [],
        "tags": [
            *({"name": tag, "description": _TAGS[tag]} for tag in _ordered(row.tag for row in rows)),
            FRAME_TAG,
        ],
        "paths": paths | frame_paths(),
        "webhooks": webhooks(EVENTS),
        "components": {
            "schemas": {name: typed_enums(schema) for name, schema in components.items() if name not in url_asks}
        },
    }


_TAGS: Final = {
    "research": "The companies behind the tokens, and votes.",
    "registry": "The listed stock tokens and their prices.",
    "earn": "The daily reward program.",
    "payments": "Receipts of pay-per-call.",
    "history": "Prices sampled every five minutes.",
    "alerts": "One-shot webhooks when a price crosses a threshold.",
    "trading": "Quotes, unsigned builds, portfolios, pools.",
    "execution": "What a build would do, before anybody signs it.",
    "sandbox": "Controls of the sandbox world. They exist in the sandbox only.",
}


def _ordered(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _operation(row: Operation, components: dict[str, Any]) -> dict[str, Any]:
    binder = Binder(row)
    described: dict[str, Any] = {
        "operationId": row.name,
        "tags": [row.tag],
        "summary": headline(row),
        "description": row.text,
        "responses": _responses(row, binder),
    }
    ask_schema = components.get(row.ask.__name__, {})
    headers = tuple(binder.header_names.values())
    names = (*binder.path_names, *headers) if binder.takes_body else (*binder.path_names, *binder.other_names, *headers)
    if names:
        described["parameters"] = [_parameter(name, binder, ask_schema) for name in names]
    if binder.takes_body:
        described["requestBody"] = {
            "required": True,
            "content": {
                "application/json": {
                    "schema": {"$ref": _REF.format(name=row.ask.__name__)},
                    "example": _ask_example(row, binder),
                }
            },
        }
    return described


def _ask_example(row: Operation, binder: Binder) -> dict[str, Any]:
    """A body that can be sent: what the door fills in by itself is left out."""
    example = {name: value for name, value in example_of(row.ask).items() if name in binder.other_names}
    fields = msgspec.structs.fields(row.ask)
    # Of fields that may be left out for one another, one is enough.
    optional = [field.encode_name for field in fields if field.default is None and field.encode_name in example]
    spare = optional if len(optional) < len(example) else optional[1:]
    return {name: value for name, value in example.items() if name not in spare}


def _paid(row: Operation, free: dict[str, Any]) -> dict[str, Any]:
    """The paid twin: the same operation behind the gate."""
    assert row.price is not None
    price = price_text(row.price)
    challenge = {
        "description": "Payment required: what to pay is in the body and, as base64, in PAYMENT-REQUIRED.",
        "headers": {
            "PAYMENT-REQUIRED": {"description": "The challenge as base64 of JSON.", "schema": {"type": "string"}},
            **RECEIPT_HEADERS,
        },
        "content": {"application/json": {"schema": {"$ref": _REF.format(name="PaymentChallenge")}}},
    }
    answered = {**free["responses"][str(row.status)], "headers": RECEIPT_HEADERS}
    return {
        **free,
        "parameters": [*free.get("parameters", ()), *PAYMENT_PARAMETERS],
        "operationId": f"{row.name}_paid",
        "summary": f"{free['summary']} (pay per call)",
        "description": f"{free['description']} Costs {price} USD per call by x402; a failed call is never charged.",
        "responses": dict(sorted({**free["responses"], str(row.status): answered, "402": challenge}.items())),
        "x-payment-info": payment_info(row),
    }


def _parameter(name: str, binder: Binder, ask_schema: dict[str, Any]) -> dict[str, Any]:
    schema = typed_enums(dict(ask_schema["properties"][name]))
    in_path = name in binder.path_names
    header = binder.rules[name].header
    parameter: dict[str, Any] = {
        "name": header or name,
        "in": "path" if in_path else "header" if header else "query",
        "required": in_path or name in ask_schema.get("required", []),
    }
    if text := schema.pop("description", None):
        parameter["description"] = text
    if examples := schema.pop("examples", None):
        parameter["example"] = examples[0]
    parameter["schema"] = schema
    return parameter


def _responses(row: Operation, binder: Binder) -> dict[str, Any]:
    file = {"application/gzip": {"schema": {"type": "string", "format": "binary"}}}
    answers: dict[str, Any] = {
        str(row.status): {
            "description": "The answer.",
            "content": file
            if row.is_file
            else {
                "application/json": {
                    "schema": {"$ref": _REF.format(name=row.answer.__name__)},
                    "example": example_of(row.answer),
                },
                **({"text/csv": {"schema": {"type": "string"}}} if "format" in binder.rules else {}),
            },
        }
    }
    statuses = (
        {failure.status for failure in row.failures} | set(_ALWAYS) | ({413, 415} if binder.takes_body else set())
    )
    for status in sorted(statuses):
        code, text = _STATUS_TEXT[status]
        answers[str(status)] = {
            "description": text,
            "content": {
                "application/json": {
                    "schema": {"$ref": _REF.format(name="ErrorBody")},
                    "example": {"error": {"code": code, "message": text}},
                }
            },
        }
    return answers


def typed_enums(schema: Any) -> Any:
    """msgspec leaves the type out of an enum of texts; validators and generators want it."""
    if isinstance(schema, list):
        return [typed_enums(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    fixed = {key: typed_enums(value) for key, value in schema.items()}
    values = fixed.get("enum")
    if "type" not in fixed and isinstance(values, list) and all(isinstance(value, str) for value in values):
        fixed["type"] = "string"
    return fixed
