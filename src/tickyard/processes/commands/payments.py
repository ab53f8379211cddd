"""`tickyard payments`: the seller's books on the terminal. It reads the store and changes nothing."""

import argparse
import csv
import sys
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from tickyard.chain.address import checksum
from tickyard.config.settings import Settings
from tickyard.features.earn.books.pools import read_pools
from tickyard.kernel.units import UsdgAmount
from tickyard.kernel.wire import iso
from tickyard.payments.books import office
from tickyard.payments.books.row import PaymentRow
from tickyard.store.engine import Store
from tickyard.store.revenue import settlement_of
from tickyard.wiring.clock import open_clock
from tickyard.wiring.store import ready_store

_ENTRY: Final = ("time", "network", "asset", "amount", "payer", "route", "transaction", "block", "creditedDay")
_FRESH: Final = timedelta(minutes=5)
"""An answer may still be on its way to its caller."""


async def payments_command(asked: argparse.Namespace, settings: Settings) -> int:
    if asked.kind == "export" and asked.until < asked.since:
        # An accountant would take an empty table for a quiet month.
        print("nothing was exported: --to lies before --from", file=sys.stderr)
        return 2
    async with ready_store(settings, open_clock(settings)) as store:
        return await _show(asked, store)


async def _show(asked: argparse.Namespace, store: Store) -> int:
    match asked.kind:
        case "list":
            day = asked.day
            network = None if asked.network is None else f"eip155:{asked.network}"
            which = office.Filter(asked.state, network, asked.payer, day, day and day + timedelta(days=1))
            for row in await office.find_payments(store, which, asked.limit):
                print(_line(row))
        case "show":
            found = await office.find_payment(store, asked.name)
            if not found:
                print("no payment has this name", file=sys.stderr)
                return 1
            for row in found:
                _print(office.life_of(row))
        case "export":
            entries = await _entries(store, asked.since, asked.until + timedelta(days=1))
            if asked.format == "json":
                _print(entries)
            else:
                out = csv.DictWriter(sys.stdout, _ENTRY, lineterminator="\n")
                out.writeheader()
                out.writerows(entries)
        case _:
            now = store.clock.now()
            for row in await office.find_orphans(store, now - _FRESH):
                told = {"answerUntil": office.answer_until(row), "unsignedRefund": office.refund_of(row)}
                _print({**office.life_of(row), **told})
    return 0


async def _entries(store: Store, since: datetime, until: datetime) -> list[dict[str, Any]]:
    pools = await read_pools(store, since, until)
    entries = []
    for row in await office.find_settled(store, since, until):
        assert row.settled_at is not None
        settlement = settlement_of(row.key.network, row.mined, row.mined_index)
        entries.append(office.book_entry(row, pools.day(settlement, row.settled_at)))
    return entries


def _line(row: PaymentRow) -> str:
    proof = f"/{row.proof}" if row.proof else ""
    what = row.mined or row.transaction or row.reason or "-"
    amount = UsdgAmount(row.amount_raw).text()
    parts = (iso(row.begun_at), row.key.network, amount, checksum(row.key.payer), row.state + proof, what, row.route)
    return "  ".join(parts)


def _print(value: Any) -> None:
    print(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())
