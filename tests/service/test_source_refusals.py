"""Answers of the issuer that are sound JSON and still cannot be believed."""

import asyncio
from random import Random

import msgspec
import pytest
from aiohttp import web

from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import UpstreamDown
from tickyard.sandbox.standins.process import open_port
from tickyard.sources.http import Source
from tickyard.sources.issuer.api import MAX_BYTES, Issuer


class Served:
    """One body for every path, to see what the reader makes of it."""

    def __init__(self, body, status=200):
        self.body, self.status = body, status

    def add_to(self, app):
        app.router.add_get("/issuer/{path:.+}", self.answer)

    async def answer(self, _request):
        return web.Response(status=self.status, body=self.body, content_type="application/json")


def read(body, use, status=200):
    async def run():
        runner, port = await open_port([Served(body, status)])
        try:
            url = f"http://127.0.0.1:{port}/issuer"
            source = Source("issuer", url, clock=WallClock(), rng=Random(1), max_bytes=MAX_BYTES, tries=1)
            await source.start()
            try:
                return await use(Issuer(source))
            finally:
                await source.close()
        finally:
            await runner.cleanup()

    return asyncio.run(run())


def an_asset(number, **changes):
    return {
        "id": hex(number + 1),
        "tokenSymbol": f"S{number}",
        "tokenName": f"Company {number}",
        "deployments": [{"contractAddress": f"0x{number + 1:040x}", "chainId": 4663}],
        "currentMultiplier": "1",
        "status": "ASSET_STATUS_ACTIVE",
        "tokenDecimals": 18,
    } | changes


def read_assets(entries):
    return read(msgspec.json.encode({"assets": entries}), lambda issuer: issuer.assets())


def test_a_broken_entry_is_dropped_and_counted():
    found = read_assets([an_asset(n) for n in range(19)] + [an_asset(19, tokenDecimals=6)])
    assert len(found.assets) == 19
    assert len(found.broken) == 1


@pytest.mark.parametrize(
    "entries",
    [
        [],
        [an_asset(n) for n in range(18)] + [an_asset(18, tokenDecimals=6)],
    ],
    ids=["none at all", "more than one in twenty broken"],
)
def test_a_listing_that_cannot_be_trusted_is_refused(entries):
    with pytest.raises(UpstreamDown, match="gave no usable answer"):
        read_assets(entries)


OTHER_QUOTE = msgspec.json.encode(
    {
        "quotes": [
            {
                "tokenSymbol": "B",
                "bid": "1",
                "ask": "1",
                "currency": "USD",
                "isTradingHalt": False,
                "generatedAt": "2026-10-14T15:30:00Z",
            }
        ]
    }
)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"quotes":[]}', 200),
        (b'{"quotes":{}}', 200),
        (b"[]", 200),
        (b'{"code":5}', 200),
        (b'{"code":14}', 404),
        (b"{}", 404),
        (b"<html>", 404),
        (OTHER_QUOTE, 200),
    ],
)
def test_an_answer_about_something_else_is_no_quote(body, status):
    with pytest.raises(UpstreamDown):
        read(body, lambda issuer: issuer.quote("A"), status)


def test_no_actions_at_all_is_a_fine_answer():
    assert read(b'{"corpActions":[]}', lambda issuer: issuer.corporate_actions()) == []
