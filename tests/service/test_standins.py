"""The stand-ins as a process, the front of the node, the filings' manners and the board of faults."""

import asyncio
import io
import json
import signal
import subprocess
import sys
from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiohttp import web

from tickyard.kernel.clock import WallClock
from tickyard.sandbox.filings.server import FilingsStandIn
from tickyard.sandbox.standins.faults import TARGETS, FaultBoard
from tickyard.sandbox.standins.node_front import NodeFront
from tickyard.sandbox.standins.process import PORT_FILE, Controls, open_port
from yards.patience import STUCK_S

CONTACT = {"User-Agent": "Tickyard ops@example.com"}


class Node:
    """The far side of the front: keeps the bytes it got and answers with set bytes."""

    def __init__(self, answer=b'{"jsonrpc":"2.0","id":1,"result":"0x1237"}', status=200):
        self.answer, self.status, self.got = answer, status, []

    def add_to(self, app):
        app.router.add_post("/", self.take)

    async def take(self, request):
        self.got.append(await request.read())
        return web.Response(status=self.status, body=self.answer, content_type="application/json")


@asynccontextmanager
async def front_of(node):
    board = FaultBoard()
    node_runner, node_port = await open_port([node])
    front = NodeFront(board, WallClock(), f"http://127.0.0.1:{node_port}/")
    runner, port = await open_port([front])
    try:
        async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session:
            yield board, session, node_runner
    finally:
        await runner.cleanup()
        await node_runner.cleanup()


async def call(session, body=b'{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}'):
    async with session.post("/rpc", data=body, timeout=aiohttp.ClientTimeout(5)) as response:
        return response.status, await response.read()


def calls(node, mode, bodies):
    """What the front answers to these bodies in this mode."""

    async def run():
        async with front_of(node) as (board, session, _):
            board.set("rpc", mode)
            return [await call(session, body) for body in bodies]

    return asyncio.run(run())


@pytest.mark.parametrize("status", [200, 400])
def test_the_front_passes_bytes_through_untouched(status):
    body = b'  [ {"id":\t1e0, "x": "\xc3\xa9"} ]\n'
    node = Node(answer=b'{"odd" :  1.0}\n', status=status)
    assert calls(node, "ok", [body]) == [(status, node.answer)]
    assert node.got == [body]


def test_a_large_batch_passes_the_front():
    node = Node(answer=b"[" + b" " * 3_000_000 + b"]")
    ((status, body),) = calls(node, "ok", [io.BytesIO(b" " * 3_000_000)])
    assert (status, len(body), len(node.got[0])) == (200, len(node.answer), 3_000_000)


def test_a_front_whose_node_is_gone_or_that_is_down_hangs_up():
    async def run():
        async with front_of(Node()) as (board, session, node_runner):
            board.set("rpc", "down")
            with pytest.raises(aiohttp.ClientConnectionError):
                await call(session)
            board.set("rpc", "ok")
            assert (await call(session))[0] == 200
            await node_runner.cleanup()
            with pytest.raises(aiohttp.ClientConnectionError):
                await call(session)

    asyncio.run(run())


def test_a_slow_front_does_not_answer_in_time():
    async def run():
        async with front_of(Node()) as (board, session, _):
            board.set("rpc", "slow")
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(call(session), 0.3)

    asyncio.run(run())


def test_garbage_of_the_front_takes_turns():
    chain_id = b'{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}'
    answers = calls(Node(), "garbage", [chain_id] * 5)
    assert answers[0] == (200, answers[4][1])
    assert answers[0][1].startswith(b"<!DOCTYPE html>")
    with pytest.raises(json.JSONDecodeError):
        json.loads(answers[1][1])
    assert json.loads(answers[2][1])["result"] == "0x539"
    assert json.loads(answers[3][1])["result"] == "0x1237"


def test_garbage_zeroes_the_words_of_results():
    words = "0x" + "ab" * 32 + "00" * 31 + "07"
    answer = json.dumps([{"id": 1, "result": words}, {"id": 2, "result": {"hash": words, "n": "0x7"}}]).encode()
    answers = calls(Node(answer), "garbage", [b'{"method":"eth_call"}'] * 4)
    for _, body in answers[2:]:
        zero = "0x" + "00" * 64
        assert json.loads(body) == [
            {"id": 1, "result": zero},
            {"id": 2, "result": {"hash": zero, "n": "0x7"}},
        ]


def test_a_throttled_front_refuses_in_both_known_forms():
    bodies = [b'{"id":1}', b'{"id":7}', b'{"id":1}', b'[{"id":8},{"id":9}]', b"x", b"x"]
    answers = calls(Node(), "throttle", bodies)
    assert [status for status, _ in answers] == [429, 200, 429, 200, 429, 200]
    single, batch = json.loads(answers[1][1]), json.loads(answers[3][1])
    assert (single["id"], single["error"]["code"]) == (7, -32005)
    assert [(each["id"], each["error"]["code"]) for each in batch] == [(8, -32005), (9, -32005)]


def get(stand_ins, path, headers=None, method="GET", body=None):
    async def run():
        runner, port = await open_port(stand_ins)
        try:
            async with (
                aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session,
                session.request(method, path, headers=headers, data=body) as response,
            ):
                return response.status, response.headers, await response.read()
        finally:
            await runner.cleanup()

    return asyncio.run(run())


def filings(**documents):
    return [FilingsStandIn(FaultBoard(), WallClock(), documents)]


@pytest.mark.parametrize("agent", ["", "curl/8.0", "Mozilla/5.0 (X11)"])
def test_filings_refuse_whoever_gives_no_contact(agent):
    assert get(filings(), "/filings/files/company_tickers.json", {"User-Agent": agent})[0] == 403


def test_filings_list_nothing_and_know_no_company():
    status, headers, body = get(filings(), "/filings/files/company_tickers.json", CONTACT)
    assert (status, body) == (200, b"{}")
    assert headers["Content-Type"] == "application/json"
    for path in ("submissions/CIK0000320193.json", "api/xbrl/companyfacts/CIK0000320193.json", "nothing"):
        assert get(filings(), f"/filings/{path}", CONTACT)[0] == 404


def test_filings_serve_the_documents_they_are_given():
    stand_ins = [FilingsStandIn(FaultBoard(), WallClock(), {"submissions/CIK0000320193.json": b'{"name":"Apple"}'})]
    assert get(stand_ins, "/filings/submissions/CIK0000320193.json", CONTACT)[2] == b'{"name":"Apple"}'


def test_the_board_can_be_set_and_read():
    board = FaultBoard()
    status, _, body = get([Controls(board)], "/control/fault", None, "POST", b'{"target":"rpc","mode":"slow"}')
    assert (status, json.loads(body)) == (200, {"target": "rpc", "mode": "slow"})
    _, _, body = get([Controls(board)], "/control/faults")
    assert json.loads(body) == dict.fromkeys(TARGETS, "ok") | {"rpc": "slow"}


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b'{"target":"rpc"}', b'{"target":"moon","mode":"ok"}', b'{"target":"rpc","mode":"odd"}']
)  # fmt: skip
def test_a_fault_that_makes_no_sense_is_refused(body):
    status, _, answer = get([Controls(FaultBoard())], "/control/fault", None, "POST", body)
    assert status == 400
    assert json.loads(answer)["error"]["code"] == "bad_request"


@pytest.fixture
def process(tmp_path):
    """The stand-ins as `tickyard up` starts them."""
    command = [sys.executable, "-m", "tickyard.sandbox.standins.process", "--run-dir", tmp_path]
    child = subprocess.Popen([*command, "--node-url", "http://127.0.0.1:1/"], stdin=subprocess.PIPE)
    yield child
    child.kill()
    child.wait(10)
    child.stdin.close()


async def port_of(path):
    async with asyncio.timeout(STUCK_S):
        while not path.exists():
            await WallClock().sleep(0.02)
    return json.loads(path.read_bytes())["port"]


def reached(tmp_path):
    async def run():
        port = await port_of(tmp_path / PORT_FILE)
        async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session:
            found = []
            for path in (
                "/issuer/assets",
                "/filings/files/company_tickers.json",
                "/control/faults",
                "/nowhere",
            ):
                async with session.get(path, headers=CONTACT) as response:
                    found.append(response.status)
            return found

    return asyncio.run(run())


@pytest.mark.slow
def test_the_process_serves_all_far_ends_and_leaves_on_a_signal(process, tmp_path):
    assert reached(tmp_path) == [200, 200, 200, 404]
    assert not list(tmp_path.glob("*.part"))
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0


@pytest.mark.slow
def test_the_process_leaves_when_its_parent_is_gone(process, tmp_path):
    assert reached(tmp_path)[0] == 200
    process.stdin.close()
    assert process.wait(10) == 0
