"""A ledger with a clock that stands still, and payments of one payer in any state."""

import asyncio
from dataclasses import replace as changed_copy
from datetime import UTC, datetime, timedelta

from msgspec.structs import asdict, replace
from sqlalchemy import update

from tickyard.kernel.clock import WallClock
from tickyard.kernel.ids import Address
from tickyard.payments.books.ledger import Ledger
from tickyard.payments.books.reply import Reply
from tickyard.payments.books.row import Reservation
from tickyard.payments.books.tables import payment
from tickyard.payments.proof.transfer import PaidTransfer
from tickyard.payments.signed.key import Key
from tickyard.store.opening import open_store
from yards.patience import STUCK_S
from yards.schema import lay

NETWORK, OTHER_NETWORK = "eip155:8453", "eip155:4663"
ASSET, PAYER, PAY_TO = (Address("0x" + digit * 40) for digit in "123")
NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
ANSWER = Reply(200, b'{"a":1}', "application/json")
SEEN = PaidTransfer("0x" + "77" * 32, 4, 1_000, "0x" + "88" * 32)
UNNAMED = changed_copy(SEEN, calldata="00")
"""The same, where the log does not name the nonce, nor its transaction."""
SEEN_AS = {"mined": SEEN.transaction, "mined_index": 4, "mined_block": 1_000, "mined_hash": SEEN.block_hash}
NOTHING_SEEN = dict.fromkeys(SEEN_AS)
MICRO = timedelta(microseconds=1)


def claim(n=1, *, network=NETWORK, **changes):
    key = Key(network, ASSET, PAYER, f"0x{n:064x}")
    made = Reservation(key, "f", "GET /x", 7, PAY_TO, 2_000, 1_900, b"request", "d", "s", "c", None)
    return replace(made, **changes)


KEY = claim().key


def after(seconds):
    return NOON + timedelta(seconds=seconds)


class Clock(WallClock):
    at = NOON

    def now(self):
        return self.at


class Book(Ledger):
    async def held(self, made=None):
        return await self.reserve(made or claim(), "me")

    async def settling(self, made=None):
        return await self.start_settling(await self.held(made), ANSWER, "far")

    async def unknown(self):
        return await self.doubt(await self.settling())

    async def settled(self, n=1):
        return await self.settle(await self.settling(claim(n)), f"0x{n:02}")

    async def failed(self):
        return await self.refuse(await self.settling(), "no")

    async def force(self, **values):
        async with self.store.begin() as tx:
            await tx.execute(update(payment).values(**values))


def run(where, scenario):
    async def bounded():
        clock = Clock()
        store = open_store(where, clock)
        await lay(store)
        try:
            async with asyncio.timeout(STUCK_S):
                await scenario(Book(store, clock, settle_s=30.0), clock)
        finally:
            await store.close()

    asyncio.run(bounded())


def changed(before, now):
    """What of a row is another than before."""
    old = asdict(before)
    return {name: value for name, value in asdict(now).items() if value != old[name]}
