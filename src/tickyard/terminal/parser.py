"""What can be typed: every command with its arguments, in the order in which the help shows them."""

import argparse
import os
from typing import TYPE_CHECKING

from tickyard.terminal.arguments import (
    add_call_arguments,
    add_explain_arguments,
    add_trade_arguments,
    add_watch_arguments,
    number,
)
from tickyard.terminal.books import add_payments_arguments

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def make_parser(version: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tickyard", description="Data and execution preparation for tokenized stocks."
    )
    parser.add_argument("--version", action="version", version=f"tickyard {version}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_processes(commands)
    _add_earn(commands)
    _add_store(commands)
    _add_registry(commands)
    _add_payments(commands)
    add_call_arguments(commands.add_parser("call", help="call one operation of a running service"))
    add_watch_arguments(commands.add_parser("watch", help="draw live candles of one symbol"))
    add_trade_arguments(commands.add_parser("trade", help="check, sign and send one trade with your own key"))
    add_explain_arguments(
        commands.add_parser("explain", help="show from documents on disk how a filer's figures are chosen")
    )
    commands.add_parser("doctor", help="show every setting and reach every upstream once")
    _add_keys(commands)
    commands.add_parser("openapi", help="print the API description")
    entry = commands.add_parser("server-json", help="print the entry for the MCP registry, server.json")
    entry.add_argument("--url", default=None, help="public address of the service; default TICKYARD_BASE_URL")
    return parser


def _add_processes(commands: "Commands") -> None:
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


def _add_earn(commands: "Commands") -> None:
    earn = commands.add_parser("earn", help="look after the reward program's days")
    earn.add_argument("action", choices=("skip",), help="skip: give up on a day that has no pool; its money goes on")
    earn.add_argument("epoch", type=number(20200101, 29991231), metavar="YYYYMMDD")
    claim = commands.add_parser("claim", help="claim the newest reward of a running sandbox with one of its wallets")
    claim.add_argument("--wallet", default="demo", help="its name in GET /sandbox")


def _add_store(commands: "Commands") -> None:
    commands.add_parser("migrate", help="bring the store's schema up to date")
    backup = commands.add_parser("backup", help="copy the store into a file, while everything runs")
    backup.add_argument("file")
    restore = commands.add_parser("restore", help="fill an empty store from a backup")
    restore.add_argument("file")


def _add_registry(commands: "Commands") -> None:
    registry = commands.add_parser("registry", help="who is who: tokens as pinned, and as the issuer lists them now")
    doing = registry.add_subparsers(dest="doing", required=True, metavar="COMMAND")
    show = doing.add_parser("show", help="show one symbol, or all whose identity has changed")
    show.add_argument("symbol", nargs="?")
    accept = doing.add_parser("accept", help="show a symbol as pinned and as listed, and accept the address you name")
    accept.add_argument("symbol")
    accept.add_argument("--address", help="the address to accept; without it both are shown and nothing is changed")
    forget = doing.add_parser("forget", help="drop one token that is over, or the kept list; what is pinned stays")
    forget.add_argument("symbol", nargs="?", help="a token that the issuer lists no more; left out: the whole list")


def _add_payments(commands: "Commands") -> None:
    pay = commands.add_parser("pay", help="pay a paid route of a running sandbox from its demo wallet")
    pay.add_argument("url", help="a path such as /v1/x402/quote?symbol=AAPL&side=buy&amount=100, or a whole address")
    pay.add_argument("--network", choices=("4663", "8453"), help="pay USDG on 4663 or USDC on 8453")
    pay.add_argument("--data", help="a JSON body; makes it a POST")
    add_payments_arguments(commands.add_parser("payments", help="what came in, what is in doubt, what was not fetched"))


def _add_keys(commands: "Commands") -> None:
    keys = commands.add_parser("keys", help="make a key file, or add a newer alert key to one")
    doing = keys.add_subparsers(dest="doing", required=True, metavar="new | rotate")
    new = doing.add_parser("new", help="make a key file that only its owner reads")
    new.add_argument("kind", choices=("alert", "receipt"))
    new.add_argument("file")
    rotate = doing.add_parser("rotate", help="add a newer alert key, and say what to do next")
    rotate.add_argument("file")
