"""Three replicas behind Caddy: replaced one after the other under load, and all of them without a node."""

import asyncio
import collections
import json
import os
import random
import subprocess
from pathlib import Path

import aiohttp
import pytest

from tickyard.kernel.clock import WallClock
from yards import running

pytestmark = pytest.mark.timeout(600)

DEPLOY = Path(__file__).parents[1]
CALLERS = 6
PAUSE_S = 0.02
LAME_DUCK_S = 5
WALLET = "0x875F7121A37a8Af309B8e85f297B46Aa19d85daD"


class Replicas:
    def __init__(self, settings, folder):
        self._settings = settings
        self._folder = folder
        self._started = 0
        self.ports = [running.free_port() for _ in range(3)]
        self.processes = [self.start(port) for port in self.ports]

    def start(self, port):
        self._started += 1
        environ = {
            **self._settings,
            "TICKYARD_PORT": str(port),
            "TICKYARD_METRICS_PORT": str(port + 1000),
            "TICKYARD_LAME_DUCK_S": str(LAME_DUCK_S),
            "TICKYARD_DRAIN_S": "60",
        }
        return running.Process("serve", self._folder / f"serve-{self._started}.log", environ).wait_ready()

    def replace(self, place):
        old = self.processes[place].process
        old.terminate()
        assert old.wait(timeout=90) == 0
        old.stdin.close()
        self.processes[place] = self.start(self.ports[place])

    def stop(self):
        for each in self.processes:
            each.kill()


@pytest.fixture
def proxied(up, program, tmp_path):
    settings = json.loads((up.run_dir / "settings.json").read_text())
    replicas = Replicas(settings, tmp_path)
    port, admin = running.free_port(), running.free_port()
    environ = {
        **os.environ,
        "SITE": f"http://127.0.0.1:{port}",
        "UPSTREAMS": " ".join(f"127.0.0.1:{each}" for each in replicas.ports),
        "XDG_DATA_HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path),
    }
    config = tmp_path / "Caddyfile"
    config.write_text(f"{{\n\tadmin 127.0.0.1:{admin}\n}}\n" + (DEPLOY / "Caddyfile").read_text())
    with (tmp_path / "caddy.log").open("w") as log:
        command = [program("caddy", "caddy"), "run", "--config", str(config), "--adapter", "caddyfile"]
        caddy = subprocess.Popen(command, env=environ, stdout=log, stderr=log)
        try:
            yield replicas, f"http://127.0.0.1:{port}"
        finally:
            caddy.terminate()
            caddy.wait(timeout=20)
            replicas.stop()


async def call_until(done, base, outcomes, dice):
    """Every kind of request: kept, asked of the chain, with a body, and written to the store."""
    build = {"symbol": "AAPL", "side": "buy", "amount": "25", "recipient": WALLET}
    alert = {"symbol": "AAPL", "condition": "above", "price": 900000, "webhookUrl": "https://hooks.example.com/x"}
    kinds = [
        ("GET", "/v1/assets", None, 200),
        ("GET", "/v1/prices/AAPL", None, 200),
        ("GET", "/v1/quote?symbol=NVDA&side=buy&amount=10", None, 200),
        ("POST", "/v1/trade/build", build, 200),
        ("POST", "/v1/alerts", alert, (201, 400)),
        ("GET", "/v1/x402/quote?symbol=AAPL&side=buy&amount=5", None, 402),
    ]
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as session:
        while not done.is_set():
            # Steady, not as much as there can be: this is about who is lost, not about how many fit.
            await WallClock().sleep(PAUSE_S)
            method, path, body, expected = dice.choice(kinds)
            try:
                async with session.request(method, base + path, json=body) as response:
                    text = await response.text()
                    fits = response.status in (expected if isinstance(expected, tuple) else (expected,))
                    outcomes["served" if fits else f"{method} {path}: {response.status} {text[:200]}"] += 1
            except (aiohttp.ClientError, TimeoutError) as error:
                outcomes[f"{method} {path}: {error!r}"] += 1


async def wait_proxied(base):
    async with asyncio.timeout(60), aiohttp.ClientSession() as session:
        while True:
            try:
                async with session.get(f"{base}/readyz") as response:
                    if response.status == 200:
                        return
            except aiohttp.ClientError:
                pass
            await WallClock().sleep(0.2)


def test_no_request_fails_while_three_replicas_are_replaced(proxied, capsys):
    replicas, base = proxied
    outcomes = collections.Counter()

    async def scenario():
        await wait_proxied(base)
        done = asyncio.Event()
        callers = [
            asyncio.create_task(call_until(done, base, outcomes, random.Random(number))) for number in range(CALLERS)
        ]
        for place in range(3):
            await asyncio.to_thread(replicas.replace, place)
            # Until the proxy has found the new one, before the next is taken away.
            await WallClock().sleep(3)
        done.set()
        await asyncio.gather(*callers)

    asyncio.run(scenario())
    served = outcomes.pop("served")
    with capsys.disabled():
        print(f" [{served} requests served, {sum(outcomes.values())} failed]", end="", flush=True)
    assert not outcomes, outcomes
    assert served > 500


async def ask(session, base, path):
    async with session.get(base + path) as response:
        return response.status, await response.text()


@pytest.fixture
def without_node(up):
    """Called, it takes the node away from everybody."""

    def fault(mode):
        assert up.post("/sandbox/fault", {"target": "rpc", "mode": mode})[0] == 200

    yield lambda: fault("down")
    fault("ok")


def test_what_needs_no_node_is_served_while_none_of_the_replicas_has_one(proxied, without_node):
    replicas, base = proxied
    direct = [f"http://127.0.0.1:{port}" for port in replicas.ports]

    async def scenario():
        await wait_proxied(base)
        async with asyncio.timeout(120), aiohttp.ClientSession() as session:
            without_node()
            while {(await ask(session, each, "/readyz"))[0] for each in direct} != {503}:
                await WallClock().sleep(0.2)
            # Until the proxy has looked again.
            await WallClock().sleep(3)
            for path, status in (
                ("/v1/assets", 200),
                ("/v1/history/AAPL", 200),
                ("/app", 200),
                ("/v1/x402/quote?symbol=AAPL&side=buy&amount=5", 402),
            ):
                found, text = await ask(session, base, path)
                assert (found, bool(text)) == (status, True), path
            found, text = await ask(session, base, "/v1/quote?symbol=NVDA&side=buy&amount=10")
            assert (found, json.loads(text)["error"]["code"]) == (502, "upstream_error")

    asyncio.run(scenario())
