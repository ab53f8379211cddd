"""Alerts: a round over a million active ones, ten thousand firing at once, and their delivery over TLS.

    python -m bench alerts             on both databases
    python -m bench.alerts receive     a webhook receiver that counts

The reference of a round in which nothing fires is one look at every active alert.
"""

import asyncio
import json
import sys
import time
from datetime import UTC, datetime, timedelta
from random import Random
from ssl import create_default_context
from statistics import median

import uvloop
from sqlalchemy import func, text, update

from bench.kept import Kept
from bench.paper import DatedClock
from bench.ratios import Figure, Times, show, side_by_side
from bench.reference import start
from tickyard.features.alerts.deliver import Courier
from tickyard.features.alerts.evaluate import evaluate
from tickyard.features.alerts.rules import Delivery
from tickyard.features.alerts.secret import AlertKeys
from tickyard.features.alerts.store import alert
from tickyard.features.alerts.webhook.addresses import EgressPolicy
from tickyard.features.alerts.webhook.egress import Egress
from tickyard.market.sampling.rounds import Round, slot_number
from tickyard.store.engine import Store
from tickyard.store.opening import open_store
from tickyard.store.statement import Bulk
from yards import parcels
from yards.webhook_receiver import Authority, Receiver, StubResolver

DATABASES = ("SQLite", "PostgreSQL")
ALERTS, TOKENS, FIRED = 1_000_000, 194, 10_000
PRICE, STEP = 100 * 10**9, 10**6
FIRST_STEP = 1_000
"""Thresholds begin at some distance from the price, and then come one per step, above and below."""
QUIET_GOAL, DELIVERED_GOAL = 0.02, 100.0
RECORDED_TIMES = 5
HOSTS = 400
MADE = datetime(2026, 10, 1, tzinfo=UTC)
TAKEN = MADE + timedelta(days=1)
"""The moment of all of it: what fired an hour ago is not delivered any more."""
KEYS = AlertKeys({1: b"k" * 32})
_PER_INSERT = 20_000


def threshold(nth: int, *, is_above: bool) -> int:
    distance = (FIRST_STEP + nth) * STEP
    return PRICE + distance if is_above else PRICE - distance


def row(at: int, rng: Random) -> dict:
    token, nth, is_above = at % TOKENS + 1, at // TOKENS // 2, (at // TOKENS) % 2 == 0
    host = f"h{at % HOSTS}.acme.com"
    return {
        "id": f"{rng.getrandbits(128):032x}",
        "symbol": f"T{token}",
        "token_id": token,
        "condition": "above" if is_above else "below",
        "price_e9": threshold(nth, is_above=is_above),
        "webhook_url": f"https://{host}:8443/alerts/{at}",
        "host": host,
        "domain": "acme.com",
        "client": f"10.{at % 200}.0.0",
        "key_version": 1,
        "status": "active",
        "created_at": MADE,
        "expires_at": MADE + timedelta(days=30),
        "fired_at": None,
        "fired_price_e9": None,
        "delivery": None,
    }


async def fill(store: Store, alerts: int = ALERTS) -> None:
    rng, bulk = Random(5), Bulk(alert)
    async with store.begin() as tx:
        # Ids and thresholds land all over their indexes.
        await tx.execute(text("PRAGMA cache_size = -400000"))
    for begin in range(0, alerts, _PER_INSERT):
        async with store.begin() as tx:
            await bulk.run(tx, [row(at, rng) for at in range(begin, min(begin + _PER_INSERT, alerts))])


MILLION = Kept("alerts", fill, {"alert": "rowid"})
# The plainest look at every alert that both databases can be made to take.
SCANS = {
    "SQLite": "SELECT count(*) FROM alert NOT INDEXED WHERE status = 'active' AND price_e9 BETWEEN :low AND :high",
    "PostgreSQL": "SELECT count(*) FROM alert WHERE status || '' = 'active' AND price_e9 BETWEEN :low AND :high",
}


async def quiet(database: str, store: Store) -> Times:
    """Every token moves, and no threshold lies between."""
    scan = text(SCANS[database])
    async with store.begin() as tx:

        async def ours(at: int) -> None:
            up = at % 2 * 2 - 1
            moved = dict.fromkeys(range(1, TOKENS + 1), PRICE + up * (at % 7 + 1) * STEP)
            taken = Round(slot_number(TAKEN) + at, 1, "0x", moved, 0, TAKEN)
            if await evaluate(tx, taken, dict.fromkeys(moved, PRICE)):
                raise RuntimeError("an alert fired that should not")

        async def theirs(_at: int) -> None:
            found = await tx.execute(scan, {"low": PRICE - STEP, "high": PRICE + STEP})
            if found.scalar_one():
                raise RuntimeError("there is an alert where none should be")

        name = f"{database}, a round over a million alerts"
        return await side_by_side(name, ours, theirs, QUIET_GOAL, blocks=5, each=7)


class Riser:
    """Each round lifts every price far enough to fire the next so many."""

    def __init__(self, store: Store, fired: int = FIRED) -> None:
        self._store = store
        self.fired = fired
        self._nth = dict.fromkeys(range(1, TOKENS + 1), 0)
        self._price = dict.fromkeys(range(1, TOKENS + 1), PRICE)

    async def fire(self) -> float:
        """How many milliseconds until so many alerts and their parcels are recorded."""
        for token in self._nth:
            self._nth[token] += self.fired // TOKENS + (token <= self.fired % TOKENS)
        prices = {token: threshold(nth - 1, is_above=True) for token, nth in self._nth.items()}
        began = time.perf_counter()
        async with self._store.begin() as tx:
            fired = await evaluate(tx, Round(slot_number(TAKEN), 1, "0x", prices, 0, TAKEN), self._price)
        took = (time.perf_counter() - began) * 1000
        self._price = prices
        if fired != self.fired:
            raise RuntimeError(f"{fired} alerts fired")
        return took


def courier_to(store: Store, port: int, pem: str) -> Courier:
    hosts = ["127.0.0.1", *(f"h{n}.acme.com" for n in range(HOSTS))]
    egress = Egress(
        EgressPolicy(allowed_extra=frozenset((host, port) for host in hosts)),
        StubResolver(always=["127.0.0.1"]),
        create_default_context(cadata=pem),
        store.clock,
    )
    return Courier(store, egress, KEYS, store.clock, Random(6), user_agent="bench")


async def deliver(store: Store, riser: Riser) -> tuple[float, float]:
    """Milliseconds to record what fires, and how many of them are delivered per second."""
    async with start(sys.executable, "-m", "bench.alerts", "receive") as told:
        async with store.begin() as tx:
            near = alert.c.price_e9 <= threshold(riser.fired // TOKENS, is_above=True)
            here = func.replace(alert.c.webhook_url, ":8443/", f":{told['port']}/")
            await tx.execute(update(alert).where(near, alert.c.condition == "above").values(webhook_url=here))
        recorded = await riser.fire()
        courier = courier_to(store, told["port"], told["pem"])
        began = time.perf_counter()
        await parcels.deliver_due(courier)
        took = time.perf_counter() - began
    if courier.counts != {Delivery.DELIVERED: riser.fired}:
        raise RuntimeError(f"delivered: {dict(courier.counts)}")
    return recorded, riser.fired / took


async def receive() -> None:
    authority = Authority()
    async with Receiver(authority.serving("*.acme.com")) as receiver:
        print(json.dumps({"port": receiver.port, "pem": authority.pem.decode()}), flush=True)
        await asyncio.Event().wait()


async def run() -> tuple[list[Times], list[Figure]]:
    rows, figures = [], []
    for database in DATABASES:
        async with MILLION.on(database) as where:
            store = open_store(where, DatedClock(TAKEN))
            try:
                rows.append(await quiet(database, store))
                riser = Riser(store)
                first, rate = await deliver(store, riser)
                recorded = [first, *[await riser.fire() for _ in range(RECORDED_TIMES - 1)]]
            finally:
                await store.close()
        what = f"{database}, {FIRED:,} fired and recorded in one transaction"
        figures.append(Figure(what, median(recorded), "ms"))
        figures.append(Figure(f"{database}, delivered over TLS", rate, "per second", DELIVERED_GOAL, is_floor=True))
    return rows, figures


def main(_arguments: list[str]) -> int:
    return show(*uvloop.run(run()))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["receive"]:
            uvloop.run(receive())
        case _:
            sys.exit(main(sys.argv[1:]))
