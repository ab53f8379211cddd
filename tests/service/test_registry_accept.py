"""A person looks at a changed identity and accepts it; every process serves it, and only then."""

import asyncio
import os
import sqlite3
import subprocess
import sys

import pytest

from tickyard.chain.address import checksum
from tickyard.observe.metrics import REGISTRY
from tickyard.sandbox.world.listing import load
from yards import house, paperyard
from yards.patience import STUCK_S

ELSEWHERE = "0x" + "ee" * 20
SYMBOL = "HOOD"
UID = next(each.uid for each in load() if each.symbol == SYMBOL)


def listed(assets, symbol=SYMBOL):
    return next(asset for asset in assets if asset["tokenSymbol"] == symbol)


def moved(assets):
    entry = listed(assets)
    next(each for each in entry["deployments"] if each["chainId"] == 4663)["contractAddress"] = ELSEWHERE
    return assets


def ticker_changed(assets):
    listed(assets)["tokenSymbol"] = "HOODX"
    return assets


def undeployed(assets):
    listed(assets)["deployments"] = []
    return assets


def a_token_stands(far, address, said_uid=None):
    name = b"HOOD".ljust(32, b"\0")
    uid = said_uid or int.from_bytes(UID, "big")
    far.chain.says[address, "313ce567"] = (18).to_bytes(32, "big")
    far.chain.says[address, "f514ce36"] = uid.to_bytes(32, "big")
    far.chain.says[address, "95d89b41"] = (32).to_bytes(32, "big") + (4).to_bytes(32, "big") + name


async def tickyard(folder, far, *arguments):
    """The command as a person runs it: (status, what it said)."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TICKYARD_")}
    environ = clean | house.environment(folder, far.node.url, far.issuer_url)
    ran = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "tickyard", "registry", *arguments],
        env=environ, capture_output=True, text=True, timeout=STUCK_S,
    )  # fmt: skip
    assert "Traceback" not in ran.stderr, ran.stderr
    return ran.returncode, ran.stdout


async def address_of(yard, symbol=SYMBOL):
    answer = await yard.get(f"/v1/assets/{symbol}")
    return answer.json()["address"] if answer.status == 200 else answer.status


def live(scenario, folder):
    async def run():
        async with (
            asyncio.timeout(STUCK_S),
            paperyard.open_far_ends() as far,
            paperyard.open_yard(folder, far_ends=far) as yard,
        ):
            await scenario(yard, far)

    asyncio.run(run())


@pytest.mark.slow
def test_a_changed_address_is_served_once_a_person_has_accepted_it(tmp_path):
    async def scenario(yard, far):
        registry, old = yard.deps.market.registry, await address_of(yard)
        wish = {"symbol": SYMBOL, "condition": "above", "price": 900, "webhookUrl": "https://hooks.acme.com/x"}
        assert (await yard.post("/v1/alerts", wish)).status == 201
        far.issuer.edit = moved
        await registry.refresh()
        assert await address_of(yard) == old
        status, said = await tickyard(tmp_path, far, "show")
        assert status == 1
        assert SYMBOL in said
        assert old in said
        assert checksum(ELSEWHERE) in said
        # There must be a token: nobody is accepted on the issuer's word alone.
        status, said = await tickyard(tmp_path, far, "accept", SYMBOL, "--address", ELSEWHERE)
        assert (status, "no token of 18 decimals" in said) == (1, True), said
        a_token_stands(far, ELSEWHERE, said_uid=1)
        status, said = await tickyard(tmp_path, far, "accept", SYMBOL, "--address", ELSEWHERE)
        assert (status, "its uid is 0x1" in said) == (1, True), said
        a_token_stands(far, ELSEWHERE)
        status, said = await tickyard(tmp_path, far, "accept", SYMBOL.lower())
        assert (status, f"--address {ELSEWHERE}" in said) == (1, True), "what was not named is only shown"
        assert "calls itself 'HOOD'" in said
        await registry.refresh()
        assert await address_of(yard) == old
        status, said = await tickyard(tmp_path, far, "accept", SYMBOL.lower(), "--address", checksum(ELSEWHERE))
        assert status == 0, said
        assert old in said
        assert "1 active ones watch the new address" in said
        assert (await yard.post("/v1/alerts", wish)).status == 502, "of which token, this process does not know yet"
        assert checksum(ELSEWHERE) in said
        # Also while the issuer is silent again: the store is the truth of all processes.
        far.issuer.is_down = True
        with pytest.raises(Exception, match="issuer"):
            await registry.refresh()
        assert await address_of(yard) == checksum(ELSEWHERE)
        assert (await yard.post("/v1/alerts", wish)).status == 201
        far.issuer.is_down = False
        assert await tickyard(tmp_path, far, "show") == (
            0,
            "193 identities pinned, 0 of those listed now are not who they were\n",
        )
        # And back to the old one is a change like any other.
        far.issuer.edit = lambda assets: assets
        await registry.refresh()
        assert await address_of(yard) == checksum(ELSEWHERE)
        books = sqlite3.connect(tmp_path / "tickyard.db")
        ((symbol, was, became),) = books.execute("SELECT symbol, was, became FROM accepted_token").fetchall()
        books.close()
        assert symbol == SYMBOL
        assert old.lower() in was
        assert ELSEWHERE in became

    live(scenario, tmp_path)


@pytest.mark.slow
def test_a_token_that_changed_its_ticker_is_accepted_under_the_new_one(tmp_path):
    async def scenario(yard, far):
        old = await address_of(yard)
        far.issuer.edit = ticker_changed
        await yard.deps.market.registry.refresh()
        assert await address_of(yard, "HOODX") == 404
        far.node.mode = "500"
        status, said = await tickyard(tmp_path, far, "accept", "HOODX", "--address", old)
        assert status == 0
        assert "chain   could not be asked" in said
        far.node.mode = "ok"
        assert f"as {SYMBOL}" in said
        await yard.deps.market.registry.refresh()
        assert (await address_of(yard, "HOODX"), await address_of(yard)) == (old, 404)

    live(scenario, tmp_path)


def uid_of_another(assets):
    """The uid of somebody who had no token on our chain and is not listed any more."""
    gone = next(asset for asset in assets if all(each["chainId"] != 4663 for each in asset["deployments"]))
    listed(moved(assets))["id"] = gone["id"]
    return [asset for asset in assets if asset is not gone]


@pytest.mark.slow
def test_an_accepted_token_is_served_where_its_uid_was_of_somebody_without_a_token(tmp_path):
    async def scenario(yard, far):
        far.issuer.edit, far.node.mode = uid_of_another, "500"
        status, said = await tickyard(tmp_path, far, "accept", SYMBOL, "--address", ELSEWHERE)
        assert status == 0, said
        far.node.mode = "ok"
        await yard.deps.market.registry.refresh()
        assert await address_of(yard) == checksum(ELSEWHERE)

    live(scenario, tmp_path)


@pytest.mark.slow
def test_a_list_without_many_is_shown_as_refused(tmp_path):
    async def scenario(_yard, far):
        far.issuer.edit = lambda assets: assets[: len(assets) // 2]
        status, said = await tickyard(tmp_path, far, "show")
        assert (status, "97 of 194 assets vanished" in said) == (1, True), said

    live(scenario, tmp_path)


@pytest.mark.slow
def test_nothing_is_accepted_by_mistake(tmp_path):
    async def scenario(yard, far):
        old = await address_of(yard)
        assert (await tickyard(tmp_path, far, "accept", SYMBOL))[0] == 0
        assert (await tickyard(tmp_path, far, "accept", "NOBODY"))[0] == 1
        far.issuer.edit = moved
        status, said = await tickyard(tmp_path, far, "accept", SYMBOL, "--address", "0x" + "dd" * 20)
        assert status == 1
        assert "another address" in said
        far.issuer.is_down = True
        assert (await tickyard(tmp_path, far, "accept", SYMBOL))[0] == 1
        far.issuer.is_down, far.issuer.edit = False, lambda assets: assets
        await yard.deps.market.registry.refresh()
        assert await address_of(yard) == old

    live(scenario, tmp_path)


@pytest.mark.slow
def test_a_token_that_is_listed_no_more_is_served_as_it_was_until_a_person_forgets_it(tmp_path):
    async def scenario(yard, far):
        registry, was = yard.deps.market.registry, await address_of(yard)
        far.issuer.edit = lambda assets: [each for each in assets if each["tokenSymbol"] != SYMBOL]
        await registry.refresh()
        answer = (await yard.get(f"/v1/assets/{SYMBOL}")).json()
        assert (answer["address"], answer["status"]) == (was, "ASSET_STATUS_UNLISTED")
        assert REGISTRY.get_sample_value("tickyard_registry_unlisted") == 1
        assert (await yard.get("/v1/assets")).json()["count"] == 194
        status, said = await tickyard(tmp_path, far, "forget", "NOBODY")
        assert (status, "not on the kept list" in said) == (1, True), said
        status, said = await tickyard(tmp_path, far, "forget", SYMBOL.lower())
        assert status == 0, said
        await registry.refresh()
        assert await address_of(yard) == 404
        assert REGISTRY.get_sample_value("tickyard_registry_unlisted") == 0
        # It comes back as nobody else.
        far.issuer.edit = moved
        await registry.refresh()
        assert await address_of(yard) == 404
        far.issuer.edit = lambda assets: assets
        await registry.refresh()
        assert await address_of(yard) == was

    live(scenario, tmp_path)


@pytest.mark.slow
def test_a_token_that_left_this_chain_holds_the_list_up_only_until_a_person_forgets_it(tmp_path):
    async def scenario(yard, far):
        registry, was = yard.deps.market.registry, await address_of(yard)
        far.issuer.edit = undeployed
        await registry.refresh()
        assert await address_of(yard) == was
        status, said = await tickyard(tmp_path, far, "show")
        assert (status, "without a token on this chain" in said) == (1, True), said
        status, said = await tickyard(tmp_path, far, "accept", SYMBOL)
        assert (status, f"tickyard registry forget {SYMBOL}" in said) == (1, True), said
        assert (await tickyard(tmp_path, far, "forget", SYMBOL))[0] == 0
        await registry.refresh()
        assert await address_of(yard) is None
        assert REGISTRY.get_sample_value("tickyard_registry_changed_identities") == 0
        assert (await tickyard(tmp_path, far, "show"))[0] == 0
        # It comes back as nobody else.
        far.issuer.edit = moved
        await registry.refresh()
        assert await address_of(yard) is None
        far.issuer.edit = lambda assets: assets
        await registry.refresh()
        assert await address_of(yard) == was

    live(scenario, tmp_path)


@pytest.mark.slow
def test_a_list_that_loses_a_few_again_and_again_is_refused_like_one_that_loses_them_at_once(tmp_path):
    async def scenario(yard, far):
        registry = yard.deps.market.registry
        for here in (180, 160, 150, 140):
            far.issuer.edit = lambda assets, here=here: assets[:here]
            await registry.refresh()
        assert (await yard.get("/v1/assets")).json()["count"] == 194
        # Those of the refused lists are not even called unlisted.
        assert REGISTRY.get_sample_value("tickyard_registry_unlisted") == 34

    live(scenario, tmp_path)


@pytest.mark.slow
def test_a_damaged_list_is_dropped_and_read_again_and_who_is_who_stays_pinned(tmp_path):
    async def run():
        async with asyncio.timeout(STUCK_S), paperyard.open_far_ends() as far:
            async with paperyard.open_yard(tmp_path, far_ends=far) as yard:
                old = await address_of(yard)
            books = sqlite3.connect(tmp_path / "tickyard.db")
            books.execute("UPDATE kept_listing SET body = '{}'")
            books.commit()
            books.close()
            assert (await tickyard(tmp_path, far, "forget"))[0] == 0
            async with paperyard.open_yard(tmp_path, far_ends=far) as yard:
                assert await address_of(yard) == old
                far.issuer.edit = moved
                await yard.deps.market.registry.refresh()
                assert await address_of(yard) == old

    asyncio.run(run())
