"""`tickyard payments`: the seller's books on the terminal. It reads the store and changes nothing."""

import argparse
import csv
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime, timedelta
from functools import partial
from textwrap import indent
from typing import Any, Final, TextIO

import msgspec

from tickyard.chain.address import checksum
from tickyard.config.settings import Settings
from tickyard.features.earn.books.pools import read_pools
from tickyard.kernel.units import UsdgAmount
from tickyard.kernel.wire import iso
from tickyard.payments.books import sellers_view
from tickyard.payments.books.row import PaymentRow
from tickyard.store.engine import Store
from tickyard.store.revenue import settlement_of
from tickyard.wiring.clock import open_clock
from tickyard.wiring.store import ready_store

_ENTRY: Final = ("time", "network", "asset", "amount", "payer", "route", "transaction", "block", "creditedDay")
_FRESH: Final = timedelta(minutes=5)
"""An answer may still be on its way to its caller."""
_PAGE: Final = 20_000
"""So many payments are asked for at once: a year of them is neither one answer of a store nor kept in memory."""

Find = Callable[[int, PaymentRow | None], Awaitable[list[PaymentRow]]]
"""At most so many payments, after one of them or from the first."""


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
            which = sellers_view.Filter(asked.state, network, asked.payer, day, day and day + timedelta(days=1))
            async for page in _pages(partial(sellers_view.find_payments, store, which), asked.limit):
                for row in page:
                    print(_line(row))
        case "show":
            found = await sellers_view.find_payment(store, asked.name)
            if not found:
                print("no payment has this name", file=sys.stderr)
                return 1
            for row in found:
                _print(sellers_view.life_of(row))
        case "export":
            entries = _entries(store, asked.since, asked.until + timedelta(days=1))
            # All of it or nothing: half a month would look like a quiet one.
            with tempfile.TemporaryFile("w+", encoding="utf-8", newline="") as whole:
                await (_write_json if asked.format == "json" else _write_csv)(entries, whole)
                whole.seek(0)
                shutil.copyfileobj(whole, sys.stdout)
        case _:
            now = store.clock.now()
            for row in await sellers_view.find_orphans(store, now - _FRESH):
                told = {"answerUntil": sellers_view.answer_until(row), "unsignedRefund": sellers_view.refund_of(row)}
                _print({**sellers_view.life_of(row), **told})
    return 0


async def _pages(find: Find, most: int | None = None) -> AsyncIterator[list[PaymentRow]]:
    after = None
    while most is None or most > 0:
        limit = _PAGE if most is None else min(_PAGE, most)
        page = await find(limit, after)
        if page:
            yield page
        if len(page) < limit:
            return
        after, most = page[-1], None if most is None else most - limit


async def _entries(store: Store, since: datetime, until: datetime) -> AsyncIterator[dict[str, Any]]:
    async for page in _pages(partial(sellers_view.find_settled, store, since, until)):
        first, last = page[0].settled_at, page[-1].settled_at
        assert first is not None
        assert last is not None
        pools = await read_pools(store, first, last + timedelta(microseconds=1))
        for row in page:
            assert row.settled_at is not None
            settlement = settlement_of(row.key.network, row.mined, row.mined_index)
            yield sellers_view.book_entry(row, pools.day(settlement, row.settled_at))


async def _write_csv(entries: AsyncIterator[dict[str, Any]], out: TextIO) -> None:
    table = csv.DictWriter(out, _ENTRY, lineterminator="\n")
    table.writeheader()
    async for entry in entries:
        table.writerow(entry)


async def _write_json(entries: AsyncIterator[dict[str, Any]], out: TextIO) -> None:
    """One list, written as it grows."""
    before = "["
    async for entry in entries:
        print(before, indent(_text(entry), "  "), sep="\n", end="", file=out)
        before = ","
    print("[]" if before == "[" else "\n]", file=out)


def _line(row: PaymentRow) -> str:
    proof = f"/{row.proof}" if row.proof else ""
    what = row.mined or row.transaction or row.reason or "-"
    amount = UsdgAmount(row.amount_raw).text()
    parts = (iso(row.begun_at), row.key.network, amount, checksum(row.key.payer), row.state + proof, what, row.route)
    return "  ".join(parts)


def _print(value: Any) -> None:
    print(_text(value))


def _text(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
