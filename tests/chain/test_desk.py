"""The desk on a real EVM, step by step against a model of it, with a dollar that has moods."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from hypothesis.strategies import integers, lists, sampled_from, tuples
from vyper.compiler import compile_code
from vyper.compiler.settings import Settings

from proof import count
from tickyard.features.earn.books.desk import FAILED, PAID, SKIPPED
from tickyard.kernel.clock import WallClock
from tickyard.payout.deploy import deployed_code, deployment
from tickyard.sandbox.node.abi import call_data, derived_address, words
from tickyard.sandbox.node.process import Node, NodeError

pytestmark = [pytest.mark.node, pytest.mark.timeout(3600)]

OWNER, PAYER, OTHER, DEPLOYER = (derived_address(f"desk test {name}") for name in ("owner", "payer", "other", "d"))
ACCOUNTS = [derived_address(f"desk test account {n}") for n in range(6)]
EPOCHS = (20260101, 20260102)
WELL, REVERTS, SAYS_NO, SAYS_NOTHING, BURNS, CALLS_BACK = 0, 1, 2, 3, 5, 6
PAYS = (WELL, SAYS_NOTHING, CALLS_BACK)
GAS = 25_000_000
STEPS = 50
SOURCE = Path(__file__).with_name("contracts") / "moody.vy"


class Evm:
    """A node, and the few ways in which this file speaks to it."""

    def __init__(self, folder):
        self._runner = asyncio.Runner()
        self._node = self._runner.run(Node.start(chain_id=4663, now=WallClock().now(), run_dir=folder))
        for account in (OWNER, PAYER, OTHER, DEPLOYER):
            self.rpc("hardhat_impersonateAccount", account)
            self.rpc("hardhat_setBalance", account, hex(10**20))
        code = compile_code(SOURCE.read_text(), output_formats=["bytecode"], settings=Settings(evm_version="cancun"))
        self.token = self.create(code["bytecode"])

    def rpc(self, method, *params):
        return self._runner.run(self._node.call(method, list(params)))

    def create(self, code):
        hash_ = self.rpc("eth_sendTransaction", {"from": DEPLOYER, "data": code, "gas": hex(GAS)})
        return self.rpc("eth_getTransactionReceipt", hash_)["contractAddress"]

    def desk(self, payer=PAYER):
        return self.create(deployment(self.token, OWNER, payer, 4663)["data"])

    def send(self, sender, to, signature, *values, gas=GAS):
        """The logs; None: it reverted."""
        asked = {"from": sender, "to": to, "data": call_data(signature, *values), "gas": hex(gas)}
        try:
            hash_ = self.rpc("eth_sendTransaction", asked)
        except NodeError:
            return None
        return self.rpc("eth_getTransactionReceipt", hash_)["logs"]

    def view(self, to, signature, *values):
        return words(self.rpc("eth_call", {"to": to, "data": call_data(signature, *values)}, "latest"))[0]

    def stop(self):
        self._runner.run(self._node.stop())
        self._runner.close()


@pytest.fixture(scope="module")
def evm(tmp_path_factory):
    evm = Evm(tmp_path_factory.mktemp("desk"))
    yield evm
    evm.stop()


def told(logs, desk):
    words_ = {PAID: "paid", SKIPPED: "skipped", FAILED: "failed"}
    return [
        (words_[log["topics"][0]], int(log["topics"][1], 16), "0x" + log["topics"][2][26:], int(log["data"], 16))
        for log in logs
        if log["address"] == desk and log["topics"][0] in words_
    ]


class DeskMachine(RuleBasedStateMachine):
    """Every step is done to the contract and to the model; then both must be the same."""

    evm = None

    @initialize(budget=integers(0, 3000), allowed=integers(0, 4000))
    def begin(self, budget, allowed):
        self.snapshot = self.evm.rpc("evm_snapshot")
        self.desk = self.evm.desk()
        self.payer, self.paused = PAYER, False
        self.books, self.pools, self.spent, self.paid = {}, {}, {}, {}
        self.moods = dict.fromkeys(ACCOUNTS, WELL)
        self.got = dict.fromkeys(ACCOUNTS, 0)
        self.balance = {PAYER: budget, OTHER: 500}
        self.allowance = {PAYER: allowed, OTHER: 700}
        for who in (PAYER, OTHER):
            self.evm.send(OWNER, self.evm.token, "setUp(address,uint256,uint256)", who, 0, self.balance[who])
            self.evm.send(who, self.evm.token, "approve(address,uint256)", self.desk, self.allowance[who])

    @rule(
        epoch=sampled_from(EPOCHS),
        books=integers(0, 3),
        pool=integers(0, 1500),
        who=sampled_from((PAYER, OTHER, OWNER)),
    )
    def open(self, epoch, books, pool, who):
        logs = self.evm.send(who, self.desk, "open(uint256,bytes32,uint256)", epoch, books, pool)
        may = who == self.payer and not self.paused and epoch not in self.books and books > 0
        assert (logs is not None) == may
        if may:
            self.books[epoch], self.pools[epoch] = books, pool

    @rule(
        epoch=sampled_from(EPOCHS),
        lines=lists(tuples(sampled_from(ACCOUNTS), integers(0, 700)), max_size=12),
        who=sampled_from((PAYER, PAYER, PAYER, OTHER, OWNER)),
    )
    def pay(self, epoch, lines, who):
        logs = self.evm.send(who, self.desk, "pay(uint256,(address,uint256)[])", epoch, lines)
        if who != self.payer or self.paused or epoch not in self.books:
            assert logs is None
            return
        expected = [self._line(epoch, account, amount) for account, amount in lines]
        assert told(logs, self.desk) == expected

    def _line(self, epoch, account, amount):
        if (epoch, account) in self.paid:
            return ("skipped", epoch, account, amount)
        fits = 0 < amount <= self.pools[epoch] - self.spent.get(epoch, 0)
        can = amount <= min(self.balance[self.payer], self.allowance[self.payer]) and self.moods[account] in PAYS
        if not (fits and can):
            return ("failed", epoch, account, amount)
        self.paid[epoch, account] = amount
        self.spent[epoch] = self.spent.get(epoch, 0) + amount
        self.balance[self.payer] -= amount
        self.allowance[self.payer] -= amount
        self.got[account] += amount
        return ("paid", epoch, account, amount)

    @rule(account=sampled_from(ACCOUNTS), mood=sampled_from((WELL, REVERTS, SAYS_NO, SAYS_NOTHING, BURNS, CALLS_BACK)))
    def change_mood(self, account, mood):
        self.evm.send(OWNER, self.evm.token, "setUp(address,uint256,uint256)", account, mood, self.got[account])
        self.moods[account] = mood

    @rule(payer=sampled_from((PAYER, OTHER)), who=sampled_from((OWNER, OWNER, PAYER)))
    def change_payer(self, payer, who):
        assert (self.evm.send(who, self.desk, "setPayer(address)", payer) is not None) == (who == OWNER)
        if who == OWNER:
            self.payer = payer

    @rule(paused=sampled_from((True, False, False)), who=sampled_from((OWNER, OWNER, PAYER)))
    def pause(self, paused, who):
        assert (self.evm.send(who, self.desk, "setPaused(bool)", paused) is not None) == (who == OWNER)
        if who == OWNER:
            self.paused = paused

    @rule(amount=integers(0, 2000))
    def approve_anew(self, amount):
        self.evm.send(self.payer, self.evm.token, "approve(address,uint256)", self.desk, amount)
        self.allowance[self.payer] = amount

    @invariant()
    def both_are_the_same(self):
        if not hasattr(self, "desk"):
            return
        for epoch in EPOCHS:
            assert self.evm.view(self.desk, "books(uint256)", epoch) == self.books.get(epoch, 0)
            assert (
                self.evm.view(self.desk, "spent(uint256)", epoch)
                == self.spent.get(epoch, 0)
                <= self.pools.get(epoch, 0)
            )
        for account in ACCOUNTS:
            assert self.evm.view(self.evm.token, "balanceOf(address)", account) == self.got[account]
        assert self.evm.view(self.evm.token, "balanceOf(address)", self.desk) == 0, "it holds nothing"

    def teardown(self):
        if not hasattr(self, "desk"):
            return
        for epoch in EPOCHS:
            for account in ACCOUNTS:
                paid = self.evm.view(self.desk, "paid(uint256,address)", epoch, account)
                assert paid == self.paid.get((epoch, account), 0)
        self.evm.rpc("evm_revert", self.snapshot)


def test_the_desk_does_what_the_model_does_whatever_is_done_to_it(evm):
    DeskMachine.evm = evm
    examples = count(10_000 // STEPS, tenth=20, quick=1)
    run_state_machine_as_test(
        DeskMachine,
        settings=settings(
            max_examples=examples, stateful_step_count=STEPS, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )


def test_a_callback_of_the_payer_itself_is_paid_once(evm):
    """The token is the payer, and calls the desk back out of its own transfer."""
    desk = evm.desk(payer=evm.token)
    evm.rpc("hardhat_impersonateAccount", evm.token)
    evm.rpc("hardhat_setBalance", evm.token, hex(10**20))
    assert evm.send(evm.token, desk, "open(uint256,bytes32,uint256)", 20260101, 1, 1000) is not None
    evm.send(OWNER, evm.token, "setUp(address,uint256,uint256)", ACCOUNTS[0], CALLS_BACK, 0)
    logs = evm.send(
        OTHER, evm.token, "payAs(address,uint256,(address,uint256)[])", desk, 20260101, [(ACCOUNTS[0], 400)]
    )
    assert [what for what, *_ in told(logs, desk)] == ["paid"]
    assert evm.view(evm.token, "balanceOf(address)", ACCOUNTS[0]) == 400
    assert evm.view(desk, "spent(uint256)", 20260101) == 400


def test_too_little_gas_never_looks_like_a_refused_transfer(evm):
    desk = evm.desk()
    evm.send(OWNER, evm.token, "setUp(address,uint256,uint256)", PAYER, 0, 10**9)
    evm.send(PAYER, evm.token, "approve(address,uint256)", desk, 10**9)
    evm.send(PAYER, desk, "open(uint256,bytes32,uint256)", 20260101, 1, 10**9)
    lines = [(derived_address(f"gas {n}"), 5) for n in range(40)]
    pay = "pay(uint256,(address,uint256)[])"
    enough = int(evm.rpc("eth_estimateGas", {"from": PAYER, "to": desk, "data": call_data(pay, 20260101, lines)}), 16)
    for gas in range(120_000, enough, (enough - 120_000) // 12):
        snapshot = evm.rpc("evm_snapshot")
        logs = evm.send(PAYER, desk, pay, 20260101, lines, gas=gas)
        assert logs is None or {what for what, *_ in told(logs, desk)} == {"paid"}
        evm.rpc("evm_revert", snapshot)
    assert {what for what, *_ in told(evm.send(PAYER, desk, pay, 20260101, lines, gas=enough * 5 // 4), desk)} == {
        "paid"
    }


def test_a_hundred_lines_fit_into_a_block_and_a_hundred_and_one_are_refused(evm):
    desk = evm.desk()
    evm.send(OWNER, evm.token, "setUp(address,uint256,uint256)", PAYER, 0, 10**9)
    evm.send(PAYER, evm.token, "approve(address,uint256)", desk, 10**9)
    evm.send(PAYER, desk, "open(uint256,bytes32,uint256)", 20260101, 1, 10**9)
    lines = [(derived_address(f"many {n}"), 5) for n in range(101)]
    pay = "pay(uint256,(address,uint256)[])"
    assert evm.send(PAYER, desk, pay, 20260101, lines) is None
    asked = {"from": PAYER, "to": desk, "data": call_data(pay, 20260101, lines[:100]), "gas": hex(GAS)}
    receipt = evm.rpc("eth_getTransactionReceipt", evm.rpc("eth_sendTransaction", asked))
    assert len(told(receipt["logs"], desk)) == 100
    # 60,000 a line is what the payout account's gas is reckoned with.
    assert int(receipt["gasUsed"], 16) < 100 * 70_000


def test_a_deployed_desk_is_the_shipped_code_to_the_last_byte(evm):
    assert evm.rpc("eth_getCode", evm.desk(), "latest") == deployed_code(evm.token, OWNER)
    zero = "0x" + "0" * 40
    for token, owner, payer in ((zero, OWNER, PAYER), (evm.token, zero, PAYER), (evm.token, OWNER, zero)):
        with pytest.raises(NodeError):
            evm.create(deployment(token, owner, payer, 4663)["data"])
