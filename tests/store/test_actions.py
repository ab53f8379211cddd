"""The archive of corporate actions, on both databases."""

import asyncio
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta

import msgspec
import pytest
from sqlalchemy import select

from tickyard.features.actions.archive import archive
from tickyard.features.actions.operations import ActionsAsk, list_corporate_actions, read_status
from tickyard.features.actions.sync import sync_actions
from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import BadRequest, NotFound, UpstreamDown
from tickyard.sources.issuer.api import IssuerAction
from tickyard.store import actions
from tickyard.store.actions import corporate_action_change, recounts_between
from tickyard.store.opening import open_store
from yards.schema import lay

NOW = datetime(2026, 10, 14, 15, 30, tzinfo=UTC)
HOUR = timedelta(hours=1)


def run(where, work):
    async def go():
        store = open_store(where, WallClock())
        try:
            await lay(store)
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(go())


def action(symbol="AAPL", kind="CASH_DIVIDEND", day=date(2026, 10, 10), status="IN_PROGRESS", details=None, uid=None):
    return IssuerAction(
        asset_id=uid or f"0x{symbol.lower().encode().hex()}",
        symbol=symbol,
        type=f"CORPORATE_ACTION_TYPE_{kind}",
        status=f"CORPORATE_ACTION_STATUS_{status}",
        process_date=day,
        details=details or {"cashDividend": {"underlyingSymbol": symbol, "rate": "0.26"}},
    )


async def put(store, seen, now=NOW):
    async with store.begin() as tx:
        return await archive(tx, seen, now)


async def changes(store):
    async with store.read() as tx:
        rows = await tx.execute(select(corporate_action_change).order_by(corporate_action_change.c.at))
        return [(row.action_id, row.at, row.status.rpartition("_STATUS_")[2]) for row in rows]


async def kept(store, **filters):
    async with store.read() as tx:
        return await actions.archived(tx, **filters)


def test_an_action_is_archived_once_and_outlives_the_issuers_list(where):
    async def work(store):
        first = await put(store, [action(), action("MSFT")])
        second = await put(store, [action()], NOW + HOUR)
        third = await put(store, [], NOW + 2 * HOUR)
        async with store.read() as tx:
            return first, second, third, await kept(store), await actions.last_sync(tx), await changes(store)

    first, second, third, rows, synced_at, history = run(where, work)
    assert (first.seen, first.new, first.changed, first.touched) == (2, 2, 0, {"AAPL", "MSFT"})
    assert (second.new, second.changed, second.touched, third.seen) == (0, 0, frozenset(), 0)
    assert [row.symbol for row in rows] == ["AAPL", "MSFT"]
    assert {(row.first_seen_at, row.updated_at) for row in rows} == {(NOW, NOW)}
    assert synced_at == NOW + 2 * HOUR
    assert len(history) == 2


def test_a_change_of_status_keeps_the_id_and_is_recorded(where):
    async def work(store):
        await put(store, [action()])
        changed = await put(store, [action(status="COMPLETED")], NOW + HOUR)
        await put(store, [action(status="COMPLETED")], NOW + 2 * HOUR)
        return changed, await kept(store), await changes(store)

    changed, (row,), history = run(where, work)
    assert (changed.new, changed.changed, changed.touched) == (0, 1, {"AAPL"})
    assert (row.first_seen_at, row.updated_at, row.status) == (NOW, NOW + HOUR, "CORPORATE_ACTION_STATUS_COMPLETED")
    assert history == [(row.id, NOW, "IN_PROGRESS"), (row.id, NOW + HOUR, "COMPLETED")]


def test_several_actions_of_one_asset_stay_apart_and_one_without_a_date_is_one(where):
    seen = [
        action(),
        action(day=date(2026, 11, 10)),
        action(kind="FORWARD_SPLIT", day=date(2026, 10, 10)),
        action(kind="FORWARD_SPLIT", day=None),
    ]

    async def work(store):
        await put(store, seen)
        await put(store, list(reversed(seen)), NOW + HOUR)
        return await kept(store)

    rows = run(where, work)
    assert len({row.id for row in rows}) == len(rows) == 4


def test_the_order_of_two_rows_with_one_key_does_not_matter(where):
    twins = [action(details={"cashDividend": {"rate": rate}}) for rate in ("0.26", "1.50")]

    async def work(store):
        await put(store, twins)
        again = await put(store, twins[::-1], NOW + HOUR)
        return again, await kept(store)

    again, rows = run(where, work)
    assert (again.new, again.changed, len(rows)) == (0, 0, 1)


def test_two_processes_that_archive_at_once_record_each_change_once(where):
    async def work(store):
        other = open_store(where, WallClock())
        try:
            await asyncio.gather(put(store, [action()]), put(other, [action()], NOW + HOUR))
            await asyncio.gather(
                put(store, [action(status="COMPLETED")], NOW + 2 * HOUR),
                put(other, [action(status="COMPLETED")], NOW + 3 * HOUR),
            )
        finally:
            await other.close()
        return await kept(store), await changes(store)

    rows, history = run(where, work)
    assert len(rows) == 1
    assert [status for _, _, status in history] == ["IN_PROGRESS", "COMPLETED"]


def test_the_list_begins_with_undated_actions_and_goes_back_in_time(where):
    async def work(store):
        seen = [
            action("MSFT", day=date(2026, 10, 10)),
            action("AAPL", day=date(2026, 10, 10)),
            action("NVDA", day=date(2026, 10, 12)),
            action("TSLA", kind="FORWARD_SPLIT", day=None),
            action("CRM", kind="FORWARD_SPLIT", day=None),
            action("XOM", day=date(2025, 12, 31), status="COMPLETED"),
        ]
        await put(store, seen)
        return (
            [row.symbol for row in await kept(store)],
            [row.symbol for row in await kept(store, status="CORPORATE_ACTION_STATUS_COMPLETED")],
            [row.symbol for row in await kept(store, symbol="NVDA")],
        )

    everything, completed, nvda = run(where, work)
    assert everything == ["CRM", "TSLA", "NVDA", "AAPL", "MSFT", "XOM"]
    assert (completed, nvda) == (["XOM"], ["NVDA"])


def test_only_actions_that_recount_the_shares_take_part(where):
    async def work(store):
        await put(
            store,
            [
                action(kind="FORWARD_SPLIT", day=date(2026, 10, 5)),
                action(kind="STOCK_DIVIDEND", day=date(2026, 10, 6)),
                action(kind="REVERSE_SPLIT", day=date(2026, 10, 7), status="CANCELED"),
                action(kind="CASH_DIVIDEND", day=date(2026, 10, 8)),
                action(kind="REVERSE_SPLIT", day=None, status="COMPLETED"),
                action("MSFT", kind="FORWARD_SPLIT", day=date(2026, 10, 5)),
            ],
        )
        async with store.read() as tx:
            return (
                await recounts_between(tx, "AAPL", date(2026, 10, 4), date(2026, 10, 20)),
                await recounts_between(tx, "AAPL", date(2026, 10, 5), date(2026, 10, 6)),
                await recounts_between(tx, "AAPL", date(2026, 10, 14), date(2026, 10, 20)),
            )

    assert run(where, work) == (
        [date(2026, 10, 5), date(2026, 10, 6), NOW.date()],
        [date(2026, 10, 6)],
        [],
    )


@dataclass(frozen=True)
class Listed:
    symbol: str


class Registry:
    """Lists one asset and counts how often it is refreshed."""

    def __init__(self, *symbols, is_down=False, by_uid=None):
        self.symbols, self.is_down, self.refreshes = symbols, is_down, 0
        self.symbol_of = (by_uid or {}).get

    def all(self):
        return [Listed(symbol) for symbol in self.symbols]

    def find(self, symbol):
        if symbol not in self.symbols:
            raise NotFound("no such asset")

    async def refresh(self):
        self.refreshes += 1
        if self.is_down:
            raise UpstreamDown("the issuer did not answer")


class Issuer:
    def __init__(self, *lists):
        self.lists = list(lists)

    async def corporate_actions(self):
        found = self.lists.pop(0)
        if found is None:
            raise UpstreamDown("the issuer did not answer")
        return found


class Deps:
    def __init__(self, store, registry, issuer=None):
        self.store, self.issuer = store, issuer
        self.market = type("Market", (), {"registry": registry})()


@pytest.mark.parametrize("is_down", [False, True])
def test_an_action_of_a_listed_token_refreshes_the_registry_at_once(where, is_down):
    registry = Registry("AAPL", is_down=is_down)
    seen = [[action("GONE")], [action("GONE"), action()], [action()], [replace(action(), status=action().status + "X")]]

    async def work(store):
        deps = Deps(store, registry, Issuer(*seen))
        refreshes = []
        for _ in seen:
            await sync_actions(deps)
            refreshes.append(registry.refreshes)
        return refreshes

    assert run(where, work) == [0, 1, 1, 2]


def test_an_issuer_that_does_not_answer_leaves_the_archive_as_it_is(where):
    async def work(store):
        deps = Deps(store, Registry("AAPL"), Issuer([action()], None))
        await sync_actions(deps)
        with pytest.raises(UpstreamDown):
            await sync_actions(deps)
        return await kept(store)

    assert len(run(where, work)) == 1


def test_an_action_under_the_name_of_another_token_is_not_archived(where):
    own = action()
    registry = Registry("AAPL", "MSFT", by_uid={own.asset_id: "AAPL"})
    seen = [[replace(own, symbol="MSFT"), action("GONE")], [own], [replace(own, symbol="MSFT")]]

    async def work(store):
        symbols = []
        deps = Deps(store, registry, Issuer(*seen))
        for _ in seen:
            await sync_actions(deps)
            symbols.append(sorted(each.symbol for each in await kept(store)))
        return symbols

    assert run(where, work) == [["GONE"], ["AAPL", "GONE"], ["AAPL", "GONE"]]


def ask_list(where, seen, **ask):
    async def work(store):
        if seen:
            await put(store, seen)
        kept = await list_corporate_actions(Deps(store, Registry("AAPL")), ActionsAsk(**ask))
        return msgspec.to_builtins(kept.answer)

    return run(where, work)


def test_an_empty_archive_is_an_empty_list(where):
    assert ask_list(where, []) == {"corpActions": [], "count": 0, "asOf": None}


def test_a_record_has_the_documented_shape(where):
    answer = ask_list(where, [action(), action("GONE", kind="FORWARD_SPLIT", day=None)], symbol="AAPL")
    (record,) = answer["corpActions"]
    assert record.pop("id").startswith("ca_")
    assert record == {
        "symbol": "AAPL",
        "type": "CORPORATE_ACTION_TYPE_CASH_DIVIDEND",
        "status": "CORPORATE_ACTION_STATUS_IN_PROGRESS",
        "processDate": "2026-10-10",
        "details": {"cashDividend": {"underlyingSymbol": "AAPL", "rate": "0.26"}},
        "firstSeenAt": "2026-10-14T15:30:00Z",
        "updatedAt": "2026-10-14T15:30:00Z",
    }
    assert (answer["count"], answer["asOf"]) == (1, "2026-10-14T15:30:00Z")


def test_actions_of_an_asset_that_left_the_list_are_found_and_an_unknown_one_is_not(where):
    gone = ask_list(where, [action("GONE", day=None)], symbol="GONE")
    assert (gone["count"], gone["corpActions"][0]["processDate"]) == (1, None)
    with pytest.raises(NotFound):
        ask_list(where, [], symbol="ZZZZ")


@pytest.mark.parametrize("text", ["COMPLETED", "completed", "CORPORATE_ACTION_STATUS_COMPLETED"])
def test_a_status_may_be_short_or_full(text):
    assert read_status(text) == "CORPORATE_ACTION_STATUS_COMPLETED"


@pytest.mark.parametrize("text", ["", "1", "DONE!", "A" * 81, "\u017f"])
def test_what_cannot_be_a_status_is_refused(text):
    with pytest.raises(BadRequest):
        read_status(text)
