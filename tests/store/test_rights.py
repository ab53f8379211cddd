"""Rights that were not granted and schemas that are not there are an operator's mistakes: a sentence, never a bug."""

import asyncio

import psycopg
import pytest
from sqlalchemy import text

from tickyard.catalog import CATALOG
from tickyard.doors.app import Plan, build_app
from tickyard.kernel.clock import WallClock
from tickyard.store.engine import StoreRefused
from tickyard.store.leases import try_write
from tickyard.store.opening import open_store
from yards import asgi, house, operators, paperyard
from yards.patience import STUCK_S
from yards.schema import lay

MIGRATE = "run `tickyard migrate` first"


def run(folder, *words, before=":", **settings):
    done = operators.run(folder, *words, before=before, **operators.GOOD | settings)
    assert "Traceback" not in done.stdout + done.stderr, f"{words}: {done.stderr[-2000:]}"
    assert done.returncode, f"{words}: {done.stdout}"
    return done.stdout + done.stderr


async def _laid(url):
    store = open_store(url, WallClock())
    await lay(store)
    await store.close()


def _account(url, name, *rights):
    with psycopg.connect(url, autocommit=True) as owner:
        if not owner.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (name,)).fetchone():
            owner.execute(f"CREATE ROLE {name} LOGIN")
        for right in rights:
            owner.execute(f"{right} {name}")
    return url.replace("postgres@", f"{name}@")


async def _do(store, *statements):
    async with store.begin() as tx:
        for statement in statements:
            await tx.execute(text(statement))


READ = "GRANT SELECT ON ALL TABLES IN SCHEMA public TO"


@pytest.mark.database
def test_an_account_without_a_right_is_told_to_the_operator_by_its_name(postgres_server):
    url = postgres_server.new_database()
    asyncio.run(_laid(url))
    reader = _account(url, "reader", READ)

    async def go():
        store = open_store(reader, WallClock())
        for statement in (
            "DELETE FROM alert",
            "SELECT * FROM nothing",
            "SELECT nothing FROM alert",
            "CREATE TABLE nowhere.x (y INTEGER)",
            "SET TRANSACTION READ ONLY; DELETE FROM alert",
        ):
            with pytest.raises(StoreRefused) as caught:
                await _do(store, *statement.split(";"))
            assert "'reader'" in caught.value.found
            assert caught.value.mend
            assert caught.value.message == "the store does not answer", "callers hear nothing of accounts"
        with pytest.raises(StoreRefused, match="the store does not answer"):
            await try_write(store)
        async with store.begin() as tx:
            assert (await tx.execute(text("SELECT 1"))).scalar_one() == 1
        await store.close()
        # Each process's own account, and the owner's, may do as much.
        for kind in ("api", "worker", "payout"):
            other = open_store(_account(url, f"{kind}_writer", f"GRANT tickyard_{kind} TO"), WallClock())
            await try_write(other)
            await other.close()

    asyncio.run(go())


@pytest.mark.database
def test_no_command_shows_a_traceback_to_an_account_without_rights(postgres_server, tmp_path):
    url = postgres_server.new_database()
    asyncio.run(_laid(url))
    (tmp_path / "keys").write_text(f"1 {'5a' * 32}\n")
    stranger = _account(url, "stranger")
    for words in (
        ["doctor"],
        ["payments", "list"],
        ["registry", "show"],
        ["registry", "forget"],
        ["backup", "copy"],
        ["payout", "resume"],
        ["earn", "skip", "20260920"],
    ):
        said = run(tmp_path, *words, DATABASE_URL=stranger)
        assert "the database account 'stranger' may not do this (permission denied" in said, said
    assert not list(tmp_path.glob("copy*"))
    reader = _account(url, "reader", READ)
    for words in (["registry", "forget"], ["payout", "resume"], ["doctor"]):
        assert "'reader' may not do this" in run(tmp_path, *words, DATABASE_URL=reader)
    empty = postgres_server.new_database()
    for words in (["migrate"],):
        assert "'stranger' may not do this" in run(
            tmp_path, *words, DATABASE_URL=empty.replace("postgres@", "stranger@")
        )


@pytest.mark.database
def test_who_is_turned_away_at_the_door_hears_why_and_never_the_password(doomed_server, tmp_path):
    (tmp_path / "keys").write_text(f"1 {'5a' * 32}\n")
    url = doomed_server.new_database()
    asyncio.run(_laid(url))
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute("CREATE ROLE keeper LOGIN PASSWORD 'right-one'")
        owner.execute("CREATE ROLE looker LOGIN PASSWORD 'right-one'")
        owner.execute("ALTER ROLE looker SET default_transaction_read_only = on")
    doomed_server.ask_for_passwords()
    cases = [
        ("keeper:wrong-one", 'password authentication failed for user "keeper"'),
        ("keeper", "no password supplied"),
        ("nobody:wrong-one", 'password authentication failed for user "nobody"'),
        ("looker:right-one", "session is read-only"),
    ]
    for who, says in cases:
        for words in (["migrate"], ["doctor"]):
            said = run(tmp_path, *words, DATABASE_URL=url.replace("postgres@", f"{who}@"))
            assert says in said, said
            assert "TICKYARD_DATABASE_URL" in said
            assert "wrong-one" not in said
            assert "right-one" not in said
    said = run(tmp_path, "migrate", DATABASE_URL=url.replace("postgres@", "keeper:right-one@") + "nothere")
    assert 'nothere" does not exist' in said


@pytest.mark.slow
def test_before_the_first_migration_every_command_says_so(where, tmp_path):
    (tmp_path / "keys").write_text(f"1 {'5a' * 32}\n")
    for is_empty_file in (False, True):
        if is_empty_file:
            if where.startswith("postgresql"):
                return
            (tmp_path / "tickyard.db").touch()
        for words in (
            ["payments", "list"],
            ["payments", "orphans"],
            ["registry", "show"],
            ["registry", "forget"],
            ["registry", "accept", "AAPL"],
            ["earn", "skip", "20260920"],
            ["payout", "resume"],
            ["backup", "copy"],
        ):
            said = run(tmp_path, *words, DATABASE_URL=where)
            assert MIGRATE in said, f"{words}: {said}"
            assert not list(tmp_path.glob("copy*"))
        assert (tmp_path / "tickyard.db").exists() == is_empty_file, "asking makes no file"


@pytest.mark.slow
def test_a_copy_that_cannot_be_written_blames_its_target_and_leaves_nothing_behind(where, tmp_path):
    (tmp_path / "keys").write_text(f"1 {'5a' * 32}\n")
    asyncio.run(_laid(where))
    for target, says in (
        ("nofolder/copy", "nofolder/copy cannot be written: No such file or directory"),
        ("keys/copy", "cannot be written: Not a directory"),
        ("keys", "exists already"),
        ("x" * 300, "cannot be written: File name too long"),
    ):
        assert says in run(tmp_path, "backup", target, DATABASE_URL=where)
    # A file that may not grow is the same to a process as a disk without room.
    said = run(tmp_path, "backup", "copy", before=f"ulimit -f {1 if '://' in where else 100}", DATABASE_URL=where)
    assert "copy" in said
    assert "cannot be written" in said
    assert not list(tmp_path.glob("copy*"))


@pytest.mark.slow
def test_a_store_that_cannot_be_read_is_named_when_it_is_copied(tmp_path):
    (tmp_path / "keys").write_text(f"1 {'5a' * 32}\n")
    where = tmp_path / "tickyard.db"
    asyncio.run(_laid(where))
    data = where.read_bytes()
    where.write_bytes(data[:8192] + b"\xff" * (len(data) - 8192))
    assert "cannot be written" not in run(tmp_path, "backup", "copy", DATABASE_URL=where)
    where.write_bytes(b"no database at all" * 1000)
    assert "cannot be written" not in run(tmp_path, "backup", "copy", DATABASE_URL=where)
    assert not list(tmp_path.glob("copy*"))


@pytest.mark.database
def test_rights_that_are_taken_away_are_a_502_and_not_ready_until_they_are_given_back(postgres_server, tmp_path):
    url = postgres_server.new_database()
    asyncio.run(_laid(url))
    served = _account(url, "served", "GRANT tickyard_api TO")

    def owner(statement):
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(statement)

    async def go():
        async with (
            asyncio.timeout(STUCK_S),
            paperyard.open_far_ends() as far,
            house.open_house(tmp_path, far.node.url, far.issuer_url, WallClock(), DATABASE_URL=served) as deps,
        ):
            app = build_app(Plan(CATALOG, deps), access_log=None).edge

            async def status(path):
                return (await asgi.ask_app(app, "GET", path)).status

            async def ready(wanted):
                while await status("/readyz") != wanted:
                    await deps.clock.sleep(0.1)

            await ready(200)
            owner("REVOKE tickyard_api FROM served")
            await ready(503)
            assert await status("/v1/history/AAPL?limit=7") == 502
            assert await status("/v1/corporate-actions") == 502
            owner("GRANT tickyard_api TO served")
            await ready(200)
            assert await status("/v1/corporate-actions") == 200
            # Only reading is not enough to serve.
            owner("REVOKE tickyard_api FROM served")
            owner("GRANT SELECT ON ALL TABLES IN SCHEMA public TO served")
            await ready(503)

    asyncio.run(go())
