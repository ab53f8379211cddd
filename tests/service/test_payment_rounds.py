"""The worker's rounds with payments of all kinds at once, and with nodes that can do little in one request."""

import sqlite3

import pytest
from sqlalchemy import Engine, event

from tickyard.payments.books.sellers_view import find_orphans
from tickyard.payments.books.stock import show_stock
from tickyard.payments.offer.terms import FIRST, SECOND
from tickyard.payments.proof.reconcile import look_after
from yards import paying, rpcnode
from yards.payer import Wallet

call, run = paying.call, paying.run
URL = "/v1/x402/item/AAPL"
BOTH = pytest.mark.parametrize("network", [FIRST, SECOND])


async def worker(world, finality, **how):
    process = world.processes[0]
    return await look_after(process.ledger, process.proofs, finality=finality, **how)


def pass_by(world, network, seconds):
    for _ in range(seconds // 2):
        world.clock.move(2)
        world.chains[network].grow(1)


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("finality", ["finalized", 300])
def test_payments_of_all_kinds_together_cost_no_more_than_five_calls(tmp_path, network, finality):
    async def scenario(world):
        chain, far = world.chains[network], world.facilitators[network]
        chain.final_after = 300

        async def buy(mode):
            far.script["settle"] = [mode]
            await call(world.app, "GET", URL, world.payment(network=network))

        # Two that run out unused and one that was called failed, one that is seen and waits, then one of each kind.
        for mode in ("cut", "cut", "refuse"):
            await buy(mode)
        pass_by(world, network, 200)
        await buy("ok")
        pass_by(world, network, 10)
        await worker(world, finality, is_forced=True)
        pass_by(world, network, 110)
        for mode in ("cut", "cut-landed", "lost-reply", "refuse", "ok", "ok"):
            await buy(mode)
        pass_by(world, network, 4)
        chain.node.seen.clear()
        ended = await worker(world, finality, is_forced=True)
        assert ended.total() == 10
        assert len(chain.node.seen) <= 5, chain.node.seen

    run(tmp_path, scenario)


def test_no_statement_of_a_round_reads_all_books_there_are(tmp_path):
    asked = {}

    def note(_connection, _cursor, statement, values, *_):
        if "payment" in statement:
            asked[statement] = values

    async def scenario(world):
        process = world.processes[0]
        assert (await call(world.app, "GET", URL, world.payment())).status == 200
        event.listen(Engine, "before_cursor_execute", note)
        try:
            # A window that is full: also those are sought that were looked at least.
            assert len(await process.ledger.due(SECOND, 1)) == 1
            await worker(world, 0)
            await process.ledger.forget_answers()
            await show_stock(process.ledger, [FIRST, SECOND])
            await find_orphans(process.store, world.clock.now())
        finally:
            event.remove(Engine, "before_cursor_execute", note)
        books = sqlite3.connect(process.store.path)
        plans = {each: books.execute(f"EXPLAIN QUERY PLAN {each}", values).fetchall() for each, values in asked.items()}
        books.close()
        assert len(plans) >= 10
        lines = [line for plan in plans.values() for *_, line in plan]
        assert "SEARCH payment USING INDEX ix_payment_looks (network=?)" in lines
        assert not any("TEMP B-TREE" in line for line in lines)
        for each, plan in plans.items():
            # By a small index, or by a whole key: a network alone is half of everything.
            for *_, line in plan:
                assert line != "SCAN payment", each
                assert not line.endswith("sqlite_autoindex_payment_1 (network=?)"), each

    run(tmp_path, scenario)


@pytest.mark.slow
@BOTH
def test_a_node_that_cannot_do_a_whole_round_is_asked_for_fewer_payments_at_once(tmp_path, network):
    async def scenario(world):
        chain = world.chains[network]
        for _ in range(12):
            assert (await call(world.app, "GET", URL, world.payment(network=network))).status == 200
            pass_by(world, network, 1000)
        # It shows few blocks at once, and in the time of a round it is asked a few times only.
        chain.refuse_logs_over = 20
        logs, left = chain.node.results["eth_getLogs"], {"logs": 0}

        def few(params):
            left["logs"] -= 1
            if left["logs"] < 0:
                raise rpcnode.Refused(-32000, "too busy")
            return logs(params)

        chain.node.results["eth_getLogs"] = few
        credited = rounds = 0
        # A dozen are enough. One payment alone takes some 150 looks, and more where the seconds of a busy machine pass by.
        while credited < 12:
            rounds += 1
            assert rounds < 300
            left["logs"] = 250
            credited += (await worker(world, 0))["credited"]
            pass_by(world, network, 60)
        assert world.processes[0].proofs[network].bears > 1

    run(tmp_path, scenario)


def test_what_is_said_of_a_nonce_without_a_log_does_not_depend_on_who_is_looked_at_beside(tmp_path):
    """A bit that flipped with nothing to show for it is no proof of "not paid", in company as alone."""

    async def scenario(world):
        chain, far = world.chains[FIRST], world.facilitators[FIRST]
        far.modes["settle"] = "cut"
        for mode in ("silent", "paid"):
            await call(world.app, "GET", URL, world.payment(network=FIRST))
            owner, nonce, amount = far._parts(far.asked["settle"][-1])
            chain.pay(owner, nonce, amount, moves=mode == "paid", is_silent=mode == "silent")
        # Both are looked for in their very blocks.
        chain.cut_logs_over = 1
        world.clock.move(5)
        assert await worker(world, 0) == {"settled": 1, "waiting": 1}

    run(tmp_path, scenario)


@pytest.mark.slow
@BOTH
def test_a_payer_whose_blocks_are_crowded_keeps_nobody_else_from_their_credit(tmp_path, network):
    """Transfers of nothing cost little, and a node shows only so many logs at once."""

    async def scenario(world):
        chain, far, loud = world.chains[network], world.facilitators[network], Wallet()
        logs = chain.node.results["eth_getLogs"]

        def few(params):
            found = logs(params)
            if len(found) > 20:
                raise rpcnode.Refused(-32005, "query returned more than 20 results")
            return found

        chain.node.results["eth_getLogs"] = few

        async def buy(wallet, mode):
            far.script["settle"] = [mode]
            paid = await call(world.app, "GET", URL, world.payment(network=network, wallet=wallet))
            if mode == "cut":
                chain.pay(*far._parts(far.asked["settle"][-1]))
            if wallet is loud:
                crowd(chain, loud.address, 21)
            return paid.status

        assert [await buy(loud, "ok") for _ in range(4)] == [200] * 4
        assert await buy(loud, "cut") == 502
        assert [await buy(world.wallet, "ok") for _ in range(4)] == [200] * 4
        pass_by(world, network, 4)
        assert await worker(world, 0) == {"credited": 4, "waiting": 5}
        # What is hidden so is neither paid nor unpaid, however often and late somebody looks.
        for _ in range(20):
            pass_by(world, network, 60)
            assert await worker(world, 0, is_forced=True) == {"waiting": 5}
        chain.node.results["eth_getLogs"] = logs
        assert await worker(world, 0, is_forced=True) == {"credited": 4, "settled": 1}

    run(tmp_path, scenario)


@pytest.mark.slow
@BOTH
def test_a_round_goes_on_while_more_payments_are_due_than_are_looked_at_together(tmp_path, network):
    """Else what is sold faster than one look a round is credited later and later, and in the end never."""

    async def scenario(world):
        chain, other = world.chains[network], FIRST if network == SECOND else SECOND
        for _ in range(7):
            assert (await call(world.app, "GET", URL, world.payment(network=network))).status == 200
        assert (await call(world.app, "GET", URL, world.payment(network=other))).status == 200
        pass_by(world, network, 4)
        # A node that does not answer is not asked again and again.
        chain.node.mode = "429"
        assert await worker(world, 0, limit=2) == {"credited": 1, "waiting": 2}
        chain.node.mode = "ok"
        world.processes[0].proofs[network].bears = 100
        pass_by(world, network, 60)
        assert await worker(world, 0, limit=2) == {"credited": 7}

    run(tmp_path, scenario)


def crowd(chain, payer, count):
    """Transfers of nothing in the newest block, in a payer's name."""
    paid = chain.transfers[-1]
    nothing = (chain.asset, [paid["topics"][0], f"0x{payer[2:].lower():0>64}", paid["topics"][2]], f"0x{0:064x}")
    chain._mine([nothing] * count, "0x1", None, [])
