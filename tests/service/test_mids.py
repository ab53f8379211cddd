"""How long an equity quote is reused, and how long it stands in for a silent issuer."""

import asyncio
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Symbol
from tickyard.market.mids import Mids, NoQuote
from tickyard.sandbox.standins.faults import FaultBoard
from tickyard.sandbox.standins.issuer import IssuerStandIn
from tickyard.sandbox.standins.process import open_port
from tickyard.sandbox.world import listing
from tickyard.sources.http import Source
from tickyard.sources.issuer.api import MAX_BYTES, Issuer

START = datetime(2026, 10, 14, 15, 30, tzinfo=UTC)
AAPL = Symbol("AAPL")
A_MOMENT = timedelta(microseconds=1)


class SetClock(WallClock):
    """Stands at a chosen moment, whatever is waited for."""

    moment = START

    def now(self):
        return self.moment

    def timestamp(self):
        return self.moment.timestamp()

    def monotonic(self):
        return self.moment.timestamp()


def with_mids(work, stand_in=IssuerStandIn):
    async def run():
        board, clock = FaultBoard(), SetClock()
        listed = listing.load()
        runner, port = await open_port([stand_in(board, clock, listed, began=START)])
        address = f"http://127.0.0.1:{port}/issuer"
        source = Source("issuer", address, clock=clock, rng=Random(1), max_bytes=MAX_BYTES, tries=1)
        await source.start()
        try:
            symbols = {each.address.lower(): each.symbol for each in listed if each.address}
            return await work(Mids(Issuer(source), clock, symbols.get), board, clock)
        finally:
            await source.close()
            await runner.cleanup()

    return asyncio.run(run())


def test_a_quote_is_reused_for_five_seconds():
    async def work(mids, _board, clock):
        first = await mids.all()
        quote, seconds = await mids.one(AAPL)
        assert (seconds, mids.reuse_s(first)) == (5, 5)
        clock.moment += timedelta(seconds=5)
        assert await mids.all() is first
        assert (await mids.one(AAPL))[0] is quote
        clock.moment += A_MOMENT
        assert (await mids.all()).fetched.wall == clock.timestamp()
        assert (await mids.one(AAPL))[0] is not quote

    with_mids(work)


def test_an_answer_made_from_a_quote_lives_as_long_as_the_quote():
    async def work(mids, _board, clock):
        copy = await mids.all()
        left = []
        for _ in range(6):
            left.append(mids.reuse_s(copy))
            clock.moment += timedelta(seconds=1)
        assert left == [5, 4, 3, 2, 1, 10]

    with_mids(work)


def test_while_the_issuer_is_silent_a_quote_stands_in_until_it_is_fifteen_seconds_old():
    async def work(mids, board, clock):
        first = await mids.all()
        quote, _ = await mids.one(AAPL)
        board.set("issuer", "down")
        clock.moment += timedelta(seconds=15)
        assert await mids.all() is first
        assert await mids.one(AAPL) == (quote, 0)
        clock.moment += A_MOMENT
        with pytest.raises(UpstreamDown):
            await mids.all()
        with pytest.raises(UpstreamDown):
            await mids.one(AAPL)

    with_mids(work)


def test_a_symbol_that_the_issuer_does_not_quote_is_told_from_a_silent_issuer():
    async def work(mids, _board, _clock):
        with pytest.raises(NoQuote, match="no quote for NOPE"):
            await mids.one(Symbol("NOPE"))

    with_mids(work)


class Mislabeller(IssuerStandIn):
    """Quotes two tokens under each other's names, and a third at an address that nobody knows."""

    def _quote(self, listed, now):
        names = {"AAPL": "MSFT", "MSFT": "AAPL"}
        row = super()._quote(self._listed[names.get(listed.symbol, listed.symbol)], now)
        if listed.symbol == "TSLA":
            row["deployments"][0]["contractAddress"] = "0x" + "ab" * 20
        return row | {"tokenSymbol": listed.symbol}


def test_the_quote_of_another_token_is_nobodys():
    async def work(mids, _board, _clock):
        quotes = (await mids.all()).value
        assert {"AAPL", "MSFT", "TSLA", "NVDA"} & quotes.keys() == {"TSLA", "NVDA"}
        for symbol in ("AAPL", "MSFT"):
            with pytest.raises(NoQuote, match="another token"):
                await mids.one(Symbol(symbol))
        assert (await mids.one(Symbol("TSLA")))[0].mid == quotes["TSLA"].mid

    with_mids(work, Mislabeller)
