"""Which signals end a process in order."""

import asyncio
import os
import signal

import pytest

from tickyard.processes.stopping import stop_on_signal
from yards.patience import STUCK_S


class Settings:
    is_sandbox = False


@pytest.fixture
def hangup():
    before = signal.getsignal(signal.SIGHUP)
    yield lambda handler: signal.signal(signal.SIGHUP, handler)
    signal.signal(signal.SIGHUP, before)


async def _told_by(number):
    told = asyncio.Event()
    stop_on_signal(Settings(), told.set)
    os.kill(os.getpid(), number)
    async with asyncio.timeout(STUCK_S):
        await told.wait()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_a_process_in_order(hangup, number):
    hangup(signal.SIG_DFL)
    asyncio.run(_told_by(number))


def test_who_was_started_to_outlive_its_terminal_does(hangup):
    hangup(signal.SIG_IGN)

    async def work():
        stop_on_signal(Settings(), pytest.fail)

    asyncio.run(work())
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
