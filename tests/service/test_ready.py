"""Kept answers that are written to the socket at once are the answers of the long way, in their order."""

import asyncio
import gzip

import pytest
import uvicorn
from uvicorn.server import ServerState

from tickyard.doors.http.cache import FrontCache
from tickyard.doors.http.edge import Edge
from tickyard.doors.http.fast_path import ReadyProtocol
from tickyard.doors.http.limits import RateLimit
from tickyard.kernel.clock import WallClock
from yards import serving
from yards.patience import STUCK_S

BODY = b'{"kept":"' + b"x" * 2000 + b'"}'
LONG = b"long way"


async def long_way(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"8")]})
    await send({"type": "http.response.body", "body": LONG})


def edge(**options):
    clock = WallClock()
    cache = FrontCache(clock)
    cache.put(b"/kept", "/kept", BODY, 60)
    cache.put(b"/kept?a=1", "/kept", BODY, 60)
    return Edge(long_way, cache, clock, **{"rate_limit": None, "access_log": None, "profile_header": b"test"} | options)


def talk(sent, app=None, *, pieces=1):
    """Everything that comes back until the server hangs up."""

    async def scenario():
        async with serving.serving(app or edge()) as base:
            reader, writer = await asyncio.open_connection("127.0.0.1", int(base.rpartition(":")[2]))
            size = -(-len(sent) // pieces)
            for start in range(0, len(sent), size):
                writer.write(sent[start : start + size])
                await writer.drain()
            answer = await asyncio.wait_for(reader.read(), STUCK_S)
            writer.close()
            return answer

    return asyncio.run(scenario())


def request(target="/kept", method="GET", *headers, version="1.1"):
    lines = [f"{method} {target} HTTP/{version}", "Host: a", *headers]
    return "\r\n".join([*lines, "", ""]).encode()


LAST = request("/other", "GET", "Connection: close")


def parts(answer):
    """Status lines, headers and bodies of what came back."""
    found = []
    while answer:
        head, _, answer = answer.partition(b"\r\n\r\n")
        status, *lines = head.split(b"\r\n")
        headers = dict(line.split(b": ", 1) for line in lines)
        length = 0 if b" 304 " in status else int(headers[b"content-length"])
        found.append((status, headers, answer[:length]))
        answer = answer[length:]
    return found


def test_at_once_and_the_long_way_say_the_same():
    # A body, even an empty one that is announced, is nothing for the short way.
    (short, long, _) = parts(talk(request() + request("/kept", "GET", "Content-Length: 0") + LAST))
    assert short[0] == long[0] == b"HTTP/1.1 200 OK"
    assert short[2] == long[2] == BODY
    for headers in (short[1], long[1]):
        headers.pop(b"x-request-id")
        headers.pop(b"date")
    assert short[1] == long[1]
    assert short[1][b"x-tickyard-profile"] == b"test"


def test_what_can_be_made_at_once_is_and_the_rest_takes_the_long_way():
    app = edge(rate_limit=RateLimit(5))
    app.at_once = {b"/made": {b"small": b"{}", b"large": BODY, b"none": None}.get}
    asked = [f"/made?{which}" for which in ("small", "small", "large", "none")] + ["/made/more?small"]
    answers = parts(talk(b"".join(map(request, asked)) + LAST, app))
    assert [body for _, _, body in answers[:5]] == [b"{}", b"{}", LONG, LONG, LONG]
    assert [headers[b"ratelimit"][:13] for _, headers, _ in answers[:5]] == [
        b'"default";r=%d' % n for n in (4, 3, 2, 1, 0)
    ]
    assert answers[5][0] == b"HTTP/1.1 429 Too Many Requests", "each counts once, whichever way it went"
    app = edge()
    app.at_once = {b"/made": lambda _query: b"{}"}
    assert parts(talk(request("/made", "POST") + LAST, app))[0][2] == LONG
    head, _, rest = talk(request("/made", "HEAD") + LAST, app).partition(b"\r\n\r\n")
    assert b"content-length: 2" in head
    assert rest.startswith(b"HTTP/1.1 200 OK")


def test_answers_keep_the_order_of_their_requests():
    asked = [request(), request("/other"), request("/kept?a=1"), request("/other"), request(), LAST]
    bodies = [BODY, LONG, BODY, LONG, BODY, LONG]
    for pieces in (1, 3, 50):
        assert [body for _, _, body in parts(talk(b"".join(asked), pieces=pieces))] == bodies


def test_compressed_unchanged_and_head_answers():
    zipped, plain = parts(talk(request("/kept", "GET", "Accept-Encoding: gzip") + request() + LAST))[:2]
    assert gzip.decompress(zipped[2]) == BODY
    assert zipped[1][b"content-encoding"] == b"gzip"
    tag = plain[1][b"etag"].decode()
    unchanged = parts(talk(request("/kept", "GET", f"If-None-Match: {tag}") + LAST))[0]
    assert (unchanged[0], unchanged[1][b"etag"]) == (b"HTTP/1.1 304 Not Modified", tag.encode())
    answer = talk(request("/kept", "HEAD") + LAST)
    head, rest = answer.split(b"\r\n\r\n", 1)
    assert b"content-length: %d" % len(BODY) in head
    assert rest.startswith(b"HTTP/1.1 200 OK")


def test_a_request_id_is_kept_when_it_is_harmless():
    good, bad = parts(
        talk(request("/kept", "GET", "X-Request-Id: a-b_c.1") + request("/kept", "GET", "X-Request-Id: a b") + LAST)
    )[:2]
    assert good[1][b"x-request-id"] == b"a-b_c.1"
    assert b" " not in bad[1][b"x-request-id"]


@pytest.mark.parametrize("last", [request("/kept", "GET", "Connection: close"), request("/kept", version="1.0")])
def test_who_wants_to_leave_is_let_go(last):
    assert [body for _, _, body in parts(talk(request() + last))] == [BODY, BODY]


def test_the_limit_counts_what_is_answered_at_once():
    answers = parts(talk(request() * 3 + LAST, edge(rate_limit=RateLimit(2))))
    assert [status for status, _, _ in answers] == [b"HTTP/1.1 200 OK"] * 2 + [b"HTTP/1.1 429 Too Many Requests"] * 2
    assert answers[0][1][b"ratelimit"].startswith(b'"default";r=1')


def test_other_methods_never_get_a_kept_answer():
    for method in ("POST", "DELETE", "PUT"):
        assert parts(talk(request("/kept", method) + LAST))[0][2] == LONG


class Wire(asyncio.Transport):
    """Remembers what was written."""

    def __init__(self):
        super().__init__()
        self.answers = 0

    def writelines(self, parts):
        self.write(b"".join(parts))

    def write(self, data):
        self.answers += data.count(b"HTTP/1.1 200")

    def is_closing(self):
        return False

    def resume_reading(self):
        pass

    def close(self):
        pass


def test_who_does_not_read_waits_until_they_do():
    async def scenario():
        config = uvicorn.Config(edge(), http=ReadyProtocol, lifespan="off", log_config=None, proxy_headers=False)
        config.load()
        protocol, wire = ReadyProtocol(config, ServerState(), {}), Wire()
        protocol.connection_made(wire)
        protocol.data_received(request())
        assert wire.answers == 1
        protocol.pause_writing()
        protocol.data_received(request())
        waiting = list(protocol.tasks)
        await asyncio.wait(waiting, timeout=0.05)
        assert protocol.tasks, "the second one waits its turn"
        protocol.resume_writing()
        await asyncio.wait(waiting, timeout=5)
        assert wire.answers == 2
        protocol.connection_lost(None)

    asyncio.run(scenario())
