"""Tricks over a real socket: whatever is written down the wire, no answer comes back without payment."""

import asyncio
import base64
import contextlib
import json
import socket

import pytest
import uvicorn

from tickyard.doors.http.protocol import LimitedProtocol
from yards import paying
from yards.patience import STUCK_S
from yards.serving import running

HOST = "Host: api.example\r\nConnection: close\r\n"
TARGETS = [
    "/v1/x402/item/AAPL",
    "http://api.example/v1/x402/item/AAPL",
    "https://api.example/v1/x402/item/AAPL",
    "http://api.example//v1/x402/item/AAPL",
    "//v1/x402/item/AAPL",
    "//api.example/v1/x402/item/AAPL",
    "/v1//x402/item/AAPL",
    "/v1/x402/item/AAPL/",
    "/v1/x402/item/AAPL#/v1/item/AAPL",
    "/v1/x402/item/AAPL?",
    "/v1/x402/item/AAPL;/v1/item",
    "/v1/x402/item/AAPL%00",
    "/v1/x402/item/%41APL",
    "/v1/x402/../x402/item/AAPL",
    "/v1/x402/%2e%2e/x402/item/AAPL",
    "/v1/x402%2fitem%2fAAPL",
    "/V1/X402/ITEM/AAPL",
    "\\v1\\x402\\item\\AAPL",
    "v1/x402/item/AAPL",
    "*",
    "/v1/x402/item/AAPL/../AAPL",
]
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get", "QUERY"]
HEADERS = [
    "",
    "X-Original-URL: /v1/item/AAPL\r\nX-Rewrite-URL: /v1/item/AAPL\r\n",
    "X-HTTP-Method-Override: GET\r\nX-Forwarded-Prefix: /v1\r\n",
    "PAYMENT-SIGNATURE:\r\n",
    "PAYMENT-SIGNATURE: e30=\r\nX-PAYMENT: e30=\r\n",
    "Payment-Response: e30=\r\nX-Payment-Response: e30=\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
    "Content-Length: 0\r\nContent-Length: 5\r\n",
    "Expect: 100-continue\r\nContent-Length: 5\r\n",
    "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
    "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n",
    "Range: bytes=0-10\r\nIf-None-Match: *\r\n",
]


@contextlib.asynccontextmanager
async def shop(tmp_path):
    async with asyncio.timeout(STUCK_S), paying.World(tmp_path / "x.db") as world:
        listening = socket.create_server(("127.0.0.1", 0), backlog=256)
        config = uvicorn.Config(
            world.app, http=LimitedProtocol, loop="none", ws="none", lifespan="off", log_config=None, access_log=False
        )
        async with running(config, listening):
            yield world, listening.getsockname()[1]


async def say(port, text, *, limit_s=5):
    """Everything that comes back to these bytes until the connection ends, or nothing more comes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answered = b""
    try:
        writer.write(text if isinstance(text, bytes) else text.encode())
        async with asyncio.timeout(limit_s):
            while chunk := await reader.read(65536):
                answered += chunk
    except (TimeoutError, ConnectionError):
        pass
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
    return answered


def is_sold(answered):
    return b"HTTP/1.1 200 " in answered or b' buy"' in answered


@pytest.mark.slow
def test_no_request_line_and_no_header_brings_an_answer_without_payment(tmp_path):
    async def scenario():
        async with shop(tmp_path) as (world, port):
            requests = [f"{method} {target} HTTP/1.1\r\n{HOST}\r\n" for method in METHODS for target in TARGETS]
            requests += [f"GET {target} HTTP/1.0\r\n\r\n" for target in TARGETS]
            requests += [f"GET {target}\r\n\r\n" for target in TARGETS]
            requests += [
                f"{method} {TARGETS[0]} HTTP/1.1\r\n{HOST}{headers}\r\n0\r\n\r\n"
                for method in ("GET", "POST", "HEAD")
                for headers in HEADERS
            ]
            for request in requests:
                answered = await say(port, request, limit_s=1)
                assert not is_sold(answered), request
                assert b" 500 " not in answered.partition(b"\r\n")[0], request
                assert b"<html" not in answered.lower(), request
            assert world.deps.runs == world.settles() == world.verifies() == 0

    asyncio.run(scenario())


def test_of_two_requests_in_one_packet_only_the_paid_one_is_answered(tmp_path):
    async def scenario():
        async with shop(tmp_path) as (world, port):
            _, value = world.payment()
            paid = f"GET /v1/x402/item/AAPL HTTP/1.1\r\nHost: x\r\nPAYMENT-SIGNATURE: {value}\r\n\r\n"
            unpaid = f"GET /v1/x402/item/MSFT HTTP/1.1\r\n{HOST}\r\n"
            answered = await say(port, paid + unpaid)
            assert answered.count(b"HTTP/1.1 200 ") == answered.count(b"HTTP/1.1 402 ") == 1
            assert b"MSFT buy" not in answered
            # What is smuggled behind a body is a request of its own.
            smuggled = f"POST /v1/x402/build HTTP/1.1\r\nHost: x\r\nContent-Length: {len(unpaid)}\r\n\r\n{unpaid}"
            assert not is_sold(await say(port, smuggled + unpaid))
            assert world.deps.runs == world.settles() == 1

    asyncio.run(scenario())


@pytest.mark.parametrize("spelling", ["payment-signature", "PAYMENT-SIGNATURE", "Payment-Signature"])
def test_the_payment_header_is_found_however_it_is_spelled_and_only_once(tmp_path, spelling):
    async def scenario():
        async with shop(tmp_path) as (world, port):
            _, value = world.payment()
            head = f"GET /v1/x402/item/AAPL HTTP/1.1\r\n{HOST}"
            for twice in (
                f"{spelling}: {value}\r\npayment-signature: {value}\r\n",
                f"{spelling}: {value}\r\nX-Payment: {value}\r\n",
                f"{spelling}: {value}, {value}\r\n",
                f"{spelling}: {value[:100]}\r\n {value[100:]}\r\n",
            ):
                assert not is_sold(await say(port, f"{head}{twice}\r\n"))
            assert world.settles() == 0
            answered = await say(port, f"{head}{spelling}:   {value}  \r\n\r\n")
            assert answered.startswith(b"HTTP/1.1 200 ")
            assert world.settles() == 1

    asyncio.run(scenario())


def test_browsers_get_json_that_their_pages_may_read(tmp_path):
    async def scenario():
        async with shop(tmp_path) as (_, port):
            browser = (
                "User-Agent: Mozilla/5.0\r\nAccept: text/html,application/xhtml+xml\r\nOrigin: https://page.example\r\n"
            )
            head, _, body = (await say(port, f"GET {TARGETS[0]} HTTP/1.1\r\n{HOST}{browser}\r\n")).partition(
                b"\r\n\r\n"
            )
            headers = dict(line.split(": ", 1) for line in head.decode().lower().split("\r\n")[1:])
            assert head.startswith(b"HTTP/1.1 402 ")
            assert headers["content-type"] == "application/json"
            assert headers["access-control-allow-origin"] == "*"
            exposed = headers["access-control-expose-headers"]
            assert all(name in exposed for name in ("payment-required", "payment-response", "x-payment-response"))
            required = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"payment-required"))
            assert json.loads(base64.b64decode(required.partition(b": ")[2])) == json.loads(body)
            asks = "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: payment-signature,content-type\r\n"
            preflight = await say(port, f"OPTIONS /v1/x402/build HTTP/1.1\r\n{HOST}{browser}{asks}\r\n")
            assert preflight.startswith(b"HTTP/1.1 204 ")
            assert b"payment-signature" in preflight.lower()

    asyncio.run(scenario())
