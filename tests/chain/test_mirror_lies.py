"""A node that hides, repeats, reorders or alters logs, lags or takes back blocks: never a wrong figure, soon back."""

import json
from contextlib import suppress

import aiohttp
import pytest
from aiohttp import web

from tickyard.kernel.errors import UpstreamDown
from tickyard.sandbox.standins.process import open_port
from yards.mirroring import Bustle, Followed, asked, random_trade

pytestmark = pytest.mark.node

LIES = ("hide", "repeat", "reorder", "alter", "alter more", "lag", "empty", "orphan", "clock", "number")


class Liar:
    """Between us and the node: passes everything on, and lies about logs or about how far the chain is."""

    def __init__(self, behind, rng):
        self.behind, self.rng = behind, rng
        self.lie = None
        self.told = 0
        self.head = None

    def add_to(self, app):
        app.router.add_post("/", self.pass_on)

    async def pass_on(self, request):
        body = await request.read()
        async with aiohttp.ClientSession() as session, session.post(self.behind, data=body) as answer:
            said = await answer.json()
        asked_for = json.loads(body)
        if self.lie is not None:
            many = isinstance(asked_for, list)
            pairs = zip(asked_for, said, strict=True) if many else [(asked_for, said)]
            for question, reply in pairs:
                self.twist(question, reply)
        return web.json_response(said)

    def twist(self, question, reply):
        result = reply.get("result")
        if question["method"] == "eth_getBlockByNumber" and question["params"][0] == "latest" and self.lie == "lag":
            self.head = self.head or result
            reply["result"] = self.head
        if question["method"] == "eth_getBlockByNumber" and question["params"][0] == "latest" and self.lie == "clock":
            # A block like any other, with another time.
            self.told += 1
            result["timestamp"] = hex(int(result["timestamp"], 16) - 1)
        if question["method"] == "eth_getBlockByNumber" and question["params"][0] == "latest" and self.lie == "number":
            # The newest block by its own hash, and under another's number.
            self.told += 1
            result["number"] = hex(int(result["number"], 16) + self.rng.choice([-3, -1, 1, 5, 10**8]))
        if question["method"] != "eth_getLogs" or not result:
            return
        self.told += 1
        at = self.rng.randrange(len(result))
        if self.lie == "hide":
            result.pop(at)
        elif self.lie == "repeat":
            result.append({**result[at], "logIndex": hex(int(result[-1]["logIndex"], 16) + self.rng.randint(0, 1))})
        elif self.lie == "reorder":
            places = [(log["blockNumber"], log["logIndex"], log["blockHash"]) for log in result]
            self.rng.shuffle(result)
            if self.rng.random() < 0.5:
                for log, (number, index, block) in zip(result, places, strict=True):
                    log.update(blockNumber=number, logIndex=index, blockHash=block)
        elif self.lie.startswith("alter"):
            data = bytearray.fromhex(result[at]["data"][2:])
            word = self.rng.randrange(len(data) // 32)
            value = int.from_bytes(data[32 * word : 32 * word + 32], "big")
            value += 1 if self.lie == "alter" else self.rng.choice([1, -1, 10**6, 10**12])
            data[32 * word : 32 * word + 32] = (value % 2**256).to_bytes(32, "big")
            result[at]["data"] = "0x" + data.hex()
        elif self.lie == "empty":
            reply["result"] = []
        elif self.lie == "orphan":
            result[at]["blockHash"] = "0x" + "ab" * 32


async def step_in_vain_perhaps(followed):
    """A log that no pool could write says that the node is out of order: nothing is learned from it."""
    with suppress(UpstreamDown):
        await followed.mirror.step()


@pytest.mark.timeout(3000)
def test_a_lying_node_never_makes_the_mirror_say_a_wrong_figure(world, proof):
    rng = proof.rng("lies")
    pools = [pool for pool in world.world.pools if pool.is_live]
    symbols = sorted({rng.choice([p.symbol for p in pools if p.fee == fee]) for fee in (100, 500, 3000, 10_000)})
    tokens = [world.world.tokens[symbol] for symbol in symbols]
    bustle = Bustle(world, rng, symbols)
    seen = {"right": 0, "absent": 0, "lied": 0, "taken back": 0}

    async def look(followed, may_be_absent):
        for token in tokens:
            trade = random_trade(rng)
            offered = followed.offer(token, trade)
            if offered is None:
                assert may_be_absent, (token, bustle.done)
                seen["absent"] += 1
                continue
            head, fills = offered
            newest = await world.node.call("eth_getBlockByNumber", ["latest", False])
            if head.hash == newest["hash"]:
                assert head.timestamp == int(newest["timestamp"], 16), bustle.done
                assert head.number == int(newest["number"], 16), bustle.done
                assert fills == await asked(world.node, followed.book, token, trade), (token, trade, bustle.done)
                seen["right"] += 1

    async def prove():
        liar = Liar(world.node.url, rng)
        runner, port = await open_port([liar])
        followed = Followed.over(f"http://127.0.0.1:{port}/")
        try:
            async with followed.rpc:
                await followed.book.discover(tokens)
                await look(followed, may_be_absent=True)
                await followed.mirror.step()
                for case in range(proof.count(500)):
                    liar.lie = LIES[case % len(LIES)]
                    snapshot = await world.node.call("evm_snapshot", []) if rng.random() < 0.15 else None
                    kept = list(bustle.positions)
                    for _ in range(rng.randint(1, 3)):
                        await bustle.act()
                    await step_in_vain_perhaps(followed)
                    await look(followed, may_be_absent=True)
                    if snapshot:
                        await world.node.call("evm_revert", [snapshot])
                        bustle.positions[:] = kept
                        await world.node.call("evm_mine", [])
                        seen["taken back"] += 1
                        await step_in_vain_perhaps(followed)
                        await look(followed, may_be_absent=True)
                    seen["lied"] += liar.told > 0
                    liar.lie, liar.told, liar.head = None, 0, None
                    # Well again: two steps, less than two seconds at the usual pace.
                    await followed.mirror.step()
                    await followed.mirror.step()
                    await look(followed, may_be_absent=False)
        finally:
            await runner.cleanup()

    world.run(prove())
    print(seen, bustle.done)
    assert seen["right"] > proof.count(500) * 4
    assert seen["lied"] > proof.count(500) // 3
    assert seen["taken back"]
