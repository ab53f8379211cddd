"""The issuer's list changes under us: what is believed, what is refused as a whole, and what a restart remembers."""

import asyncio
import copy
import random
import sqlite3

import pytest

from tickyard.chain.address import checksum
from tickyard.config.pinned import MAINNET
from tickyard.config.settings import SettingsError
from tickyard.kernel.clock import breathe
from tickyard.kernel.errors import UpstreamDown
from tickyard.market.listing.kept import ListingBook, ListingBroken, decode_listing, encode_listing
from tickyard.observe import metrics
from tickyard.store.identities import keep_listing, last_listing
from yards import paperyard
from yards.patience import STUCK_S

word = paperyard.paper.word
ELSEWHERE = "0x" + "ee" * 20
SYMBOL = "HOOD"
BUY = {"symbol": SYMBOL, "side": "buy", "amount": "5"}


def live(scenario, folder, **options):
    async def run():
        async with asyncio.timeout(STUCK_S), paperyard.open_yard(folder, **options) as yard:
            await scenario(yard)

    asyncio.run(run())


def entry(assets, symbol=SYMBOL):
    return next(asset for asset in assets if asset["tokenSymbol"] == symbol)


def deployment(asset):
    """The one on our chain."""
    return next(each for each in asset["deployments"] if each["chainId"] == 4663)


def moved(assets):
    deployment(entry(assets))["contractAddress"] = ELSEWHERE
    return assets


def undeployed(assets):
    entry(assets)["deployments"] = []
    return assets


def doubled(assets):
    return [*assets, {**entry(assets), "id": "0x" + "1" * 64, "deployments": []}]


def shared(assets):
    deployment(entry(assets, "AAPL"))["contractAddress"] = deployment(entry(assets))["contractAddress"]
    return assets


def posing(assets):
    """A new symbol at the address of the dollar itself."""
    new = copy.deepcopy(entry(assets)) | {"tokenSymbol": "DOLLAR", "id": "0x" + "2" * 64}
    deployment(new)["contractAddress"] = MAINNET.usdg
    return [*assets, new]


def thinned(assets):
    return assets[: len(assets) * 79 // 100]


def emptied(_assets):
    return []


def without(assets):
    return [asset for asset in assets if asset["tokenSymbol"] != SYMBOL]


LIES = [moved, undeployed, doubled, shared, posing, thinned, emptied]


async def refresh(yard):
    """One refresh. Some lies are so plain that the source's own border refuses them."""
    try:
        await yard.deps.market.registry.refresh()
    except UpstreamDown:
        return


async def the_truth(yard):
    """What a caller sees of the registry."""
    listing = (await yard.get("/v1/assets")).json()
    quote = (await yard.get("/v1/quote", **BUY)).json()
    return listing, quote["tokenAddress"]


@pytest.mark.slow
def test_a_list_that_lies_is_refused_as_a_whole(tmp_path):
    async def scenario(yard):
        before = await the_truth(yard)
        for lie in LIES:
            # A good change in the same list is not taken either.
            yard.issuer.edit = lambda assets, lie=lie: lie(renamed(assets))
            await refresh(yard)
            assert await the_truth(yard) == before, lie.__name__
        yard.issuer.edit = renamed
        await refresh(yard)
        listing, address = await the_truth(yard)
        assert next(asset["name"] for asset in listing["assets"] if asset["symbol"] == "AAPL") == "Renamed"
        assert address == before[1]

    live(scenario, tmp_path)


def renamed(assets):
    entry(assets, "AAPL")["tokenName"] = "Renamed • Robinhood Token"
    return assets


@pytest.mark.slow
@pytest.mark.parametrize("lie", [moved, thinned])
def test_a_restart_does_not_forget_what_was_true(tmp_path, lie):
    seen = {}

    async def first(yard):
        seen["before"] = await the_truth(yard)

    async def second(yard):
        assert await the_truth(yard) == seen["before"]
        yard.issuer.edit = lie
        await refresh(yard)
        assert await the_truth(yard) == seen["before"]

    live(first, tmp_path)
    live(second, tmp_path)


@pytest.mark.slow
def test_the_last_good_list_is_served_while_the_issuer_is_down(tmp_path):
    seen = {}

    async def first(yard):
        seen["before"] = await the_truth(yard)
        yard.issuer.is_down = True
        with pytest.raises(UpstreamDown):
            await yard.deps.market.registry.refresh()
        assert await the_truth(yard) == seen["before"]

    live(first, tmp_path)


@pytest.mark.slow
def test_who_left_the_list_comes_back_only_to_the_same_address(tmp_path):
    """Otherwise leaving for a minute would be all it takes to change an address; a restart does not help either."""

    async def leave(yard):
        true_address = next(t for t, listed in yard.chain.tokens.items() if listed.symbol == SYMBOL)
        for edit in (without, moved):
            yard.issuer.edit = edit
            await refresh(yard)
            # People hold it: what it was last is served, and nobody else under its name.
            assert (await yard.get("/v1/quote", **BUY)).json()["tokenAddress"] == checksum(true_address)
            assert (await yard.get(f"/v1/assets/{SYMBOL}")).json()["status"] == "ASSET_STATUS_UNLISTED"

    async def come_back(yard):
        true_address = next(t for t, listed in yard.chain.tokens.items() if listed.symbol == SYMBOL)
        yard.issuer.edit = lambda assets: assets
        await refresh(yard)
        assert (await yard.get("/v1/quote", **BUY)).json()["tokenAddress"] == checksum(true_address)
        yard.issuer.edit = without
        await refresh(yard)

    live(leave, tmp_path)
    live(come_back, tmp_path)

    async def still_away(yard):
        yard.issuer.edit = moved
        await refresh(yard)
        assert ELSEWHERE not in yard.deps.market.registry.addresses()

    live(still_away, tmp_path)


def renumbered(assets):
    entry(assets)["id"] = "0x" + "ab" * 32
    return assets


def renamed_ticker(assets):
    entry(assets)["tokenSymbol"] = "HOODX"
    return assets


def renamed_and_undeployed(assets):
    """The same token uid under another symbol, and nowhere on our chain: a rename before a new deployment."""
    entry(assets)["deployments"] = []
    return renamed_ticker(assets)


@pytest.mark.slow
def test_a_ticker_that_goes_on_without_a_token_leaves_the_token_known_and_the_kept_list_readable(tmp_path):
    async def scenario(yard, _before):
        _, address = await the_truth(yard)
        yard.issuer.edit = renamed_and_undeployed
        await refresh(yard)
        assert (await the_truth(yard))[1] == address
        assert (await yard.get(f"/v1/assets/{SYMBOL}")).json()["status"] == "ASSET_STATUS_UNLISTED"
        assert (await yard.get("/v1/assets/HOODX")).json()["address"] is None
        # And by its uid it is the token that is found.
        uid = next(asset.listed.id for asset in yard.deps.market.registry.all() if asset.symbol == SYMBOL)
        assert yard.deps.market.registry.symbol_of(uid) == SYMBOL
        assert await ListingBook(yard.deps.store).news() is not None
        # Under its new name the token itself is a matter for a person.
        yard.issuer.edit = renamed_ticker
        await refresh(yard)
        assert (await yard.get("/v1/assets/HOODX")).json()["address"] is None

    restart(tmp_path, lambda issuer: setattr(issuer, "edit", renamed_and_undeployed), scenario)


LISTS = [lambda assets: assets, renamed, without, moved, undeployed, doubled, shared, posing, thinned, renamed_ticker,
         renamed_and_undeployed]  # fmt: skip


@pytest.mark.slow
def test_whatever_lists_come_one_after_the_other_what_is_kept_of_them_can_be_read_again(tmp_path):
    async def scenario(yard):
        luck = random.Random(4663)
        for _ in range(40):
            one, other = luck.choice(LISTS), luck.choice(LISTS)
            yard.issuer.edit = lambda assets, one=one, other=other: one(_if_there(other, assets))
            await refresh(yard)
            assert await ListingBook(yard.deps.store).news() is not None

    live(scenario, tmp_path)


def _if_there(edit, assets):
    """What it changes may be gone by another's hand."""
    return edit(assets) if any(asset["tokenSymbol"] == SYMBOL for asset in assets) else assets


@pytest.mark.slow
def test_a_list_that_is_damaged_in_the_store_ends_nothing_that_runs_and_says_what_is_wrong_with_it(tmp_path, caplog):
    async def scenario(yard):
        before = await the_truth(yard)
        async with yard.deps.store.begin() as tx:
            kept = decode_listing((await last_listing(tx)).body)
            await keep_listing(tx, encode_listing([*kept, kept[0]]), yard.deps.clock.now())
        refreshing = asyncio.create_task(yard.deps.market.registry.keep_fresh())
        while "is damaged" not in caplog.text:
            assert not refreshing.done()
            await breathe()
        with pytest.raises(ListingBroken, match="a symbol is listed twice"):
            await ListingBook(yard.deps.store).news()
        assert await the_truth(yard) == before
        refreshing.cancel()

    live(scenario, tmp_path)


@pytest.mark.slow
def test_what_a_person_has_forgotten_while_a_list_was_on_its_way_is_not_written_back(tmp_path):
    async def scenario(yard):
        registry, book = yard.deps.market.registry, ListingBook(yard.deps.store)
        yard.issuer.edit = without
        await refresh(yard)

        def forgotten_meanwhile(assets):
            # Between the look into the store and the writing.
            yard.issuer.edit = without
            books = sqlite3.connect(tmp_path / "tickyard.db")
            [[body]] = books.execute("SELECT body FROM kept_listing")
            left = [asset for asset in decode_listing(body) if asset.symbol != SYMBOL]
            books.execute("UPDATE kept_listing SET body = ?, version = version + 1", [encode_listing(left)])
            books.commit()
            books.close()
            return renamed(without(assets))

        yard.issuer.edit = forgotten_meanwhile
        await refresh(yard)
        assert SYMBOL not in {asset.symbol for asset in registry.all()}
        assert SYMBOL not in {asset.symbol for asset in (await book.news()).assets}

    live(scenario, tmp_path)


def restart(folder, trouble, scenario):
    """A service lives, ends, and another begins on the same store while the issuer is in trouble from the start."""
    seen = {}

    async def run():
        async with asyncio.timeout(STUCK_S), paperyard.open_far_ends() as far:
            async with paperyard.open_yard(folder, far_ends=far) as yard:
                seen["before"] = await the_truth(yard), (await yard.get(f"/v1/assets/{SYMBOL}")).json()
            trouble(far.issuer)
            async with asyncio.timeout(10), paperyard.open_yard(folder, far_ends=far) as yard:
                await scenario(yard, seen["before"])

    asyncio.run(run())


@pytest.mark.slow
@pytest.mark.parametrize("trouble", ["is_down", "is_slow"])
def test_a_restart_while_the_issuer_is_down_or_slow_serves_what_was_true(tmp_path, trouble):
    async def scenario(yard, before):
        assert await the_truth(yard) == before[0]
        # The free-form part included, byte for byte: it is what the file of old could not be read back for.
        assert (await yard.get(f"/v1/assets/{SYMBOL}")).json() == before[1]
        assert before[1]["tradingCapabilities"]["market"]

    restart(tmp_path, lambda issuer: setattr(issuer, trouble, True), scenario)


@pytest.mark.slow
@pytest.mark.parametrize("lie", [moved, undeployed, renumbered, renamed_ticker, shared, thinned])
def test_a_restart_with_an_issuer_that_lies_from_the_first_moment_serves_what_was_true(tmp_path, lie):
    async def scenario(yard, before):
        await refresh(yard)
        assert await the_truth(yard) == before[0]
        assert ELSEWHERE not in yard.deps.market.registry.addresses()

    restart(tmp_path, lambda issuer: setattr(issuer, "edit", lie), scenario)


@pytest.mark.slow
def test_two_replicas_that_are_told_different_things_serve_one_truth(tmp_path):
    """The second asks an issuer of its own, which lies: the pins of the first are its pins too."""

    async def run():
        async with asyncio.timeout(STUCK_S), paperyard.open_yard(tmp_path) as first, paperyard.open_far_ends() as lying:
            lying.issuer.edit = moved
            truth = await the_truth(first)
            async with paperyard.open_yard(tmp_path, far_ends=lying) as second:
                await refresh(second)
                assert await the_truth(second) == truth

    asyncio.run(run())


@pytest.mark.slow
def test_what_one_replica_has_learnt_the_other_serves_while_its_issuer_is_down(tmp_path):
    async def run():
        async with (
            asyncio.timeout(STUCK_S),
            paperyard.open_far_ends() as far,
            paperyard.open_yard(tmp_path, far_ends=far) as first,
            paperyard.open_yard(tmp_path, far_ends=far) as second,
        ):
            far.issuer.edit = renamed
            await refresh(first)
            far.issuer.is_down = True
            await refresh(second)
            assert await the_truth(second) == await the_truth(first)

    asyncio.run(run())


@pytest.mark.slow
def test_a_kept_list_that_is_damaged_is_an_error_that_says_what_to_do(tmp_path):
    async def run():
        async with asyncio.timeout(STUCK_S), paperyard.open_far_ends() as far:
            async with paperyard.open_yard(tmp_path, far_ends=far):
                pass
            books = sqlite3.connect(tmp_path / "tickyard.db")
            books.execute("UPDATE kept_listing SET body = substr(body, 1, 1000)")
            books.commit()
            books.close()
            with pytest.raises(SettingsError, match="tickyard registry forget"):
                async with paperyard.open_yard(tmp_path, far_ends=far):
                    raise AssertionError("not reached")

    asyncio.run(run())


@pytest.mark.slow
@pytest.mark.parametrize("trouble", [None, "down", "refused"])
def test_a_split_is_seen_on_the_chain_even_when_the_issuer_is_of_no_use(tmp_path, trouble):
    async def scenario(yard):
        before = (await yard.get(f"/v1/assets/{SYMBOL}")).json()["multiplier"]
        token = next(t for t, listed in yard.chain.tokens.items() if listed.symbol == SYMBOL)
        for selector in ("a60bf13d", "dc767007"):
            yard.chain.says[token, selector] = word(7 * 10**18)
        yard.issuer.is_down = trouble == "down"
        yard.issuer.edit = moved if trouble == "refused" else yard.issuer.edit
        await refresh(yard)
        assert (await yard.get(f"/v1/assets/{SYMBOL}")).json()["multiplier"] == "7" != before
        # A node that fails this one token later leaves what it said before.
        yard.chain.says[token, "a60bf13d"] = None
        await refresh(yard)
        assert (await yard.get(f"/v1/assets/{SYMBOL}")).json()["multiplier"] == "7"

    live(scenario, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("trouble", ["is_down", "is_slow"])
def test_a_restart_serves_no_multiplier_that_the_chain_has_not_borne_out(tmp_path, trouble):
    """The kept list has the issuer's, which may be of before a split, or a lie that the chain had overruled."""

    async def run():
        async with asyncio.timeout(STUCK_S), paperyard.open_far_ends() as far:
            async with paperyard.open_yard(tmp_path, far_ends=far):
                token = next(t for t, listed in far.chain.tokens.items() if listed.symbol == SYMBOL)
            for selector in ("a60bf13d", "dc767007"):
                far.chain.says[token, selector] = word(7 * 10**18)
            setattr(far.issuer, trouble, True)
            async with paperyard.open_yard(tmp_path, far_ends=far) as yard:
                assert (await yard.get(f"/v1/assets/{SYMBOL}")).json()["multiplier"] == "7"

    asyncio.run(run())


def second_address(assets):
    entry(assets)["deployments"].append({"contractAddress": ELSEWHERE, "chainId": 4663})
    return assets


def fewer_decimals(assets):
    entry(assets)["tokenDecimals"] = 6
    return assets


def nameless(assets):
    """Only its uid says whose it is."""
    entry(assets)["tokenSymbol"] = {"was": SYMBOL}
    return assets


def unnamed(assets):
    broken = entry(assets)
    broken["id"], broken["tokenSymbol"] = None, 7
    return assets


def renamed_and_broken(assets):
    broken = entry(assets)
    broken["tokenSymbol"], broken["status"] = "HOODX", "gone"
    return assets


@pytest.mark.slow
@pytest.mark.parametrize("breaking", [second_address, fewer_decimals, nameless, unnamed, renamed_and_broken])
def test_a_broken_entry_delists_nobody_and_is_alarmed(tmp_path, breaking):
    async def run():
        async with asyncio.timeout(STUCK_S), paperyard.open_far_ends() as far:
            async with paperyard.open_yard(tmp_path, far_ends=far) as yard:
                before = await the_truth(yard)
                far.issuer.edit = breaking
                await yard.deps.market.registry.refresh()
                assert await the_truth(yard) == before
                assert doubted() == 1
            # Also from the first moment of a restart.
            async with paperyard.open_yard(tmp_path, far_ends=far) as yard:
                await yard.deps.market.registry.refresh()
                assert await the_truth(yard) == before
                # Beside a broken entry of somebody else, who is not listed at all is told from it.
                far.issuer.edit = lambda assets: without(broken_beside(assets))
                await yard.deps.market.registry.refresh()
                status = {each: (await yard.get(f"/v1/assets/{each}")).json()["status"] for each in (SYMBOL, "AAPL")}
                assert status == {SYMBOL: "ASSET_STATUS_UNLISTED", "AAPL": "ASSET_STATUS_ACTIVE"}
                far.issuer.edit = lambda assets: assets
                await yard.deps.market.registry.refresh()
                assert (await the_truth(yard), doubted()) == (before, 0)

    asyncio.run(run())


def broken_beside(assets):
    entry(assets, "AAPL")["tokenDecimals"] = 6
    return assets


@pytest.mark.slow
def test_a_list_that_contradicts_itself_confirms_nothing_and_clears_nobody(tmp_path):
    async def scenario(yard):
        registry = yard.deps.market.registry
        await registry.refresh()
        confirmed = confirmed_at()
        assert abs(confirmed - yard.deps.clock.timestamp()) < 60
        yard.issuer.edit = moved
        await registry.refresh()
        for lie in (doubled, shared, posing, thinned):
            yard.issuer.edit = lie
            # Refused by us, with a reason, and not for want of an answer.
            await registry.refresh()
            assert (doubted(), confirmed_at()) == (1, confirmed), lie.__name__

    live(scenario, tmp_path)


def confirmed_at():
    return metrics.REGISTRY.get_sample_value("tickyard_registry_confirmed_timestamp_seconds")


def doubted():
    return metrics.REGISTRY.get_sample_value("tickyard_registry_changed_identities")
