"""Alerts on both databases: creation under caps, evaluation, cancelling, expiry, and the races between them."""

import asyncio
import ssl
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from random import Random
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from sqlalchemy import func, insert, select, text

from proof import count
from tickyard.features.alerts import store as rows
from tickyard.features.alerts.caps import AlertCaps, check_caps
from tickyard.features.alerts.evaluate import FIRE, evaluate
from tickyard.features.alerts.moved import follow_token, hold_creation
from tickyard.features.alerts.operations import (
    AlertAsk,
    AlertDesk,
    CreateAlertAsk,
    cancel_alert,
    create_alert,
    get_alert,
)
from tickyard.features.alerts.rules import Delivery
from tickyard.features.alerts.secret import AlertKeys
from tickyard.features.alerts.store import alert
from tickyard.features.alerts.webhook.addresses import EgressPolicy
from tickyard.features.alerts.webhook.egress import Egress
from tickyard.features.alerts.webhook.resolver import Unresolved
from tickyard.kernel.errors import BadRequest, NotFound, UpstreamDown
from tickyard.kernel.ids import Address, Symbol
from tickyard.kernel.wire import encode, error_body
from tickyard.market.listing.asset import Asset
from tickyard.market.listing.identity import identity_of
from tickyard.market.listing.kept import ListingBook
from tickyard.market.sampling.rounds import Round, slot_number
from tickyard.sources.issuer.border import ListedAsset
from tickyard.store import outbox
from tickyard.store.opening import open_store
from tickyard.store.tokens import token_ids
from yards import parcels
from yards.clocks import MovedClock
from yards.patience import STUCK_S
from yards.schema import lay

RACES = count(500)
AAPL = (Symbol("AAPL"), Address("0x" + "a1" * 20))
MOVED = (Symbol("AAPL"), Address("0x" + "c3" * 20))
TSLA = (Symbol("TSLA"), Address("0x" + "b2" * 20))
URL = "https://hooks.acme.com/x"
USD = 10**9


class SilentResolver:
    async def resolve(self, host, zone):
        raise Unresolved


@dataclass
class House:
    """What the operations and the worker would be given."""

    store: Any
    market: Any
    alerts: AlertDesk
    clock: MovedClock
    tokens: dict[Address, int]

    async def make(self, **change):
        fields = {"symbol": "AAPL", "condition": "above", "price": 100, "webhook_url": URL, "client": "1.2.3.4"}
        return await create_alert(self, CreateAlertAsk(**(fields | change)))

    async def read(self, made):
        return await get_alert(self, AlertAsk(id=made.id, secret=made.secret))

    async def cancel(self, made):
        return await cancel_alert(self, AlertAsk(id=made.id, secret=made.secret))

    def a_round(self, price, *, token=AAPL):
        now = self.clock.now()
        return Round(slot_number(now), 1, "0x1", {self.tokens[token[1]]: price * USD}, 0, now)

    async def tick(self, before, after, *, token=AAPL):
        taken = self.a_round(after, token=token)
        async with self.store.begin() as tx:
            return await evaluate(tx, taken, {self.tokens[token[1]]: before * USD})

    async def waiting(self):
        async with self.store.read() as tx:
            return {p.key: p for p in await parcels.due(tx, rows.KIND, self.clock.now() + timedelta(days=1), 10_000)}


class Listing:
    """All that the operations ask of a registry."""

    def __init__(self, *tokens):
        self._assets = {
            symbol: Asset(
                ListedAsset(symbol, symbol, symbol, address, 10**18, None, None, "ASSET_STATUS_ACTIVE", "", "", None),
                None,
                address,
            )
            for symbol, address in tokens
        }

    def find(self, symbol):
        if symbol not in self._assets:
            raise NotFound("no asset has this symbol")
        return self._assets[symbol]


@pytest.fixture
def run(where):
    """`run(work, caps=)`: the work gets a house on an empty database; a second house shares the database."""

    def run(work, *, caps=None, houses=1):
        async def go():
            clock = MovedClock()
            egress = Egress(EgressPolicy(), SilentResolver(), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), clock)
            desk = AlertDesk(AlertKeys.fresh(), egress, caps or AlertCaps())
            stores = [open_store(where, clock, Random(1)) for _ in range(houses)]
            try:
                await lay(stores[0])
                async with stores[0].begin() as tx:
                    tokens = await token_ids(tx, [AAPL, TSLA])
                market = SimpleNamespace(registry=Listing(AAPL, TSLA, ("NOADDR", None)))
                async with asyncio.timeout(STUCK_S):
                    return await work(*(House(store, market, desk, clock, tokens) for store in stores))
            finally:
                for store in stores:
                    await store.close()

        return asyncio.run(go())

    return run


def fields(answer):
    return msgspec.json.decode(encode(answer))


def test_an_alert_is_created_with_exactly_the_specified_fields_and_read_back_without_its_secret(run):
    async def work(house):
        made = await house.make(symbol=Symbol("AAPL"), price=371)
        shown = fields(made)
        assert list(shown) == ["id", "symbol", "condition", "price", "status", "expiresAt", "secret"]
        assert (shown["symbol"], shown["condition"], shown["price"], shown["status"]) == (
            "AAPL",
            "above",
            371,
            "active",
        )
        record = fields(await house.read(made))
        assert {key: record.pop(key) for key in ("webhookUrl", "firedAt", "firedPrice", "delivery")} == {
            "webhookUrl": URL, "firedAt": None, "firedPrice": None, "delivery": None,
        }  # fmt: skip
        del shown["secret"], record["createdAt"]
        assert record == shown

    run(work)


def test_the_secret_may_come_by_query_or_header_and_must_come(run):
    async def work(house):
        made = await house.make()
        for given in [{"secret": made.secret}, {"secret_header": made.secret},
                      {"secret": made.secret, "secret_header": made.secret}]:  # fmt: skip
            assert (await get_alert(house, AlertAsk(id=made.id, **given))).id == made.id
        for given in [{}, {"secret": ""}, {"secret": "", "secret_header": ""},
                      {"secret": made.secret, "secret_header": "other"}]:  # fmt: skip
            for operation in (get_alert, cancel_alert):
                with pytest.raises(BadRequest):
                    await operation(house, AlertAsk(id=made.id, **given))
        assert (await house.read(made)).status == "active"

    run(work)


def test_while_keys_are_changed_nobody_is_told_that_an_alert_under_the_new_one_does_not_exist(run):
    async def work(renewed, late):
        old, new = AlertKeys({1: b"o" * 32}), AlertKeys({1: b"o" * 32, 2: b"n" * 32})
        renewed, late = (replace(house, alerts=replace(house.alerts, keys=keys)) for house, keys in
                         ((renewed, new), (late, old)))  # fmt: skip
        made, before = await renewed.make(), await late.make()
        for ask in (late.read, late.cancel):
            with pytest.raises(UpstreamDown, match="try again"):
                await ask(made)
        assert (await renewed.read(before)).status == (await renewed.read(made)).status == "active"
        # One that was thrown away is no alert's any more.
        renewed = replace(renewed, alerts=replace(renewed.alerts, keys=AlertKeys({2: b"n" * 32})))
        with pytest.raises(NotFound):
            await renewed.read(before)

    run(work, houses=2)


def test_a_wrong_secret_and_an_unknown_id_are_the_same_404_byte_for_byte(run):
    async def work(house):
        made, other = await house.make(), await house.make()
        bodies = set()
        for id_, secret in [
            (made.id, other.secret), (made.id, "x"), (made.id, "x" * 43), (made.id, "\x00"), (made.id, "\ud800"),
            ("0" * 32, made.secret), ("nothing", made.secret), ("\x00", made.secret), ("x" * 5000, "y"),
            (made.id.upper() + " ", made.secret),
        ]:  # fmt: skip
            for operation in (get_alert, cancel_alert):
                with pytest.raises(NotFound) as caught:
                    await operation(house, AlertAsk(id=id_, secret=secret))
                bodies.add((caught.value.status, error_body(caught.value.code, caught.value.message)))
        assert len(bodies) == 1
        assert (await house.read(made)).status == "active"

    run(work)


def test_bad_input_makes_no_alert(run):
    async def work(house):
        for change in [{"price": True}, {"price": "5"}, {"price": 0}, {"webhook_url": "http://acme.com/"},
                       {"webhook_url": "https://127.0.0.1/"}, {"symbol": "NOADDR"}]:  # fmt: skip
            with pytest.raises(BadRequest):
                await house.make(**change)
        with pytest.raises(NotFound):
            await house.make(symbol="NONE")
        async with house.store.read() as tx:
            assert (await tx.execute(select(func.count()).select_from(alert))).scalar_one() == 0

    run(work)


def test_a_round_fires_what_it_crosses_and_nothing_else(run):
    async def work(house):
        up = {p: await house.make(price=p) for p in (99, 100, 101, 105, 106)}
        down = {p: await house.make(price=p, condition="below") for p in (99, 100, 101, 105)}
        elsewhere = await house.make(symbol="TSLA", price=103)
        assert await house.tick(100, 105) == 2
        for made in [*up.values(), *down.values(), elsewhere]:
            fired = made in (up[101], up[105])
            assert (await house.read(made)).status == ("fired" if fired else "active")
        assert await house.tick(105, 100) == 2
        assert {p for p, made in down.items() if (await house.read(made)).status == "fired"} == {100, 101}
        assert set(await house.waiting()) == {up[101].id, up[105].id, down[100].id, down[101].id}

    run(work)


def test_a_fired_alert_carries_its_sample_and_its_parcel_the_exact_payload(run):
    async def work(house):
        made = await house.make(price=Decimal("123456789.123456789"))
        await house.tick(1, 999_999_999)
        record = fields(await house.read(made))
        assert (record["status"], record["firedPrice"], record["delivery"]) == ("fired", 999_999_999, "pending")
        assert b'"price":123456789.123456789,' in encode(await house.read(made))
        parcel = (await house.waiting())[made.id]
        assert made.secret not in str(parcel.payload)
        assert msgspec.json.decode(parcel.payload["body"]) == {
            "type": "price_alert", "id": made.id, "symbol": "AAPL", "condition": "above",
            "threshold": 123456789.123456789, "price": 999_999_999, "source": "dex-v3 TOKEN/USDG",
            "firedAt": record["firedAt"],
        }  # fmt: skip
        # Cancelling comes too late and changes nothing.
        assert fields(await house.cancel(made)) == record

    run(work)


def test_evaluating_a_round_again_fires_nothing_not_even_an_alert_made_since(run):
    async def work(house):
        first = await house.make(price=101)
        taken = house.a_round(105)
        before = {house.tokens[AAPL[1]]: 100 * USD}
        counts = []
        for _ in range(2):
            async with house.store.begin() as tx:
                counts.append(await evaluate(tx, taken, before))
            late = await house.make(price=101)
        assert counts == [1, 0]
        assert (await house.read(first)).status == "fired"
        assert (await house.read(late)).status == "active"
        assert len(await house.waiting()) == 1

    run(work)


def test_without_a_previous_sample_nothing_fires(run):
    async def work(house):
        await house.make(price=101)
        async with house.store.begin() as tx:
            assert await evaluate(tx, house.a_round(105), {}) == 0
            assert await evaluate(tx, house.a_round(105), {house.tokens[TSLA[1]]: 100 * USD}) == 0

    run(work)


def test_an_alert_expires_after_thirty_days_whether_or_not_anyone_has_swept(run):
    async def work(house):
        seen, swept, deleted = [await house.make(price=101) for _ in range(3)]
        house.clock.offset += timedelta(days=30)
        assert (await house.read(seen)).status == "expired"
        assert (await house.cancel(deleted)).status == "expired"
        assert await house.tick(100, 105) == 0
        async with house.store.begin() as tx:
            assert await rows.expire(tx, house.clock.now()) == 1
        assert (await house.read(swept)).status == "expired"

    run(work)


def test_cancelling_twice_is_the_same_as_once(run):
    async def work(house):
        made = await house.make(price=101)
        first = await house.cancel(made)
        assert first.status == "cancelled"
        assert await house.cancel(made) == first
        assert await house.tick(100, 105) == 0
        assert await house.waiting() == {}

    run(work)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("caps", "other"),
    [
        (AlertCaps(per_host=5), {"webhook_url": "https://b.acme.com/"}),
        (AlertCaps(per_domain=5), {"webhook_url": "https://acme.org/"}),
        (AlertCaps(per_client=5), {"client": "5.6.7.8"}),
        (AlertCaps(total=5), None),
    ],
    ids=["host", "domain", "client", "total"],
)
def test_a_cap_holds_when_many_create_at_once_and_is_freed_by_every_end(run, caps, other):
    async def work(one, two):
        made = await asyncio.gather(*(h.make() for h in (one, two) for _ in range(10)), return_exceptions=True)
        refused = [each for each in made if isinstance(each, BadRequest)]
        made = [each for each in made if not isinstance(each, BaseException)]
        assert (len(made), len(refused)) == (5, 15)
        if other is None:
            with pytest.raises(BadRequest, match="5 active"):
                await one.make(webhook_url="https://acme.org/", client="5.6.7.8", symbol="TSLA")
        else:
            await one.cancel(await one.make(**other))
        await one.cancel(made[0])
        await one.make(price=200)
        await one.tick(50, 300)
        for _ in range(5):
            await one.make(price=500)
        one.clock.offset += timedelta(days=30)
        await one.make()

    run(work, caps=caps, houses=2)


def test_the_host_cap_counts_the_normalised_host_without_port(run):
    async def work(house):
        for url in ["https://hooks.acme.com", "https://HOOKS.acme.com:8443/", "https://hooks.acme.com.:443/y"]:
            await house.make(webhook_url=url)
        with pytest.raises(BadRequest, match="3 active alerts for this webhook host"):
            await house.make(webhook_url="https://hooks.acme.com/z")
        await house.make(webhook_url="https://a.hooks.acme.com/z")

    run(work, caps=AlertCaps(per_host=3))


def test_an_alert_frees_its_place_at_the_moment_it_expires(run):
    async def work(house):
        await house.make()
        another = SimpleNamespace(domain="acme.org", host="acme.org", client="5.6.7.8")
        async with house.store.begin() as tx:
            expires_at = (await tx.execute(select(alert.c.expires_at))).scalar_one()
            await check_caps(tx, another, AlertCaps(total=1), expires_at)
            with pytest.raises(BadRequest, match="1 active"):
                await check_caps(tx, another, AlertCaps(total=1), expires_at - timedelta(microseconds=1))

    run(work)


def test_cancelling_races_evaluation_and_one_of_them_wins(run):
    """After an answer that says cancelled there is nothing to send; after one that says fired there is one thing."""

    async def work(owner, worker):
        seen, rounds = set(), 0
        while rounds < RACES or len(seen) < 2:
            rounds += 1
            made = await owner.make(price=101)
            taken = worker.a_round(105)

            async def fire(taken=taken):
                async with worker.store.begin() as tx:
                    return await evaluate(tx, taken, {worker.tokens[AAPL[1]]: 100 * USD})

            contestants = [fire(), owner.cancel(made)]
            results = await asyncio.gather(*(contestants if rounds % 2 else reversed(contestants)))
            fired = next(each for each in results if isinstance(each, int))
            record = next(each for each in results if not isinstance(each, int))
            async with owner.store.read() as tx:
                state = await parcels.state_of(tx, rows.KIND, made.id)
            seen.add(record.status)
            assert (record.status, fired, state) in [("cancelled", 0, None), ("fired", 1, "pending")]

    run(work, houses=2)


def test_how_a_delivery_ended_is_known_after_the_outbox_has_forgotten_it(run):
    async def work(house):
        made = await house.make(price=101)
        await house.tick(100, 105)
        (parcel,) = (await house.waiting()).values()
        now = house.clock.now()
        async with house.store.begin() as tx:
            assert await outbox.start(tx, parcel, now)
        assert (await house.read(made)).delivery == "pending"
        async with house.store.begin() as tx:
            assert await outbox.settle_interrupted(tx, rows.KIND, started_before=now + timedelta(seconds=1), now=now)
            await rows.remember_unknown(tx)
            await outbox.forget_old(tx, now + timedelta(days=91))
        async with house.store.read() as tx:
            assert await parcels.state_of(tx, rows.KIND, made.id) is None
        assert (await house.read(made)).delivery == Delivery.UNKNOWN

    run(work)


def test_finding_crossings_is_one_statement_that_goes_through_the_index(run):
    """With many alerts of many tokens the plan must not become a scan of all of them."""

    async def work(house):
        now = house.clock.now()
        row = {
            "symbol": "T", "condition": "above", "webhook_url": URL, "host": "h", "domain": "d", "client": "c",
            "key_version": 1, "status": "active", "created_at": now, "expires_at": now + timedelta(days=30),
        }  # fmt: skip
        many = [
            {**row, "id": f"{token}-{n}", "token_id": token, "price_e9": n * USD}
            for token in range(10, 50)
            for n in range(1, 101)
        ]
        async with house.store.begin() as tx:
            await tx.execute(insert(alert), many)
            await tx.execute(text("ANALYZE"))
        async with house.store.begin() as tx:
            moves = [(token, "above", 201 * USD, 300 * USD, 300 * USD) for token in range(10, 50)]
            values = {"taken_at": 0, **FIRE.spread(moves, is_sqlite=tx.is_sqlite)}
            plan = SimpleNamespace(
                for_sqlite=f"EXPLAIN QUERY PLAN {FIRE.sqlite.for_sqlite}",
                for_postgresql=f"EXPLAIN {FIRE.postgresql.for_postgresql}",
            )
            shown = "\n".join(str(line) for line in await tx.fetch(plan, values))
        assert "ix_alert_armed" in shown
        assert "Seq Scan on alert" not in shown
        assert "SCAN alert" not in shown

    run(work)


def listed_at(symbol, address, uid):
    return ListedAsset(uid, symbol, symbol, address, 10**18, None, None, "ASSET_STATUS_ACTIVE", "", "", None)


async def accept(house, asset, *, listed=()):
    """As `tickyard registry accept` does it: (followed, cancelled)."""
    book = ListingBook(house.store)
    async with house.store.begin() as tx:
        await hold_creation(tx)
        before = await book.accept(tx, asset)
        found = await follow_token(tx, identity_of(asset), before, listed)
        house.tokens |= await token_ids(tx, [MOVED])
    return found


async def pin_aapl(house):
    await ListingBook(house.store).keep([listed_at(*AAPL, "0x01")], has_changed=True)


def test_an_alert_watches_the_address_that_a_person_has_accepted(run):
    async def work(house):
        await pin_aapl(house)
        made, done, other = await house.make(), await house.make(), await house.make(symbol=TSLA[0])
        await house.cancel(done)
        assert await accept(house, listed_at(*MOVED, "0x01")) == (1, 0)
        house.clock.move(1)
        assert await house.tick(99, 101) == 0, "nobody asks for the old one any more"
        assert await house.tick(99, 101, token=MOVED) == 1
        shown = [fields(await house.read(each))["status"] for each in (made, done, other)]
        assert shown == ["fired", "cancelled", "active"]

    run(work)


@pytest.mark.parametrize(("listed", "status"), [((), "cancelled"), ((AAPL[1],), "active")])
def test_an_alert_never_watches_another_asset_that_took_the_name(run, listed, status):
    async def work(house):
        await pin_aapl(house)
        made = await house.make()
        assert await accept(house, listed_at(*MOVED, "0x02"), listed=listed) == (0, int(status == "cancelled"))
        house.clock.move(1)
        assert await house.tick(99, 101, token=MOVED) == 0
        assert fields(await house.read(made))["status"] == status

    run(work)


def test_a_process_that_has_not_seen_the_accepted_address_creates_no_alert(run):
    async def work(house):
        await pin_aapl(house)
        await accept(house, listed_at(*MOVED, "0x01"))
        with pytest.raises(UpstreamDown, match="just changed"):
            await house.make()
        house.market.registry = Listing(MOVED)
        await house.make()

    run(work)
