"""Whoever migrates, and whenever the roles were made: afterwards each role has its own rights and no other."""

import asyncio

import psycopg
import pytest

from tickyard.kernel.clock import WallClock
from tickyard.store.engine import StoreRefused
from tickyard.store.migrate import migrate
from tickyard.store.opening import open_store

ROLES = ("tickyard_api", "tickyard_worker", "tickyard_payout")
_RIGHTS = """
SELECT r, t.tablename, p FROM pg_tables t, unnest(%s::text[]) r,
unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) p
WHERE t.schemaname = 'public' AND has_table_privilege(r, quote_ident(t.tablename), p)
"""


def _migrate(url, to="head"):
    async def go():
        store = open_store(url, WallClock())
        try:
            await migrate(store, to)
        finally:
            await store.close()

    asyncio.run(go())


def _do(url, *statements):
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def _rights(url):
    with psycopg.connect(url, autocommit=True) as connection:
        return set(connection.execute(_RIGHTS, (list(ROLES),)).fetchall())


@pytest.fixture
def granted(postgres_server):
    """A database whose steps found their roles, and what these may do there."""
    url = postgres_server.new_database()
    _migrate(url)
    yield url, _rights(url)
    postgres_server.take_back(url)


@pytest.mark.database
def test_roles_that_are_made_after_the_tables_get_their_rights_at_the_next_migrate(granted):
    url, rights = granted
    assert ("tickyard_api", "alert", "DELETE") in rights
    assert ("tickyard_api", "pinned_token", "UPDATE") not in rights
    # As it is where the owner may not create roles, and a person makes them later.
    _do(url, *(f"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {role}" for role in ROLES))
    assert not _rights(url)
    _migrate(url)
    assert _rights(url) == rights


@pytest.mark.database
def test_what_was_granted_in_a_hurry_is_taken_back(granted):
    url, rights = granted
    _do(url, "GRANT ALL ON ALL TABLES IN SCHEMA public TO tickyard_api, tickyard_payout")
    assert _rights(url) > rights
    _migrate(url)
    assert _rights(url) == rights


@pytest.mark.database
def test_tables_made_by_another_account_than_the_first_are_granted_like_all(granted, postgres_server):
    _, rights = granted
    url = postgres_server.new_database()
    owner = url.replace("postgres@", "first_owner@")
    name = url.rsplit("/", 1)[1]
    with psycopg.connect(url, autocommit=True) as connection:
        if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = 'first_owner'").fetchone():
            connection.execute("CREATE ROLE first_owner LOGIN")
    _do(url, f'ALTER DATABASE "{name}" OWNER TO first_owner', "ALTER SCHEMA public OWNER TO first_owner")
    _migrate(owner, "0010")
    _migrate(url)
    assert _rights(url) == rights
    # Nothing is wrong, so nobody needs a right.
    _migrate(owner)
    # What is wrong with a table of somebody else's is said, and not passed over.
    _do(url, "REVOKE SELECT ON alert_key FROM tickyard_api")
    with pytest.raises(StoreRefused) as caught:
        _migrate(owner)
    assert "'first_owner' may not do this" in caught.value.found
    assert "`tickyard migrate` with the account that owns the schema" in caught.value.mend
    # Not taken back: nobody else wants a database of another owner.


@pytest.mark.database
def test_code_that_does_not_know_a_schema_touches_no_right_in_it(granted):
    url, _ = granted
    _do(url, "UPDATE alembic_version SET version_num = '9999'", "CREATE TABLE news (id INTEGER)")
    _do(url, "REVOKE ALL ON news FROM tickyard_api")
    before = _rights(url)
    _migrate(url)
    assert _rights(url) == before


@pytest.mark.database
def test_missing_roles_are_told(granted, monkeypatch, caplog):
    from tickyard.store.postgres import rights

    for table in ("_USUAL", "_UNUSUAL"):
        monkeypatch.setattr(rights, table, {"tickyard_nobody": {}} | getattr(rights, table))
    _migrate(granted[0])
    assert "make the roles (deploy/accounts.sh) and migrate again" in caplog.text
