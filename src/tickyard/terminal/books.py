"""The arguments of `tickyard payments`."""

import argparse
from datetime import UTC, datetime
from typing import Final

from tickyard.kernel.ids import is_address
from tickyard.terminal.arguments import number

STATES: Final = ("running", "settling", "unknown", "settled", "failed")


def add_payments_arguments(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="WHAT")
    listed = kinds.add_parser("list", help="payments, the newest first")
    listed.add_argument("--state", choices=STATES)
    listed.add_argument("--network", choices=("4663", "8453"))
    listed.add_argument("--day", type=_day, help="begun on this day, such as 2026-09-16 (UTC)")
    listed.add_argument("--payer", type=_payer)
    listed.add_argument("--limit", type=number(1, 1_000_000), default=50)
    shown = kinds.add_parser("show", help="the whole life of one payment")
    shown.add_argument("name", help="a transaction hash, the receipt's or the mined one, or a nonce")
    exported = kinds.add_parser("export", help="everything that was settled, for an accountant")
    exported.add_argument("--from", dest="since", type=_day, required=True, help="the first day (UTC)")
    exported.add_argument("--to", dest="until", type=_day, required=True, help="the last day, which is part of it")
    exported.add_argument("--format", choices=("csv", "json"), default="csv")
    kinds.add_parser(
        "orphans", help="money without a delivered answer after five minutes, each with an unsigned refund"
    )


def _day(text: str) -> datetime:
    try:
        day = datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise argparse.ArgumentTypeError("a day such as 2026-09-16") from None
    # What was paid has a time like ours; the calendar's own ends have no day before or after.
    if not 2000 <= day.year < 3000:
        raise argparse.ArgumentTypeError("a day between 2000 and 3000, such as 2026-09-16")
    return day


def _payer(text: str) -> str:
    if not is_address(text):
        raise argparse.ArgumentTypeError("0x followed by 40 hex digits")
    return text
