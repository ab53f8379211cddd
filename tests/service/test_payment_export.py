"""What an accountant is given."""

import argparse
import json
from datetime import timedelta

import pytest
from sqlalchemy import insert, select

from tickyard.features.earn.tables import earn_credit, earn_epoch
from tickyard.kernel.errors import UpstreamDown
from tickyard.payments.proof.reconcile import look_after
from tickyard.processes.commands import payments
from tickyard.processes.commands.payments import _show
from tickyard.store.revenue import revenue
from yards import paying

call, run = paying.call, paying.run
URL = "/v1/x402/item/AAPL"


def test_an_export_names_the_day_of_the_pool_that_a_payment_went_into(tmp_path, capsys):
    async def scenario(world):
        process, today = world.processes[0], world.clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
        asked = argparse.Namespace(kind="export", since=today, until=today + timedelta(days=2), format="json")
        epochs = [int(f"{today + timedelta(days=n):%Y%m%d}") for n in range(2)]

        async def days():
            assert await _show(asked, process.store) == 0
            return [entry["creditedDay"] for entry in json.loads(capsys.readouterr().out)]

        async def write(table, **values):
            async with process.store.begin() as tx:
                await tx.execute(insert(table), values)

        for _ in range(2):
            assert (await call(world.app, "GET", URL, world.payment())).status == 200
            world.clock.move(2)
        assert await days() == ["", ""]
        await look_after(process.ledger, process.proofs, finality=0, is_forced=True)
        first, second = f"{today:%Y-%m-%d}", f"{today + timedelta(days=1):%Y-%m-%d}"
        assert await days() == [first, first]
        async with process.store.read() as tx:
            names = (await tx.execute(select(revenue.c.settlement).order_by(revenue.c.settled_at))).scalars().all()
        # The second one became final after its day's pool was fixed: the next one takes it.
        await write(earn_epoch, id=epochs[0], state="closed", pool_raw=10_000)
        await write(earn_credit, settlement=names[0], epoch=epochs[0])
        assert await days() == [first, ""]
        await write(earn_epoch, id=epochs[1], state="pooled", pool_raw=10_000)
        await write(earn_credit, settlement=names[1], epoch=epochs[1])
        assert await days() == [first, second]

    run(tmp_path, scenario)


def test_books_of_many_pages_are_told_as_if_they_were_one(tmp_path, capsys, monkeypatch):
    async def scenario(world):
        process, today = world.processes[0], world.clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
        export = {"kind": "export", "since": today, "until": today + timedelta(days=1)}
        listed = {"kind": "list", "state": None, "network": None, "payer": None, "day": None}
        asked = [export | {"format": "csv"}, export | {"format": "json"}, listed | {"limit": 3}, listed | {"limit": 9}]

        async def told():
            texts = []
            for each in asked:
                assert await _show(argparse.Namespace(**each), process.store) == 0
                texts.append(capsys.readouterr().out)
            return texts

        header, nothing, *_ = await told()
        assert (header.count("\n"), nothing) == (1, "[]\n")
        for _ in range(4):
            assert (await call(world.app, "GET", URL, world.payment())).status == 200
        await look_after(process.ledger, process.proofs, finality=0, is_forced=True)
        whole = await told()
        assert [text.count("\n") for text in (whole[0], *whole[2:])] == [5, 3, 4]
        assert [entry["creditedDay"] for entry in json.loads(whole[1])] == [f"{today:%Y-%m-%d}"] * 4
        assert whole[1] == json.dumps(json.loads(whole[1]), indent=2) + "\n"
        for size in (1, 2, 3, 4):
            monkeypatch.setattr(payments, "_PAGE", size)
            assert await told() == whole
        # A store that fails on the way: half a month would look like a quiet one.
        monkeypatch.setattr(payments, "_PAGE", 1)
        pages = iter(range(2))

        async def read_pools(*asked):
            if next(pages, None) is None:
                raise UpstreamDown("the store does not answer")
            return await real(*asked)

        real = payments.read_pools
        monkeypatch.setattr(payments, "read_pools", read_pools)
        with pytest.raises(UpstreamDown):
            await _show(argparse.Namespace(**asked[0]), process.store)
        assert capsys.readouterr().out == ""

    run(tmp_path, scenario)
