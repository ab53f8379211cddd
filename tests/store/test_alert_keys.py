"""One key for each version in all processes: another one under the same number is said, not lived with."""

import asyncio

import psycopg
import pytest
from sqlalchemy import insert

from tickyard.config.settings import SettingsError
from tickyard.features.alerts.pinned_keys import other_keys, pin_keys, without_key
from tickyard.features.alerts.secret import AlertKeys
from tickyard.features.alerts.store import alert
from tickyard.kernel.clock import WallClock
from tickyard.store.copying.backup import backup
from tickyard.store.copying.restore import restore
from tickyard.store.opening import open_store
from yards import operators, paperyard
from yards.schema import lay

CLOCK = WallClock()
OURS, FOREIGN = f"1 {'5a' * 32}\n", f"1 {'66' * 32}\n"
HOOK = {"symbol": "AAPL", "condition": "above", "price": 4000, "webhookUrl": "https://hooks.acme.com/x"}


def test_of_two_who_start_together_with_different_keys_of_one_number_one_is_told(where):
    async def go():
        stores = [open_store(where, CLOCK) for _ in range(2)]
        await lay(stores[0])
        keys = [AlertKeys.fresh() for _ in stores]
        wrong = await asyncio.gather(*map(pin_keys, stores, keys))
        assert sorted(wrong) == [[], [1]]
        right = keys[wrong.index([])]
        newer = AlertKeys({1: b"\1" * 32, 2: b"\2" * 32})
        assert await pin_keys(stores[0], right) == []
        assert await pin_keys(stores[0], newer) == [1]
        async with stores[0].read() as tx:
            assert await other_keys(tx, AlertKeys({2: b"\2" * 32})) == []
        for store in stores:
            await store.close()

    asyncio.run(go())


def test_a_copy_knows_the_keys_of_its_alerts(where, other_where, tmp_path):
    async def go():
        store = open_store(where, CLOCK)
        await lay(store)
        keys = AlertKeys.fresh()
        assert await pin_keys(store, keys) == []
        await backup(store, tmp_path / "copy")
        await store.close()
        await restore(tmp_path / "copy", other_where, CLOCK)
        store = open_store(other_where, CLOCK)
        assert await pin_keys(store, keys) == []
        assert await pin_keys(store, AlertKeys.fresh()) == [1]
        await store.close()

    asyncio.run(go())


def test_alerts_whose_key_is_gone_are_counted_by_its_number(tmp_path):
    async def go():
        store = open_store(str(tmp_path / "tickyard.db"), CLOCK)
        await lay(store)
        now = CLOCK.now()
        row = {
            "symbol": "T", "condition": "above", "webhook_url": "https://hooks.acme.com/x", "host": "h", "domain": "d",
            "client": "c", "token_id": 1, "price_e9": 1, "created_at": now, "expires_at": now,
        }  # fmt: skip
        versions = [(1, "active"), (2, "active"), (2, "fired"), (2, "active"), (7, "active")]
        rows = [row | {"id": str(n), "key_version": v, "status": s} for n, (v, s) in enumerate(versions)]
        async with store.begin() as tx:
            await tx.execute(insert(alert), rows)
        async with store.read() as tx:
            assert await without_key(tx, AlertKeys.fresh()) == {2: 2, 7: 1}
        await store.close()

    asyncio.run(go())


@pytest.mark.slow
def test_a_process_with_a_foreign_key_does_not_start_and_the_doctor_says_which(tmp_path):
    """Two machines, each with a key that was made there: secrets of one are unknown to the other."""

    async def go():
        async with paperyard.open_yard(tmp_path) as yard:
            made = await yard.post("/v1/alerts", HOOK)
            assert made.status == 201
        foreign = tmp_path / "foreign"
        foreign.write_text(FOREIGN)
        with pytest.raises(SettingsError, match="version 1 in the file named by TICKYARD_SECRET_KEY_FILE is another"):
            async with paperyard.open_yard(tmp_path, SECRET_KEY_FILE=str(foreign)):
                pass

    asyncio.run(go())
    (tmp_path / "right").write_text(OURS)
    (tmp_path / "early").write_text(f"2 {'67' * 32}\n")
    for name, said in (
        ("right", "  good  alert keys"),
        ("foreign", "version 1 is another key than the one that the store's alerts were made under"),
        ("early", "1 active alerts were made under version 1, which is not in the file"),
    ):
        (tmp_path / name).chmod(0o600)
        done = operators.run(tmp_path, "doctor", **operators.GOOD | {"DATA_DIR": tmp_path, "SECRET_KEY_FILE": name})
        assert said in done.stdout, done.stdout + done.stderr


@pytest.mark.database
def test_the_services_own_accounts_cannot_change_which_key_it_is(postgres_server):
    where = postgres_server.new_database()

    async def go():
        store = open_store(where, CLOCK)
        await lay(store)
        await store.close()

    asyncio.run(go())
    with psycopg.connect(where, autocommit=True) as owner:
        for role in ("tickyard_api", "tickyard_worker"):
            rights = [
                right
                for right in ("SELECT", "INSERT", "UPDATE", "DELETE")
                if owner.execute("SELECT has_table_privilege(%s, 'alert_key', %s)", (role, right)).fetchone()[0]
            ]
            assert rights == ["SELECT", "INSERT"]
    postgres_server.take_back(where)
