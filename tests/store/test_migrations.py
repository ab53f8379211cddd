"""The schema: from nothing, from several processes at once, and never against code that still runs."""

import ast
import asyncio
import importlib
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text

from tickyard.kernel.clock import WallClock
from tickyard.store import migrate
from tickyard.store.engine import StoreRefused
from tickyard.store.opening import open_store
from tickyard.store.tables import METADATA
from yards.patience import STUCK_S

VERSIONS = sorted((Path(migrate.__file__).parent / "migrations" / "versions").glob("*.py"))
NEWEST = VERSIONS[-1].name[1:5]


def _import_every_table():
    """Rooms define their tables beside their code: whatever speaks of the metadata is imported."""
    source = Path(migrate.__file__).parents[2]
    for path in sorted(source.rglob("*.py")):
        if "tickyard.store.tables import" in path.read_text() and "migrations" not in path.parts:
            importlib.import_module(".".join(path.relative_to(source).with_suffix("").parts))


@pytest.mark.slow
def test_an_empty_database_gets_exactly_the_tables_that_the_rooms_define(where):
    _import_every_table()

    async def go():
        store = open_store(where, WallClock())
        assert await migrate.schema_version(store) is None
        await migrate.migrate(store)
        await migrate.migrate(store)
        assert await migrate.schema_version(store) == NEWEST

        def differences(connection):
            ours = {"include_object": lambda _o, name, kind, *_: not (kind == "table" and name == migrate.LOCK)}
            return compare_metadata(MigrationContext.configure(connection, opts=ours), METADATA)

        async with store.read() as tx:
            found = await tx.run_sync(differences)
        await store.close()
        return found

    assert asyncio.run(go()) == []


@pytest.mark.slow
def test_three_processes_that_start_at_once_migrate_once(where):
    command = [sys.executable, Path(__file__).with_name("migrator.py"), where]
    pipe = subprocess.PIPE
    processes = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(3)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        process.communicate(timeout=STUCK_S)
    assert [process.returncode for process in processes] == [0, 0, 0]

    async def version():
        store = open_store(where, WallClock())
        found = await migrate.schema_version(store)
        await store.close()
        return found

    assert asyncio.run(version()) == NEWEST


def test_a_schema_newer_than_the_code_is_left_alone(where):
    async def go():
        store = open_store(where, WallClock())
        await migrate.migrate(store)
        async with store.begin() as tx:
            await tx.execute(text("UPDATE alembic_version SET version_num = '9999'"))
        await migrate.migrate(store)
        assert await migrate.schema_version(store) == "9999"
        await store.close()

    asyncio.run(go())


def test_a_step_only_adds_so_that_the_previous_code_goes_on():
    allowed = {"create_table", "create_index", "add_column", "bulk_insert"}
    for path in VERSIONS:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "op":
                assert node.attr in allowed, f"{path.name} calls op.{node.attr}"


@pytest.mark.slow
@pytest.mark.parametrize("read_from", [["0xd1"], ["0xd1", "0xd2"], []], ids=["one desk", "two desks", "none"])
def test_an_epoch_that_was_sealed_earlier_belongs_to_the_only_desk_there_was(where, read_from):
    before = [
        "INSERT INTO earn_epoch (id, state, digest) VALUES (1, 'closed', 'ab'), (2, 'accruing', NULL)",
        *(
            f"INSERT INTO earn_desk_mark (desk, block_number, block_hash) VALUES ('{desk}', 7, '0x07')"
            for desk in read_from
        ),
    ]

    async def go():
        store = open_store(where, WallClock())
        await migrate.migrate(store, "0016")
        async with store.begin() as tx:
            for statement in before:
                await tx.execute(text(statement))
        await migrate.migrate(store)
        async with store.read() as tx:
            found = [desk for (desk,) in await tx.execute(text("SELECT desk FROM earn_epoch ORDER BY id"))]
        await store.close()
        return found

    assert asyncio.run(go()) == ["0xd1" if len(read_from) == 1 else None, None]


def test_steps_are_numbered_without_gaps_or_branches():
    previous = None
    for number, path in enumerate(VERSIONS, start=1):
        values = {
            node.targets[0].id: ast.literal_eval(node.value)
            for node in ast.parse(path.read_text()).body
            if isinstance(node, ast.Assign) and "revision" in node.targets[0].id
        }
        assert values == {"revision": f"{number:04d}", "down_revision": previous}
        assert path.name.startswith(f"v{number:04d}_")
        previous = values["revision"]


@pytest.mark.parametrize(
    ("statements", "says"),
    [
        (["CREATE TABLE token (anything INTEGER)"], "do not fit an empty one"),
        (["CREATE TABLE alembic_version (version_num VARCHAR(32))",
          "INSERT INTO alembic_version VALUES ('1f0c3a')"], "belongs to something else: its schema is '1f0c3a'"),
        (["CREATE TABLE alembic_version (version_num VARCHAR(32))",
          "INSERT INTO alembic_version VALUES ('1f0c3a'), ('77b2e9')"], "belongs to something else"),
        (["CREATE TABLE alembic_version (version_num VARCHAR(32))",
          "INSERT INTO alembic_version VALUES ('0013')", "CREATE TABLE alert_key (x INTEGER)"], "do not fit its schema 0013"),
    ],
)  # fmt: skip
def test_a_database_of_another_program_is_refused_in_a_sentence(where, statements, says):
    """Many programs number their schemas in a table of that name; one of ours would serve on top of theirs."""

    async def scenario():
        store = open_store(where, WallClock())
        async with store.begin() as tx:
            for statement in statements:
                await tx.execute(text(statement))
        try:
            with pytest.raises(StoreRefused) as refused:
                await migrate.migrate(store)
            assert says in refused.value.found
            if "something else" in says:
                with pytest.raises(StoreRefused):
                    await migrate.is_ready(store)
        finally:
            await store.close()

    asyncio.run(scenario())
