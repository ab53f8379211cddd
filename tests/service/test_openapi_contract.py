"""The API description against the running service, a linter, and its own past."""

import asyncio
import contextlib
import copy
import json
import os
import pathlib
import random
import re
import subprocess
import sys

import jsonschema
import pytest

from proof import IS_FULL, MODE, SEED, count
from tickyard.catalog import CATALOG
from tickyard.doors.app import Plan, build_app
from tickyard.doors.describe.changes import breaking_changes
from tickyard.doors.describe.openapi import as_text
from tickyard.doors.describe.released import main as check_released
from tickyard.features.alerts.payload import Fired, Letter, headers_of, parcel_of
from tickyard.features.alerts.secret import AlertKeys
from tickyard.features.history.stream.ask import StreamAsk
from tickyard.kernel.errors import BadRequest, NoLiquidity, NotFound, UpstreamDown
from yards import paperyard, serving
from yards.patience import STUCK_S

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
RELEASED = ROOT / "docs" / "openapi.released.json"
REDOCLY = ROOT / "node_modules" / ".bin" / "redocly"


@contextlib.asynccontextmanager
async def open_service(folder):
    """The whole service with its paid routes, over a chain of paper."""
    async with paperyard.open_yard(folder) as yard:
        payments = yard.deps.payments
        plan = Plan(CATALOG, yard.deps, payments=payments)
        async with serving.serving(build_app(plan, access_log=None).edge) as base:
            yield base


async def run(*command, cwd, limit_s):
    process = await asyncio.create_subprocess_exec(
        *command, cwd=cwd, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    try:
        out, _ = await asyncio.wait_for(process.communicate(), limit_s)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode, out.decode()


@pytest.mark.slow
@pytest.mark.timeout(1800 if IS_FULL else 240)
def test_no_request_made_from_the_description_meets_a_surprise(tmp_path, capsys):
    phases, examples, least = (
        ("examples,coverage,fuzzing,stateful", 250, 5000)
        if IS_FULL
        else ("fuzzing", count(400, quick=1), count(5000, quick=4))
    )

    async def work():
        async with open_service(tmp_path / "data") as base:
            command = [
                sys.executable,
                "-m",
                "schemathesis.cli",
                "--config-file",
                str(HERE / "schemathesis.toml"),
                "run",
            ]
            command += [f"{base}/openapi.json", "--url", base, "--mode", "all", "--phases", phases, "--seed", str(SEED)]
            command += ["--max-examples", str(examples), "--no-color", "--warnings", "off"]
            # Its messages are another protocol's, whose own conformance suite asks them.
            command += ["--exclude-path", "/mcp"]
            # It has no end.
            command += ["--exclude-path", "/v1/stream"]
            if MODE == "quick":
                some = random.Random(SEED).sample([row.name for row in CATALOG], 4)
                command += [word for name in some for word in ("--include-operation-id", name)]
            return await run(*command, cwd=tmp_path, limit_s=1700 if IS_FULL else 200)

    code, shown = asyncio.run(work())
    assert code == 0, shown[shown.find("= FAILURES =") :]
    asked = int(re.search(r"([\d,]+) generated", shown)[1].replace(",", ""))
    with capsys.disabled():
        print(f" [{asked} requests]", end="", flush=True)
    assert asked >= least


@pytest.mark.node
def test_the_linter_has_nothing_to_say(tmp_path):
    (tmp_path / "openapi.json").write_text(as_text(CATALOG))
    command = [str(REDOCLY), "lint", "openapi.json", "--config", str(HERE / "redocly.yaml")]
    environ = {**os.environ, "REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=STUCK_S, check=False
    )
    shown = done.stdout + done.stderr
    assert done.returncode == 0, shown
    assert "Warning was generated" not in shown, shown


def test_nothing_that_was_released_is_taken_away():
    assert check_released([str(RELEASED)]) == 0


def test_the_description_is_whole():
    """What callers meet beside the operations: the index, the tool server, payment headers, webhooks, error codes."""
    document = json.loads(as_text(CATALOG))
    assert {"/", "/mcp", "/v1/stream", "/healthz", "/readyz"} <= document["paths"].keys()
    asked = {each["name"].lower() for each in document["paths"]["/v1/stream"]["get"]["parameters"]}
    assert asked == {name.replace("_", "-") for name in StreamAsk.__struct_fields__}
    for path, item in document["paths"].items():
        for method, operation in item.items():
            assert "405" in operation["responses"], (method, path)
            if path.startswith("/v1/x402/"):
                sent = {each["name"] for each in operation["parameters"] if each["in"] == "header"}
                assert {"PAYMENT-SIGNATURE", "X-PAYMENT", "SIGN-IN-WITH-X"} <= sent
                assert "PAYMENT-RESPONSE" in operation["responses"]["200"]["headers"]
                assert operation["responses"]["402"]["headers"].keys() >= {"PAYMENT-REQUIRED", "PAYMENT-RESPONSE"}
    codes = document["components"]["schemas"]["ErrorDetail"]["properties"]["code"]["enum"]
    assert codes == [*(failure.code for failure in (BadRequest, NotFound, NoLiquidity, UpstreamDown)), "internal_error"]
    webhook = document["webhooks"]["price_alert"]["post"]
    event = parcel_of(Fired("a" * 32, "AAPL", "above", 1, "https://x.example", 1, 2), "2026-11-15T12:00:00Z")
    schema = document["components"]["schemas"]["AlertEvent"]
    jsonschema.validate(json.loads(event["body"]), {**schema, "components": document["components"]})
    made = headers_of(AlertKeys({1: b"k" * 32}), "a" * 32, Letter("https://x.example", "{}", 1), 0, "x")
    named = {each["name"] for each in webhook["parameters"]}
    assert named == {name for name in made if name not in ("Content-Type", "User-Agent")}


@pytest.fixture
def described():
    return json.loads(as_text(CATALOG))


def changed(described, edit):
    new = copy.deepcopy(described)
    edit(new)
    return breaking_changes(described, new)


def quote(document):
    return document["paths"]["/v1/quote"]["get"]


def parameter(document, name):
    return next(each for each in quote(document)["parameters"] if each["name"] == name)


def shape(document, name):
    return document["components"]["schemas"][name]


def test_an_unchanged_description_breaks_nobody(described):
    assert changed(described, lambda new: None) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda new: new["paths"].pop("/v1/quote"), "GET /v1/quote is gone"),
        (lambda new: quote(new).update(operationId="x"), "the operation is now called x"),
        (lambda new: quote(new)["parameters"].pop(0), "parameter symbol is gone"),
        (lambda new: parameter(new, "denom").update(required=True), "parameter denom is now required"),
        (
            lambda new: quote(new)["parameters"].append(
                {"in": "query", "name": "key", "required": True, "schema": {"type": "string"}}
            ),
            "parameter key is new and required",
        ),
        (lambda new: parameter(new, "side")["schema"]["enum"].remove("sell"), "parameter side no longer takes sell"),
        (lambda new: parameter(new, "symbol")["schema"].update(maxLength=5), "symbol has a narrower maxLength"),
        (lambda new: parameter(new, "symbol")["schema"].update(type="integer"), "was string and is integer"),
        (lambda new: shape(new, "BuildAsk")["required"].append("slippageBps"), "now needs slippageBps"),
        (lambda new: shape(new, "Quote")["properties"].pop("asOf"), "answer 200 has no asOf any more"),
        (lambda new: shape(new, "Quote")["required"].remove("asOf"), "may be without asOf now"),
        (lambda new: shape(new, "Quote")["properties"]["side"]["enum"].append("hold"), "side may be hold now"),
        (lambda new: shape(new, "Quote")["properties"]["feeTier"].update(type="string"), "was integer and is string"),
        (
            lambda new: shape(new, "PriceRecord")["properties"].update(
                asOf={"anyOf": [{"type": "string"}, {"type": "null"}]}
            ),
            "asOf may be null now",
        ),
        (lambda new: shape(new, "Asset")["properties"].pop("isin"), "answer 200.assets[] has no isin any more"),
        (lambda new: quote(new)["responses"].pop("200"), "there is no answer 200 any more"),
    ],
)
def test_a_breaking_change_is_named(described, edit, says):
    assert any(says in change for change in changed(described, edit)), changed(described, edit)


@pytest.mark.slow
@pytest.mark.parametrize(
    "edit",
    [
        lambda new: new["paths"].update({"/v1/new": {"get": quote(new)}}),
        lambda new: quote(new)["parameters"].append(
            {"in": "query", "name": "more", "required": False, "schema": {"type": "string"}}
        ),
        lambda new: parameter(new, "denom")["schema"]["enum"].append("euro"),
        lambda new: parameter(new, "symbol")["schema"].update(maxLength=32),
        lambda new: shape(new, "Quote")["properties"].update(later={"type": "string"}),
        lambda new: quote(new)["responses"].pop("422"),
        lambda new: quote(new).update(description="Other words."),
    ],
)
def test_an_addition_breaks_nobody(described, edit):
    assert changed(described, edit) == []
