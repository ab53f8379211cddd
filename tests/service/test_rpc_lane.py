"""One connection to a node, byte by byte: what is written to it, and which bytes are taken for an answer."""

import asyncio
import gzip

import pytest

from tickyard.chain.rpc.connection import Lane
from tickyard.chain.rpc.trouble import Garbage, NodeUnreachable, Throttled, Trouble
from tickyard.kernel.loop import Loop
from yards.patience import STUCK_S

ASK, ANSWER = b'{"id":1}', b'{"result":"0x1"}'
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


HANGS_UP = b""


def whole(body, *lines):
    return OK + b"".join(line + b"\r\n" for line in lines) + b"Content-Length: %d\r\n\r\n" % len(body) + body


class Node:
    """Sends the n-th of these replies after the n-th request, and what it has to say unasked right behind it."""

    def __init__(self, *replies):
        self.replies = list(replies)
        self.requests = []
        self.connections = 0

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader, writer):
        self.connections += 1
        try:
            while self.replies:
                head = await reader.readuntil(b"\r\n\r\n")
                size = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                self.requests.append(head + await reader.readexactly(size))
                for piece in self.replies.pop(0):
                    if piece is HANGS_UP:
                        return
                    writer.write(piece)
                    await writer.drain()
            await reader.read()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@pytest.fixture(params=[asyncio.new_event_loop, Loop], ids=["asyncio", "ours"])
def run(request):
    def run(work):
        with asyncio.Runner(loop_factory=request.param) as runner:
            return runner.run(work)

    return run


@pytest.fixture
def exchange(run):
    """`exchange(*replies, times=)` -> the answers or the troubles, the node, the lane."""

    async def go(replies, times, path, user):
        async with asyncio.timeout(STUCK_S), Node(*replies) as node:
            lane = Lane(f"http://{user}127.0.0.1:{node.port}{path}", 1000)
            answers = []
            for _ in range(times):
                try:
                    answers.append(await lane.exchange(ASK))
                except Trouble as trouble:
                    answers.append(type(trouble))
            await lane.close()
            return answers, node, lane

    return lambda *replies, times=1, path="/", user="": run(go(replies, times, path, user))


def test_a_request_says_what_any_node_wants_to_hear_and_carries_the_key_of_its_address(exchange):
    answers, node, _ = exchange([whole(ANSWER)], path="/v2/key%2F1?project=a%20b", user="me:pass@")
    assert answers == [ANSWER]
    head, _, body = node.requests[0].partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    assert first == "POST /v2/key%2F1?project=a%20b HTTP/1.1"
    said = dict(line.lower().split(": ", 1) for line in lines)
    assert len(said) == len(lines)
    assert said["host"] == f"127.0.0.1:{node.port}"
    assert said["content-type"] == said["accept"] == "application/json"
    assert said["authorization"] == "basic bwu6cgfzcw=="
    assert said["content-length"] == str(len(ASK))
    assert said["accept-encoding"] == "gzip"
    assert body == ASK


def test_many_exchanges_take_one_connection(exchange):
    answers, node, lane = exchange(*[[whole(ANSWER)]] * 5, times=5)
    assert answers == [ANSWER] * 5
    assert node.connections == lane.opened == 1


CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n6\r\n" + ANSWER[:6] + b"\r\n%x\r\n" % len(ANSWER[6:]) + ANSWER[6:]


@pytest.mark.parametrize(
    "reply",
    [
        [whole(ANSWER)[:20], whole(ANSWER)[20:70], whole(ANSWER)[70:]],
        [CHUNKED, b"\r\n0\r\n\r\n"],
        [whole(gzip.compress(ANSWER), b"Content-Encoding: gzip")],
        [b"HTTP/1.1 100 Continue\r\n\r\n", whole(ANSWER)],
        [b"HTTP/1.1 102 Processing\r\n\r\n" * 3 + whole(ANSWER)],
    ],
    ids=["in pieces", "chunked", "compressed", "told to go on", "told to wait"],
)
def test_an_answer_may_come_in_any_form_that_http_allows(exchange, reply):
    answers, node, _ = exchange(reply, [whole(b"{}")], times=2)
    assert answers == [ANSWER, b"{}"]
    assert node.connections == 1


def test_what_a_node_says_unasked_is_never_the_next_answer(exchange):
    answers, node, lane = exchange([whole(ANSWER) + whole(b'{"result":"0xbad"}')], [whole(b"{}")], times=2)
    assert answers == [ANSWER, b"{}"]
    assert node.connections == lane.opened == 2


@pytest.mark.parametrize(
    "reply",
    [whole(b"x" * 1001)[:-1], OK + b"Transfer-Encoding: chunked\r\n\r\n3e9\r\n" + b"x" * 1001 + b"\r\n0\r\n\r\n",
     whole(gzip.compress(b"x" * 100_000), b"Content-Encoding: gzip"), whole(ANSWER).replace(b"json", b"html")[:-1],
     b"SSH-2.0-OpenSSH_9.6\r\n\r\n", whole(ANSWER).replace(b"Content-Length: ", b"Content-Length: -")],
    ids=["promises too much", "sends too much", "unpacks to too much", "a page", "not http", "a negative length"],
)  # fmt: skip
def test_after_an_answer_that_cannot_be_used_a_new_connection_is_opened(exchange, reply):
    answers, node, lane = exchange([reply], [whole(ANSWER)], times=2)
    assert answers == [Garbage, ANSWER]
    assert node.connections == lane.opened == 2


@pytest.mark.parametrize("line", [b"429 Too Many Requests", b"503 Busy", b"302 Found", b"404 Not Found"])
def test_a_refusal_that_is_all_there_leaves_the_connection_good(exchange, line):
    refusal = whole(b"not now").replace(b"200 OK", line)
    answers, node, lane = exchange([refusal], [whole(ANSWER)], times=2)
    assert answers == [Throttled if line.startswith(b"429") else NodeUnreachable, ANSWER]
    assert node.connections == lane.opened == 1


def test_a_connection_that_ends_with_its_answer_is_not_used_again(exchange):
    answers, node, _ = exchange([whole(ANSWER, b"Connection: close")], [whole(ANSWER)], times=2)
    assert answers == [ANSWER] * 2
    assert node.connections == 2


def test_an_answer_without_a_length_ends_with_its_connection(exchange):
    answers, node, _ = exchange([OK + b"\r\n", ANSWER, HANGS_UP], [whole(ANSWER)], times=2)
    assert answers == [ANSWER] * 2
    assert node.connections == 2


def test_half_an_answer_is_no_answer(run):
    async def go():
        async with asyncio.timeout(STUCK_S), Node([whole(ANSWER)[:-3]], [whole(ANSWER)]) as node:
            lane = Lane(f"http://127.0.0.1:{node.port}/", 1000)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await lane.exchange(ASK)
            # What is still missing of it may come any time now: not on the connection of the next one.
            answer = await lane.exchange(ASK)
            await lane.close()
            return answer, node.connections

    assert run(go()) == (ANSWER, 2)
