"""Who calls during the storm, and what of the answers must hold."""

import asyncio
import random
import time
from collections import Counter, defaultdict

import aiohttp

from storm import CLOCK

LIMIT_S = 6.0
"""How long a 502 may take."""
SLOT_S = 300
TRADED_S = 8
"""How long the trader's round may last, with the answers that were kept from before it."""


def figures(path, answer):
    """What of an answer does not change while nobody trades: the sandbox's trader does, once in five minutes."""
    if path.startswith("/v1/quote"):
        return {
            name: answer[name] for name in ("symbol", "side", "usdgAmount", "tokenAmount", "token") if name in answer
        }
    if path.startswith("/v1/assets/"):
        return {name: answer[name] for name in ("symbol", "address", "isin") if name in answer}
    if path.startswith("/v1/portfolio/"):
        return {name: answer[name] for name in ("address", "totalUsd", "valueUsd") if name in answer}
    if path.startswith("/v1/stats/"):
        return {"symbol": answer["symbol"], "dexUsd": answer["price"]["dexUsd"]}
    if path.startswith("/v1/research/"):
        # The market value moves with the equity's price.
        facts = {name: value for name, value in answer["facts"].items() if name != "marketCap"}
        return {"facts": facts, "underlying": answer["underlying"]}
    return None


class Traffic:
    def __init__(self, base, paths, build, alert, seed):
        self.base, self.paths, self.build, self.alert = base, paths, build, alert
        self.rng = random.Random(seed)
        self.truth = {}
        self.is_trading = False
        """Whether the trader's round is on: figures may be those of before it or after it."""
        self.statuses = Counter()
        self.wrong, self.slow = [], []
        self.slowest_502_s = 0.0
        self.by_fault = defaultdict(Counter)
        self.fault = "calm"
        self.kept_alerts = []
        self.is_over = False

    async def learn(self, session, base):
        """The right figures, from a process whose node and issuer nobody spoils."""
        truth = {}
        for path in self.paths:
            async with session.get(base + path) as answer:
                assert answer.status == 200, (path, await answer.text())
                truth[path] = figures(path, await answer.json())
        self.truth = truth

    async def run(self, callers, calm):
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=callers + 1)) as session:
            await self.learn(session, calm)
            trades = asyncio.create_task(self._follow_trades(session, calm))
            await asyncio.gather(*(self._call_on(session) for _ in range(callers)))
            trades.cancel()

    async def _follow_trades(self, session, calm):
        while True:
            await CLOCK.sleep(SLOT_S - CLOCK.now().timestamp() % SLOT_S - 1)
            self.is_trading = True
            await CLOCK.sleep(1 + TRADED_S)
            while self.is_trading:
                try:
                    await self.learn(session, calm)
                    self.is_trading = False
                except (AssertionError, aiohttp.ClientError):
                    # It shares the database that is being restarted.
                    await CLOCK.sleep(0.5)

    async def _call_on(self, session):
        while not self.is_over:
            await self._once(session)
            await CLOCK.sleep(self.rng.uniform(0, 0.08))

    async def _once(self, session):
        luck, fault, began = self.rng.random(), self.fault, time.monotonic()
        was_trading = self.is_trading
        method, path, body = "GET", self.rng.choice(self.paths), None
        if luck < 0.06:
            method, path, body = "POST", "/v1/trade/build", self.build
        elif luck < 0.08:
            method, path, body = "POST", "/v1/alerts", self.alert
        try:
            async with session.request(
                method, self.base + path, json=body, timeout=aiohttp.ClientTimeout(total=60)
            ) as answer:
                status, said = answer.status, await answer.read()
                told = await answer.json(content_type=None) if said[:1] == b"{" else None
        except (aiohttp.ClientError, OSError, TimeoutError) as trouble:
            self.statuses[type(trouble).__name__] += 1
            self.by_fault[fault][type(trouble).__name__] += 1
            return
        took = time.monotonic() - began
        self.statuses[status] += 1
        self.by_fault[fault][status] += 1
        if status == 502:
            self.slowest_502_s = max(self.slowest_502_s, took)
            if took > LIMIT_S:
                self.slow.append((fault, path, round(took, 2)))
        elif status == 201 and path == "/v1/alerts":
            self.kept_alerts.append((told["id"], told["secret"]))
        elif status == 200 and method == "GET":
            seen = figures(path, told)
            if seen != self.truth[path] and not self.is_trading and not was_trading:
                self.wrong.append((fault, path, seen, self.truth[path]))
        elif status == 503 and not said:
            # The proxy's own word: none of the processes says that it is ready.
            return
        elif status == 400 and path == "/v1/alerts" and "active" in told["error"]["message"]:
            # One host has as many as it may.
            return
        elif status not in (200, 201, 429):
            self.wrong.append((fault, path, status, said[:200]))
