"""One far end that tells the wrong time is named, and this machine's clock is not blamed for it."""

import asyncio
import contextlib
from datetime import UTC, timedelta
from email.utils import format_datetime

import pytest

from tickyard.config.settings import Settings
from tickyard.kernel.clock import WallClock
from tickyard.processes.doctor import clocks
from tickyard.processes.doctor.clocks import true_off
from tickyard.processes.doctor.finding import find_out
from yards.rpcnode import Node

WALL = WallClock()


@contextlib.asynccontextmanager
async def telling(ahead_s=0, age_s=0, status="200 OK"):
    """A far end whose clock is so far ahead; what it answers may have been kept on the way."""

    async def answer(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        at = WALL.now().astimezone(UTC) + timedelta(seconds=ahead_s - age_s)
        lines = [f"HTTP/1.1 {status}", f"Date: {format_datetime(at, usegmt=True)}", "Content-Length: 2"]
        writer.write("\r\n".join([*lines, *([f"Age: {age_s}"] if age_s else []), "", "{}"]).encode())
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def ask(first=None, second=None, issuer=None, head_ahead_s=None):
    async def go():
        async with contextlib.AsyncExitStack() as stack:
            urls = [
                "http://127.0.0.1:1" if how is None else await stack.enter_async_context(telling(**how))
                for how in (first, second, issuer)
            ]
            node = await stack.enter_async_context(Node(8453))
            if head_ahead_s is not None:
                at = hex(WALL.seconds() + head_ahead_s)
                node.results["eth_getBlockByNumber"] = {"number": "0x7", "hash": "0x" + "07" * 32, "timestamp": at}
            settings = Settings(
                facilitator_8453=(urls[0],), facilitator_4663=(urls[1],), issuer_url=urls[2], rpc_urls_8453=(node.url,)
            )
            (question,) = clocks.questions(settings, WALL)
            return await find_out(question, WALL)

    return asyncio.run(go())


RIGHT, BEHIND, AHEAD = {}, {"ahead_s": -600}, {"ahead_s": 600}


def test_of_several_the_one_that_differs_is_named_and_not_this_machine():
    found = ask(AHEAD, RIGHT, RIGHT)
    assert not found.is_good
    assert found.found in [f"the clock of facilitator 8453 is {off} s ahead" for off in (599, 600, 601)]
    assert "this machine's clock is not the one" in found.mend
    found = ask(RIGHT, BEHIND, RIGHT)
    assert "facilitator 4663" in found.found
    assert "behind" in found.found


def test_when_all_others_agree_this_machine_is_the_one_that_is_off():
    found = ask(AHEAD, AHEAD, AHEAD)
    assert found.found.startswith("this machine's clock is -")
    assert "chrony" in found.mend


def test_all_that_agree_are_well_whatever_else_they_answer():
    assert ask(RIGHT, {"status": "401 Unauthorized"}, {"age_s": 900}).is_good


def test_of_two_the_one_that_the_chain_bears_out_is_right():
    assert "facilitator 8453" in ask(AHEAD, RIGHT, head_ahead_s=-3).found
    assert "this machine's clock" in ask(AHEAD, RIGHT, head_ahead_s=597).found
    # Without a chain: the one that is nearest to us.
    assert "facilitator 8453" in ask(AHEAD, RIGHT).found


def test_one_alone_is_not_believed_against_us_and_the_chain():
    assert "facilitator 8453" in ask(AHEAD, head_ahead_s=-3).found
    assert "this machine's clock" in ask(AHEAD).found
    assert ask().found == "nobody was there to compare with"


@pytest.mark.parametrize(
    ("offs", "head", "ours"),
    [
        ([0, 0, -600], None, 0),
        ([-600, 1, -599], None, -599),
        ([-600, -600, 0, 1], None, 0),
        ([-600, -600, 0, 1], -598, -600),
        ([30, 31], 45, 30),  # the head bears us out too, but all others say the same
        ([0, -600], 3600, 0),  # a chain that stands still says nothing
        ([-600], 3600, -600),
    ],
)
def test_the_middle_is_right(offs, head, ours):
    assert true_off(offs, head, 60) == ours
