"""An account that lacks a right is found by the doctor, with table and right, before a caller or a slot finds it."""

import asyncio

import psycopg
import pytest

from tickyard.config.settings import Settings
from tickyard.kernel.clock import WallClock
from tickyard.processes.doctor import house
from tickyard.processes.doctor.finding import find_out
from tickyard.store.migrate import migrate
from tickyard.store.opening import open_store

pytestmark = pytest.mark.database


async def _migrated(url):
    store = open_store(url, WallClock())
    await migrate(store)
    await store.close()


class Database:
    def __init__(self, url):
        self.url = url

    def do(self, *statements):
        with psycopg.connect(self.url, autocommit=True) as owner:
            for statement in statements:
                owner.execute(statement)

    def account(self, name, *roles):
        with psycopg.connect(self.url, autocommit=True) as owner:
            if not owner.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (name,)).fetchone():
                owner.execute(f"CREATE ROLE {name} LOGIN")
            for role in roles:
                owner.execute(f"GRANT {role} TO {name}")
        return self.url.replace("postgres@", f"{name}@")

    def found(self, url, **settings):
        settings = Settings(database_url=url, **settings)
        (question,) = (each for each in house.questions(settings, WallClock()) if each.name == "database")
        return asyncio.run(find_out(question, WallClock()))


@pytest.fixture
def database(postgres_server):
    database = Database(postgres_server.new_database())
    asyncio.run(_migrated(database.url))
    yield database
    postgres_server.take_back(database.url)


def test_an_account_of_each_process_and_the_owner_are_well(database):
    assert database.found(database.url).is_good
    for kind in ("api", "worker", "payout"):
        url = database.account(f"sound_{kind}", f"tickyard_{kind}")
        found = database.found(url, payout_keystore="key" if kind == "payout" else "")
        assert found.is_good, found
        assert f"as tickyard_{kind}" in found.found


def test_a_right_that_was_taken_from_a_process_is_named_with_its_table(database):
    api, worker = database.account("short_api", "tickyard_api"), database.account("short_worker", "tickyard_worker")
    database.do(
        "REVOKE INSERT ON alert, payment FROM tickyard_api", "REVOKE INSERT ON round, sample FROM tickyard_worker"
    )
    found = database.found(api)
    assert not found.is_good
    assert found.found == "the database account 'short_api' (tickyard_api) lacks INSERT on alert, payment"
    assert "`tickyard migrate`" in found.mend
    assert "lacks INSERT on round, sample" in database.found(worker).found
    asyncio.run(_migrated(database.url))
    assert database.found(api).is_good
    assert database.found(worker).is_good


def test_the_payout_agents_account_is_no_account_for_the_others(database):
    found = database.found(database.account("lone_payout", "tickyard_payout"))
    assert not found.is_good
    assert "'lone_payout' is the payout agent's" in found.found
    assert "TICKYARD_DATABASE_URL" in found.mend
    # Nor is another's for the agent, which writes what nobody else may.
    agent = {"payout_keystore": "key"}
    assert database.found(database.account("other_api", "tickyard_api"), **agent).is_good, "a file of settings for all"


def test_an_account_in_none_of_the_roles_must_have_been_given_as_much_by_hand(database):
    own = database.account("hand_made")
    database.do("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO hand_made")
    assert database.found(own).is_good
    database.do("REVOKE DELETE ON alert FROM hand_made")
    found = database.found(own)
    assert found.found == "the database account 'hand_made' lacks DELETE on alert"
    assert "tickyard_api" in found.mend
    database.do("REVOKE UPDATE, SELECT ON ALL TABLES IN SCHEMA public FROM hand_made", "GRANT ALL ON lease TO hand_made",
                "GRANT SELECT ON alembic_version TO hand_made")  # fmt: skip
    assert "more; " in database.found(own).found, "not a page of tables"


def test_a_schema_that_this_code_does_not_know_is_not_judged(database):
    database.do("UPDATE alembic_version SET version_num = '9999'", "REVOKE INSERT ON alert FROM tickyard_api")
    assert database.found(database.account("older_api", "tickyard_api")).is_good
