"""The tool server's door with a small catalog of its own, called by the official client of both generations."""

import asyncio
import contextlib
import json
import logging
import subprocess
import sys
from typing import Annotated, Any

import aiohttp
import jsonschema
import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from msgspec import Meta

from tickyard.catalog import CATALOG
from tickyard.doors.http.bodies import BODY_MAX_BYTES
from tickyard.doors.http.cache import FrontCache
from tickyard.doors.http.edge import Edge
from tickyard.doors.http.limits import TokenBuckets
from tickyard.doors.mcp.door import McpDoor
from tickyard.doors.mcp.splice import SHORT_CHARS
from tickyard.doors.mcp.tools import Tool
from tickyard.doors.routes import Endpoint, build_router
from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import BadRequest, NotFound, UpstreamDown
from tickyard.kernel.operation import Kept, NoAsk, Operation
from tickyard.kernel.wire import Answer, Ask, SymbolField
from tickyard.observe.log import configure_logging
from yards import serving as _serving
from yards.patience import STUCK_S

MODES = ("2026-07-28", "legacy")
JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


class Item(Answer):
    symbol: str
    runs: int
    note: str | None
    price: float


class ItemAsk(Ask):
    symbol: SymbolField
    limit: Annotated[int, Meta(ge=1, le=9)] = 3


class AlertAsk(Ask):
    price: Any
    client: Annotated[str, Meta(extra={"client": True})] = ""
    secret_header: Annotated[str, Meta(extra={"header": "x-secret"})] | None = None
    form: Annotated[str, Meta(extra={"http_only": True})] = "json"


class Made(Answer):
    price: str
    client: str


class Deps:
    runs = 0


async def get_item(deps, ask):
    """Look one item up. Kept for a minute."""
    deps.runs += 1
    if ask.symbol == "GONE":
        raise NotFound('no such thing "at all"')
    if ask.symbol == "DOWN":
        raise UpstreamDown("the source did not answer", retry_after_s=3)
    return Kept(Item(symbol=ask.symbol, runs=deps.runs, note=None, price=1.5), 60)


async def list_items(deps, _ask):
    """List items. Never kept."""
    deps.runs += 1
    return Item(symbol='A"\\é\n☃', runs=deps.runs, note="x" * 40_000, price=0.1)


async def make_alert(_deps, ask):
    """Make something."""
    return Made(price=str(ask.price), client=ask.client)


async def crash(_deps, _ask):
    """A bug that nobody knows of."""
    raise RuntimeError("secret detail")


async def claim(_deps, _ask):
    """Moves money, so it is no tool."""
    raise AssertionError


def row(name, method, path, run, ask=NoAsk, answer=Item, **more):
    return Operation(name=name, method=method, path=path, run=run, ask=ask, answer=answer, tag="registry", **more)


ROWS = (
    row("get_item", "GET", "/v1/items/{symbol}", get_item, ItemAsk, failures=(BadRequest, NotFound, UpstreamDown)),
    row("list_items", "GET", "/v1/items", list_items),
    row("make_alert", "POST", "/v1/alerts", make_alert, AlertAsk, Made),
    row("build", "POST", "/v1/build", make_alert, AlertAsk, Made, changes=False),
    row("drop", "DELETE", "/v1/items/{symbol}", get_item, ItemAsk),
    row("crash", "GET", "/v1/crash", crash),
    row("claim", "POST", "/v1/claim", claim, is_tool=False),
)


@contextlib.asynccontextmanager
async def house(**options):
    clock, deps = WallClock(), Deps()
    cache = FrontCache(clock)
    door = McpDoor(ROWS, deps, cache, base_url="https://api.example.com", openapi=b'{"openapi":"3.1.0"}', **options)
    endpoints = [(r.method, r.path, Endpoint(r, deps, cache, clock)) for r in ROWS]
    endpoints += [(method, "/mcp", door) for method in ("GET", "POST", "DELETE", "PUT")]
    app = Edge(build_router(endpoints), cache, clock, rate_limit=None, access_log=None, profile_header=None)
    try:
        async with asyncio.timeout(STUCK_S), _serving.serving(app) as base:
            yield base
    finally:
        await door.close()


def with_client(mode, work, **options):
    async def run():
        async with house(**options) as base, Client(f"{base}/mcp", mode=mode) as client:
            return await work(client, base)

    return asyncio.run(run())


async def get_json(url):
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return await response.json()


async def post(base, body, headers=JSON, method="POST"):
    url = f"{base}/mcp"
    async with aiohttp.ClientSession() as session, session.request(method, url, data=body, headers=headers) as response:
        return response.status, response.headers, await response.read()


def posted(body, headers=JSON, method="POST", **options):
    async def run():
        async with house(**options) as base:
            return await post(base, body, headers, method)

    return asyncio.run(run())


def rpc(method, **params):
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


LIST = rpc("tools/list")


@pytest.mark.parametrize("mode", MODES)
def test_every_row_that_may_be_a_tool_is_one(mode):
    async def work(client, _base):
        return (await client.list_tools()).tools

    tools = with_client(mode, work)
    assert [tool.name for tool in tools] == [r.name for r in ROWS if r.is_tool]
    for tool in tools:
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        assert tool.input_schema["type"] == "object"
        assert "Fails with: " in tool.description


def test_annotations_follow_from_the_row():
    shown = {r.name: Tool(r, None, None).annotations for r in ROWS if r.is_tool}
    assert shown["get_item"] == {
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": True,
    }
    assert shown["make_alert"]["readOnlyHint"] is shown["make_alert"]["idempotentHint"] is False
    assert shown["build"]["readOnlyHint"] is shown["build"]["idempotentHint"] is True
    assert shown["drop"]["destructiveHint"] is shown["drop"]["idempotentHint"] is True
    assert shown["drop"]["readOnlyHint"] is False


@pytest.mark.parametrize("mode", MODES)
def test_a_result_is_the_http_body_as_structure_and_as_text(mode):
    async def work(client, base):
        return (
            await client.call_tool("get_item", {"symbol": "aapl"}),
            await get_json(f"{base}/v1/items/AAPL"),
            await client.call_tool("list_items", {}),
        )

    called, got, large = with_client(mode, work)
    assert called.structured_content == got == json.loads(called.content[0].text)
    assert (got["note"], got["runs"], called.is_error) == (None, 1, False)
    if mode == "legacy":
        assert json.loads(large.content[0].text) == large.structured_content
    else:
        # Who reads the structure does not get a long answer twice.
        assert "structuredContent" in large.content[0].text
        assert len(large.content[0].text) < 100 < SHORT_CHARS < len(json.dumps(large.structured_content))
    assert large.structured_content["symbol"] == 'A"\\é\n☃'


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("get_item", {"symbol": "GONE"}, ("not_found", 'no such thing "at all"')),
        ("get_item", {"symbol": "DOWN"}, ("upstream_error", "the source did not answer")),
        ("get_item", {}, ("bad_request", "symbol is required")),
        ("get_item", {"symbol": "A", "limit": 10}, ("bad_request", "limit must be an integer from 1 to 9")),
        ("get_item", {"symbol": "A", "nope": 1}, ("bad_request", "unknown field: nope")),
        ("make_alert", {"price": 1, "client": "me"}, ("bad_request", "unknown field: client")),
        ("make_alert", {"price": 1, "form": "csv"}, ("bad_request", "unknown field: form")),
    ],
)
def test_a_failure_is_a_tool_error_with_the_error_object(mode, name, arguments, error):
    async def work(client, _base):
        return await client.call_tool(name, arguments)

    result = with_client(mode, work)
    code, message = error
    assert result.is_error
    assert result.structured_content is None
    assert json.loads(result.content[0].text) == {"error": {"code": code, "message": message}}


def test_a_crash_is_a_tool_error_that_tells_nothing(capsys):
    lines = configure_logging()

    async def work(client, _base):
        return await client.call_tool("crash", {})

    result = with_client(MODES[0], work)
    assert json.loads(result.content[0].text)["error"]["code"] == "internal_error"
    assert "secret" not in result.content[0].text
    lines.drain()
    assert "tool crashed" in "".join(capsys.readouterr())


@pytest.mark.parametrize("mode", MODES)
def test_a_tool_knows_its_caller_and_reads_numbers_exactly(mode):
    async def work(client, _base):
        shown = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
        return shown["make_alert"], await client.call_tool("make_alert", {"price": 0.1})

    schema, result = with_client(mode, work, client_of=lambda scope: f"client {scope['client'][0]}")
    assert list(schema["properties"]) == ["price"]
    assert result.structured_content == {"price": "0.1", "client": "client 127.0.0.1"}


def test_a_tool_draws_from_the_same_bucket_as_its_route():
    buckets = TokenBuckets(2)
    buckets.take("127.0.0.1", 0)

    async def work(client, _base):
        return [await client.call_tool("build", {"price": 1}) for _ in range(2)]

    first, second = with_client(MODES[0], work, quotas={"build": lambda client: buckets.take(client, 0)})
    assert not first.is_error
    assert json.loads(second.content[0].text)["error"]["message"].startswith("too many requests from this address")


def test_a_number_that_is_not_json_is_refused():
    body = rpc("tools/call", name="make_alert", arguments={"price": float("nan")})
    _, _, answer = posted(body, {**JSON, "mcp-protocol-version": "2025-11-25"})
    assert b"bad_request" in answer


@pytest.mark.parametrize("mode", MODES)
def test_an_unknown_tool_prompt_resource_or_cursor_is_a_protocol_error(mode):
    async def work(client, _base):
        for attempt in (
            lambda: client.call_tool("claim", {}),
            lambda: client.get_prompt("nothing"),
            lambda: client.get_prompt("check_premium"),
            lambda: client.read_resource("tickyard://nothing"),
            lambda: client.read_resource("tickyard://assets"),
            lambda: client.list_tools(cursor="2"),
        ):
            with pytest.raises(MCPError) as caught:
                await attempt()
            assert caught.value.error.code == -32602

    with_client(mode, work)


@pytest.mark.parametrize("mode", MODES)
def test_resources_and_prompts_can_be_read(mode):
    async def work(client, _base):
        for resource in (await client.list_resources()).resources:
            (contents,) = (await client.read_resource(resource.uri)).contents
            assert contents.text
            assert contents.mime_type == resource.mime_type
        prompts = (await client.list_prompts()).prompts
        for prompt in prompts:
            values = {argument.name: f"<{argument.name}>" for argument in prompt.arguments}
            (message,) = (await client.get_prompt(prompt.name, values)).messages
            assert all(value in message.content.text for value in values.values())
        return len(prompts)

    assert with_client(mode, work) >= 2


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "api.example.com!evil", ""]
)
def test_a_strange_host_is_421(host):
    status, _, body = posted(LIST, {**JSON, "host": host})
    assert (status, json.loads(body)["error"]["code"]) == (421, "bad_request")


@pytest.mark.parametrize(
    "host", ["api.example.com", "API.example.com:8443", "localhost:1", "[::1]:80", "other.example"]
)
def test_a_known_host_may_call(host):
    assert posted(LIST, {**JSON, "host": host}, hosts=["other.example"])[0] == 200


def test_origins_are_open_until_a_list_is_set():
    headers = {**JSON, "origin": "https://somewhere.example"}
    assert posted(LIST, headers)[0] == 200
    assert posted(LIST, headers, origins=["https://elsewhere.example"])[0] == 403
    assert posted(LIST, headers, origins=["https://somewhere.example/"])[0] == 200
    assert posted(LIST, JSON, origins=["https://elsewhere.example"])[0] == 200


def test_only_post_is_taken_and_the_body_is_limited():
    status, headers, body = posted(b"", {}, "GET")
    assert (status, headers["allow"]) == (405, "POST, OPTIONS")
    assert json.loads(body)["error"]["code"] == "bad_request"
    assert posted(b"", {}, "DELETE")[0] == 405
    assert posted(LIST, {**JSON, "content-type": "text/plain"})[0] == 415
    assert posted(b'"' + b"x" * BODY_MAX_BYTES + b'"')[0] == 413


@pytest.mark.slow
@pytest.mark.parametrize("version", [None, "2025-11-25", "2026-07-28", "1999-01-01"])
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"[" * 30_000, b'{"jsonrpc":"2.0"}', b'"x"', b'{"id":{}}', b"\xff"])
def test_garbage_is_never_a_server_error(version, body):
    headers = JSON if version is None else {**JSON, "mcp-protocol-version": version}
    status, answered, _ = posted(body, headers)
    assert 400 <= status < 500
    assert answered["access-control-allow-origin"] == "*"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"[]", "a message must be one JSON object"),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', 'jsonrpc must be "2.0"'),
        (b'{"jsonrpc":"2.0","id":1}', "method must be a string"),
        (b'{"jsonrpc":"2.0","id":1,"method":5}', "method must be a string"),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}', "params must be an object"),
        # With no id it would be a notification, which nobody answers.
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', "id must be a string or an integer"),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', "id must be a string or an integer"),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', "id must be a string or an integer"),
    ],
)
@pytest.mark.parametrize("version", [None, "2025-11-25", "2026-07-28"])
def test_a_bad_envelope_gets_one_short_sentence(version, body, said):
    headers = JSON if version is None else {**JSON, "mcp-protocol-version": version}
    status, _, answer = posted(body, headers)
    told = json.loads(answer)
    assert (status, told["error"]) == (400, {"code": -32600, "message": said})
    assert told["id"] == (1 if b'"id":1,' in body or b'"id":1}' in body else None)


def test_a_word_of_the_client_that_asks_nothing_is_taken():
    for body in (b'{"jsonrpc":"2.0","method":"notifications/initialized"}', b'{"jsonrpc":"2.0","id":1,"result":{}}'):
        assert posted(body, {**JSON, "mcp-protocol-version": "2025-11-25"})[0] == 202


@pytest.mark.slow
def test_logging_is_quiet_and_the_protocol_is_imported_only_when_used():
    posted(LIST)
    assert logging.getLogger("mcp").level == logging.WARNING
    code = "import sys, tickyard.doors.mcp.door; print({'mcp', 'mcp_types', 'pydantic'} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=STUCK_S)
    assert out.stdout.strip() == "set()"


def test_no_tool_of_the_catalog_claims_or_pays():
    tools = [r for r in CATALOG if r.is_tool]
    assert [r.name for r in tools if "claim" in r.name or "/claim" in r.path or "/x402/" in r.path] == []


def test_every_tool_of_the_catalog_tells_how_fresh_it_is():
    assert [r.name for r in CATALOG if r.is_tool and not r.part("Freshness")] == []


@pytest.mark.parametrize(
    "body",
    [
        b'{"jsonrpc":"2.0","id":"\\ud83d","method":"ping"}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_price","arguments":{"symbol":"\\ud83d"}}}',
    ],
)
@pytest.mark.parametrize("version", [None, "2025-11-25", "2026-07-28"])
def test_half_a_character_is_no_json(version, body):
    """As a text that was cut ends: nothing could write it again."""
    headers = JSON if version is None else {**JSON, "mcp-protocol-version": version}
    status, _, answer = posted(body, headers)
    assert status == 400
    error = {"code": -32700, "message": "the message is not valid JSON"}
    assert json.loads(answer) == {"jsonrpc": "2.0", "id": None, "error": error}
