"""What can be typed after `tickyard call`, `watch` and `explain`. Apart, because every command parses its words."""

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


def add_explain_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ticker")
    parser.add_argument("--facts", required=True, metavar="FILE", help="the filer's company facts, gzip'd or not")
    parser.add_argument("--submissions", required=True, metavar="FILE", help="the filer's submissions, gzip'd or not")
    parser.add_argument("--today", required=True, metavar="YYYY-MM-DD", help="the day on which the question is asked")
    parser.add_argument("--mid", default=None, metavar="PRICE", help="dollars per share, for the market cap")
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")
