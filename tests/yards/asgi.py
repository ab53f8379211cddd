"""Driving an ASGI application directly: what a server would send it, and what it sent back."""

import json
from dataclasses import dataclass


@dataclass
class Response:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self):
        return json.loads(self.body)

    @property
    def error(self):
        """The Error object, with its shape checked."""
        assert self.headers["content-type"] == "application/json"
        (error,) = self.json().values()
        assert set(error) == {"code", "message"}
        assert error["code"] in {"bad_request", "not_found", "no_liquidity", "upstream_error", "internal_error"}
        return error


async def ask_app(app, method, target, *, headers=None, chunks=(b"",), client=("203.0.113.9", 1234)):
    raw, _, query = target.encode().partition(b"?")
    scope = {
        "type": "http",
        "method": method,
        "path": raw.decode(),
        "raw_path": raw,
        "query_string": query,
        "headers": [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()],
        "client": client,
        "http_version": "1.1",
        "scheme": "http",
        "root_path": "",
    }
    messages = [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks]
    messages[-1]["more_body"] = False
    sent = []

    async def receive():
        return messages.pop(0)

    async def send(message):
        sent.append(message)

    await app(scope, receive, send)
    start, *bodies = sent
    names = [name.decode() for name, _ in start["headers"]]
    assert len(names) == len(set(names)), f"a header is sent twice: {names}"
    values = {name.decode(): value.decode() for name, value in start["headers"]}
    return Response(start["status"], values, b"".join(message["body"] for message in bodies))
