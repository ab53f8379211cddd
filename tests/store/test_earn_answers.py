"""The answers of the reward program to the last field, and every way in which a claim is turned away."""

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import insert, select, update

from simulated.words import TOKEN, USDG
from tickyard.chain.address import checksum
from tickyard.features.earn import rules
from tickyard.features.earn.books.public import FileAsk, get_epoch_file
from tickyard.features.earn.operations import get_earn
from tickyard.features.earn.tables import earn_claim, earn_epoch, earn_line, earn_share, earn_tally
from tickyard.kernel.errors import BadRequest, NotFound, UpstreamDown
from tickyard.kernel.operation import NoAsk
from yards.reward_days import ALICE, BOB, EPOCH, THRESHOLD, live_in_town

NOON = rules.starts_at(EPOCH) + timedelta(hours=12)
HALF_PAST = rules.opens_at(EPOCH) + timedelta(minutes=30)


@pytest.fixture
def run(tmp_path):
    return lambda work: asyncio.run(live_in_town(str(tmp_path / "tickyard.db"), tmp_path, work))


async def write(town, state="open", at=HALF_PAST, **more):
    row = {
        "id": EPOCH, "state": state, "pool_raw": 9_000_000, "revenue_raw": 7_000_000, "rollover_raw": 2_000_000,
        "eligible_wallets": 2, "eligible_total": 3 * THRESHOLD, "digest": "ab" * 32,
    }  # fmt: skip
    async with town.store.begin() as tx:
        await tx.execute(insert(earn_epoch), row | more)
        for wallet, balance in ((ALICE, 2 * THRESHOLD), (BOB, THRESHOLD)):
            await tx.execute(insert(earn_share), {"epoch": EPOCH, "address": wallet.address, "balance": balance})
        await tx.execute(insert(earn_tally), {"epoch": EPOCH, "wallets": 1, "live_raw": 3_000_000, "paid_raw": 0})
    town.clock.now = lambda: at


def test_the_program_is_told_to_the_last_field(run):
    async def work(town):
        town.clock.now = lambda: NOON
        told = await town.program()
        assert told["payoutAsset"] == {"symbol": "USDG", "address": checksum(USDG), "decimals": 6}
        assert told["token"]["address"] == checksum(TOKEN)
        assert told["schedule"] == {
            "snapshotUtc": "23:00", "claimOpenUtc": "00:00", "claimCloseUtc": "01:00",
            "nextSnapshotAt": "2026-11-14T23:00:00Z", "nextClaimOpenAt": "2026-11-15T00:00:00Z",
        }  # fmt: skip
        assert told["accruing"] == {"epoch": EPOCH, "revenueUsd": "0.000000", "calls": 0, "rolloverUsd": "0.000000"}
        town.clock.now = lambda: rules.snapshot_at(EPOCH)
        assert (await town.program())["schedule"]["nextSnapshotAt"] == "2026-11-15T23:00:00Z"
        assert (await get_earn(town, NoAsk())).answer.epoch is None

    run(work)


@pytest.mark.parametrize(
    ("state", "at", "is_open"),
    [
        ("open", rules.opens_at(EPOCH), True),
        ("open", rules.closes_at(EPOCH), False),
        ("sealed", HALF_PAST, False),
        ("closing", HALF_PAST, False),
    ],
)
def test_claims_are_shown_as_open_in_the_window_of_an_open_day(run, state, at, is_open):
    async def work(town):
        await write(town, state, at)
        told = (await town.program())["epoch"]
        assert told == {
            "id": EPOCH, "poolUsd": "9.000000", "revenueUsd": "7.000000", "rolloverUsd": "2.000000",
            "eligibleWallets": 2, "claimOpenAt": "2026-11-15T00:00:00Z", "claimCloseAt": "2026-11-15T01:00:00Z",
            "claimOpen": is_open, "claimedWallets": 1, "claimedUsd": "3.000000",
        }  # fmt: skip
        shown = (await town.status(BOB))["epoch"]
        assert (shown["claimOpen"], shown["inSnapshot"], shown["claimableUsd"]) == (is_open, True, "3.000000")
        assert (shown["claimOpenAt"], shown["claimCloseAt"]) == ("2026-11-15T00:00:00Z", "2026-11-15T01:00:00Z")
        assert (shown["claimed"], shown["claimTx"]) == (False, None)

    run(work)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changed", "code", "kind", "says", "retry_after_s"),
    [
        ({"state": "accruing"}, "0x", UpstreamDown, "not taken yet", 30),
        ({"state": "skipped"}, "0x", BadRequest, "was skipped", None),
        ({"state": "sealed"}, "0x", UpstreamDown, "not open yet", 30),
        # Sealed late: nobody knows the share yet, which is not the same as none.
        ({"state": "taken", "pool_raw": None}, "0x", UpstreamDown, "not open yet", 30),
        ({"at": rules.opens_at(EPOCH) - timedelta(microseconds=1)}, "0x", BadRequest, "opens at", None),
        ({"at": rules.closes_at(EPOCH)}, "0x", BadRequest, "closed at", None),
        ({"pool_raw": 1}, "0x", BadRequest, "less than one base unit", None),
        ({}, "0x6080", BadRequest, "contract wallets", None),
        ({}, "0xef0100" + "ab" * 19, BadRequest, "contract wallets", None),
        ({}, None, UpstreamDown, "malformed", None),
        ({}, "0x", UpstreamDown, "is reserved", 10),
        ({}, "0xef0100" + "ab" * 20, UpstreamDown, "is reserved", 10),
    ],
)
def test_a_claim_is_turned_away_with_the_reason_and_the_pause_that_help(run, changed, code, kind, says, retry_after_s):
    async def work(town):
        await write(town, **changed)
        town.chain.eth_getCode = lambda *_: code
        with pytest.raises(kind, match=says) as turned:
            await town.ask(ALICE, agent=False)
        assert getattr(turned.value, "retry_after_s", None) == retry_after_s
        async with town.store.read() as tx:
            assert len((await tx.execute(select(earn_claim))).all()) == (says == "is reserved")

    run(work)


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ({"state": "sent", "hash": "0xtold"}, "sent"),
        ({"state": "confirmed", "hash": "0xtold"}, "confirmed"),
        ({"state": "confirmed", "hash": None}, "is paid, but"),
        ({"state": "sent", "hash": None}, "is reserved"),
    ],
)
def test_who_has_claimed_is_told_the_transaction_also_after_the_window(run, line, status):
    async def work(town):
        await write(town)
        with pytest.raises(UpstreamDown, match="is reserved"):
            await town.ask(ALICE, agent=False)
        row = {"epoch": EPOCH, "address": ALICE.address, "attempt": 0, "amount_raw": 5_999_999, "sent_at": HALF_PAST}
        async with town.store.begin() as tx:
            await tx.execute(insert(earn_line), row | line)
            await tx.execute(update(earn_epoch).values(state="closed", rolled_raw=0))
        town.clock.now = lambda: rules.closes_at(EPOCH) + timedelta(days=1)
        # Whatever the account has become since.
        town.chain.eth_getCode = lambda *_: "0x6080"
        if status in ("sent", "confirmed"):
            told = await town.ask(ALICE, agent=False)
            assert (told.ok, told.status, told.tx, told.amount_usd) == (True, status, "0xtold", "5.999999")
            assert (told.epoch, told.address) == (EPOCH, checksum(ALICE.address))
        else:
            with pytest.raises(UpstreamDown, match=status):
                await town.ask(ALICE, agent=False)

    run(work)


def test_the_file_of_a_day_is_named_and_kept_by_its_hash_and_is_not_there_before_the_seal(run):
    async def work(town):
        await write(town)
        told = await get_epoch_file(town, FileAsk(id=EPOCH))
        assert (told.content_type, told.etag) == ("application/gzip", f'"{"ab" * 32}"')
        assert (told.file_name, told.seconds) == (f"books-{EPOCH}.csv.gz", 365 * 86_400)
        async with town.store.begin() as tx:
            await tx.execute(update(earn_epoch).values(digest=None))
        with pytest.raises(NotFound, match="not sealed yet"):
            await get_epoch_file(town, FileAsk(id=EPOCH))

    run(work)


def test_a_signature_is_kept_as_it_is_read_whatever_its_letters(run):
    async def work(town):
        await write(town)
        loud = "0x" + ALICE.sign(EPOCH)[2:].upper()
        with pytest.raises(UpstreamDown, match="is reserved"):
            await town.ask(ALICE, signature=loud, agent=False)
        async with town.store.read() as tx:
            assert (await tx.execute(select(earn_claim.c.signature))).scalar_one() == ALICE.sign(EPOCH)
        assert (await town.status(ALICE))["epoch"]["claimed"] is True

    run(work)
