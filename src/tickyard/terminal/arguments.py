"""What can be typed after a command. Apart, because every command parses its words."""

import argparse
from collections.abc import Callable
from typing import Final

_NAMES_OF_FILES: Final = ("file", "facts", "submissions", "keystore", "password_file")
"""Which may be of any bytes."""


def add_call_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("operation", nargs="?", default="list", help="such as get_quote; `list` shows them all")
    parser.add_argument("values", nargs="*", metavar="name=value", help="such as symbol=AAPL side=buy amount=100")
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")
    parser.add_argument("--url", default=None, help="address of the service")


def add_watch_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("symbol")
    parser.add_argument("--interval", default="5m", choices=("5m", "15m", "1h", "4h", "1d"))
    parser.add_argument("--once", action="store_true", help="draw once and end")
    parser.add_argument("--url", default=None, help="address of the service")


def add_explain_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ticker")
    parser.add_argument("--facts", required=True, metavar="FILE", help="the filer's company facts, gzip'd or not")
    parser.add_argument("--submissions", required=True, metavar="FILE", help="the filer's submissions, gzip'd or not")
    parser.add_argument("--today", required=True, metavar="YYYY-MM-DD", help="the day on which the question is asked")
    parser.add_argument("--mid", default=None, metavar="PRICE", help="dollars per share, for the market cap")
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")


def add_trade_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("side", choices=("buy", "sell"))
    parser.add_argument("symbol")
    parser.add_argument("amount")
    parser.add_argument("--denom", default="usd", choices=("usd", "token"), help="the unit of the amount")
    parser.add_argument("--slippage-bps", type=int, default=50, metavar="BPS", help="50 is 0.5 %%")
    parser.add_argument("--token", default=None, metavar="ADDRESS", help="refuse a build for another token")
    parser.add_argument(
        "--limit", default=None, metavar="AMOUNT", help="the least to get, or the most to pay, of the other leg"
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument(
        "--keystore", default=None, metavar="FILE", help="whose key signs; else the sandbox's demo wallet"
    )
    parser.add_argument("--password-file", default=None, metavar="FILE", help="of the keystore; asked for otherwise")
    parser.add_argument("--rpc", default=None, metavar="URL", help="your own node, through which it is sent")
    parser.add_argument("--url", default=None, help="address of the service")


def not_text(asked: argparse.Namespace) -> str | None:
    """The argument that came as bytes of no text: it can neither be sent nor looked up."""
    for name, value in vars(asked).items():
        words = value if isinstance(value, list) else [value]
        if name not in _NAMES_OF_FILES and any(isinstance(word, str) and not _is_text(word) for word in words):
            return name.replace("_", "-")
    return None


def _is_text(word: str) -> bool:
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


def number(least: int, most: int) -> Callable[[str], int]:
    """What argparse reads a whole number between bounds with."""

    def read(text: str) -> int:
        if text.isascii() and text.removeprefix("-").isdigit() and least <= int(text[:20]) <= most:
            return int(text)
        raise argparse.ArgumentTypeError(f"a whole number from {least} to {most}, not {text!r}")

    return read
