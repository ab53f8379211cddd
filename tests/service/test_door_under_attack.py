"""What goes wrong between the socket and the application, and what the other end of the socket sees of it."""

import asyncio
import io
import json
import logging
import os
import sys

import pytest

from tickyard.doors.http.answers import send_error
from tickyard.doors.http.bodies import BODY_MAX_BYTES, BodyRefused, read_json_body
from tickyard.doors.http.cache import FrontCache
from tickyard.doors.http.edge import Edge
from tickyard.doors.http.fast_path import ReadyProtocol, callers_most, lingering_most
from tickyard.doors.routes import build_router
from tickyard.kernel.clock import WallClock
from tickyard.observe.lines import Lines
from tickyard.observe.log import AccessLog, configure_logging
from tickyard.observe.metrics import REGISTRY
from yards import serving
from yards.patience import STUCK_S

BODY = b'{"kept":true}'


class Yard:
    """An edge with one kept answer and one slow one that waits for a word."""

    def __init__(self, **options):
        clock = WallClock()
        self.cache = FrontCache(clock)
        self.cache.put(b"/kept", "/kept", BODY, 60)
        self.go = asyncio.Event()
        self.began = asyncio.Event()
        self.edge = Edge(
            self.long_way,
            self.cache,
            clock,
            **{"rate_limit": None, "access_log": None, "profile_header": None} | options,
        )

    async def long_way(self, scope, receive, send):
        self.began.set()
        if scope["path"] == "/slow":
            await self.go.wait()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]})
        await send({"type": "http.response.body", "body": b"slow"})


def request(target="/kept", *headers, method="GET", host="Host: a", version="1.1"):
    lines = [f"{method} {target} HTTP/{version}", *([host] if host else []), *headers]
    return "\r\n".join([*lines, "", ""]).encode()


LAST = request("/kept", "Connection: close")


async def read_answer(reader):
    status, headers = (await reader.readline()).split()[1], {}
    while (line := await reader.readline()) != b"\r\n":
        name, _, value = line.decode().partition(":")
        headers[name.lower()] = value.strip()
    return int(status), headers, await reader.readexactly(int(headers.get("content-length", 0)))


async def talk(app, sent, answers=1, keep_alive_s=5):
    async with serving.serving(app, keep_alive_s=keep_alive_s) as base:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(base.rpartition(":")[2]))
        writer.write(sent)
        found = [await asyncio.wait_for(read_answer(reader), STUCK_S) for _ in range(answers)]
        writer.close()
        return found


class Closed(io.StringIO):
    def write(self, text):
        raise ValueError("I/O operation on closed file")


class Full(io.StringIO):
    def write(self, text):
        raise OSError(28, "No space left on device")


@pytest.mark.slow
@pytest.mark.parametrize("stream", [Closed, Full])
def test_a_full_or_closed_log_never_changes_an_answer(stream):
    lines = Lines(stream())
    log = AccessLog(lines)

    async def scenario():
        app = Yard(access_log=log).edge
        # A host that nobody has looked at goes the long way once.
        await talk(app, request())
        # More than a batch of lines: the last of them are written while a request is being answered.
        return await talk(app, request() * 1500, answers=1500)

    assert {(status, body) for status, _, body in asyncio.run(scenario())} == {(200, BODY)}
    log.flush()
    lines.drain()
    assert lines.lost == 1501


@pytest.mark.slow
def test_a_reader_of_the_log_that_has_stopped_holds_up_nobody():
    read_end, write_end = os.pipe()
    with os.fdopen(write_end, "w") as stream, os.fdopen(read_end, "rb"):
        lines = Lines(stream, waiting_max=1_000_000)
        log = AccessLog(lines)

        async def scenario():
            app = Yard(access_log=log).edge
            await talk(app, request())
            return await talk(app, request() * 5000, answers=5000)

        assert {status for status, _, _ in asyncio.run(scenario())} == {200}
        log.flush()
        for _ in range(20):
            lines.write("x" * 99_999 + "\n")
        assert lines.lost > 0
        os.set_blocking(write_end, False)


def test_events_of_libraries_survive_a_closed_stream_too():
    lines = configure_logging(Closed())
    logging.getLogger("somebody").warning("something %s", "happened")
    logging.getLogger("somebody").warning("broken %d", "not a number")
    lines.drain()
    assert lines.lost == 2


class Broken(FrontCache):
    def get(self, target, now=None):
        raise KeyError("a bug of ours")


def test_a_bug_on_the_short_way_is_a_logged_500_with_the_error_object():
    said = io.StringIO()
    lines = configure_logging(said)

    async def scenario():
        yard = Yard()
        edge = Edge(
            yard.long_way, Broken(WallClock()), WallClock(), rate_limit=None, access_log=None, profile_header=None
        )
        return await talk(edge, request())

    ((status, headers, body),) = asyncio.run(scenario())
    assert (status, json.loads(body)["error"]["code"]) == (500, "internal_error")
    assert headers["x-request-id"]
    lines.drain()
    event = json.loads(said.getvalue().splitlines()[0])
    assert event["event"] == "a connection crashed"
    assert "a bug of ours" in event["exception"]


def test_a_slow_request_right_behind_a_kept_one_is_not_taken_for_idle():
    async def scenario():
        yard = Yard()
        async with serving.serving(yard.edge, keep_alive_s=0.05) as base:
            reader, writer = await asyncio.open_connection("127.0.0.1", int(base.rpartition(":")[2]))
            writer.write(request() + request("/slow"))
            first = await read_answer(reader)
            await yard.began.wait()
            # Several keep-alive times later.
            await WallClock().sleep(0.3)
            yard.go.set()
            second = await asyncio.wait_for(read_answer(reader), STUCK_S)
            writer.close()
            return first, second

    first, second = asyncio.run(scenario())
    assert (first[2], second[2]) == (BODY, b"slow")


def test_half_a_head_behind_an_answer_has_the_time_of_a_head():
    async def scenario():
        async with serving.serving(Yard().edge, keep_alive_s=0.05) as base:
            reader, writer = await asyncio.open_connection("127.0.0.1", int(base.rpartition(":")[2]))
            for start in (request(), request("/other")):
                writer.write(start + request()[:20])
                await read_answer(reader)
                await WallClock().sleep(0.2)
                writer.write(request()[20:])
                assert (await asyncio.wait_for(read_answer(reader), STUCK_S))[2] == BODY
            writer.close()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (request(host=""), 400),
        (request("/kept", "Host: b"), 400),
        (request("/kept", "Host: a"), 400),
        (request(host="Host: a b"), 400),
        (request(host="Host: a/b"), 400),
        (request(host="Host: a@b"), 400),
        (request("/other", host=""), 400),
        (request(method="BREW"), 501),
        (request(method="get"), 501),
        (request(method="GETX"), 501),
        (request("x:443", method="CONNECT"), 501),
        (request("http://a"), 400),
    ],
)
def test_what_http_forbids_is_refused_with_the_error_object_and_counted(sent, status):
    def counted():
        return REGISTRY.get_sample_value("tickyard_protocol_refusals_total", {"status": str(status)}) or 0

    before = counted()
    ((got, headers, body),) = asyncio.run(_of_yard(sent))
    assert (got, json.loads(body)["error"]["code"], headers["connection"]) == (status, "bad_request", "close")
    assert counted() == before + 1


async def _of_yard(sent):
    return await talk(Yard().edge, sent)


@pytest.mark.parametrize(
    "host", ["Host: a:8402", "Host: [::1]:8402", "Host:", "Host: a.b-c_d.example", "Host: 10.0.0.1"]
)
def test_a_host_that_can_be_one_passes(host):
    assert asyncio.run(_of_yard(request(host=host)))[0][0] == 200


def test_the_old_protocol_needs_no_host():
    assert asyncio.run(_of_yard(request(host="", version="1.0")))[0][0] == 200


@pytest.mark.parametrize("piece", [1, 3])
def test_an_unknown_method_in_pieces_is_still_one(piece):
    sent = request(method="BREW")

    async def scenario():
        async with serving.serving(Yard().edge) as base:
            reader, writer = await asyncio.open_connection("127.0.0.1", int(base.rpartition(":")[2]))
            for start in range(0, 6, piece):
                writer.write(sent[start : start + piece])
                await writer.drain()
                await WallClock().sleep(0.01)
            answer = await asyncio.wait_for(read_answer(reader), STUCK_S)
            writer.close()
            return answer[0]

    assert asyncio.run(scenario()) == 501


def test_an_announced_oversize_body_is_413_before_anybody_is_told_to_send_it():
    async def scenario():
        async def endpoint(scope, receive, send):
            try:
                await read_json_body(scope, receive)
            except BodyRefused as refused:
                await send_error(send, refused.status, "bad_request", refused.message)

        clock = WallClock()
        router = build_router([("POST", "/v1/echo", endpoint)])
        edge = Edge(router, FrontCache(clock), clock, rate_limit=None, access_log=None, profile_header=None)
        head = request(
            "/v1/echo",
            f"Content-Length: {BODY_MAX_BYTES + 1}",
            "Content-Type: application/json",
            "Expect: 100-continue",
            method="POST",
        )
        return await talk(edge, head)

    ((status, _, body),) = asyncio.run(scenario())
    assert (status, json.loads(body)["error"]["code"]) == (413, "bad_request")


@pytest.mark.parametrize(("files", "most"), [(64, 16), (20, 8), (1_024, 896), (65_536, 57_344), (-1, sys.maxsize)])
def test_callers_leave_files_for_what_answers_them(files, most):
    assert callers_most(files) == most


@pytest.mark.parametrize(("files", "most"), [(64, 6), (20, 1), (1_024, 16), (65_536, 1_024), (-1, sys.maxsize)])
def test_those_who_are_turned_away_leave_most_of_these_files(files, most):
    assert lingering_most(files) == most


def test_one_caller_too_many_is_told_so_and_those_who_are_in_are_served(monkeypatch):
    """They took the last file, and whatever was then loaded for the first time was a 500."""
    monkeypatch.setattr(ReadyProtocol, "MOST", 2)

    async def scenario():
        async with asyncio.timeout(STUCK_S), serving.serving(Yard().edge) as base:
            port = int(base.rpartition(":")[2])
            held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
            late, hanging = await asyncio.open_connection("127.0.0.1", port)
            status, headers, body = await read_answer(late)
            assert (status, headers["connection"], json.loads(body)["error"]["code"]) == (
                502,
                "close",
                "upstream_error",
            )
            assert await late.read() == b""
            hanging.close()
            for reader, writer in held:
                writer.write(LAST)
                assert (await read_answer(reader))[0] == 200
                assert await reader.read() == b""
                writer.close()
            again, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(LAST)
            assert (await read_answer(again))[0] == 200
            writer.close()

    asyncio.run(scenario())


def test_those_who_were_turned_away_and_stay_take_no_files_from_what_answers_the_others(monkeypatch):
    """Each stayed for two seconds: with the last file taken, calls of those who were in could ask nobody."""
    monkeypatch.setattr(ReadyProtocol, "MOST", 1)
    monkeypatch.setattr(ReadyProtocol, "LINGERING", 2)
    monkeypatch.setattr(ReadyProtocol, "LINGER_S", 10 * STUCK_S)
    lost = asyncio.Semaphore(0)
    let_go = ReadyProtocol.connection_lost

    def connection_lost(self, exc):
        let_go(self, exc)
        lost.release()

    monkeypatch.setattr(ReadyProtocol, "connection_lost", connection_lost)

    async def scenario():
        async with asyncio.timeout(STUCK_S), serving.serving(Yard().edge) as base:
            port = int(base.rpartition(":")[2])
            reader, held = await asyncio.open_connection("127.0.0.1", port)
            deaf = []
            for _ in range(5):
                late, hanging = await asyncio.open_connection("127.0.0.1", port)
                assert (await read_answer(late))[0] == 502
                deaf.append(hanging)
            for _ in range(3):
                await lost.acquire()
            assert lost.locked()
            held.write(LAST)
            assert (await read_answer(reader))[0] == 200
            for writer in (held, *deaf):
                writer.close()

    asyncio.run(scenario())
