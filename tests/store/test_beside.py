"""Every process of the service on one SQLite file, started, ended and killed as the dice say, while others write.

What SQLite keeps in locks of the file is lost to a process that closes any descriptor of it; another one that ends then
believes to be the last, and removes the write-ahead log of those who still write to it.
"""

import asyncio
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import pytest
from sqlalchemy import text

from proof import SEED, count
from tickyard.kernel.clock import WallClock
from tickyard.kernel.ids import Address, Symbol
from tickyard.market.sampling.rounds import slot_number
from tickyard.sandbox.world.holders import write_payout_keystore
from tickyard.store.migrate import migrate
from tickyard.store.opening import open_store
from tickyard.store.tokens import token_ids
from yards import house, paperyard, running
from yards.patience import STUCK_S

EVENTS = count(1_000, tenth=40)
CLOCK = WallClock()
COMMANDS = (["backup"], ["migrate"], ["doctor"], ["payments", "list"])
TOKENS = 40
# So long ago that no sampler comes to the present, where the worker takes rounds of its own: of a slot the first one stays.
SINCE = datetime(2000, 1, 1, tzinfo=UTC)
FIRST = slot_number(SINCE)
ENDS = (signal.SIGTERM, signal.SIGKILL)


class Nursery:
    """The process that gives birth to the others."""

    def __init__(self, process):
        self._process = process
        self._born = {}
        self._dead = {}
        self.said = []

    @classmethod
    @asynccontextmanager
    async def open(cls):
        script = Path(__file__).with_name("nursery.py")
        pipe = asyncio.subprocess.PIPE
        path = os.pathsep.join(map(str, (script.parent, *sys.path)))
        process = await asyncio.create_subprocess_exec(
            sys.executable, script, stdin=pipe, stdout=pipe, env={**os.environ, "PYTHONPATH": path}
        )
        nursery = cls(process)
        assert json.loads(await process.stdout.readline()) == {"ready": True}
        listening = asyncio.create_task(nursery._listen())
        try:
            yield nursery
        finally:
            process.stdin.close()
            await process.wait()
            await listening

    async def _listen(self):
        async for line in self._process.stdout:
            word = json.loads(line)
            if "born" in word:
                self._dead[word["born"]] = asyncio.get_running_loop().create_future()
                self._born.pop(word["name"]).set_result(word["born"])
            elif "dead" in word:
                self._dead[word["dead"]].set_result(word["status"])
            else:
                self.said.append(word["said"])

    async def start(self, name, **order):
        self._born[name] = asyncio.get_running_loop().create_future()
        self._process.stdin.write((json.dumps({"name": name, **order}) + "\n").encode())
        return await self._born[name]

    async def end(self, pid, number):
        """By a signal, and wait for it. One that ended by itself is what it is."""
        if not self._dead[pid].done():
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        return await asyncio.wait_for(self._dead[pid], STUCK_S)

    async def ended(self, pid):
        return await asyncio.wait_for(asyncio.shield(self._dead[pid]), STUCK_S)


class Town:
    """Two API processes, a worker, an agent and a sampler that never stay, and commands that come and go."""

    def __init__(self, nursery, folder, environ, dice):
        self.nursery, self.folder, self.environ, self.dice = nursery, folder, environ, dice
        self.ports = [running.free_port(), running.free_port()]
        self.pids = {}
        self.alerts = []
        self._made = 0
        keystore, password = write_payout_keystore(folder)
        self.key = {
            "TICKYARD_PAYOUT_KEYSTORE": str(keystore),
            "TICKYARD_PAYOUT_PASSWORD_FILE": str(password),
            "TICKYARD_SERVICE_TOKEN": "0x" + "5e" * 20,
        }

    async def start(self, who):
        arguments, more = ["sample"], {}
        if who.startswith("api"):
            port = self.ports[int(who[-1])]
            arguments, more = ["serve"], {"TICKYARD_PORT": str(port), "TICKYARD_METRICS_PORT": str(port + 1000)}
        elif who in ("work", "payout"):
            arguments, more = [who], self.key if who == "payout" else {}
        self.pids[who] = await self._birth(who, arguments, more)

    async def _birth(self, name, arguments, more):
        self._made += 1
        return await self.nursery.start(
            f"{name}-{self._made}",
            arguments=arguments,
            environ={**self.environ, **more},
            log=str(self.folder / f"{name}.log"),
            store=self.environ["TICKYARD_DATA_DIR"] + "/tickyard.db",
            slot=self.slots()[-1] if self.slots() else FIRST,
            since=SINCE.isoformat(),
        )

    def slots(self):
        return [int(text.split()[1]) for text in self.nursery.said]

    async def event(self):
        """One of them ends and comes back, or a command runs beside them, to its end or not."""
        if self.dice.random() < 0.5:
            who = self.dice.choice(list(self.pids))
            await self.nursery.end(self.pids[who], self.dice.choice(ENDS))
            await self.start(who)
            return
        command = self.dice.choice(COMMANDS)
        target = [str(self.folder / f"copy-{self._made}.db")] if command == ["backup"] else []
        pid = await self._birth(command[0], [*command, *target], {})
        if self.dice.random() < 0.3:
            await CLOCK.sleep(self.dice.uniform(0, 0.3))
            await self.nursery.end(pid, signal.SIGKILL)
        else:
            await self.nursery.ended(pid)

    async def make_alerts(self, stop):
        """From ever other clients, for ever other hosts: nothing but the store may refuse."""
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10)) as session:
            while not stop.is_set():
                octets = [self.dice.randrange(1, 250) for _ in range(6)]
                body = {"symbol": "AAPL", "condition": "above", "price": 999_999_999}
                body["webhookUrl"] = "https://8.{}.{}.{}/hook".format(*octets[:3])
                url = f"http://127.0.0.1:{self.dice.choice(self.ports)}/v1/alerts"
                client = {"X-Forwarded-For": "20.{}.{}.{}".format(*octets[3:])}
                try:
                    async with session.post(url, json=body, headers=client) as response:
                        if response.status == 201:
                            self.alerts.append((await response.json())["id"])
                except (aiohttp.ClientError, TimeoutError):
                    await CLOCK.sleep(0.01)
                await CLOCK.sleep(0.002)


async def _prepare(where):
    store = open_store(where, CLOCK)
    await migrate(store)
    async with store.begin() as tx:
        await token_ids(tx, [(Symbol(f"T{n}"), Address(f"0x{n:040x}")) for n in range(1, TOKENS + 1)])
    await store.close()


def _audit(where, alerts, slots):
    with sqlite3.connect(where) as books:
        assert books.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        kept = {row[0] for row in books.execute("SELECT id FROM alert")}
        lost = [each for each in alerts if each not in kept]
        assert not lost, f"{len(lost)} of {len(alerts)} alerts answered 201 are lost"
        sampled = dict(books.execute("SELECT slot, count(*) FROM sample GROUP BY slot"))
        assert {slot for slot in slots if sampled.get(slot) != TOKENS} == set(), (
            "an acknowledged round is lost or partial"
        )
    books.close()


def test_another_process_that_ends_leaves_the_log_to_those_who_still_write(tmp_path):
    where = tmp_path / "tickyard.db"
    passing_by = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT * FROM box').fetchall(); c.close()"
    )

    async def go():
        store = open_store(where, CLOCK)
        async with store.begin() as tx:
            await tx.execute(text("CREATE TABLE box (id INTEGER PRIMARY KEY)"))
        for number in range(3):
            # A reader and a writer: the second connection of a process must not cost the first its locks.
            async with store.read() as tx:
                await tx.execute(text("SELECT count(*) FROM box"))
            async with store.begin() as tx:
                await tx.execute(text("INSERT INTO box VALUES (:id)"), {"id": number})
            await asyncio.to_thread(subprocess.run, [sys.executable, "-c", passing_by, where], check=True)
            assert where.with_name("tickyard.db-wal").exists(), "the log was removed while we write to it"
        await store.close()

    asyncio.run(go())
    with sqlite3.connect(where) as books:
        assert books.execute("SELECT count(*) FROM box").fetchone() == (3,)
    books.close()


def test_the_file_is_the_services_alone_also_behind_a_link_to_nowhere(tmp_path):
    (tmp_path / "link.db").symlink_to(tmp_path / "far.db")

    async def go(where):
        store = open_store(where, CLOCK)
        async with store.begin() as tx:
            await tx.execute(text("CREATE TABLE box (id INTEGER PRIMARY KEY)"))
        await store.close()

    for where in ("plain.db", "link.db"):
        asyncio.run(go(tmp_path / where))
    assert {(tmp_path / name).stat().st_mode & 0o777 for name in ("plain.db", "far.db")} == {0o600}


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_nothing_acknowledged_is_lost_whoever_comes_and_goes_beside_it(tmp_path):
    dice = random.Random(SEED)

    async def go():
        data = tmp_path / "data"
        async with paperyard.open_far_ends() as far, Nursery.open() as nursery:
            environ = house.environment(data, far.node.url, far.issuer_url)
            environ |= {"TICKYARD_TRUSTED_PROXIES": "127.0.0.1/32"}
            await _prepare(data / "tickyard.db")
            town = Town(nursery, tmp_path, environ, dice)
            for who in ("api-0", "api-1", "work", "payout", "sample"):
                await town.start(who)
            stop = asyncio.Event()
            makers = [asyncio.create_task(town.make_alerts(stop)) for _ in range(2)]
            for _ in range(EVENTS):
                await town.event()
                await CLOCK.sleep(dice.uniform(0, 0.3))
            stop.set()
            await asyncio.gather(*makers)
            for pid in town.pids.values():
                await nursery.end(pid, signal.SIGTERM)
        return town.alerts, town.slots()

    alerts, slots = asyncio.run(go())
    print(f"{EVENTS} events, {len(alerts)} alerts, {len(slots)} rounds acknowledged")
    assert len(alerts) > EVENTS / 2, "too few alerts to prove anything"
    assert len(slots) > EVENTS / 2, "too few rounds to prove anything"
    _audit(tmp_path / "data" / "tickyard.db", alerts, slots)
