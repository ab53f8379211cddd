"""Ending a process in order: on a signal, and in the sandbox also when the parent is gone."""

import asyncio
import signal
from collections.abc import Callable

from tickyard.config.settings import Settings


def stop_on_signal(settings: Settings, stop: Callable[[], object]) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        # A closed terminal, or a `reload` that we do not know, ends us in order too; but not who was started by nohup.
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            loop.add_signal_handler(number, stop)
    if settings.is_sandbox:
        from tickyard.sandbox.lifeline import on_parent_gone

        on_parent_gone(stop)
