"""On PostgreSQL each process has an account that can do its own work and nothing else."""

import asyncio
import random
from datetime import timedelta

import psycopg
import pytest
from sqlalchemy import text

from tickyard.features.earn import rules
from tickyard.features.earn.days.epochs import run_due
from tickyard.kernel.errors import UpstreamDown
from tickyard.store.opening import open_store
from yards.reward_days import (
    ALICE,
    EPOCH,
    THRESHOLD,
    TOKEN,
    Chain,
    Faults,
    FrailRpc,
    HandClock,
    Process,
    Town,
)
from yards.schema import lay


@pytest.mark.database
def test_on_postgresql_the_api_cannot_write_epochs_snapshots_revenue_or_payouts(postgres_server):
    url = postgres_server.new_database()

    async def make():
        store = open_store(url, HandClock(rules.starts_at(EPOCH)), random.Random(1))
        await lay(store)
        await store.close()

    asyncio.run(make())
    may = {
        "tickyard_api": {"earn_claim", "payment", "alert"},
        "tickyard_worker": {"earn_epoch", "earn_share", "earn_close", "revenue", "holder_balance", "alert"},
        "tickyard_payout": {"earn_line", "earn_batch", "earn_tally", "earn_desk_mark", "earn_halt", "lease"},
    }
    may_not = {
        "tickyard_api": {"earn_epoch", "earn_share", "earn_credit", "earn_rollover", "earn_close", "revenue",
                         "earn_line", "earn_batch", "earn_tally", "earn_halt", "earn_books", "holder_balance", "holder_transfer", "holder_mark"},
        "tickyard_worker": {"earn_line", "earn_batch", "earn_tally", "earn_halt", "earn_claim"},
        "tickyard_payout": {"earn_claim", "earn_epoch", "earn_share", "earn_close", "revenue", "payment", "alert"},
    }  # fmt: skip
    with psycopg.connect(url, autocommit=True) as connection:
        for role, tables in (*may.items(), *may_not.items()):
            for table in tables:
                allowed = connection.execute(
                    "SELECT has_table_privilege(%s, %s, 'INSERT') AND has_table_privilege(%s, %s, 'UPDATE')",
                    (role, table, role, table),
                ).fetchone()[0]
                assert allowed == (table in may[role]), f"{role} on {table}"
        connection.execute("SET ROLE tickyard_api")
        for statement in (
            "INSERT INTO earn_epoch (id, state) VALUES (1, 'open')",
            "UPDATE earn_epoch SET pool_raw = 1",
            "DELETE FROM earn_line",
            "INSERT INTO revenue VALUES ('x', 1, 1, 1)",
            "DELETE FROM earn_claim",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)


@pytest.mark.database
def test_on_postgresql_each_process_does_its_work_under_its_own_role(postgres_server, tmp_path):
    url = postgres_server.new_database()

    async def go():
        clock = HandClock(rules.starts_at(EPOCH) + timedelta(hours=12))
        chain = Chain(clock, random.Random(1), Faults())
        owner = open_store(url, clock, random.Random(1))
        await lay(owner)
        stores = {}
        for kind in ("api", "worker", "payout"):
            async with owner.begin() as tx:
                await tx.execute(text(f"DROP ROLE IF EXISTS {kind}_login"))
                await tx.execute(text(f"CREATE ROLE {kind}_login LOGIN"))
                await tx.execute(text(f"GRANT tickyard_{kind} TO {kind}_login"))
            stores[kind] = open_store(url.replace("postgres@", f"{kind}_login@"), clock, random.Random(1))
        process = Process("test", random.Random(1), Faults())
        rpc = FrailRpc(chain, clock, process)
        towns = {kind: Town(store, clock, chain, rpc, tmp_path) for kind, store in stores.items()}
        worker, api, payout = towns["worker"], towns["api"], towns["payout"]
        chain.give(TOKEN, ALICE.address, THRESHOLD)
        payout.employ()
        worker.mine()
        await run_due(worker, clock.now())
        await payout.pay()
        await worker.earn_money(30_000)
        await worker.to(rules.snapshot_at(EPOCH))
        await worker.to(rules.opens_at(EPOCH))
        await payout.pay()
        worker.mine(1)
        assert (await run_due(worker, clock.now())).opened == [EPOCH]
        with pytest.raises(UpstreamDown, match="reserved"):
            await api.ask(ALICE, agent=False)
        assert (await payout.pay()).sent == 1
        assert (await api.ask(ALICE, agent=False)).ok
        worker.mine()
        assert (await payout.pay()).confirmed == 1
        assert (await worker.to(rules.closes_at(EPOCH))).closed == [EPOCH]
        assert (await api.books())["balanced"] is True
        for store in (owner, *stores.values()):
            await store.close()

    asyncio.run(go())
