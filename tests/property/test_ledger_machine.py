"""The ledger as a state machine, against a model of a few lines.

Several processes move a few payments in any order, oversleep, come back with old rows in their hands, and die. The
model is what the picture in `payments/books/ledger.py` says; whatever the ledger allows must be what the model allows.
"""

import asyncio
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from proof import count
from tickyard.kernel.clock import WallClock
from tickyard.kernel.ids import Address
from tickyard.payments.books.ledger import RUNNING, Ledger
from tickyard.payments.books.reply import Reply
from tickyard.payments.books.row import Reservation
from tickyard.payments.selling.steps import is_free, next_step
from tickyard.payments.signed.key import Key
from tickyard.store.opening import open_store
from yards.schema import empty_file

KEYS = [Key("eip155:8453", Address("0x" + "aa" * 20), Address("0x" + "bb" * 20), f"0x{n:064x}") for n in range(2)]
SETTLING = timedelta(seconds=60)
PAY_TO = Address("0x" + "cc" * 20)

keys = st.sampled_from(KEYS)
prints = st.sampled_from(["f1", "f2"])
picks = st.integers(min_value=0, max_value=1000)


class StoppedClock(WallClock):
    def __init__(self):
        self._now = WallClock().now()

    def now(self):
        return self._now

    def move(self, seconds):
        self._now += timedelta(seconds=seconds)


@dataclass
class Model:
    """One payment as the picture has it."""

    state: str = "free"
    holder: str | None = None
    until: object = None
    fingerprint: str | None = None
    settles: int = 0
    answers: set = field(default_factory=set)
    has_failed: bool = False


class LedgerMachine(RuleBasedStateMachine):
    @initialize()
    def open(self):
        self.folder = tempfile.TemporaryDirectory()
        self.runner = asyncio.Runner()
        self.clock = StoppedClock()
        path = Path(self.folder.name) / "x.db"
        path.write_bytes(empty_file())
        self.stores = [open_store(path, self.clock) for _ in range(2)]
        self.ledgers = [Ledger(store, self.clock) for store in self.stores]
        self.model = {key: Model() for key in KEYS}
        self.hands = []
        self.turn = 0
        self.settled = Counter()
        self.undone = Counter()

    def run(self, work):
        return self.runner.run(work)

    def teardown(self):
        if hasattr(self, "runner"):
            for store in self.stores:
                self.run(store.close())
            self.runner.close()
            self.folder.cleanup()

    def ledger(self):
        self.turn += 1
        return self.ledgers[self.turn % 2]

    def hand(self, pick):
        """A row that some process holds or once held."""
        return self.hands[pick % len(self.hands)] if self.hands else None

    @rule(key=keys, fingerprint=prints)
    def reserve(self, key, fingerprint):
        model, now = self.model[key], self.clock.now()
        claim = Reservation(key, fingerprint, "GET /x", 10_000, PAY_TO, 2_000_000_000, 1, b"r", "d", "s", "c", None)
        self.turn += 1
        row = self.run(self.ledgers[self.turn % 2].reserve(claim, f"h{self.turn}"))
        is_over = model.state == "running" and model.until <= now
        is_same = fingerprint == model.fingerprint
        may = (
            model.state == "free"
            or (is_over and not model.has_failed)
            or ((is_over or model.state == "failed") and is_same)
        )
        assert (row is not None) == may
        if row is not None:
            self.hands.append(row)
            before = model if model.has_failed else Model()
            self.model[key] = Model(
                "running", row.holder, now + RUNNING, fingerprint, 0, before.answers, before.has_failed
            )

    @rule(pick=picks)
    def release(self, pick):
        row = self.hand(pick)
        if row is None:
            return
        model = self.model[row.key]
        mine = (model.state, model.holder) == ("running", row.holder)
        assert self.run(self.ledger().release(row)) == mine
        if mine:
            self.let_go(row.key)

    @rule(pick=picks)
    def start_settling(self, pick):
        row = self.hand(pick)
        if row is None:
            return
        model = self.model[row.key]
        mine = (model.state, model.holder) == ("running", row.holder) and model.until > self.clock.now()
        answer = Reply(200, row.holder.encode(), "application/json")
        moved = self.run(self.ledger().start_settling(row, answer, "far"))
        assert (moved is not None) == mine
        if moved is not None:
            self.hands.append(moved)
            model.state, model.until, model.settles = "settling", self.clock.now() + SETTLING, 1
            model.answers = {answer.body}

    @rule(pick=picks)
    def settle(self, pick):
        row = self.hand(pick)
        if row is None or row.state != "settling":
            return
        model = self.model[row.key]
        # A success is news about the nonce: it counts whoever brings it, as long as the outcome is open.
        may = model.state in ("settling", "unknown", "failed")
        after = self.run(self.ledger().settle(row, f"0x{self.turn:064x}"))
        if may:
            model.state = "settled"
            self.settled[row.key] += 1
        assert after.state == (model.state if model.state != "free" else row.state)

    @rule(pick=picks)
    def refuse(self, pick):
        row = self.hand(pick)
        if row is None or row.state not in ("settling", "unknown"):
            return
        model = self.model[row.key]
        mine = (model.state, model.holder) == (row.state, row.holder)
        self.run(self.ledger().refuse(row, "no"))
        if mine:
            # The answer is kept: a transfer may still turn up.
            model.state, model.has_failed = "failed", True

    @rule(key=keys)
    def reorganise(self, key):
        row = self.run(self.ledger().find(key))
        if row is None or row.state != "settled":
            return
        after = self.run(self.ledger().unsettle(row))
        # What was refused has no request left: whoever wants it settled again shows it again.
        assert after.state == "unknown"
        assert after.request == b"r" or (after.request is None and self.model[key].has_failed)
        self.model[key].state, self.model[key].until = "unknown", self.clock.now()
        self.undone[key] += 1
        self.hands.append(after)

    @rule(pick=picks)
    def doubt(self, pick):
        row = self.hand(pick)
        if row is None or row.state != "settling":
            return
        model = self.model[row.key]
        mine = (model.state, model.holder) == ("settling", row.holder)
        after = self.run(self.ledger().doubt(row))
        if mine:
            model.state, model.until = "unknown", self.clock.now() + timedelta(seconds=min(2**row.settles, 30))
            self.hands.append(after)

    @rule(pick=picks)
    def resume(self, pick):
        row = self.hand(pick)
        if row is None or row.state != "unknown":
            return
        model, now = self.model[row.key], self.clock.now()
        may = (model.state, model.holder, model.settles) == ("unknown", row.holder, row.settles) and model.until <= now
        held = self.run(self.ledger().resume(row, f"r{self.turn}"))
        assert (held is not None) == may
        if held is not None:
            self.hands.append(held)
            model.state, model.holder, model.until = "settling", held.holder, now + SETTLING
            model.settles += 1

    @rule(key=keys)
    def look_after(self, key):
        row = self.run(self.ledger().find(key))
        if row is None:
            return
        model = self.model[key]
        after = self.run(self.ledger().expire(row))
        if model.state == "settling" and model.until <= self.clock.now():
            model.state = "unknown"
            self.hands.append(after)
        assert after.state == model.state

    @rule()
    def release_abandoned(self):
        over = [
            key for key, model in self.model.items() if model.state == "running" and model.until <= self.clock.now()
        ]
        assert self.run(self.ledger().release_abandoned()) == len(over)
        for key in over:
            self.let_go(key)

    def let_go(self, key):
        if self.model[key].has_failed:
            self.model[key].state = "failed"
        else:
            self.model[key] = Model()

    @rule(seconds=st.sampled_from([1, 5, 31, 70]))
    def time_passes(self, seconds):
        self.clock.move(seconds)

    @invariant()
    def rows_are_what_the_model_says(self):
        if not hasattr(self, "model"):
            return
        for key, model in self.model.items():
            row = self.run(self.ledgers[0].find(key))
            assert (row.state if row else "free") == model.state
            if row is not None and model.state != "failed":
                assert (row.holder, row.fingerprint, row.settles) == (model.holder, model.fingerprint, model.settles)
            if row is not None and model.state in ("settling", "unknown", "settled", "failed"):
                # What would be served is the answer of the run that was settled.
                assert {row.reply.body} == model.answers
            assert self.settled[key] <= 1 + self.undone[key]

    @invariant()
    def a_payment_whose_money_may_have_moved_is_never_free(self):
        if not hasattr(self, "model"):
            return
        for key, model in self.model.items():
            if model.state in ("settling", "unknown", "settled"):
                row = self.run(self.ledgers[1].find(key))
                assert not is_free(row, self.clock.now())
                for fingerprint in ("f1", "f2"):
                    assert next_step(row, fingerprint, self.clock.now()) != "take"


TestLedger = LedgerMachine.TestCase
TestLedger.settings = settings(
    max_examples=count(250, quick=5),
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
