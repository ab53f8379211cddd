"""Tool calls against a hand-written JSON endpoint in the same run.

The reference is what somebody would write who needs just this call: a Starlette route that decodes a JSON-RPC
request, runs the same function and encodes the answer, with no protocol around it. Both run on the same server,
loop and core; the service has its edge and its binder, and the official package, in the way.
"""

import asyncio
import json
import os
import sys
import time
from dataclasses import asdict
from urllib.parse import urlsplit

import msgspec
import uvloop
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from bench.cpu import cores, cpu_seconds, pin
from bench.load import Connection, Sample, Target
from bench.reference import serve, start
from bench.report import Row, show
from tickyard.doors.describe.paths import MCP_PATH as PATH
from tickyard.doors.http.cache import FrontCache
from tickyard.doors.http.edge import Edge
from tickyard.doors.mcp.door import McpDoor
from tickyard.doors.routes import build_router
from tickyard.features.prices import PriceAsk, PriceRecord, TokenPrice, UnderlyingPrice
from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import BadRequest
from tickyard.kernel.operation import NoAsk, Operation
from tickyard.kernel.wire import Answer

GOAL = 0.15
VERSION = "2026-07-28"
SIDE = UnderlyingPrice(bid="371.61", ask="371.62", mid="371.615")
RECORD = PriceRecord(
    symbol="AAPL",
    currency="USD",
    underlying=SIDE,
    token=TokenPrice(bid="371.82", ask="371.83", mid="371.825", multiplier="1.000566080061092436"),
    halted=False,
    as_of="2026-10-03T14:23:10.223Z",
    daily_high="374.6",
    daily_low="369.1",
    daily_trading_volume="55329941",
)


class Many(Answer):
    prices: list[PriceRecord]


async def get_price(_deps, _ask):
    """Read one price. The answer is made anew for each call."""
    return RECORD


async def list_prices(_deps, _ask):
    """Read many prices. The answer is made anew for each call."""
    return Many(prices=[RECORD] * 90)


def row(name, run, ask, answer) -> Operation:
    path = f"/v1/{name}" + ("/{symbol}" if ask is PriceAsk else "")
    return Operation(
        name=name, method="GET", path=path, run=run, ask=ask, answer=answer, tag="registry", failures=(BadRequest,)
    )


ROWS = (row("get_price", get_price, PriceAsk, PriceRecord), row("list_prices", list_prices, NoAsk, Many))
CALLS = {"get_price": {"symbol": "AAPL"}, "list_prices": {}}


def service():
    clock = WallClock()
    cache = FrontCache(clock)
    door = McpDoor(ROWS, None, cache, base_url="http://127.0.0.1", openapi=b"{}")
    router = build_router([("POST", PATH, door)])
    return Edge(router, cache, clock, rate_limit=None, access_log=None, profile_header=None)


def by_hand():
    decoder, encoder = msgspec.json.Decoder(), msgspec.json.Encoder()
    runs = {"get_price": get_price, "list_prices": list_prices}

    async def endpoint(request) -> Response:
        asked = decoder.decode(await request.body())
        params = asked["params"]
        answer = encoder.encode(await runs[params["name"]](None, params["arguments"]))
        result = {"content": [{"type": "text", "text": answer.decode()}], "structuredContent": msgspec.Raw(answer)}
        body = encoder.encode({"jsonrpc": "2.0", "id": asked["id"], "result": result})
        return Response(body, media_type="application/json")

    return Starlette(routes=[Route(PATH, endpoint, methods=["POST"])])


def request(url: str, name: str) -> bytes:
    meta = {
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": name, "arguments": CALLS[name], "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    head = (
        f"POST {PATH} HTTP/1.1\r\nHost: {urlsplit(url).netloc}\r\nAccept: application/json, text/event-stream\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        f"Mcp-Protocol-Version: {VERSION}\r\nMcp-Method: tools/call\r\nMcp-Name: {name}\r\n\r\n"
    )
    return head.encode() + body


async def answer_length(url: str, sent: bytes) -> int:
    """Call once; the answer must be a result."""
    reader, writer = await asyncio.open_connection(urlsplit(url).hostname, urlsplit(url).port)
    writer.write(sent)
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 20)
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    answer = json.loads(await reader.readexactly(length))
    writer.close()
    await writer.wait_closed()
    if "structuredContent" not in answer.get("result", {}):
        raise RuntimeError(f"the call failed: {answer}")
    return length


async def load(url: str, pid: int, name: str, connections: int, warm_up_s: float, seconds: float) -> Sample:
    loop = asyncio.get_running_loop()
    sent = request(url, name)
    length = await answer_length(url, sent)
    failed: asyncio.Future = loop.create_future()
    host, port = urlsplit(url).hostname, urlsplit(url).port
    opened = [
        (await loop.create_connection(lambda: Connection(sent, length, failed), host, port))[1]
        for _ in range(connections)
    ]

    async def until(seconds: float) -> tuple[float, float, float, int]:
        await asyncio.wait([failed], timeout=seconds)
        if failed.done():
            failed.result()
        return time.perf_counter(), cpu_seconds(pid), time.process_time(), sum(c.answers for c in opened)

    before = await until(warm_up_s)
    after = await until(seconds)
    failed.cancel()
    for connection in opened:
        connection.transport.abort()
    elapsed, server_cpu, client_cpu, requests = (b - a for a, b in zip(before, after, strict=True))
    return Sample(requests, elapsed, server_cpu, client_cpu)


async def measure(target: Target, name: str) -> Sample:
    job = {"url": target.url, "pid": target.pid, "name": name, "connections": 16, "warm_up_s": 0.3, "seconds": 1.5}
    command = [sys.executable, "-m", "bench.mcp", "load", json.dumps(job)]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    out, _ = await asyncio.wait_for(process.communicate(), 60)
    if process.returncode:
        raise RuntimeError("the load generator failed")
    return Sample(**json.loads(out))


async def run(repetitions: int = 5) -> list[Row]:
    rows = []
    async with (
        start(sys.executable, "-m", "bench.mcp", "service") as ours,
        start(sys.executable, "-m", "bench.mcp", "by_hand") as theirs,
    ):
        targets = [Target(f"http://127.0.0.1:{told['port']}", told["pid"], 0) for told in (ours, theirs)]
        for name in CALLS:
            for target in targets:
                await measure(target, name)
            samples: tuple[list[Sample], list[Sample]] = ([], [])
            for _ in range(repetitions):
                for target, side in zip(targets, samples, strict=True):
                    side.append(await measure(target, name))
            rows.append(Row(f"call {name}", GOAL, *samples))
    return rows


def main(_arguments: list[str]) -> int:
    return show(asyncio.run(run()))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["load", job]:
            pair = cores()
            pin(os.getpid(), pair and pair[1])
            print(json.dumps(asdict(uvloop.run(load(**json.loads(job))))))
        case ["service"]:
            uvloop.run(serve(service()))
        case ["by_hand"]:
            uvloop.run(serve(by_hand()))
        case _:
            sys.exit(main(sys.argv[1:]))
