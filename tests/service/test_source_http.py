"""The shared client against servers on their worst days. Every wait is bounded by a small budget."""

import asyncio
import gzip
import time
from contextlib import asynccontextmanager
from random import Random

import pytest

from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import UpstreamDown
from tickyard.sources.breaker import Breaker
from tickyard.sources.http import Source
from yards.clocks import SkippingClock

JSON = b"application/json"


def reply(body=b'{"ok":true}', *, status=b"200 OK", kind=JSON, extra=b"", length=None):
    """One HTTP answer, byte for byte."""
    size = str(len(body) if length is None else length).encode()
    return b"HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %s\r\n%s\r\n%s" % (
        status,
        kind,
        size,
        extra,
        body,
    )


class Server:
    """Answers the n-th request with the n-th reply (the last one again); None hangs, b"" hangs up."""

    def __init__(self, *replies):
        self.replies = replies
        self.requests = []

    async def serve(self, reader, writer):
        try:
            while True:
                self.requests.append(await reader.readuntil(b"\r\n\r\n"))
                answer = self.replies[min(len(self.requests), len(self.replies)) - 1]
                if answer is None:
                    await reader.read()
                    return
                if answer == b"":
                    return
                writer.write(answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()


@asynccontextmanager
async def source_of(server, **options):
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    settings = {"budget_s": 1.0, "try_s": 0.4, "max_bytes": 10_000} | options
    source = Source("issuer", f"http://127.0.0.1:{port}/rhj/", clock=SkippingClock(), rng=Random(1), **settings)
    await source.start()
    try:
        yield source
    finally:
        await source.close()
        listener.close()
        await listener.wait_closed()


def ask(server, times=1, **options):
    """What the last of several calls gave, the source, and how long all of them took."""

    async def run():
        async with source_of(server, **options) as source:
            started = time.monotonic()
            for _ in range(times):
                try:
                    outcome = await source.get("assets")
                except UpstreamDown as failure:
                    outcome = failure
            return outcome, source, time.monotonic() - started

    return asyncio.run(run())


def test_a_sound_answer_comes_back_whole():
    seen = []
    server = Server(reply())
    fetched, _, _ = ask(server, observe=lambda *what: seen.append(what), headers={"User-Agent": "tickyard"})
    assert (fetched.status, fetched.body) == (200, b'{"ok":true}')
    assert fetched.headers["Content-Type"] == "application/json"
    assert server.requests[0].startswith(b"GET /rhj/assets HTTP/1.1\r\n")
    assert b"User-Agent: tickyard\r\n" in server.requests[0]
    assert [what[:2] for what in seen] == [("issuer", "ok")]


def test_headers_of_one_call_are_sent():
    async def run():
        server = Server(reply())
        async with source_of(server) as source:
            await source.get("assets", headers={"X-One": "1"})
        return server.requests[0]

    assert b"X-One: 1\r\n" in asyncio.run(run())


def test_a_compressed_answer_is_read():
    fetched, _, _ = ask(Server(reply(gzip.compress(b"[1]"), extra=b"Content-Encoding: gzip\r\n")))
    assert fetched.body == b"[1]"


def test_not_found_is_an_answer_whatever_it_looks_like():
    fetched, source, _ = ask(Server(reply(b"<Error/>", status=b"404 Not Found", kind=b"application/xml")))
    assert fetched.status == 404
    assert source.counts == {"missing": 1}


BAD_DAYS = {
    "hangs": (None, "timeout"),
    "hangs up": (b"", "unreachable"),
    "speaks no http": (b"220 mail ready\r\n\r\n", "unreachable"),
    "error status": (reply(status=b"500 Oops"), "status"),
    "forbidden": (reply(status=b"403 Forbidden"), "status"),
    "redirect": (reply(status=b"302 Found", extra=b"Location: http://127.0.0.1:1/\r\n"), "status"),
    "too many requests": (reply(status=b"429 Slow Down"), "throttled"),
    "throttle as text": (reply(b"local_rate_limited", kind=b"text/plain"), "throttled"),
    "throttle that claims to be json": (reply(b"local_rate_limited"), "throttled"),
    "html": (reply(b"<html></html>", kind=b"text/html"), "throttled"),
    "empty": (reply(b""), "throttled"),
    "json of no kind": (reply(kind=b"text/plain"), "throttled"),
    "truncated json": (reply(b'{"a":[1,2'), "malformed"),
    "not a number": (reply(b'{"a":NaN}'), "malformed"),
    "bottomless nesting": (reply(b"[" * 9000), "malformed"),
    "body shorter than promised": (reply(b"{}", length=500), "timeout"),
    "too large": (reply(b"[" + b" " * 20_000 + b"]"), "oversize"),
    "promises much": (reply(b"[", length=50_000_000), "timeout"),
    "too large once unpacked": (
        reply(gzip.compress(b"[" + b" " * 5_000_000 + b"]"), extra=b"Content-Encoding: gzip\r\n"),
        "oversize",
    ),
    "packed badly": (reply(b"not gzip", extra=b"Content-Encoding: gzip\r\n"), "unreachable"),
}


@pytest.mark.slow
@pytest.mark.parametrize("day", BAD_DAYS)
def test_every_bad_day_ends_in_upstream_down_within_the_budget(day):
    answer, outcome = BAD_DAYS[day]
    server = Server(answer)
    failure, source, took = ask(server)
    assert isinstance(failure, UpstreamDown)
    assert failure.message in ("the issuer's API did not answer", "the issuer's API gave no usable answer")
    assert took < 2
    assert set(source.counts) == {outcome}
    # Two tries; aiohttp itself asks once more where a connection was dropped without a word.
    assert len(server.requests) <= (4 if day == "hangs up" else 2)


@pytest.mark.parametrize("day", ["hangs", "error status", "truncated json"])
def test_one_bad_try_is_followed_by_a_good_one(day):
    fetched, source, _ = ask(Server(BAD_DAYS[day][0], reply()))
    assert fetched.status == 200
    assert source.counts == {BAD_DAYS[day][1]: 1, "ok": 1}


def test_a_dead_port_is_upstream_down():
    async def run():
        async with source_of(Server(reply())) as source:
            pass
        await source.start()
        try:
            await source.get("assets")
        finally:
            await source.close()

    with pytest.raises(UpstreamDown, match="the issuer's API did not answer"):
        asyncio.run(run())


@pytest.mark.slow
def test_a_trickle_of_bytes_does_not_outlive_the_budget():
    async def run():
        async def trickle(reader, writer):
            try:
                await reader.readuntil(b"\r\n\r\n")
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n[")
                while True:
                    await writer.drain()
                    await WallClock().sleep(0.02)
                    writer.write(b" ")
            except (asyncio.IncompleteReadError, ConnectionError):
                return
            finally:
                writer.close()

        server = Server()
        server.serve = trickle
        async with source_of(server) as source:
            started = time.monotonic()
            with pytest.raises(UpstreamDown):
                await source.get("assets")
            return time.monotonic() - started

    assert asyncio.run(run()) < 2


def test_calls_that_keep_failing_are_answered_at_once():
    server = Server(reply(status=b"500 Oops"))
    failure, source, _ = ask(server, times=6, tries=1, breaker=Breaker(failures=3, pause_s=30))
    assert len(server.requests) == 3
    assert source.counts == {"status": 3, "open": 3}
    assert failure.retry_after_s == 30


def test_a_probe_after_the_pause_brings_the_source_back():
    server = Server(reply(status=b"500 Oops"), reply(status=b"500 Oops"), reply())
    fetched, source, _ = ask(server, times=3, tries=1, breaker=Breaker(failures=2, pause_s=0))
    assert fetched.status == 200
    assert source.counts == {"status": 2, "ok": 1}


@pytest.mark.parametrize("refusal", [ValueError, OverflowError, RecursionError])
def test_what_the_reader_refuses_counts_as_a_failed_try(refusal):
    async def run():
        server = Server(reply(b"[1]"), reply(b"[2]"))

        def only_two(fetched):
            if fetched.body != b"[2]":
                raise refusal("not two")
            return 2

        async with source_of(server) as source:
            return await source.read("assets", only_two), source.counts

    assert asyncio.run(run()) == (2, {"malformed": 1, "ok": 1})


def test_a_proxy_of_the_environment_is_not_used(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    fetched, _, _ = ask(Server(reply()))
    assert fetched.status == 200
