"""The reference: a raw ASGI app that sends the same bytes, on the same server and loop, and does nothing else."""

import asyncio
import json
import os
import socket
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import uvicorn
import uvloop

from bench.cpu import cores, pin
from bench.load import Target

# The server adds these itself; one of them would even close the connection.
_HOP = ("date", "connection")


def build(body: bytes, pairs: list[tuple[str, str]]):
    """An app that sends this body with these headers."""
    headers = [(name.lower().encode(), value.encode()) for name, value in pairs if name.lower() not in _HOP]
    start = {"type": "http.response.start", "status": 200, "headers": headers}
    finish = {"type": "http.response.body", "body": body}

    async def app(scope, receive, send) -> None:
        await send(start)
        await send(finish)

    return app


async def serve(app, **settings) -> None:
    """Serve on a port of the system's choice and say on stdout where."""
    sock = socket.create_server(("127.0.0.1", 0), backlog=2048)
    config = uvicorn.Config(
        app,
        interface="asgi3",
        loop="none",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        **{"http": "httptools", **settings},
    )
    pair = cores()
    pin(os.getpid(), pair and pair[0])
    print(json.dumps({"port": sock.getsockname()[1], "pid": os.getpid()}), flush=True)
    await uvicorn.Server(config).serve([sock])


@asynccontextmanager
async def start(*command: str) -> AsyncIterator[dict]:
    """Run a server that announces itself in one line of JSON; stop it at the end."""
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        line = await asyncio.wait_for(process.stdout.readline(), 30)
        yield json.loads(line)
    finally:
        if process.returncode is None:
            process.terminate()
        await asyncio.wait_for(process.wait(), 30)


@asynccontextmanager
async def start_reference(body: bytes, headers: list[tuple[str, str]]) -> AsyncIterator[Target]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "body"
        file.write_bytes(body)
        async with start(sys.executable, "-m", "bench.reference", str(file), json.dumps(headers)) as told:
            yield Target(f"http://127.0.0.1:{told['port']}/", told["pid"], len(body))


if __name__ == "__main__":
    uvloop.run(serve(build(Path(sys.argv[1]).read_bytes(), json.loads(sys.argv[2]))))
