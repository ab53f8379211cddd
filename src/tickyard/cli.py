"""The command line. Each command imports what it needs, so that none pays for the others."""

import argparse
import asyncio
import contextlib
import os
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from tickyard.config.reading import read_settings
from tickyard.config.settings import Settings
from tickyard.processes.importing import without_collecting
from tickyard.terminal.arguments import (
    add_call_arguments,
    add_explain_arguments,
    add_trade_arguments,
    add_watch_arguments,
    number,
)
from tickyard.terminal.books import add_payments_arguments

T = TypeVar("T")
_INTERRUPTED = 130
_PROCESSES = ("up", "serve", "work", "payout")


def main() -> None:
    _open_standard_streams()
    try:
        _main()
    except BrokenPipeError:
        # Whoever read our output has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
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


def _main() -> None:
    parser = argparse.ArgumentParser(
        prog="tickyard", description="Data and execution preparation for tokenized stocks."
    )
    parser.add_argument("--version", action="version", version=f"tickyard {_version()}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    up = commands.add_parser("up", help="run the whole service on a sandbox of its own")
    up.add_argument("--port", type=number(1, 65535), default=os.environ.get("TICKYARD_PORT") or "8402")
    up.add_argument(
        "--demo-history", type=number(0, 3650), default=3, metavar="DAYS", help="fill so many days of synthetic history"
    )
    commands.add_parser("serve", help="run the API")
    commands.add_parser("work", help="run a worker: samples, alerts and all that is due at a time")
    payout = commands.add_parser("payout", help="run the payout agent, the only process with the payout key")
    payout.add_argument(
        "action", nargs="?", choices=("run", "deploy", "resume"), default="run",
        help="deploy: print an unsigned deployment of the desk, or check the one that is set; resume: lift a halt",
    )  # fmt: skip
    payout.add_argument("--owner", default="", help="deploy: the cold key's address")
    payout.add_argument("--payer", default="", help="deploy: the payout account's address")
    earn = commands.add_parser("earn", help="look after the reward program's days")
    earn.add_argument("action", choices=("skip",), help="skip: give up on a day that has no pool; its money goes on")
    earn.add_argument("epoch", type=number(20200101, 29991231), metavar="YYYYMMDD")
    claim = commands.add_parser("claim", help="claim the newest reward of a running sandbox with one of its wallets")
    claim.add_argument("--wallet", default="demo", help="its name in GET /sandbox")
    commands.add_parser("migrate", help="bring the store's schema up to date")
    backup = commands.add_parser("backup", help="copy the store into a file, while everything runs")
    backup.add_argument("file")
    restore = commands.add_parser("restore", help="fill an empty store from a backup")
    restore.add_argument("file")
    registry = commands.add_parser("registry", help="who is who: tokens as pinned, and as the issuer lists them now")
    doing = registry.add_subparsers(dest="doing", required=True, metavar="COMMAND")
    show = doing.add_parser("show", help="show one symbol, or all whose identity has changed")
    show.add_argument("symbol", nargs="?")
    accept = doing.add_parser("accept", help="show a symbol as pinned and as listed, and accept the address you name")
    accept.add_argument("symbol")
    accept.add_argument("--address", help="the address to accept; without it both are shown and nothing is changed")
    doing.add_parser("forget", help="drop the kept list of assets; what is pinned stays")
    pay = commands.add_parser("pay", help="pay a paid route of a running sandbox from its demo wallet")
    pay.add_argument("url", help="a path such as /v1/x402/quote?symbol=AAPL&side=buy&amount=100, or a whole address")
    pay.add_argument("--network", choices=("4663", "8453"), help="pay USDG on 4663 or USDC on 8453")
    pay.add_argument("--data", help="a JSON body; makes it a POST")
    add_payments_arguments(commands.add_parser("payments", help="what came in, what is in doubt, what was not fetched"))
    add_call_arguments(commands.add_parser("call", help="call one operation of a running service"))
    add_watch_arguments(commands.add_parser("watch", help="draw live candles of one symbol"))
    add_trade_arguments(commands.add_parser("trade", help="check, sign and send one trade with your own key"))
    add_explain_arguments(
        commands.add_parser("explain", help="show from documents on disk how a filer's figures are chosen")
    )
    commands.add_parser("doctor", help="show every setting and reach every upstream once")
    keys = commands.add_parser("keys", help="make a key file, or add a newer alert key to one")
    doing = keys.add_subparsers(dest="doing", required=True, metavar="new | rotate")
    new = doing.add_parser("new", help="make a key file that only its owner reads")
    new.add_argument("kind", choices=("alert", "receipt"))
    new.add_argument("file")
    rotate = doing.add_parser("rotate", help="add a newer alert key, and say what to do next")
    rotate.add_argument("file")
    commands.add_parser("openapi", help="print the API description")
    entry = commands.add_parser("server-json", help="print the entry for the MCP registry, server.json")
    entry.add_argument("--url", default=None, help="public address of the service; default TICKYARD_BASE_URL")
    asked, more = parser.parse_known_args()
    if asked.command == "call" and not any(word.startswith("-") for word in more):
        # argparse takes no name=value after an option by itself.
        asked.values += more
    elif more:
        parser.error(f"unrecognized arguments: {' '.join(more)}")
    match asked.command:
        case "up":
            from tickyard.sandbox.commands.up import run_up

            sys.exit(_run(run_up(asked.port, asked.demo_history)))
        case "serve":
            with without_collecting():
                from tickyard.processes.api import serve

            _run_process(serve)
        case "work":
            with without_collecting():
                from tickyard.processes.worker import work

            _run_process(work)
        case "payout":
            with without_collecting():
                from tickyard.processes.payout import deploy, pay_out, resume

            if asked.action == "run":
                _run_process(pay_out)
            elif asked.action == "deploy":
                sys.exit(_run(deploy(_settings(), asked.owner, asked.payer)))
            else:
                sys.exit(_run(resume(_store_settings())))
        case "earn":
            from tickyard.processes.commands.earn import skip_epoch

            sys.exit(_run(skip_epoch(_store_settings(), asked.epoch)))
        case "claim":
            from tickyard.sandbox.commands.claim import claim_command

            sys.exit(_run(claim_command(_base_url(), asked.wallet)))
        case "migrate" | "backup" | "restore":
            from tickyard.processes.store import keep_store

            _run(keep_store(asked.command, _store_settings(), getattr(asked, "file", "")))
        case "registry":
            from tickyard.processes.commands.registry import look_after_registry

            symbol, address = getattr(asked, "symbol", None), getattr(asked, "address", None)
            sys.exit(_run(look_after_registry(asked.doing, _store_settings(), symbol, address)))
        case "pay":
            from tickyard.sandbox.commands.pay import pay_command

            sys.exit(_run(pay_command(_base_url(), asked.url, asked.network, asked.data)))
        case "payments":
            from tickyard.processes.commands.payments import payments_command

            sys.exit(_run(payments_command(asked, _store_settings())))
        case "call" | "watch":
            from tickyard.terminal.commands import call_command, watch_command

            sys.exit(call_command(asked) if asked.command == "call" else watch_command(asked))
        case "trade":
            from tickyard.terminal.trade import trade_command

            sys.exit(trade_command(asked))
        case "explain":
            from tickyard.terminal.explain import explain_command

            sys.exit(explain_command(asked))
        case "doctor":
            from tickyard.processes.doctor import examine

            sys.exit(_run(examine(_settings())))
        case "keys":
            from tickyard.processes.commands.keys import new_keys, rotate_keys

            print(new_keys(asked.kind, Path(asked.file)) if asked.doing == "new" else rotate_keys(Path(asked.file)))
        case "openapi":
            from tickyard.catalog import CATALOG
            from tickyard.doors.describe.openapi import as_text

            print(as_text(CATALOG))
        case "server-json":
            from tickyard.doors.describe.cards import registry_entry

            print(registry_entry((asked.url or _base_url()).rstrip("/")), end="")


def _run_process(process: Callable[[Settings], Coroutine[Any, Any, None]]) -> None:
    from tickyard.observe.log import configure_logging
    from tickyard.supervisor import GaveUp

    settings = _settings()
    configure_logging()
    try:
        _run(process(settings))
    except GaveUp as failure:
        # Not as it began: whoever starts processes again is right to start this one.
        print(f"tickyard stops: {failure}", file=sys.stderr)
        sys.exit(70)


def _run(work: Coroutine[Any, Any, T]) -> T:
    from tickyard.kernel.loop import Loop

    with asyncio.Runner(loop_factory=Loop) as runner:
        return runner.run(work)


def _base_url() -> str:
    """The running service that a command talks to."""
    return os.environ.get("TICKYARD_BASE_URL") or f"http://127.0.0.1:{os.environ.get('TICKYARD_PORT') or 8402}"


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
