"""Stands between the service and one of its far ends, and spoils what it says when it is told to."""

import json

import aiohttp
from aiohttp import web

from storm import CLOCK


class Middleman:
    """An HTTP server that passes everything on to `target`, through `spoil` when one is set."""

    def __init__(self, target):
        self._target = target.rstrip("/")
        self.spoil = None
        self.calls = 0

    async def start(self):
        self._session = aiohttp.ClientSession(auto_decompress=False)
        app = web.Application(client_max_size=2**26)
        app.router.add_route("*", "/{rest:.*}", self._pass_on)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}"
        return self

    async def close(self):
        await self._runner.cleanup()
        await self._session.close()

    async def _pass_on(self, request):
        self.calls += 1
        spoil, body = self.spoil, await request.read()
        if spoil is not None:
            body = await spoil.ask(self, body)
        status, said = await self._send(request, body)
        if spoil is not None:
            said = spoil.answer(body, said)
        return web.Response(status=status, body=said, content_type="application/json")

    async def _send(self, request, body):
        kept = {
            name: value for name, value in request.headers.items() if name.lower() in ("content-type", "user-agent")
        }
        url = self._target + (request.path_qs if request.path != "/" else "")
        async with self._session.request(request.method, url, data=body, headers=kept) as answer:
            return answer.status, await answer.read()

    async def ask_node(self, method, *params):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        headers = {"content-type": "application/json"}
        async with self._session.post(self._target, data=body, headers=headers) as answer:
            return (await answer.json())["result"]


class Frozen:
    """A node that has stopped at a block: healthy in every other way."""

    def __init__(self, block):
        self._block = hex(block)

    async def ask(self, _middleman, body):
        asked = json.loads(body)
        for each in asked if isinstance(asked, list) else [asked]:
            each["params"] = [self._block if value == "latest" else value for value in each.get("params", [])]
        return json.dumps(asked).encode()

    def answer(self, body, said):
        asked, answers = json.loads(body), json.loads(said)
        if isinstance(asked, dict):
            asked, answers = [asked], [answers]
            is_one = True
        else:
            is_one = False
        methods = {each.get("id"): each.get("method") for each in asked}
        for each in answers:
            if methods.get(each.get("id")) == "eth_blockNumber":
                each["result"] = self._block
        return json.dumps(answers[0] if is_one else answers).encode()


class Garbage:
    """A node that answers everything with something else."""

    async def ask(self, _middleman, body):
        return body

    def answer(self, _body, _said):
        return b"<html>502 Bad Gateway</html>"


class Slow:
    """Says nothing for longer than anybody waits."""

    async def ask(self, _middleman, body):
        await CLOCK.sleep(30)
        return body

    def answer(self, _body, said):
        return said


class Swapped:
    """An issuer that gives two tokens each other's address."""

    def __init__(self, one, other):
        self._pair = one, other

    async def ask(self, _middleman, body):
        return body

    def answer(self, _body, said):
        one, other = self._pair
        text = said.decode()
        for spell in (str, str.lower):
            text = text.replace(spell(one), "@@").replace(spell(other), spell(one)).replace("@@", spell(other))
        return text.encode()
