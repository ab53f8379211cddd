"""Many payments that are looked up at the same moment."""

import asyncio
import contextlib
import random

import pytest

from tickyard.kernel.clock import WallClock, breathe
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.payments.books.ledger import Ledger
from tickyard.payments.books.line import AT_ONCE, Line
from tickyard.payments.offer.terms import SECOND
from tickyard.payments.signed.key import Key
from tickyard.store.migrate import migrate
from tickyard.store.sqlite.engine import SqliteStore


class WatchedStore(SqliteStore):
    """Counts how many look at the same time, each for a moment."""

    now_looking = most = 0

    @contextlib.asynccontextmanager
    async def glance(self):
        self.now_looking += 1
        self.most = max(self.most, self.now_looking)
        try:
            async with super().glance() as tx:
                await breathe()
                yield tx
        finally:
            self.now_looking -= 1


def test_a_crowd_of_payments_takes_a_few_connections_and_all_are_looked_up(tmp_path):
    async def run():
        store = WatchedStore(tmp_path / "store.db", WallClock(), random.Random(1))
        try:
            await migrate(store)
            ledger, store.most = Ledger(store, WallClock()), 0
            keys = [
                Key(SECOND, Address("0x" + "aa" * 20), Address("0x" + "bb" * 20), f"0x{n:064x}") for n in range(400)
            ]
            found = await asyncio.gather(*(ledger.find(key) for key in keys))
        finally:
            await store.close()
        assert found == [None] * 400
        assert store.most == AT_ONCE

    asyncio.run(run())


def test_whoever_waits_too_long_is_told_so_and_leaves_the_place_to_the_next():
    async def run():
        line = Line(at_once=1, patience_s=0.01)
        async with line.turn():
            with pytest.raises(UpstreamDown):
                async with line.turn():
                    pass
        for _ in range(2):
            async with line.turn():
                pass

    asyncio.run(run())
