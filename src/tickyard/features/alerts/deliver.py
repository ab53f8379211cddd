"""Delivery: each fired alert's one POST.

Rows are taken from the outbox into lanes, one per host. A lane has a few runners at most, so hosts that are slow or
dead hold up their own alerts and nobody else's. Whether bytes may leave is decided by one conditional write just
before the first of them; several workers may do this at once, and one of them wins.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Coroutine
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final

import msgspec

from tickyard.features.alerts import store as rows
from tickyard.features.alerts.payload import Letter, headers_of
from tickyard.features.alerts.rules import Delivery
from tickyard.features.alerts.secret import AlertKeys
from tickyard.features.alerts.webhook.egress import PER_HOST, Egress
from tickyard.features.alerts.webhook.outcome import PostOutcome
from tickyard.features.alerts.webhook.url import WebhookUrl, read_webhook_url
from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import BadRequest, UpstreamDown
from tickyard.observe import metrics
from tickyard.observe.log import log
from tickyard.store import outbox
from tickyard.store.engine import Store
from tickyard.store.outbox import Parcel

RETRY_FOR: Final = timedelta(hours=1)
PAUSES_S: Final = (5, 15, 45, 120, 300, 600, 900)
PAGE: Final = 1_000
IN_HAND_MAX: Final = 20_000
POLL_S: Final = 1.0
SETTLE_EVERY_S: Final = 30.0
INTERRUPTED_AFTER: Final = timedelta(seconds=60)
"""Far more than a request and the commit before it can take."""

Lane = deque[tuple[Parcel, WebhookUrl]]

_ENDS: Final[dict[PostOutcome, outbox.Outcome]] = {
    PostOutcome.DELIVERED: "delivered",
    PostOutcome.FAILED: "failed",
    PostOutcome.UNKNOWN: "unknown",
}


def retry_at(attempts: int, created_at: datetime, now: datetime, jitter: float) -> datetime | None:
    """When to try again after `attempts` earlier tries that delivered nothing. None: the hour is over.

    `jitter`, from 0 to 1, spreads receivers that died together.
    """
    pause = timedelta(seconds=PAUSES_S[min(attempts, len(PAUSES_S) - 1)])
    due_at = now + pause + pause * jitter // 4
    return due_at if due_at <= created_at + RETRY_FOR else None


class Courier:
    def __init__(
        self, store: Store, egress: Egress, keys: AlertKeys, clock: Clock, rng: Random, *, user_agent: str
    ) -> None:
        self._store = store
        self._egress = egress
        self._keys = keys
        self._clock = clock
        self._rng = rng
        self._user_agent = user_agent
        self._lanes: dict[str, Lane] = {}
        self._runners: Counter[str] = Counter()
        self._in_hand: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._writing = 0
        self._ahead = timedelta(0)
        """How far this machine's clock is ahead of the store's, by which all workers judge a parcel's age."""
        self.counts: Counter[Delivery] = Counter()
        """How deliveries ended, since the start."""

    async def pick_up(self) -> int:
        """Take what is due and start on it; how many were new. Does not wait for any of them."""
        room = min(PAGE, IN_HAND_MAX - len(self._in_hand))
        if room <= 0:
            return 0
        async with self._store.read() as tx:
            now = await self._store.now(tx)
            self._ahead = self._clock.now() - now
            new = await rows.due_parcels(tx, now, self._in_hand, room)
        for parcel in new:
            self._in_hand.add(parcel.key)
            self._sort_in(parcel)
        return len(new)

    async def keep_delivering(self) -> None:
        """Deliver what becomes due, for ever. Trouble with the store is waited out."""
        settled_at = -SETTLE_EVERY_S
        while True:
            new = 0
            try:
                if self._clock.monotonic() - settled_at >= SETTLE_EVERY_S:
                    await self.settle_interrupted()
                    await self.show_backlog()
                    settled_at = self._clock.monotonic()
                new = await self.pick_up()
            except UpstreamDown:
                log.warning("the outbox cannot be read")
            if new < PAGE:
                await self._clock.sleep(POLL_S)

    async def drain(self) -> None:
        """Wait until nothing is in hand."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def stop(self) -> None:
        """Start nothing more, and finish what has begun. The rest stays pending for whoever comes next."""
        for lane in self._lanes.values():
            self._forget([parcel for parcel, _ in lane])
            lane.clear()
        await self.drain()

    async def settle_interrupted(self) -> int:
        """Sendings whose process died become unknown: they may have arrived, so they are never repeated."""
        if self._writing:
            # Ours are not interrupted, whatever a clock that was moved says. The next call will do.
            return 0
        async with self._store.begin() as tx:
            now = await self._store.now(tx)
            settled = await outbox.settle_interrupted(tx, rows.KIND, started_before=now - INTERRUPTED_AFTER, now=now)
            if settled:
                await rows.remember_unknown(tx)
        if settled:
            self._count(Delivery.UNKNOWN, settled)
        return settled

    async def show_backlog(self) -> None:
        """Tell the metrics what waits, whoever will send it."""
        async with self._store.read() as tx:
            waiting = await outbox.backlog(tx, rows.KIND, await self._store.now(tx))
        metrics.outbox_pending.set(waiting.pending)
        metrics.outbox_overdue_s.set(waiting.overdue_s)

    def _count(self, ended: Delivery, times: int = 1) -> None:
        self.counts[ended] += times
        metrics.deliveries.labels(ended.value).inc(times)

    def _now(self) -> datetime:
        """By the store's clock, as far as ours can tell since it was last asked."""
        return self._clock.now() - self._ahead

    def _is_too_old(self, parcel: Parcel) -> bool:
        """A price of more than an hour ago is no news, whatever kept it here: a long night, a copy, a moved clock."""
        return self._now() > parcel.created_at + RETRY_FOR

    def _sort_in(self, parcel: Parcel) -> None:
        if self._is_too_old(parcel):
            self._start(self._give_up(parcel))
            return
        try:
            url = read_webhook_url(parcel.payload["url"], self._egress.policy)
        except BadRequest:
            # The rules have become stricter since the alert was made.
            self._start(self._give_up(parcel))
            return
        self._lanes.setdefault(url.host, deque()).append((parcel, url))
        if self._runners[url.host] < PER_HOST:
            self._runners[url.host] += 1
            self._start(self._run_lane(url.host, self._lanes[url.host]))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._let_go)

    def _let_go(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (trouble := task.exception()) is not None:
            # Its parcels are in nobody's hand any more and will be found again; the bug must be seen.
            log.error("a lane of deliveries crashed", kind=type(trouble).__name__, exception=repr(trouble))

    async def _run_lane(self, host: str, lane: Lane) -> None:
        try:
            while lane:
                parcel, url = lane.popleft()
                try:
                    await self._deliver(parcel, url, lane)
                except UpstreamDown:
                    # The row says how far we came: pending is found again, sending will be settled as unknown.
                    log.warning("a delivery could not be recorded", alert=parcel.key)
                finally:
                    self._in_hand.discard(parcel.key)
        finally:
            self._runners[host] -= 1
            if not self._runners[host]:
                self._forget([parcel for parcel, _ in lane])
                del self._runners[host], self._lanes[host]

    async def _deliver(self, parcel: Parcel, url: WebhookUrl, lane: Lane) -> None:
        if self._is_too_old(parcel):
            await self._give_up(parcel)
            return
        letter = msgspec.convert(parcel.payload, Letter)
        if self._keys.is_ahead_of_us(letter.key_version):
            log.error("this worker does not know the newest alert key: restart it with the new file", alert=parcel.key)
            await self._postpone([parcel])
            return
        if not self._keys.knows(letter.key_version):
            log.error("the key of an alert is gone, so it cannot be signed", alert=parcel.key)
            await self._give_up(parcel)
            return
        headers = headers_of(self._keys, parcel.key, letter, int(self._now().timestamp()), self._user_agent)
        is_ours = False

        async def claim() -> bool:
            nonlocal is_ours
            if self._is_too_old(parcel):
                return False
            async with self._store.begin() as tx:
                claimed = await outbox.start(tx, parcel, self._now())
            is_ours = claimed
            self._writing += is_ours
            return is_ours

        try:
            outcome = await self._egress.send(url, headers, letter.body.encode(), claim)
            if outcome in _ENDS:
                await self._finish(parcel, _ENDS[outcome])
            elif outcome is PostOutcome.NOT_DELIVERED:
                # Those behind it would only find out the same.
                waiting = [other for other, _ in lane]
                lane.clear()
                await self._postpone([parcel, *waiting])
        finally:
            self._writing -= is_ours

    async def _finish(self, parcel: Parcel, ended: outbox.Outcome) -> None:
        async with self._store.begin() as tx:
            if not await outbox.finish(tx, parcel, ended, self._now()):
                return
            await rows.remember_delivery(tx, parcel.key, Delivery(ended))
        self._count(Delivery(ended))

    async def _postpone(self, parcels: list[Parcel]) -> None:
        now = self._now()
        over = []
        try:
            async with self._store.begin() as tx:
                for parcel in parcels:
                    due_at = retry_at(parcel.attempts, parcel.created_at, now, self._rng.random())
                    if due_at is None:
                        over.append(parcel)
                    else:
                        await outbox.postpone(tx, parcel, due_at, now)
            for parcel in over:
                await self._give_up(parcel)
        finally:
            self._forget(parcels)

    async def _give_up(self, parcel: Parcel) -> None:
        """It never left and never will."""
        try:
            async with self._store.begin() as tx:
                if not await outbox.give_up(tx, parcel, self._now()):
                    return
                await rows.remember_delivery(tx, parcel.key, Delivery.FAILED)
            self._count(Delivery.FAILED)
        finally:
            self._forget([parcel])

    def _forget(self, parcels: list[Parcel]) -> None:
        self._in_hand.difference_update(parcel.key for parcel in parcels)
