"""The filings client against a database that throttles, refuses strangers, says "unchanged", hangs and cuts off."""

import asyncio
import gzip
import time
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import aiohttp
import pytest
from aiohttp import web

from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import UpstreamDown
from tickyard.sandbox.filings.server import FilingsStandIn
from tickyard.sandbox.standins.faults import FaultBoard
from tickyard.sandbox.standins.process import open_port
from tickyard.sources.filings.database import (
    Document,
    Filings,
    Marks,
    Missing,
    Unchanged,
    Unreadable,
    company_path,
    facts_path,
    open_source,
)
from tickyard.store.opening import open_store
from tickyard.store.shared_pace import SharedPace
from yards.clocks import SkippingClock
from yards.patience import STUCK_S
from yards.schema import lay

APPLE = 320193
COMPANY = b'{"cik":"0000320193","name":"Apple Inc.","tickers":["AAPL"],"exchanges":["Nasdaq"]}'
FACTS = b'{"cik":320193,"facts":{}}'
NESTED = b'{"cik":320193,"facts":' + b"[" * 1_000_000


class Server:
    """Answers the n-th request with the n-th reply (the last one again)."""

    def __init__(self, *replies):
        self.replies = replies
        self.requests = []
        self.times = []

    def add_to(self, app):
        app.router.add_get("/{path:.+}", self.answer)

    async def answer(self, request):
        self.requests.append(request)
        self.times.append(time.monotonic())
        return await self.replies[min(len(self.requests), len(self.replies)) - 1](request)


def body(content, status=200, **headers):
    async def reply(_request):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(status=status, body=content, content_type="application/json", headers=named)

    return reply


async def hang(_request):
    await asyncio.Event().wait()


async def cut_off(request):
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": "500"})
    await response.prepare(request)
    await response.write(COMPANY)
    request.transport.abort()
    return response


@asynccontextmanager
async def client(server, where, *, contact="ops@example.com", clock=None, per_second=10_000, patience_s=5, quiet_s=600):
    clock = clock or SkippingClock()
    runner, port = await open_port([server])
    store = open_store(Path(where), clock)
    await lay(store)
    pace = SharedPace(store, "filings", per_second=per_second, patience_s=patience_s)
    source = open_source(
        "filings", f"http://127.0.0.1:{port}/filings", contact, pace, clock=clock, rng=Random(1), budget_s=1, try_s=0.4
    )
    await source.start()
    try:
        yield Filings(source, source, pace, quiet_s=quiet_s), source
    finally:
        await source.close()
        await store.close()
        await runner.cleanup()


def ask(server, tmp_path, use, **options):
    async def go():
        async with asyncio.timeout(STUCK_S), client(server, tmp_path / "tickyard.db", **options) as (filings, source):
            return await use(filings, source)

    return asyncio.run(go())


async def outcome(awaitable):
    try:
        return await awaitable
    except UpstreamDown as failure:
        return failure


def test_a_document_comes_with_its_marks_and_the_database_learns_who_asks(tmp_path):
    server = Server(body(COMPANY, ETag='"v1"', Last_Modified="Wed, 16 Sep 2026 00:00:00 GMT"))
    found = ask(server, tmp_path, lambda filings, _: filings.company(APPLE, Marks()))
    assert (found.value.name, found.value.exchanges) == ("Apple Inc.", ("Nasdaq",))
    assert found.marks == Marks('"v1"', "Wed, 16 Sep 2026 00:00:00 GMT")
    (request,) = server.requests
    assert request.path == f"/filings/{company_path(APPLE)}"
    assert request.headers["User-Agent"] == "tickyard ops@example.com"
    assert request.headers["Accept-Encoding"] == "gzip"
    assert "If-None-Match" not in request.headers


def test_an_unchanged_document_is_not_sent_again(tmp_path):
    async def reply(request):
        same = request.headers.get("If-None-Match") == '"v1"' and "If-Modified-Since" in request.headers
        return web.Response(status=304 if same else 500)

    found = ask(Server(reply), tmp_path, lambda filings, _: filings.facts(APPLE, Marks('"v1"', "Wed, 16 Sep 2026")))
    assert isinstance(found, Unchanged)


def test_unchanged_without_having_asked_is_no_answer(tmp_path):
    found = ask(Server(body(b"", 304)), tmp_path, lambda filings, _: outcome(filings.facts(APPLE, Marks())))
    assert isinstance(found, UpstreamDown)


@pytest.mark.parametrize("mark", ['"a\tb"', "é", "x" * 300])
def test_a_mark_that_is_no_plain_text_is_not_kept(tmp_path, mark):
    server = Server(body(COMPANY, ETag=mark))
    assert ask(server, tmp_path, lambda filings, _: filings.company(APPLE, Marks())).marks == Marks()


def test_a_stranger_is_refused_and_everybody_is_silent_afterwards(tmp_path):
    stand_in = FilingsStandIn(FaultBoard(), WallClock(), {})
    clock = SkippingClock()

    async def use(filings, source):
        first = await outcome(filings.tickers(Marks()))
        second = await outcome(filings.company(APPLE, Marks()))
        asked = sum(source.counts.values())
        clock.move(601)
        await outcome(filings.tickers(Marks()))
        return first, second, asked, source.counts

    first, second, asked, counts = ask(stand_in, tmp_path, use, contact="", clock=clock)
    assert (first.retry_after_s, 590 <= second.retry_after_s <= 600) == (600, True)
    assert asked == 1
    assert counts == {"refused": 2}


def test_a_throttled_client_asks_no_second_time(tmp_path):
    server = Server(body(b"slow down", 429), body(COMPANY))
    clock = SkippingClock()

    async def use(filings, _):
        seen = [await outcome(filings.company(APPLE, Marks())) for _ in range(3)]
        clock.move(6)
        return seen, await filings.company(APPLE, Marks())

    seen, healed = ask(server, tmp_path, use, clock=clock, quiet_s=5)
    assert all(isinstance(each, UpstreamDown) for each in seen)
    assert isinstance(healed, Document)
    assert len(server.requests) == 2


def test_a_silence_outlives_the_process(tmp_path):
    first = ask(Server(body(b"", 403)), tmp_path, lambda filings, _: outcome(filings.company(APPLE, Marks())))
    server = Server(body(COMPANY))
    second = ask(server, tmp_path, lambda filings, _: outcome(filings.company(APPLE, Marks())))
    assert isinstance(first, UpstreamDown)
    assert isinstance(second, UpstreamDown)
    assert server.requests == []


@pytest.mark.parametrize("bad", [hang, cut_off, body(COMPANY[:40]), body(b"", 500), body(b"<html>")])
def test_one_bad_try_is_followed_by_a_good_one(tmp_path, bad):
    server = Server(bad, body(COMPANY))
    found = ask(server, tmp_path, lambda filings, _: filings.company(APPLE, Marks()))
    assert found.value.name == "Apple Inc."
    assert len(server.requests) == 2


@pytest.mark.parametrize("bad", [hang, cut_off, body(COMPANY[:40]), body(b"", 500), body(b"<html>"), body(NESTED)])
def test_a_company_that_cannot_be_read_is_upstream_down_within_the_budget(tmp_path, bad):
    began = time.monotonic()
    found = ask(Server(bad), tmp_path, lambda filings, _: outcome(filings.company(APPLE, Marks())))
    assert isinstance(found, UpstreamDown)
    assert found.message.startswith("the filings database ")
    assert time.monotonic() - began < 3


def test_facts_that_are_missing_or_nonsense_are_answers(tmp_path):
    async def use(filings, _):
        return [await filings.facts(APPLE, Marks()) for _ in range(4)]

    server = Server(body(b"<Error/>", 404), body(NESTED), body(b'{"cik":1,"facts":{}}'), body(FACTS))
    missing, nested, of_another, sound = ask(server, tmp_path, use)
    assert isinstance(missing, Missing)
    assert isinstance(nested, Unreadable)
    assert isinstance(of_another, Unreadable)
    assert sound.value.concepts == {}
    assert server.requests[0].path == f"/filings/{facts_path(APPLE)}"


def test_facts_cut_off_on_the_way_are_a_failed_try(tmp_path):
    found = ask(Server(body(FACTS[:-3])), tmp_path, lambda filings, _: outcome(filings.facts(APPLE, Marks())))
    assert isinstance(found, UpstreamDown)


@pytest.mark.slow
def test_a_body_that_never_ends_is_not_read_to_its_end(tmp_path):
    bomb = gzip.compress(b'{"cik":320193,"facts":{"x":"' + b" " * 40_000_000)

    async def reply(_request):
        headers = {"Content-Encoding": "gzip"}
        return web.Response(body=bomb, content_type="application/json", headers=headers)

    found = ask(Server(reply), tmp_path, lambda filings, _: outcome(filings.facts(APPLE, Marks())))
    assert isinstance(found, UpstreamDown)


def test_an_empty_list_of_tickers_is_no_list(tmp_path):
    found = ask(Server(body(b"{}")), tmp_path, lambda filings, _: outcome(filings.tickers(Marks())))
    assert isinstance(found, UpstreamDown)


def test_two_processes_together_stay_below_eight_requests_a_second(tmp_path):
    server = Server(body(COMPANY))

    async def go():
        where = tmp_path / "tickyard.db"
        async with (
            client(server, where, per_second=8, clock=WallClock()) as (one, _),
            client(server, where, per_second=8, clock=WallClock()) as (other, _),
        ):
            await asyncio.gather(*(each.company(APPLE, Marks()) for each in (one, other) * 7))

    asyncio.run(go())
    times = sorted(server.times)
    assert len(times) == 14
    # Seen from the other end, where what was sent evenly arrives a little unevenly.
    assert all(late - early > 0.95 for early, late in zip(times, times[8:], strict=False))
    assert times[-1] - times[0] < 13 * 0.25


def test_who_would_wait_too_long_is_told_at_once(tmp_path):
    server = Server(body(COMPANY))

    async def use(filings, _):
        return await asyncio.gather(*(outcome(filings.company(APPLE, Marks())) for _ in range(6)))

    found = ask(server, tmp_path, use, per_second=2, patience_s=1)
    refused = [each for each in found if isinstance(each, UpstreamDown)]
    assert len(refused) >= 3
    assert {each.retry_after_s for each in refused} <= {1, None}


def ask_stand_in(headers):
    """Status, headers and the bytes on the wire of the sandbox's database, as a plain client gets them."""

    async def go():
        desk = FilingsStandIn(FaultBoard(), WallClock(), {facts_path(APPLE): FACTS})
        runner, port = await open_port([desk])
        session = aiohttp.ClientSession(
            f"http://127.0.0.1:{port}", auto_decompress=False, skip_auto_headers=("Accept-Encoding", "User-Agent")
        )
        try:
            async with session, session.get(f"/filings/{facts_path(APPLE)}", headers=headers) as response:
                return response.status, response.headers, await response.read()
        finally:
            await runner.cleanup()

    return asyncio.run(go())


KNOWN = {"User-Agent": "tickyard ops@example.com"}


@pytest.mark.parametrize(
    ("accepted", "is_packed"),
    [
        ("gzip", True),
        ("gzip, deflate", True),
        ("br;q=1.0, GZIP;q=0.5", True),
        ("*", True),
        ("identity", False),
        ("identity, gzip;q=0", False),
        ("*;q=0, identity", False),
        ("br", False),
        (None, False),
    ],
)
def test_the_stand_in_packs_only_for_who_asks_for_it(accepted, is_packed):
    status, headers, content = ask_stand_in(KNOWN | ({"Accept-Encoding": accepted} if accepted else {}))
    assert (status, headers.get("Content-Encoding")) == (200, "gzip" if is_packed else None)
    assert (gzip.decompress(content) if is_packed else content) == FACTS
    assert headers["Vary"] == "Accept-Encoding"


@pytest.mark.parametrize("accepted", ["gzip", "identity"])
def test_the_stand_in_knows_its_own_mark_again(accepted):
    asked = KNOWN | {"Accept-Encoding": accepted}
    mark = ask_stand_in(asked)[1]["ETag"]
    for told in (mark, f"W/{mark}", f'"other", {mark}', "*"):
        status, headers, content = ask_stand_in(asked | {"If-None-Match": told})
        assert (status, content, headers["ETag"]) == (304, b"", mark)
    assert ask_stand_in(asked | {"If-None-Match": '"other"'})[0] == 200


@pytest.mark.parametrize("agent", [None, "", "python-requests/2.32", "tickyard"])
def test_the_stand_in_refuses_who_gives_no_contact_even_what_has_not_changed(agent):
    named = {"User-Agent": agent} if agent is not None else {}
    status, headers, _ = ask_stand_in(named | {"If-None-Match": "*"})
    assert status == 403
    assert headers["Content-Type"].startswith("text/html")
