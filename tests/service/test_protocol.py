"""Raw sockets against a real server: what no HTTP client library would ever send."""

import contextlib
import inspect
import json
import queue
import socket
import threading

import pytest
import uvicorn
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from tickyard.doors.http.protocol import LimitedProtocol

WAIT_S = 10.0


class Impatient(LimitedProtocol):
    HEAD_S = 0.15
    BODY_S = 0.2
    UNREAD_S = 1.0
    LINGER_S = 0.15

    def connection_lost(self, exc):
        super().connection_lost(exc)
        self.config.app.gone.put(self.client[1])


class NeverPaused(Impatient):
    """As if every answer were small enough to be buffered whole."""

    def connection_made(self, transport):
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=1_000_000_000)


class FarEnd:
    """A raw ASGI app that tells what reached it, behind the protocol under test."""

    def __init__(self, protocol, keep_alive_s=5):
        self.gone = queue.Queue()
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        config = uvicorn.Config(
            self,
            interface="asgi3",
            proxy_headers=False,
            http=protocol,
            loop="uvloop",
            ws="none",
            lifespan="off",
            timeout_keep_alive=keep_alive_s,
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=2,
        )
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, args=([self.socket],), daemon=True)
        self.thread.start()

    def stop(self):
        self.server.should_exit = True
        self.thread.join(WAIT_S)
        assert not self.thread.is_alive()

    async def __call__(self, scope, receive, send):
        path = scope["path"]
        body = b""
        while path != "/early":
            message = await receive()
            if message["type"] == "http.disconnect":
                self.gone.put(path)
                return
            body += message["body"]
            if not message["more_body"]:
                break
        if path == "/hang":
            await receive()
            self.gone.put(path)
            return
        names = [name.decode() for name, _ in scope["headers"]]
        seen = {"method": scope["method"], "path": path, "names": names, "body": body.decode()}
        answer = bytes(64_000_000) if path == "/big" else json.dumps(seen).encode()
        length = str(len(answer)).encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
        await send({"type": "http.response.body", "body": answer})

    def wait_until_gone(self, what):
        """A path whose caller left, or the port of a caller who was dropped."""
        while self.gone.get(timeout=WAIT_S) != what:
            pass

    def connect(self):
        return Caller(socket.create_connection(("127.0.0.1", self.port), timeout=WAIT_S))


class Caller:
    def __init__(self, sock):
        self.sock = sock
        self.reader = sock.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.reader.close()
        self.sock.close()

    def send(self, data):
        self.sock.sendall(data)

    def send_until_refused(self, piece, times):
        with contextlib.suppress(ConnectionError):
            for _ in range(times):
                self.sock.sendall(piece)

    def answer(self):
        """Status, headers and body of the next answer."""
        status = int(self.reader.readline().split()[1])
        headers = {}
        while (line := self.reader.readline()) != b"\r\n":
            name, _, value = line.decode().partition(":")
            headers[name.lower()] = value.strip()
        return status, headers, self.reader.read(int(headers["content-length"]))

    def seen(self):
        status, _, body = self.answer()
        assert status == 200
        return json.loads(body)

    def is_closed(self):
        """Wait until the server hangs up; True when it says nothing before."""
        try:
            return self.reader.read(1) == b""
        except ConnectionResetError:
            return True


@pytest.fixture(scope="module")
def server():
    """The limits as shipped."""
    far_end = FarEnd(LimitedProtocol)
    yield far_end
    far_end.stop()


@pytest.fixture(scope="module")
def impatient():
    far_end = FarEnd(Impatient)
    yield far_end
    far_end.stop()


def get(path="/ok", *lines):
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: x", *lines, "", ""]).encode()


def post(*lines, path="/ok"):
    return "\r\n".join([f"POST {path} HTTP/1.1", "Host: x", *lines, "", ""]).encode()


def filler(size):
    return "X-Filler: " + "f" * (size - len("X-Filler: "))


def assert_refused(caller, status):
    got, headers, body = caller.answer()
    assert got == status
    assert headers["content-type"] == "application/json"
    assert headers["connection"] == "close"
    assert len(headers["x-request-id"]) == 32
    error = json.loads(body)["error"]
    assert set(error) == {"code", "message"}
    assert error["code"] == "bad_request"
    assert caller.is_closed()


# Size


@pytest.mark.parametrize(
    ("start", "piece", "times"),
    [
        (b"GET / HTTP/1.1\r\nX-Endless: ", b"x" * 65536, 800),
        (b"GET / HTTP/1.1\r\nX-Blank:", b" " * 65536, 800),
        (b"GET / HTTP/1.1\r\n", b"n" * 65536, 20),
        (b"GET / HTTP/1.1\r\n", b"X-Small: 1\r\n" * 5000, 20),
        (b"GET /", b"long" * 16384, 20),
    ],
    ids=["50 MB of one value", "blanks", "endless name", "many small headers", "endless path"],
)
def test_a_header_without_end_is_stopped_while_others_are_served(server, start, piece, times):
    with server.connect() as hostile, server.connect() as healthy:
        hostile.send(start)
        hostile.send_until_refused(piece, times)
        healthy.send(get())
        assert healthy.seen()["path"] == "/ok"
        assert_refused(hostile, 431)


@pytest.mark.parametrize("piece", [1, 4000, 16384, 100_000])
def test_the_limit_counts_the_whole_head_however_it_is_cut(server, piece):
    spare = 32 * 1024 - len(get()) - 2
    for size, status in ((spare, 200), (spare + 1, 431)):
        head = get("/ok", filler(size))
        with server.connect() as caller:
            caller.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            # One byte at a time only around the limit: the rest would take too long.
            start = max(0, len(head) - 300) if piece == 1 else 0
            caller.send(head[:start])
            for at in range(start, len(head), piece):
                caller.send(head[at : at + piece])
            if status == 200:
                assert caller.seen()["names"] == ["host", "x-filler"]
            else:
                assert_refused(caller, 431)


def test_every_request_of_a_connection_has_the_whole_limit(server):
    with server.connect() as caller:
        for _ in range(3):
            caller.send(get("/ok", filler(20 * 1024)))
            assert caller.seen()["names"] == ["host", "x-filler"]
        caller.send(get("/ok", filler(20 * 1024)) * 5)
        for _ in range(5):
            assert caller.seen()["names"] == ["host", "x-filler"]


def test_trailers_never_become_headers(server):
    with server.connect() as caller:
        caller.send(post("Transfer-Encoding: chunked"))
        caller.send(b"3\r\nabc\r\n0\r\nX-Payment: forged\r\n\r\n" + get())
        first = caller.seen()
        assert first["body"] == "abc"
        assert first["names"] == ["host", "transfer-encoding"]
        assert caller.seen()["names"] == ["host"]


@pytest.mark.parametrize(
    ("start", "piece"),
    [(b"", b"1;" + b"e" * 30_000 + b"\r\nx\r\n"), (b"0\r\n", b"X-Trailer: t\r\n" * 2000)],
    ids=["chunk extensions", "trailers"],
)
def test_framing_around_a_body_is_limited_too(server, start, piece):
    with server.connect() as caller:
        caller.send(post("Transfer-Encoding: chunked") + start)
        caller.send_until_refused(piece, 10)
        assert_refused(caller, 431)


def test_a_large_body_is_not_taken_for_framing(server):
    with server.connect() as caller:
        caller.send(post("Content-Length: 300000") + b"b" * 300_000)
        assert len(caller.seen()["body"]) == 300_000


# Malformed


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"garbage\r\n\r\n",
        b"GET / HTTP/1.1\nHost: x\n\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nX: a\r\n folded\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nX: a\x00b\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        post("Content-Length: 3", "Transfer-Encoding: chunked") + b"3\r\nabc\r\n0\r\n\r\n",
        post("Transfer-Encoding: chunked", "Content-Length: 3") + b"3\r\nabc\r\n0\r\n\r\n",
        post("Content-Length: 3", "Content-Length: 3") + b"abc",
        post("Content-Length: 3", "Content-Length: 4") + b"abc",
        post("Content-Length: 3, 3") + b"abc",
        post("Content-Length: +3") + b"abc",
        post("Transfer-Encoding: chunked, identity") + b"3\r\nabc\r\n0\r\n\r\n",
        post("Transfer-Encoding: identity") + b"abc",
        post("Transfer-Encoding : chunked") + b"3\r\nabc\r\n0\r\n\r\n",
        post("Transfer-Encoding: chunked") + b"xyz\r\n",
    ],
)
def test_a_malformed_request_gets_the_error_object(server, request_bytes):
    with server.connect() as caller:
        caller.send(request_bytes)
        assert_refused(caller, 400)


@pytest.mark.parametrize("version", ["2.0", "0.9"])
def test_a_version_that_we_do_not_speak_is_told(server, version):
    with server.connect() as caller:
        caller.send(f"GET / HTTP/{version}\r\nHost: x\r\n\r\n".encode())
        assert_refused(caller, 505)


def test_good_requests_before_a_bad_one_are_answered_first(server):
    with server.connect() as caller:
        caller.send(get("/a") + get("/b") + b"garbage\r\n\r\n" + get("/c"))
        assert caller.seen()["path"] == "/a"
        assert caller.seen()["path"] == "/b"
        assert_refused(caller, 400)


def test_a_pipelined_request_with_a_broken_body_never_starts(server):
    with server.connect() as caller:
        caller.send(get("/a") + post("Transfer-Encoding: chunked", path="/broken") + b"xyz\r\n")
        assert caller.seen()["path"] == "/a"
        assert_refused(caller, 400)


def test_an_answered_request_with_a_broken_body_is_not_answered_twice(server):
    with server.connect() as caller:
        caller.send(post("Transfer-Encoding: chunked", path="/early"))
        assert caller.seen()["path"] == "/early"
        caller.send(b"xyz\r\n")
        assert caller.is_closed()


# Time


@pytest.mark.parametrize(
    "start",
    [b"", b"\r\n", b"G", b"GET / HTTP/1.1\r\nHost: x\r\n", post("Content-Length: 10") + b"half"],
    ids=["silence", "line ends", "one letter", "half a header", "half a body"],
)
def test_a_request_that_never_ends_is_hung_up_on_silently(impatient, start):
    with impatient.connect() as caller:
        caller.send(start)
        assert caller.is_closed()


@pytest.mark.slow
def test_an_idle_connection_is_closed_and_a_used_one_is_not():
    far_end = FarEnd(LimitedProtocol, keep_alive_s=1)
    with far_end.connect() as used, far_end.connect() as idle:
        for caller in (used, idle):
            caller.send(get())
            caller.seen()
        used.sock.settimeout(0.3)
        for _ in range(5):
            with pytest.raises(TimeoutError):
                used.sock.recv(1)
            used.send(get())
            status = used.sock.recv(65536)
            assert status.startswith(b"HTTP/1.1 200 ")
        idle.sock.settimeout(0.3)
        assert idle.is_closed()
        used.sock.settimeout(WAIT_S)
        assert used.sock.recv(1) == b""
    far_end.stop()


def test_a_body_that_ends_after_its_answer_leaves_no_idle_connection(impatient):
    with impatient.connect() as caller:
        caller.send(post("Content-Length: 4", path="/early") + b"ha")
        assert caller.seen()["path"] == "/early"
        caller.send(b"lf" + get("/next"))
        assert caller.seen()["path"] == "/next"
        caller.send(post("Content-Length: 4", path="/early") + b"ha")
        assert caller.seen()["path"] == "/early"
        caller.send(b"lf")
        assert caller.is_closed()


@pytest.mark.parametrize(
    ("start", "drop"),
    [(b"GET / HTTP/1.1\r\nX: ", b"x"), (post("Content-Length: 100000"), b"x"), (get(), b"\r\n")],
    ids=["header", "body", "line ends"],
)
def test_a_trickle_does_not_buy_time(impatient, start, drop):
    with impatient.connect() as caller:
        caller.send(start)
        if start == get():
            caller.seen()
        caller.sock.settimeout(0.02)
        for _ in range(500):
            try:
                caller.sock.sendall(drop)
                if caller.sock.recv(1) == b"":
                    return
            except TimeoutError:
                continue
            except ConnectionError:
                return
        pytest.fail("the connection was still open")


def test_the_app_hears_that_a_slow_body_was_cut(impatient):
    with impatient.connect() as caller:
        caller.send(post("Content-Length: 10", path="/cut") + b"half")
        assert caller.is_closed()
    impatient.wait_until_gone("/cut")


@pytest.mark.slow
@pytest.mark.parametrize("version", [b"1.1", b"1.0"], ids=["kept alive", "closing"])
def test_a_client_that_does_not_read_is_dropped(impatient, version):
    with impatient.connect() as caller:
        caller.send(get("/big").replace(b"1.1", version))
        impatient.wait_until_gone(caller.sock.getsockname()[1])
    with impatient.connect() as healthy:
        healthy.send(get())
        assert healthy.seen()["path"] == "/ok"


@pytest.mark.slow
@pytest.mark.parametrize("version", [b"1.1", b"1.0"], ids=["kept alive", "closing"])
def test_an_unread_answer_does_not_keep_a_closed_connection(version):
    far_end = FarEnd(NeverPaused, keep_alive_s=0.1)
    with far_end.connect() as caller:
        caller.send(get("/big").replace(b"1.1", version))
        far_end.wait_until_gone(caller.sock.getsockname()[1])
    far_end.stop()


def test_a_client_that_reads_gets_a_large_answer_whole(impatient):
    with impatient.connect() as caller:
        caller.send(get("/big"))
        _, _, body = caller.answer()
        assert len(body) == 64_000_000


def test_time_in_the_app_is_not_held_against_the_client(impatient):
    with impatient.connect() as waiting:
        waiting.send(get("/hang"))
        waiting.sock.settimeout(3 * Impatient.HEAD_S)
        with pytest.raises(TimeoutError):
            waiting.sock.recv(1)
    impatient.wait_until_gone("/hang")


# What uvicorn does must go on working


def test_pipelined_requests_are_answered_in_order(server):
    with server.connect() as caller:
        caller.send(b"".join(get(f"/{n}") for n in range(80)))
        assert [caller.seen()["path"] for _ in range(80)] == [f"/{n}" for n in range(80)]


def test_requests_sent_too_far_ahead_are_refused_after_the_others(server):
    with server.connect() as caller:
        caller.send(get() * 500)
        for _ in range(1 + LimitedProtocol.AHEAD_MAX):
            assert caller.seen()["path"] == "/ok"
        assert_refused(caller, 400)


def test_everyone_in_the_queue_hears_that_the_client_left(server):
    with server.connect() as caller:
        caller.send(get("/hang") + get("/next"))
    server.wait_until_gone("/hang")


def test_http_1_0_is_answered_and_closed(server):
    with server.connect() as caller:
        caller.send(b"GET /ok HTTP/1.0\r\n\r\n")
        assert caller.seen()["path"] == "/ok"
        assert caller.is_closed()


@pytest.mark.parametrize("offer", ["websocket", "h2c"])
def test_an_offer_to_upgrade_is_ignored_and_the_body_kept(server, offer):
    with server.connect() as caller:
        caller.send(post("Connection: Upgrade, HTTP2-Settings", f"Upgrade: {offer}", "Content-Length: 3"))
        caller.send(b"abc" + get("/next"))
        assert caller.seen()["body"] == "abc"
        assert caller.seen()["path"] == "/next"


@pytest.mark.parametrize(
    ("version", "headers", "status"),
    [
        ("1.1", ["Host: a", "Host: b"], 400),
        ("1.1", [], 400),
        ("1.1", ["Host: a b"], 400),
        ("0.9", ["Host: a"], 505),
        ("1.1", ["Host: a", "Connection: close"], 200),
        ("1.0", [], 200),
    ],
)
def test_an_offer_to_upgrade_changes_nothing_else(server, version, headers, status):
    head = [f"GET /x HTTP/{version}", *headers, "Connection: Upgrade", "Upgrade: h2c"]
    with server.connect() as caller:
        caller.send("\r\n".join([*head, "", ""]).encode())
        assert caller.answer()[0] == status
        assert caller.is_closed()


def test_a_client_may_wait_for_100_continue(server):
    with server.connect() as caller:
        caller.send(post("Expect: 100-continue", "Content-Length: 3"))
        assert caller.reader.readline() == b"HTTP/1.1 100 Continue\r\n"
        assert caller.reader.readline() == b"\r\n"
        caller.send(b"abc")
        assert caller.seen()["body"] == "abc"


def test_shutdown_finishes_the_answer_and_closes_idle_connections():
    far_end = FarEnd(LimitedProtocol)
    with far_end.connect() as idle, far_end.connect() as half:
        idle.send(get())
        idle.seen()
        half.send(post("Content-Length: 3") + b"ab")
        far_end.server.should_exit = True
        assert idle.is_closed()
        half.send(b"c")
        assert half.seen()["body"] == "abc"
        assert half.is_closed()
    far_end.stop()


def test_uvicorn_says_whether_the_caller_has_hung_up_where_the_gate_looks():
    """A newer one that says it elsewhere costs a paid call some time, and nothing else: the gate then asks."""
    assert "disconnected" in RequestResponseCycle.__init__.__code__.co_names
    assert inspect.ismethod(RequestResponseCycle.receive.__get__(object()))
