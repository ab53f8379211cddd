"""make storm MINUTES=10: k replicas behind Caddy on PostgreSQL, and a fault every twenty seconds."""

import argparse
import asyncio
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
from pathlib import Path

from storm import CLOCK
from storm.middleman import Frozen, Garbage, Middleman, Slow, Swapped
from storm.traffic import Traffic
from yards import running
from yards.postgres_server import PostgresServer

REPLICAS = 3
EVERY_S = 20
LASTS_S = 8
READY_S = 15
HEAD_AGE_S = 5


class Crew:
    """Three API processes and a worker, killed and replaced as the dice say."""

    def __init__(self, settings, folder, node, issuer):
        self._folder = folder
        self._settings = {
            **settings,
            "TICKYARD_RPC_URLS": node,
            "TICKYARD_ISSUER_URL": issuer,
            "TICKYARD_HEAD_AGE_MAX_S": str(HEAD_AGE_S),
            "TICKYARD_RATE_LIMIT": "0",
        }
        self._settings.pop("TICKYARD_RPC_WS_URLS", None)
        self._started = 0
        self.apis = [self.start("serve") for _ in range(REPLICAS)]
        self.worker = self.start("work")
        for api in self.apis:
            api.wait_ready()

    def start(self, command, port=None):
        self._started += 1
        port = port or running.free_port()
        environ = {
            **self._settings,
            "TICKYARD_PORT": str(port),
            "TICKYARD_METRICS_PORT": str(port + 1000),
            "TICKYARD_WORKER_METRICS_PORT": str(port + 1000),
        }
        return running.Process(command, self._folder / f"{command}-{self._started}.log", environ)

    def kill_api(self, place):
        self.apis[place].kill()

    def replace_api(self, place):
        # On the same port: the proxy knows where it was.
        self.apis[place] = self.start("serve", int(self.apis[place].base.rpartition(":")[2]))

    def are_ready(self):
        return all(_is_ready(api) for api in self.apis)

    def stop(self):
        for process in (*self.apis, self.worker):
            process.stop()


def _is_ready(api):
    try:
        return api.ask("GET", "/readyz", limit_s=3)[0] == 200
    except (urllib.error.URLError, OSError, ValueError):
        return False


def caddy(apis, folder):
    port = running.free_port()
    upstreams = " ".join(api.base.removeprefix("http://") for api in apis)
    real = (Path(__file__).parents[2] / "deploy" / "Caddyfile").read_text()
    text = "{\n\tadmin off\n\tauto_https off\n}\n" + real.replace(
        "{$SITE:tickyard.example}", f"http://127.0.0.1:{port}"
    )
    config = folder / "Caddyfile"
    config.write_text(text.replace("{$UPSTREAMS:127.0.0.1:8402}", upstreams))
    program = shutil.which("caddy") or sys.exit("caddy is missing: apt-get install caddy")
    log = (folder / "caddy.log").open("w")
    command = [program, "run", "--config", config, "--adapter", "caddyfile"]
    return subprocess.Popen(command, stdout=log, stderr=log), f"http://127.0.0.1:{port}"


class Storm:
    def __init__(self, crew, database, node, issuer, traffic, pair, seed):
        self.crew, self.database, self.node, self.issuer, self.traffic = crew, database, node, issuer, traffic
        self._pair = pair
        self.rng = random.Random(seed)
        self.recoveries = []

    async def blow(self, until):
        faults = [self.kill_replica, self.kill_worker, self.restart_database, self.freeze_node, self.spoil_node]
        faults += [self.silence_node, self.lie_about_addresses]
        order = []
        while time.monotonic() < until:
            order = order or self.rng.sample(faults, len(faults))
            fault, began = order.pop(), time.monotonic()
            name = fault.__name__
            self.traffic.fault = name
            await fault()
            ended = time.monotonic()
            ready_s = await self._wait_until_ready(ended)
            self.traffic.fault = f"after {name}"
            self.recoveries.append((name, round(ready_s, 1)))
            print(f"{name:<20} lasted {ended - began:4.1f} s, ready again after {ready_s:4.1f} s", flush=True)
            await CLOCK.sleep(max(0, EVERY_S - (time.monotonic() - began)))

    async def _wait_until_ready(self, ended):
        while not await asyncio.to_thread(self.crew.are_ready):
            if time.monotonic() - ended > 4 * READY_S:
                return float("inf")
            await CLOCK.sleep(0.2)
        return time.monotonic() - ended

    async def kill_replica(self):
        place = self.rng.randrange(REPLICAS)
        await asyncio.to_thread(self.crew.kill_api, place)
        await CLOCK.sleep(3)
        await asyncio.to_thread(self.crew.replace_api, place)

    async def kill_worker(self):
        await asyncio.to_thread(self.crew.worker.kill)
        self.crew.worker = await asyncio.to_thread(self.crew.start, "work")

    async def restart_database(self):
        await asyncio.to_thread(self.database.kill)
        await CLOCK.sleep(3)
        await asyncio.to_thread(self.database.start)

    async def freeze_node(self):
        # As if it had stopped half a minute ago.
        newest = int(await self.node.ask_node("eth_blockNumber"), 16)
        self.node.spoil = Frozen(newest)
        await CLOCK.sleep(LASTS_S + HEAD_AGE_S)
        self.node.spoil = None

    async def spoil_node(self):
        self.node.spoil = Garbage()
        await CLOCK.sleep(LASTS_S)
        self.node.spoil = None

    async def silence_node(self):
        self.node.spoil = Slow()
        await CLOCK.sleep(LASTS_S)
        self.node.spoil = None

    async def lie_about_addresses(self):
        self.issuer.spoil = Swapped(*self._pair)
        await CLOCK.sleep(LASTS_S)
        self.issuer.spoil = None


async def run(minutes, callers, seed):
    folder = Path(tempfile.mkdtemp(prefix="tickyard-storm-"))
    database = PostgresServer()
    up = running.Up(demo_days=1, TICKYARD_DATABASE_URL=database.new_database()).wait_ready()
    crew = proxy = None
    middlemen = []
    try:
        settings = json.loads((up.run_dir / "settings.json").read_text())
        node = await Middleman(settings["TICKYARD_RPC_URLS"].split(",")[0]).start()
        issuer = await Middleman(settings["TICKYARD_ISSUER_URL"]).start()
        middlemen = [node, issuer]
        crew = await asyncio.to_thread(Crew, settings, folder, node.url, issuer.url)
        proxy, base = caddy(crew.apis, folder)
        await CLOCK.sleep(3)
        wallet = up.get("/sandbox")[1]["wallets"][0]["address"]
        pair = [up.get(f"/v1/assets/{symbol}")[1]["address"] for symbol in ("AAPL", "TSLA")]
        paths = [f"/v1/quote?symbol={symbol}&side=buy&amount=100" for symbol in ("AAPL", "TSLA", "KO")]
        paths += [f"/v1/assets/{symbol}" for symbol in ("AAPL", "TSLA")]
        paths += [f"/v1/portfolio/{wallet}", "/v1/stats/AAPL", "/v1/research/AAPL", "/v1/history/AAPL", "/v1/assets"]
        build = {"symbol": "AAPL", "side": "buy", "amount": "100", "recipient": wallet}
        inbox = up.get("/sandbox")[1]["inboxUrl"]
        alert = {"symbol": "AAPL", "condition": "above", "price": 99999, "webhookUrl": f"{inbox}/storm"}
        traffic = Traffic(base, paths, build, alert, seed)
        storm = Storm(crew, database, node, issuer, traffic, pair, seed)
        calls = asyncio.create_task(traffic.run(callers, up.base))
        await CLOCK.sleep(8)
        await storm.blow(time.monotonic() + 60 * minutes)
        traffic.is_over = True
        await calls
        lost = await asyncio.to_thread(_lost, up, traffic.kept_alerts)
        return report(traffic, storm, lost, minutes)
    finally:
        if proxy is not None:
            proxy.terminate()
            proxy.wait(10)
        if crew is not None:
            await asyncio.to_thread(crew.stop)
        for middleman in middlemen:
            await middleman.close()
        await asyncio.to_thread(up.stop)
        database.stop()
        print(f"logs: {folder}")


def _lost(up, alerts):
    """Alerts that were acknowledged and are not there."""
    lost = []
    for name, secret in alerts:
        if up.ask("GET", f"/v1/alerts/{name}", headers={"x-svc-alert-secret": secret})[0] != 200:
            lost.append(name)
    return lost


def report(traffic, storm, lost, minutes):
    total = sum(traffic.statuses.values())
    print(f"\n{total} calls in {minutes} minutes: {dict(traffic.statuses.most_common())}")
    for fault, seen in sorted(traffic.by_fault.items()):
        print(f"  {fault:<26} {dict(seen.most_common())}")
    late = [each for each in storm.recoveries if each[1] > READY_S]
    faults = {
        "wrong figures or statuses": traffic.wrong[:5],
        f"502 that took longer than {6} s": traffic.slow[:5],
        f"ready later than {READY_S} s": late,
        "acknowledged alerts lost": lost[:5],
    }
    print(
        f"slowest 502: {traffic.slowest_502_s:.2f} s; slowest recovery: {max(each[1] for each in storm.recoveries)} s"
    )
    print(f"{len(storm.recoveries)} faults, {len(traffic.kept_alerts)} alerts kept")
    for name, found in faults.items():
        print(f"{name}: {found or 'none'}")
    return any(faults.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--callers", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    sys.exit(1 if asyncio.run(run(asked.minutes, asked.callers, asked.seed)) else 0)


if __name__ == "__main__":
    main()
