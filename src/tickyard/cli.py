"""The command line. Each command imports what it needs, so that none pays for the others."""

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn, TypeVar

from tickyard.config.settings import Settings, SettingsError, read_settings
from tickyard.processes.importing import without_collecting
from tickyard.terminal.arguments import add_call_arguments, add_watch_arguments

T = TypeVar("T")


def main() -> None:
    try:
        _main()
    except BrokenPipeError:
        # Whoever read our output has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _main() -> None:
    parser = argparse.ArgumentParser(
        prog="tickyard", description="Data and execution preparation for tokenized stocks."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    up = commands.add_parser("up", help="run the whole service on a sandbox of its own")
    up.add_argument("--port", type=int, default=int(os.environ.get("TICKYARD_PORT") or 8402))
    up.add_argument(
        "--demo-history", type=int, default=0, metavar="DAYS", help="fill so many days of synthetic history"
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
    earn.add_argument("epoch", type=int, metavar="YYYYMMDD")
    claim = commands.add_parser("claim", help="claim the newest reward of a running sandbox with one of its wallets")
    claim.add_argument("--wallet", default="demo", help="its name in GET /sandbox")
    commands.add_parser("migrate", help="bring the store's schema up to date")
    backup = commands.add_parser("backup", help="copy the store into a file, while everything runs")
    backup.add_argument("file")
    restore = commands.add_parser("restore", help="fill an empty store from a backup")
    restore.add_argument("file")
    pay = commands.add_parser("pay", help="pay a paid route of a running sandbox from its demo wallet")
    pay.add_argument("url", help="a path such as /v1/x402/quote?symbol=AAPL&side=buy&amount=100, or a whole address")
    pay.add_argument("--network", choices=("4663", "8453"), help="pay USDG on 4663 or USDC on 8453")
    pay.add_argument("--data", help="a JSON body; makes it a POST")
    add_call_arguments(commands.add_parser("call", help="call one operation of a running service"))
    add_watch_arguments(commands.add_parser("watch", help="draw live candles of one symbol"))
    commands.add_parser("doctor", help="show every setting and reach every upstream once")
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
                sys.exit(_run_command(deploy(_settings(), asked.owner, asked.payer)))
            else:
                sys.exit(_run_command(resume(_settings())))
        case "earn":
            from tickyard.processes.earn import skip_epoch

            sys.exit(_run_command(skip_epoch(_settings(), asked.epoch)))
        case "claim":
            from tickyard.sandbox.commands.claim import claim_command

            sys.exit(_run(claim_command(_base_url(), asked.wallet)))
        case "migrate" | "backup" | "restore":
            from tickyard.processes.store import keep_store

            _run(keep_store(asked.command, _settings(), getattr(asked, "file", "")))
        case "pay":
            from tickyard.sandbox.commands.pay import pay_command

            sys.exit(_run(pay_command(_base_url(), asked.url, asked.network, asked.data)))
        case "call" | "watch":
            from tickyard.terminal.commands import call_command, watch_command

            sys.exit(call_command(asked) if asked.command == "call" else watch_command(asked))
        case "doctor":
            from tickyard.processes.doctor import examine

            sys.exit(_run(examine(_settings())))
        case "openapi":
            from tickyard.catalog import CATALOG
            from tickyard.doors.describe.openapi import as_text

            print(as_text(CATALOG))
        case "server-json":
            from tickyard.doors.describe.cards import registry_entry

            print(registry_entry((asked.url or _base_url()).rstrip("/")), end="")


def _run_process(process: Callable[[Settings], Coroutine[Any, Any, None]]) -> None:
    from tickyard.chain.boot import WrongChain
    from tickyard.kernel.errors import UpstreamDown
    from tickyard.observe.log import configure_logging

    settings = _settings()
    configure_logging()
    try:
        _run(process(settings))
    except (WrongChain, SettingsError) as wrong:
        _refuse(str(wrong))
    except UpstreamDown as failure:
        _refuse(failure.message)


def _run_command(work: Coroutine[Any, Any, int]) -> int:
    """A command that does one thing and ends."""
    from tickyard.kernel.errors import UpstreamDown

    try:
        return _run(work)
    except SettingsError as wrong:
        _refuse(str(wrong))
    except UpstreamDown as failure:
        _refuse(failure.message)


def _run(work: Coroutine[Any, Any, T]) -> T:
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


def _base_url() -> str:
    """The running service that a command talks to."""
    return os.environ.get("TICKYARD_BASE_URL") or f"http://127.0.0.1:{os.environ.get('TICKYARD_PORT') or 8402}"


def _settings() -> Settings:
    try:
        return read_settings(os.environ)
    except SettingsError as error:
        _refuse(str(error))


def _refuse(sentence: str) -> NoReturn:
    print(f"tickyard does not start: {sentence}", file=sys.stderr)
    sys.exit(2)
