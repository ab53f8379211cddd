"""The life of alerts against a small model: create, tick, cancel, expire, deliver, crash, in any order.

The store, the evaluation, the courier and the sockets are real; the receiver counts what reaches it.
"""

import asyncio
import pathlib
import tempfile
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule
from sqlalchemy import insert, select

from proof import count
from tickyard.features.alerts import store as rows
from tickyard.features.alerts.caps import AlertCaps
from tickyard.features.alerts.deliver import Courier
from tickyard.features.alerts.evaluate import evaluate
from tickyard.features.alerts.operations import (
    AlertAsk,
    AlertDesk,
    CreateAlertAsk,
    cancel_alert,
    create_alert,
    get_alert,
)
from tickyard.features.alerts.secret import AlertKeys
from tickyard.features.alerts.webhook.addresses import EgressPolicy
from tickyard.features.alerts.webhook.egress import Egress
from tickyard.kernel.clock import WallClock
from tickyard.market.sampling.rounds import Round, slot_number
from tickyard.store import outbox
from tickyard.store.opening import open_store
from tickyard.store.tables import METADATA
from tickyard.store.tokens import token_ids
from yards import parcels
from yards import webhook_receiver as webhook
from yards.patience import STUCK_S

pytestmark = pytest.mark.timeout(1800)

AUTHORITY = webhook.Authority()
SERVING, TRUSTING = AUTHORITY.serving("127.0.0.1"), AUTHORITY.trusting()
KEYS = AlertKeys({1: b"k" * 32})
PRICES = st.integers(1, 5)
TOKEN = ("AAPL", "0x" + "a1" * 20)
ENDS = {"204 No Content": "delivered", "500 Oops": "failed", "reset": "unknown"}


@dataclass
class Model:
    """What an alert should be: the whole specification of its life."""

    condition: str
    threshold: int
    expires_at: object
    status: str = "active"
    delivery: str | None = None
    fired_at: object = None

    def see(self, now):
        if self.status == "active" and now >= self.expires_at:
            self.status = "expired"

    def tick(self, now, before, after):
        self.see(now)
        rises = before is not None and before < self.threshold <= after
        falls = before is not None and before > self.threshold >= after
        if self.status == "active" and (rises if self.condition == "above" else falls):
            self.status, self.delivery, self.fired_at = "fired", "pending", now

    def cancel(self, now):
        self.see(now)
        if self.status == "active":
            self.status = "cancelled"

    def may_end_as(self, manner, tried_at):
        if self.delivery != "pending":
            return {self.delivery}
        if tried_at > self.fired_at + timedelta(hours=1):
            # A price of more than an hour ago is no news any more.
            return {"failed", "pending"} if manner == "crash" else {"failed"}
        return {"crash": {"pending", "delivered", "unknown"}, "dead": {"pending", "failed"}}.get(
            manner, {ENDS.get(manner)}
        )


class StillClock(WallClock):
    """Time passes only when a rule says so."""

    offset = timedelta(0)

    def now(self):
        return datetime(2026, 10, 1, tzinfo=UTC) + self.offset


class Alerts(RuleBasedStateMachine):
    made = Bundle("made")

    @initialize()
    def open(self):
        self.loop = asyncio.new_event_loop()
        self.folder = tempfile.TemporaryDirectory()
        self.clock = StillClock()
        self.model, self.secrets, self.price = {}, {}, None
        self.run(self._open())

    async def _open(self):
        self.store = open_store(pathlib.Path(self.folder.name) / "tickyard.db", self.clock, Random(1))
        async with self.store.begin() as tx:
            await tx.run_sync(METADATA.create_all)
            await tx.execute(insert(rows.alert_gate), {"id": 1})
            self.token_id = (await token_ids(tx, [TOKEN]))[TOKEN[1]]
        self.receiver = await webhook.Receiver(SERVING).__aenter__()
        extra = frozenset({("127.0.0.1", self.receiver.port)})
        self.egress, self.distrustful = (
            Egress(EgressPolicy(extra), webhook.StubResolver(), tls, self.clock, total_s=5)
            for tls in (TRUSTING, webhook.Authority().trusting())
        )
        asset = SimpleNamespace(symbol=TOKEN[0], address=TOKEN[1])
        registry = SimpleNamespace(find=lambda _symbol: asset)
        self.deps = SimpleNamespace(
            store=self.store,
            market=SimpleNamespace(registry=registry),
            alerts=AlertDesk(KEYS, self.egress, AlertCaps(per_host=1000)),
        )
        self.courier = self.new_courier()

    def new_courier(self, egress=None):
        return Courier(self.store, egress or self.egress, KEYS, self.clock, Random(1), user_agent="t")

    def run(self, work):
        return self.loop.run_until_complete(asyncio.wait_for(work, STUCK_S))

    @rule(target=made, condition=st.sampled_from(["above", "below"]), price=PRICES)
    def create(self, condition, price):
        url = f"https://127.0.0.1:{self.receiver.port}/"
        ask = CreateAlertAsk(symbol="AAPL", condition=condition, price=price, webhook_url=url)
        answer = self.run(create_alert(self.deps, ask))
        self.secrets[answer.id] = answer.secret
        self.model[answer.id] = Model(condition, price, self.clock.now() + timedelta(days=30))
        return answer.id

    @rule(price=PRICES)
    def tick(self, price):
        self.clock.offset += timedelta(minutes=5)
        now = self.clock.now()
        for alert in self.model.values():
            alert.tick(now, self.price, price)
        taken = Round(slot_number(now), 1, "0x1", {self.token_id: price * 10**9}, 0, now)
        before = {} if self.price is None else {self.token_id: self.price * 10**9}
        self.run(self._evaluate(taken, before))
        self.price = price

    async def _evaluate(self, taken, before):
        async with self.store.begin() as tx:
            await evaluate(tx, taken, before)
        async with self.store.begin() as tx:
            assert await evaluate(tx, taken, before) == 0

    @rule(alert_id=consumes(made))
    def cancel(self, alert_id):
        self.model[alert_id].cancel(self.clock.now())
        ask = AlertAsk(id=alert_id, secret=self.secrets[alert_id])
        answer = self.run(cancel_alert(self.deps, ask))
        assert answer.status == self.model[alert_id].status

    @rule(days=st.integers(1, 31), is_swept=st.booleans())
    def wait(self, days, is_swept):
        self.clock.offset += timedelta(days=days)
        if is_swept:
            self.run(self._sweep())

    async def _sweep(self):
        async with self.store.begin() as tx:
            await rows.expire(tx, self.clock.now())

    @rule(manner=st.sampled_from([*ENDS, "dead"]))
    def deliver(self, manner):
        # Longer than any pause, so that whatever was put off is due.
        self.clock.offset += timedelta(minutes=20)
        self.receiver.manner = manner
        # Dead: nobody trusts the receiver's certificate, so every connection ends before the first byte.
        courier = self.new_courier(self.distrustful) if manner == "dead" else self.courier
        self.run(parcels.deliver_due(courier))
        self._compare_deliveries(manner, self.clock.now())

    @rule(steps=st.integers(0, 80))
    def crash(self, steps):
        self.clock.offset += timedelta(minutes=20)
        self.receiver.manner = "204 No Content"
        tried_at = self.clock.now()
        self.run(self._crash(steps))
        self._compare_deliveries("crash", tried_at)

    async def _crash(self, steps):
        others = asyncio.all_tasks()
        await self.courier.pick_up()
        begun = asyncio.all_tasks() - others
        for _ in range(steps):
            await self.clock.sleep(0)
        for task in begun:
            task.cancel()
        await self.courier.drain()
        self.courier = self.new_courier()
        self.clock.offset += timedelta(seconds=61)
        await self.courier.settle_interrupted()

    def _compare_deliveries(self, manner, tried_at):
        for alert_id, alert in self.model.items():
            found = self._found(alert_id).delivery
            assert found in alert.may_end_as(manner, tried_at), (found, alert, manner)
            alert.delivery = found

    def _found(self, alert_id):
        return self.run(get_alert(self.deps, AlertAsk(id=alert_id, secret=self.secrets[alert_id])))

    @invariant()
    def every_alert_is_what_the_model_says_and_nothing_is_posted_twice(self):
        if not hasattr(self, "model"):
            return
        posts = Counter(headers["webhook-id"] for _, headers, _ in self.receiver.requests)
        assert all(count == 1 for count in posts.values())
        found = self.run(self._all())
        for alert_id, alert in self.model.items():
            status, state = found[alert_id]
            alert.see(self.clock.now())
            # One that is over and that nobody has looked at yet is still marked active.
            assert status == alert.status or (status, alert.status) == ("active", "expired")
            assert state == alert.delivery
            assert posts[alert_id] == 1 if alert.delivery == "delivered" else posts[alert_id] <= 1
            if alert.delivery in (None, "pending"):
                assert posts[alert_id] == 0

    async def _all(self):
        a, o = rows.alert.c, outbox.outbox.c
        async with self.store.read() as tx:
            both = select(a.id, a.status, o.state).outerjoin(outbox.outbox, o.key == a.id)
            return {id_: (status, state) for id_, status, state in await tx.execute(both)}

    def teardown(self):
        if hasattr(self, "loop"):
            self.run(self.receiver.__aexit__())
            self.run(self.store.close())
            self.loop.close()
            self.folder.cleanup()


TestAlerts = Alerts.TestCase
TestAlerts.settings = settings(
    max_examples=count(300, tenth=12, quick=4),
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=False,
)
