"""Every tool of a whole running service, called by official clients of both generations: what HTTP answers, it answers."""

import asyncio
import json
import subprocess
from pathlib import Path
from urllib.parse import urlencode

import jsonschema
import msgspec
import pytest
from mcp.client.client import Client

from tickyard.catalog import CATALOG
from tickyard.doors.describe.examples import example_of, with_wallet
from tickyard.doors.mcp.tools import Tool
from yards.patience import STUCK_S

pytestmark = pytest.mark.node

FIRST_GENERATION = Path(__file__).parent / "conformance" / "first_generation.mjs"
TOOLS = {row.name: row for row in CATALOG if row.is_tool}
ALERT = {"symbol": "AAPL", "condition": "above", "price": 900000, "webhookUrl": "https://hooks.example.com/tools"}
# Each call makes another one.
# Examples show nobody's wallet, for which nothing is built.
WALLET = "0x875F7121A37a8Af309B8e85f297B46Aa19d85daD"
UNREPEATABLE = {"create_alert"}
TRIES = 8


@pytest.fixture(scope="module")
def up(running):
    sandbox = running.Up().wait_ready()
    yield sandbox
    sandbox.stop()


@pytest.fixture(scope="module")
def calls(up):
    """Arguments with which every tool works, and the same call over HTTP."""
    status, made = up.post("/v1/alerts", ALERT)
    assert status == 201
    known = {"id": made["id"], "secret": made["secret"], "webhookUrl": ALERT["webhookUrl"]}
    wallet = up.get("/sandbox")[1]["wallets"][0]["address"]
    known |= {"address": wallet, "recipient": wallet}
    return {name: arguments_of(row, known) for name, row in TOOLS.items()}


def arguments_of(row, known):
    schema = Tool(row, None, None).input_schema
    needed = [name for name in schema["properties"] if name in schema.get("required", []) or name == "secret"]
    example = with_wallet(example_of(row.ask), WALLET)
    return {name: known.get(name, example[name]) for name in needed}


def over_http(row, values):
    rest, path = dict(values), row.path
    for name in values:
        if "{" + name + "}" in path:
            path = path.replace("{" + name + "}", str(rest.pop(name)))
    if row.method == "POST":
        return {"method": "POST", "path": path, "body": rest}
    return {"method": row.method, "path": f"{path}?{urlencode(rest)}" if rest else path, "body": None}


def check(name, is_error, structured, text, status, body):
    row = TOOLS[name]
    assert not is_error, f"{name}: {text}"
    assert status == row.status
    # Long ones are not sent twice to who reads the structure.
    assert "structuredContent" in text or structured == json.loads(text)
    jsonschema.validate(structured, msgspec.json.schema(row.as_tool.answer))
    if row.brief is not None:
        # In brief: of each the symbol and the name.
        assert structured == {
            **body,
            "assets": [{key: each[key] for key in ("symbol", "name")} for each in body["assets"]],
        }
    elif name not in UNREPEATABLE:
        assert structured == body, name
    else:
        assert structured.keys() == body.keys()


@pytest.mark.parametrize("mode", ["2026-07-28", "legacy"])
def test_the_python_client_gets_from_every_tool_what_http_answers(up, calls, mode):
    async def run():
        async with asyncio.timeout(STUCK_S), Client(f"{up.base}/mcp", mode=mode) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == list(TOOLS)
            for name, values in calls.items():
                http = over_http(TOOLS[name], values)
                for _ in range(TRIES):
                    called = await client.call_tool(name, values)
                    status, body, _ = await asyncio.to_thread(up.ask, http["method"], http["path"], http["body"])
                    if called.structured_content == body or name in UNREPEATABLE:
                        break
                check(name, called.is_error, called.structured_content, called.content[0].text, status, body)

    asyncio.run(run())


def test_the_typescript_client_of_the_first_generation_gets_it_too(up, calls):
    told = [[name, values, over_http(TOOLS[name], values)] for name, values in calls.items()]
    done = subprocess.run(
        ["node", str(FIRST_GENERATION), up.base, json.dumps(told)],
        capture_output=True,
        text=True,
        timeout=STUCK_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert shown["tools"] == list(TOOLS)
    assert set(shown["results"]) == set(TOOLS)
    for name, got in shown["results"].items():
        called = got["called"]
        structured = called.get("structuredContent")
        check(name, called.get("isError", False), structured, called["content"][0]["text"], got["status"], got["body"])
