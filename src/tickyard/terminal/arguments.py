"""What can be typed after `tickyard call` and `tickyard watch`. Apart, because every command parses its words."""

import argparse


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
