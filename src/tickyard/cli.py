"""The command line. Each command imports what it needs, so that none pays for the others."""

import asyncio
import contextlib
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

from tickyard.config.reading import read_settings
from tickyard.config.settings import Settings, SettingsError
from tickyard.config.web_address import is_web_address
from tickyard.processes.importing import without_collecting
from tickyard.terminal.arguments import not_text
from tickyard.terminal.ascii import give_up_output, show_what_it_can
from tickyard.terminal.parser import make_parser

T = TypeVar("T")
_INTERRUPTED = 130
_UNREAD = 141
"""As every program ends whose reader has gone away before it was done: nobody may take that for done."""
_PROCESSES = ("up", "serve", "work", "payout")


def main() -> None:
    _open_standard_streams()
    try:
        sys.exit(_main())
    except BrokenPipeError:
        give_up_output()
        sys.exit(_UNREAD)
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    except Exception as error:
        # Asked for only now: no command pays for the words of all the others.
        from tickyard.processes.mistakes import in_words

        sentence = in_words(error)
        if sentence is None:
            raise
        _refuse(sentence)


def _open_standard_streams() -> None:
    """Whoever started us may have closed one. The next file or socket would then take its number, be written to by
    whatever means to complain, and make the event loop abort when it is closed."""
    for stream in (0, 1, 2):
        try:
            os.fstat(stream)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115  for as long as we live
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for out in (sys.stdout, sys.stderr):
        show_what_it_can(out)


def _main() -> int:
    parser = make_parser(_version())
    asked, more = parser.parse_known_args()
    if asked.command == "call" and not any(word.startswith("-") for word in more):
        # argparse takes no name=value after an option by itself.
        asked.values += more
    elif more:
        parser.error(f"unrecognized arguments: {' '.join(more)}")
    if (word := not_text(asked)) is not None:
        parser.error(f"{word} must be plain text in UTF-8")
    return _COMMANDS[asked.command](asked)


def _up(asked: Namespace) -> int:
    from tickyard.sandbox.commands.up import run_up

    return _run(run_up(asked.port, asked.demo_history))


def _serve(_asked: Namespace) -> int:
    with without_collecting():
        from tickyard.processes.api import serve

    return _run_process(serve)


def _work(_asked: Namespace) -> int:
    with without_collecting():
        from tickyard.processes.worker import work

    return _run_process(work)


def _payout(asked: Namespace) -> int:
    with without_collecting():
        from tickyard.processes.payout import deploy, pay_out, resume

    if asked.action == "deploy":
        return _run(deploy(_settings(), asked.owner, asked.payer))
    return _run(resume(_store_settings())) if asked.action == "resume" else _run_process(pay_out)


def _earn(asked: Namespace) -> int:
    from tickyard.processes.commands.earn import skip_epoch

    return _run(skip_epoch(_store_settings(), asked.epoch))


def _claim(asked: Namespace) -> int:
    from tickyard.sandbox.commands.claim import claim_command

    return _run(claim_command(_base_url(), asked.wallet))


def _keep_store(asked: Namespace) -> int:
    from tickyard.processes.store import keep_store

    _run(keep_store(asked.command, _store_settings(), getattr(asked, "file", "")))
    return 0


def _registry(asked: Namespace) -> int:
    from tickyard.processes.commands.registry import look_after_registry

    symbol, address = getattr(asked, "symbol", None), getattr(asked, "address", None)
    return _run(look_after_registry(asked.doing, _store_settings(), symbol, address))


def _pay(asked: Namespace) -> int:
    from tickyard.sandbox.commands.pay import pay_command

    return _run(pay_command(_base_url(), asked.url, asked.network, asked.data))


def _payments(asked: Namespace) -> int:
    from tickyard.processes.commands.payments import payments_command

    return _run(payments_command(asked, _store_settings()))


def _call(asked: Namespace) -> int:
    from tickyard.terminal.commands import call_command

    return call_command(asked)


def _watch(asked: Namespace) -> int:
    from tickyard.terminal.commands import watch_command

    return watch_command(asked)


def _trade(asked: Namespace) -> int:
    from tickyard.terminal.trade import trade_command

    return trade_command(asked)


def _explain(asked: Namespace) -> int:
    from tickyard.terminal.explain import explain_command

    return explain_command(asked)


def _doctor(_asked: Namespace) -> int:
    from tickyard.processes.doctor import examine

    return _run(examine(_settings()))


def _keys(asked: Namespace) -> int:
    from tickyard.processes.commands.keys import new_keys, rotate_keys

    print(new_keys(asked.kind, Path(asked.file)) if asked.doing == "new" else rotate_keys(Path(asked.file)))
    return 0


def _openapi(_asked: Namespace) -> int:
    from tickyard.catalog import CATALOG
    from tickyard.doors.describe.openapi import as_text

    print(as_text(CATALOG))
    return 0


def _server_json(asked: Namespace) -> int:
    from tickyard.doors.describe.cards import registry_entry

    print(registry_entry(_base_url(asked.url).rstrip("/")), end="")
    return 0


_COMMANDS: Final[dict[str, Callable[[Namespace], int]]] = {
    "up": _up,
    "serve": _serve,
    "work": _work,
    "payout": _payout,
    "earn": _earn,
    "claim": _claim,
    "migrate": _keep_store,
    "backup": _keep_store,
    "restore": _keep_store,
    "registry": _registry,
    "pay": _pay,
    "payments": _payments,
    "call": _call,
    "watch": _watch,
    "trade": _trade,
    "explain": _explain,
    "doctor": _doctor,
    "keys": _keys,
    "openapi": _openapi,
    "server-json": _server_json,
}


def _run_process(process: Callable[[Settings], Coroutine[Any, Any, None]]) -> int:
    from tickyard.observe.log import configure_logging
    from tickyard.supervisor import GaveUp

    settings = _settings()
    configure_logging()
    try:
        _run(process(settings))
    except GaveUp as failure:
        # Not as it began: whoever starts processes again is right to start this one.
        print(f"tickyard stops: {failure}", file=sys.stderr)
        return 70
    return 0


def _run(work: Coroutine[Any, Any, T]) -> T:
    from tickyard.kernel.loop import Loop

    with asyncio.Runner(loop_factory=Loop) as runner:
        return runner.run(work)


def _base_url(given: str | None = None) -> str:
    """The running service that a command talks to."""
    url = given or os.environ.get("TICKYARD_BASE_URL") or f"http://127.0.0.1:{os.environ.get('TICKYARD_PORT') or 8402}"
    if not is_web_address(url):
        raise SettingsError("the service's address must be one such as http://127.0.0.1:8402")
    return url


def _settings() -> Settings:
    return read_settings(os.environ)


def _store_settings() -> Settings:
    """For who works on the store alone: a bookkeeper's or a database's machine has no node, facilitator or key."""
    return read_settings(os.environ, is_for_service=False)


def _version() -> str:
    from importlib.metadata import version

    return version("tickyard")


def _refuse(sentence: str) -> NoReturn:
    command = next((word for word in sys.argv[1:] if not word.startswith("-")), "")
    begun = "tickyard does not start" if command in _PROCESSES else f"tickyard {command}".rstrip()
    with contextlib.suppress(OSError):
        print(f"{begun}: {sentence}", file=sys.stderr)
    sys.exit(2)
