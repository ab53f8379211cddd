"""What an accountant is given."""

import argparse
import json
from datetime import timedelta

from sqlalchemy import insert, select

from tickyard.features.earn.tables import earn_credit, earn_epoch
from tickyard.payments.proof.reconcile import look_after
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
