"""Who is who, pinned in the store: one truth whoever comes first, and nobody but a person changes it."""

import asyncio
from datetime import timedelta

import psycopg
import pytest

from tickyard.kernel.clock import WallClock
from tickyard.kernel.ids import Address, Symbol
from tickyard.market.listing.identity import ListingRefused
from tickyard.market.listing.kept import ListingBook
from tickyard.sources.issuer.border import ListedAsset
from tickyard.store.copying.backup import backup
from tickyard.store.copying.restore import restore
from tickyard.store.identities import confirm_listing
from tickyard.store.opening import open_store
from yards.schema import lay

CLOCK = WallClock()


def listed(symbol, number, uid=None):
    return ListedAsset(
        id=uid or f"0x{number:064x}",
        symbol=Symbol(symbol),
        name=symbol,
        address=Address(f"0x{number:040x}") if number else None,
        multiplier_e18=10**18,
        pending_multiplier_e18=None,
        pending_effective_at=None,
        status="ASSET_STATUS_ACTIVE",
        logo_url="",
        isin="",
        trading_capabilities=None,
    )


FAIR = [listed(f"S{n}", n) for n in range(1, 50)]
MIXED_UP = [*FAIR[:-2], listed("S48", 49), listed("S49", 48)]


async def _store(where):
    store = open_store(where, CLOCK)
    await lay(store)
    return store


async def keep(book, told):
    """As a refresh does: what somebody else has changed meanwhile is read first."""
    while not await book.keep(told, has_changed=True):
        await book.news()


def test_of_two_who_are_told_different_things_at_the_same_moment_one_is_right_for_both(where):
    async def go():
        stores = [await _store(where), await _store(where)]
        books = [ListingBook(store) for store in stores]
        kept = await asyncio.gather(
            *(keep(book, told) for book, told in zip(books, (FAIR, MIXED_UP), strict=True)),
            return_exceptions=True,
        )
        assert sorted(type(each) for each in kept if each is not None) == [ListingRefused]
        truths = []
        for store in stores:
            book = ListingBook(store)
            truths.append(((await book.news()).assets, book.pins))
            await store.close()
        assert truths[0] == truths[1]
        assert truths[0][0] == (FAIR if kept[0] is None else MIXED_UP)

    asyncio.run(go())


def test_the_same_list_told_to_many_at_once_is_kept_by_all(where):
    async def go():
        stores = [await _store(where) for _ in range(4)]
        await asyncio.gather(*(keep(ListingBook(store), FAIR) for store in stores))
        book = ListingBook(stores[0])
        assert (await book.news()).assets == FAIR
        assert len(book.pins) == len(FAIR)
        assert await book.news() is None, "nothing new, nothing read"
        for store in stores:
            await store.close()

    asyncio.run(go())


def test_an_identity_taken_under_another_name_refuses_the_whole_list(where):
    async def go():
        store = await _store(where)
        book = ListingBook(store)
        await book.keep(FAIR, has_changed=True)
        late = ListingBook(store)  # It has not looked since.
        for lie in (listed("NEW", 1), listed("NEW", 99, uid=FAIR[0].id), listed("S1", 99), listed("S1", 1, uid="0xff")):
            with pytest.raises(ListingRefused):
                await keep(late, [listed("OTHER", 77), lie])
        assert (await ListingBook(store).news()).assets == FAIR
        await late.news()
        assert Symbol("OTHER") not in late.pins, "nothing of a refused list is pinned"
        await store.close()

    asyncio.run(go())


def test_an_asset_without_a_token_is_pinned_once_it_has_one(where):
    async def go():
        store = await _store(where)
        book = ListingBook(store)
        await book.keep([*FAIR, listed("LATER", 0)], has_changed=True)
        assert Symbol("LATER") not in book.pins
        await book.keep([*FAIR, listed("LATER", 60)], has_changed=True)
        assert book.pins[Symbol("LATER")].address == f"0x{60:040x}"
        await store.close()

    asyncio.run(go())


def test_what_a_person_changes_of_the_list_is_no_word_of_the_issuers(where):
    async def go():
        store = await _store(where)
        book = ListingBook(store)
        await book.keep(FAIR, has_changed=True)
        long_ago = CLOCK.now() - timedelta(hours=30)
        async with store.begin() as tx:
            await confirm_listing(tx, long_ago)
        async with store.begin() as tx:
            assert await book.forget(tx, Symbol("S1"))
            await book.accept(tx, listed("S2", 70))
        kept = await book.news()
        assert (len(kept.assets), kept.seen_at) == (48, long_ago)
        await store.close()

    asyncio.run(go())


def test_a_backup_brings_the_pins_and_the_list_with_it(where, other_where, tmp_path):
    async def go():
        store = await _store(where)
        await ListingBook(store).keep(FAIR, has_changed=True)
        await backup(store, tmp_path / "copy")
        await store.close()
        await restore(tmp_path / "copy", other_where, CLOCK)
        store = open_store(other_where, CLOCK)
        book = ListingBook(store)
        assert (await book.news()).assets == FAIR
        assert len(book.pins) == len(FAIR)
        with pytest.raises(ListingRefused):
            await book.keep(MIXED_UP, has_changed=True)
        await store.close()

    asyncio.run(go())


@pytest.mark.database
def test_on_postgresql_neither_the_api_nor_the_worker_can_change_a_pin(postgres_server):
    url = postgres_server.new_database()

    async def make():
        store = await _store(url)
        await ListingBook(store).keep(FAIR, has_changed=True)
        await store.close()

    asyncio.run(make())
    with psycopg.connect(url, autocommit=True) as connection:
        for role in ("tickyard_api", "tickyard_worker"):
            connection.execute(f"SET ROLE {role}")
            connection.execute("INSERT INTO pinned_token VALUES (%s, %s, %s, 1)", (role, role, role))
            for statement in (
                "UPDATE pinned_token SET address = 'x'",
                "DELETE FROM pinned_token",
                "INSERT INTO accepted_token VALUES ('S1', 1, 'x', 'y')",
            ):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(statement)
            connection.execute("RESET ROLE")
