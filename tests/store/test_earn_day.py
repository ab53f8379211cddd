"""A day of the reward program on both databases: from revenue to rollover, claims in all their orders."""

import asyncio
import csv
import gzip
import hashlib
import io
import zlib
from datetime import timedelta

import msgspec
import pytest
from eth_account import Account
from sqlalchemy import func, insert, select

from tickyard.features.earn import rules
from tickyard.features.earn.books.pools import read_pools
from tickyard.features.earn.books.public import BooksAsk, FileAsk, get_epoch_books, get_epoch_file
from tickyard.features.earn.books.reserves import get_earn_reserves
from tickyard.features.earn.days.closing import DeskView, close
from tickyard.features.earn.days.drift import DriftWatch
from tickyard.features.earn.days.epochs import run_due
from tickyard.features.earn.tables import (
    earn_claim,
)
from tickyard.features.earn.wire import Claimed
from tickyard.kernel.errors import BadRequest, NotFound, UpstreamDown
from tickyard.kernel.operation import NoAsk
from tickyard.kernel.wire import encode
from tickyard.store.revenue import credit
from yards.reward_days import (
    ALICE,
    BOB,
    CAROL,
    EPOCH,
    POOR,
    THRESHOLD,
    live_in_town,
)


@pytest.fixture
def run(where, tmp_path):
    return lambda work: asyncio.run(live_in_town(where, tmp_path, work))


def test_a_day_from_revenue_to_rollover(run):
    async def work(town):
        await town.open_day(10_000, 20_000, 1)
        answer = await town.ask(ALICE)
        assert (answer.ok, answer.epoch, answer.amount_usd, answer.status) == (True, EPOCH, "0.020000", "sent")
        assert answer.address.lower() == ALICE.address
        town.mine()
        await town.pay()
        assert town.held(ALICE) == 20_000
        assert (await town.ask(ALICE)).status == "confirmed"
        assert (await town.ask(ALICE)).tx == answer.tx
        assert (await town.to(rules.closes_at(EPOCH))).closed == [EPOCH]
        books = await town.books()
        assert (books["poolUsd"], books["paidUsd"], books["rolledOverUsd"]) == ("0.030001", "0.020000", "0.010001")
        assert books["balanced"] is True
        assert books["calls"] == 3
        assert [line["claim"] for line in books["wallets"]].count("confirmed") == 1
        accruing = (await town.program())["accruing"]
        assert (accruing["rolloverUsd"], accruing["revenueUsd"], accruing["calls"]) == ("0.010001", "0.000000", 0)
        # The next day's pool begins with what is left.
        await town.earn_money(5)
        await town.to(rules.snapshot_at(rules.next_epoch(EPOCH)))
        await town.open_claims(rules.next_epoch(EPOCH))
        assert (await town.books(rules.next_epoch(EPOCH)))["poolUsd"] == "0.010006"

    run(work)


def test_the_answers_have_exactly_the_decided_fields(run):
    async def work(town):
        before = await town.status(ALICE)
        assert list(before) == ["address", "balanceTokens", "eligibleNow", "epoch"]
        assert list(before["epoch"]) == [
            "id", "claimOpenAt", "claimCloseAt", "claimOpen", "inSnapshot", "claimableUsd", "claimed", "claimTx",
            "message", "typedData",
        ]  # fmt: skip
        assert (before["epoch"]["id"], before["epoch"]["claimOpen"], before["epoch"]["inSnapshot"]) == (
            EPOCH, False, False,
        )  # fmt: skip
        assert before["balanceTokens"] == "2000000"
        assert before["eligibleNow"] is True
        assert (await town.status(POOR))["eligibleNow"] is False
        program = await town.program()
        assert list(program) == ["token", "thresholdTokens", "payoutAsset", "schedule", "accruing", "epoch"]
        assert program["epoch"] is None
        assert program["token"] == {"symbol": "TICK", "address": program["token"]["address"], "chainId": 4663,
                                    "decimals": 18}  # fmt: skip
        assert program["thresholdTokens"] == "1000000"
        await run_due(town, town.clock.now())
        await town.pay()
        await town.earn_money(30_000)
        await town.to(rules.snapshot_at(EPOCH))
        taken = await town.status(ALICE)
        assert taken["epoch"]["claimableUsd"] is None
        assert (await town.program())["epoch"]["poolUsd"] is None
        await town.open_claims()
        opened = await town.status(ALICE)
        assert opened["epoch"]["claimOpen"] is True
        assert opened["epoch"]["claimableUsd"] == "0.020000"
        assert (await town.status(POOR))["epoch"]["inSnapshot"] is False
        epoch = (await town.program())["epoch"]
        assert epoch == {
            "id": EPOCH, "poolUsd": "0.030000", "revenueUsd": "0.030000", "rolloverUsd": "0.000000",
            "eligibleWallets": 2, "claimOpenAt": "2026-11-15T00:00:00Z", "claimCloseAt": "2026-11-15T01:00:00Z",
            "claimOpen": True, "claimedWallets": 0, "claimedUsd": "0.000000",
        }  # fmt: skip
        answer = await town.ask(ALICE)
        assert list(msgspec.json.decode(encode(answer))) == ["ok", "epoch", "address", "amountUsd", "tx", "status"]
        after = (await town.status(ALICE))["epoch"]
        assert (after["claimed"], after["claimTx"]) == (True, answer.tx)

    run(work)


def test_bad_claims_are_refused_and_reserve_nothing(run):
    async def work(town):
        with pytest.raises(NotFound):
            await town.ask(ALICE, 20200101)
        with pytest.raises(NotFound):
            await town.ask(ALICE, 20261332)
        accruing = rules.accruing_epoch(town.clock.now())
        for asking in (town.ask(ALICE, accruing), get_epoch_books(town, BooksAsk(id=accruing))):
            with pytest.raises(NotFound, match="snapshot is taken at"):
                await asking
        await run_due(town, town.clock.now())
        await town.pay()
        await town.earn_money(10_000, 20_000)
        assert (await town.to(rules.snapshot_at(EPOCH))).taken == [EPOCH]
        with pytest.raises(BadRequest, match="opens at"):
            await town.ask(ALICE)
        assert (await town.open_claims()).opened == [EPOCH]
        for wallet, signature in (
            (ALICE, BOB.sign(EPOCH, ALICE.address)),
            (ALICE, ALICE.sign(rules.next_epoch(EPOCH))),
            (ALICE, "0x" + "11" * 64 + "1b"),
            (POOR, None),
            (CAROL, None),
        ):
            with pytest.raises(BadRequest):
                await town.ask(wallet, signature=signature)
        town.clock.move(rules.closes_at(EPOCH))
        with pytest.raises(BadRequest, match="closed"):
            await town.ask(ALICE)
        async with town.store.read() as tx:
            assert (await tx.execute(select(func.count()).select_from(earn_claim))).scalar_one() == 0

    run(work)


def test_a_contract_wallet_is_refused_and_a_delegated_account_is_paid(run):
    async def work(town):
        await town.open_day()
        codes = {ALICE.address: "0x6080", BOB.address: "0xef0100" + "ab" * 20}
        town.chain.eth_getCode = lambda address, _where: codes[address]
        with pytest.raises(BadRequest, match="contract"):
            await town.ask(ALICE)
        assert (await town.ask(BOB)).ok

    run(work)


@pytest.mark.slow
def test_many_claims_at_once_are_one_transfer(run):
    async def work(town):
        await town.open_day()
        claims = [asyncio.create_task(town.ask(ALICE, agent=False)) for _ in range(8)]
        for _ in range(200):
            await town.clock.sleep(0)
            await town.pay()
        answers = await asyncio.gather(*claims, return_exceptions=True)
        assert {type(answer) for answer in answers} <= {Claimed, UpstreamDown}
        hashes = {answer.tx for answer in answers if isinstance(answer, Claimed)}
        assert len(hashes) == 1
        town.mine()
        await town.pay()
        assert town.held(ALICE) == 20_000
        assert town.chain.state.nonces[town.signer.address] == 2

    run(work)


async def taken(town):
    """What everybody is told of the day's claims: how many wallets, and their sum."""
    epoch = (await town.program())["epoch"]
    return epoch["claimedWallets"], epoch["claimedUsd"]


def test_a_payout_that_reverts_for_good_is_released_and_may_be_claimed_again(run):
    async def work(town):
        await town.open_day()
        town.chain.frozen.add(ALICE.address)
        first = await town.ask(ALICE)
        town.chain.mine()
        assert (await town.pay()).failed == 0, "a revert that is not final decides nothing"
        assert (await town.ask(ALICE)).tx == first.tx
        town.mine()
        assert await taken(town) == (1, "0.020000")
        assert (await town.pay()).failed == 1
        assert (await town.status(ALICE))["epoch"]["claimed"] is False
        assert await taken(town) == (0, "0.000000")
        town.chain.frozen.clear()
        second = await town.ask(ALICE)
        assert second.tx != first.tx
        town.mine()
        await town.pay()
        assert town.held(ALICE) == 20_000
        assert await taken(town) == (1, "0.020000")
        shown = (await town.status(ALICE))["epoch"]
        assert (shown["claimed"], shown["claimTx"]) == (True, second.tx), "of two attempts the newer one"
        await town.ask(BOB)
        assert await taken(town) == (2, "0.030000")
        await town.to(rules.closes_at(EPOCH))
        assert (await town.books())["balanced"] is True

    run(work)


@pytest.mark.slow
def test_a_failure_after_the_closing_goes_to_the_next_pool_once(run):
    async def work(town):
        await town.open_day()
        town.chain.frozen.add(ALICE.address)
        town.clock.move(rules.closes_at(EPOCH) - timedelta(seconds=30))
        await town.ask(ALICE)
        town.clock.move(rules.closes_at(EPOCH))
        assert (await run_due(town, town.clock.now())).closed == [EPOCH]
        town.mine()
        assert (await town.pay()).failed == 1
        assert (await town.program())["accruing"]["rolloverUsd"] == "0.030000"
        assert (await get_earn_reserves(town, NoAsk())).answer.owed_usd == "0.000000", "it is shown once"
        with pytest.raises(BadRequest, match="closed"):
            await town.ask(ALICE)
        following = rules.next_epoch(EPOCH)
        await town.to(rules.snapshot_at(following))
        await town.open_claims(following)
        assert (await town.books(following))["poolUsd"] == "0.030000"
        assert (await town.books())["returnedLaterUsd"] == "0.020000"
        assert (await town.books())["balanced"] is True
        await town.to(rules.closes_at(following))
        third = rules.next_epoch(following)
        await town.to(rules.snapshot_at(third))
        await town.open_claims(third)
        assert (await town.books(third))["poolUsd"] == "0.030000"

    run(work)


def test_what_was_paid_before_the_program_began_is_in_no_pool_of_it(run):
    """A service may have sold for months before it gets a desk: those days had no pool, and nobody a snapshot."""

    async def work(town):
        began = rules.starts_at(EPOCH)
        paid = {"months ago": (90, began - timedelta(days=90)), "just before": (9, began - timedelta(microseconds=1))}
        async with town.store.begin() as tx:
            for name, (amount, settled) in paid.items():
                await credit(tx, f"eip155:4663/{name}/0", amount, settled, settled)
            # Seen late, and no more this day's for that.
            await credit(tx, "eip155:4663/seen late/0", 900, began - timedelta(days=1), town.clock.now())
            await credit(tx, "eip155:4663/the first/0", 1, began, town.clock.now())
        is_told = {"revenueUsd": "0.000001", "calls": 1, "rolloverUsd": "0.000000"}
        assert (await town.program())["accruing"] == {"epoch": EPOCH, **is_told}, "no worker has begun yet"
        await run_due(town, town.clock.now())
        assert (await town.program())["accruing"] == {"epoch": EPOCH, **is_told}
        await town.to(rules.snapshot_at(EPOCH))
        await town.to(rules.opens_at(EPOCH))
        books = await town.books()
        assert (books["poolUsd"], books["calls"]) == ("0.000001", 1)
        assert (await town.program())["accruing"]["revenueUsd"] == "0.000000"
        pools = await read_pools(town.store, began - timedelta(days=99), began + timedelta(days=1))
        days = [pools.day(f"eip155:4663/{name}/0", settled) for name, (_, settled) in paid.items()]
        assert (days, pools.day("eip155:4663/the first/0", began)) == (["", ""], "2026-11-14")

    run(work)


def test_a_pool_that_cannot_be_paid_stays_closed_and_rolls_over_whole(run):
    async def work(town):
        await run_due(town, town.clock.now())
        await town.pay()
        await town.earn_money(10**12 + 1)
        await town.to(rules.snapshot_at(EPOCH))
        done = await town.open_claims()
        assert done.opened == []
        assert "not solvent" in done.waiting[EPOCH]
        assert town.earn.late == set(), "it may come in a moment"
        await town.to(rules.opens_at(EPOCH) + timedelta(minutes=1))
        assert town.earn.late == {(EPOCH, "open: not solvent")}
        with pytest.raises(UpstreamDown, match="not open"):
            await town.ask(ALICE)
        await town.to(rules.closes_at(EPOCH))
        assert (await town.books())["rolledOverUsd"] == (await town.books())["poolUsd"]

    run(work)


def test_a_payer_without_gas_for_all_of_them_pays_nobody(run):
    async def work(town):
        # Two batches with two lines in all, at twice the fee; and what the last must bring, at what it offers.
        town.chain.eth = 2 * 10**8 * (2 * 70_000 + 2 * 450_000) + 4 * 10**8 * (2 * 70_000 + 450_000) - 1
        await run_due(town, town.clock.now())
        await town.pay()
        await town.earn_money(30_000)
        await town.to(rules.snapshot_at(EPOCH))
        assert "not solvent" in (await town.open_claims()).waiting[EPOCH]
        town.chain.eth += 1
        assert (await run_due(town, town.clock.now())).opened == [EPOCH]

    run(work)


def test_revenue_that_becomes_known_after_the_sealing_is_in_the_next_pool_once(run):
    async def work(town):
        await town.open_day(30_000)
        yesterday = rules.opens_at(EPOCH) - timedelta(microseconds=1)
        async with town.store.begin() as tx:
            await credit(tx, "eip155:4663/0xlate/0", 7, yesterday, town.clock.now())
        await town.to(rules.closes_at(EPOCH))
        assert (await town.books())["poolUsd"] == "0.030000"
        following = rules.next_epoch(EPOCH)
        third = rules.next_epoch(following)
        for epoch in (following, third):
            await town.to(rules.snapshot_at(epoch))
            await town.open_claims(epoch)
            await town.to(rules.closes_at(epoch))
        later = await town.books(following)
        assert (later["revenueUsd"], later["calls"], later["poolUsd"]) == ("0.000007", 1, "0.030007")
        assert (await town.books(third))["revenueUsd"] == "0.000000"

    run(work)


def test_another_form_of_the_same_signature_is_the_same_claim(run):
    async def work(town):
        await town.open_day()
        signature = bytes.fromhex(ALICE.sign(EPOCH)[2:])
        order = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
        high = (order - int.from_bytes(signature[32:64], "big")).to_bytes(32, "big")
        v = signature[64] % 27
        forms = [
            signature[:64] + bytes([v]),
            signature[:64] + bytes([v + 27]),
            signature[:32] + high + bytes([1 - v]),
            signature[:32] + high + bytes([28 - v]),
        ]
        answers = [await town.ask(ALICE, signature="0x" + form.hex()) for form in forms]
        answers.append(await town.ask(ALICE, signature="0x" + forms[0].hex().upper()))
        assert len({answer.tx for answer in answers}) == 1
        town.mine()
        await town.pay()
        assert town.held(ALICE) == 20_000
        assert town.chain.state.nonces[town.signer.address] == 2

    run(work)


def desk_paid(spent_raw):
    """A desk that has paid so much, and nothing of it to anybody in the books."""

    async def paid_to(accounts):
        return [0 for _ in accounts]

    return DeskView(1, spent_raw, paid_to)


def test_an_epoch_that_is_being_closed_is_shown_as_open(run):
    async def work(town):
        await town.open_day()
        town.clock.move(rules.closes_at(EPOCH))
        # More than the books know of: somebody must look before it ends.
        assert await close(town.store, EPOCH, desk_paid(10**12)) == "the desk has paid more than the books know of"
        assert (await town.books())["state"] == "open"
        assert await close(town.store, EPOCH, desk_paid(0)) == "closed"
        assert (await town.books())["state"] == "closed"

    run(work)


def test_a_claim_written_after_the_closing_is_never_paid(run):
    async def work(town):
        await town.open_day()
        await town.to(rules.closes_at(EPOCH))
        row = {"address": BOB.address, "signature": BOB.sign(EPOCH), "reserved_at": rules.opens_at(EPOCH)}
        async with town.store.begin() as tx:
            await tx.execute(insert(earn_claim), {"epoch": EPOCH, "attempt": 0, **row})
        did = await town.pay()
        assert (did.sent, did.refused) == (0, 1)
        assert (await town.books())["balanced"] is True

    run(work)


def test_the_books_are_a_file_whose_hash_the_desk_keeps_and_pages_to_read(run):
    async def work(town):
        await town.open_day()
        before = await read_file(town)
        await town.ask(ALICE)
        town.mine()
        await town.pay()
        await town.to(rules.closes_at(EPOCH))
        assert await read_file(town) == before, "immutable from the seal on"
        text = gzip.decompress(before)
        # Many a reader, a browser's among them, takes the first member of a gzip file for all of it.
        reader = zlib.decompressobj(zlib.MAX_WBITS | 16)
        assert (reader.decompress(before), reader.eof, reader.unused_data) == (text, True, b"")
        rows = list(csv.DictReader(io.StringIO(text.decode())))
        assert rows == sorted(
            [
                {"address": ALICE.address, "balance": str(2 * THRESHOLD), "share": "20000"},
                {"address": BOB.address, "balance": str(THRESHOLD), "share": "10000"},
            ],
            key=lambda row: row["address"],
        )
        assert hashlib.sha256(text).hexdigest() == town.chain.state.books[EPOCH]
        assert town.chain.state.books[EPOCH] == (await town.books())["digest"]
        first = await town.books(limit=1)
        second = await town.books(limit=1, cursor=first["nextCursor"])
        assert [each["wallets"][0]["address"].lower() for each in (first, second)] == [row["address"] for row in rows]
        assert (await town.books(limit=1, cursor=second["nextCursor"]))["wallets"] == []
        for unknown in (20200101, rules.next_epoch(EPOCH), 5):
            with pytest.raises(NotFound):
                await get_epoch_books(town, BooksAsk(id=unknown))
            with pytest.raises(NotFound):
                await get_epoch_file(town, FileAsk(id=unknown))

    run(work)


async def read_file(town):
    answer = await get_epoch_file(town, FileAsk(id=EPOCH))
    return b"".join([part async for part in answer.parts])


def test_a_clock_that_is_not_the_stores_is_told_of_once_a_minute(run, where):
    async def work(town):
        watch = DriftWatch()
        assert await watch.measure(town.store) is None
        # The machine's clock goes wrong; the store's does not.
        town.clock.error = timedelta(seconds=-1)
        assert await watch.measure(town.store) is None, "looked a moment ago"
        await town.clock.sleep(60)
        drift = await watch.measure(town.store)
        if where.startswith("postgresql"):
            assert timedelta(milliseconds=300) < drift <= timedelta(seconds=1)
        else:
            assert drift is None, "one process, one clock"

    run(work)


def test_the_reserves_show_chain_and_books_side_by_side(run):
    async def work(town):
        await town.open_day()
        unclaimed = msgspec.json.decode(encode((await get_earn_reserves(town, NoAsk())).answer))
        assert [(each["id"], each["paidUsd"]) for each in unclaimed["epochs"]] == [(EPOCH, "0.000000")]
        await town.ask(ALICE)
        town.mine()
        await town.pay()
        with pytest.raises(UpstreamDown, match="reserved"):
            await town.ask(BOB, agent=False)
        opened = msgspec.json.decode(encode((await get_earn_reserves(town, NoAsk())).answer))
        assert list(opened) == [
            "blockNumber", "asOf", "desk", "payer", "owedUsd", "sealedUsd", "paidUsd", "epochs"
        ]  # fmt: skip
        assert list(opened["payer"]) == ["address", "usdg", "eth", "allowance"]
        assert opened["payer"]["usdg"] == "999999.980000"
        assert (opened["sealedUsd"], opened["owedUsd"], opened["paidUsd"]) == ("0.030000", "0.000000", "0.020000")
        digest = (await town.books())["digest"]
        assert opened["epochs"] == [
            {
                "id": EPOCH, "booksHash": digest, "onChainBooksHash": digest, "poolUsd": "0.030000",
                "paidUsd": "0.020000", "onChainPaidUsd": "0.020000",
            }
        ]  # fmt: skip
        await town.to(rules.closes_at(EPOCH))
        closed = msgspec.json.decode(encode((await get_earn_reserves(town, NoAsk())).answer))
        assert (closed["sealedUsd"], closed["owedUsd"], closed["paidUsd"]) == ("0.000000", "0.010000", "0.020000")

    run(work)


def test_typed_data_is_as_good_a_signature_as_the_message(run):
    async def work(town):
        await town.open_day()
        typed = (await town.status(ALICE))["epoch"]["typedData"]
        signed = Account.from_key(ALICE.key.secret).sign_typed_data(full_message=typed)
        answer = await town.ask(ALICE, signature="0x" + bytes(signed.signature).hex())
        assert answer.ok
        for changed in ("epoch", "paidIn"):
            other = typed | {"message": typed["message"] | {changed: 7 if changed == "epoch" else ALICE.address}}
            forged = Account.from_key(BOB.key.secret).sign_typed_data(full_message=other)
            with pytest.raises(BadRequest, match="not this wallet's"):
                await town.ask(BOB, signature="0x" + bytes(forged.signature).hex())

    run(work)


def test_an_epoch_is_closed_once_and_not_before_its_time(run):
    async def work(town):
        await town.open_day()
        assert await close(town.store, EPOCH, desk_paid(0)) == "somebody was faster"
        town.clock.move(rules.closes_at(EPOCH))
        assert await close(town.store, EPOCH, desk_paid(0)) == "closed"
        assert await close(town.store, EPOCH, desk_paid(0)) == "somebody was faster"

    run(work)
