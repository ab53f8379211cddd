"""API processes that sell, to be raced and killed. Run as `python -m yards.payment_server JSON`.

Importing takes longer than a life here, so this process stays and gives birth to servers: one per line that it reads,
which says by how many seconds the clock of that one is ahead. Each tells its pid and port when it listens.

Every step of a sale is told to the test before it goes on, over a connection of its own; a test that kills at a step just
never answers.
"""

import asyncio
import contextlib
import json
import os
import pathlib
import random
import signal
import socket
import sys
from types import SimpleNamespace

import uvicorn
from coincurve import PrivateKey

from tickyard.doors.http.protocol import LimitedProtocol
from tickyard.payments.offer.terms import Terms
from tickyard.payments.signed.signature import recover
from tickyard.store.opening import open_store
from tickyard.store.postgres.engine import PostgresStore
from tickyard.store.sqlite.engine import SqliteStore
from yards import selling
from yards.clocks import MovedClock


class Teller:
    """Tells the test where a sale is, and waits to be allowed on."""

    def __init__(self, port):
        self._port = port

    async def stage(self, name):
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        writer.write(f"{os.getpid()} {name}\n".encode())
        await reader.readline()
        writer.close()
        await writer.wait_closed()


class Staged:
    """A store that says when it is about to do something, and when it has done it."""

    teller = None

    @contextlib.asynccontextmanager
    async def begin(self, **how):
        await self.teller.stage("before a write")
        async with super().begin(**how) as tx:
            yield tx
            await self.teller.stage("before a commit")
        await self.teller.stage("after a commit")

    @contextlib.asynccontextmanager
    async def glance(self):
        async with super().glance() as tx:
            yield tx
        await self.teller.stage("after a read")


class StagedSqlite(Staged, SqliteStore):
    pass


class StagedPostgres(Staged, PostgresStore):
    pass


def open_staged(where, clock, teller, *, is_staged):
    if not is_staged:
        return open_store(where, clock)
    if where.startswith("postgresql"):
        store = StagedPostgres(where, clock)
    else:
        store = StagedSqlite(pathlib.Path(where), clock, random.Random(1))
    store.teller = teller
    return store


async def serve(job, ahead_s):
    clock = MovedClock()
    clock.move(ahead_s)
    teller = Teller(job["stages"])
    deps = selling.Deps(on_stage=teller.stage)
    world = SimpleNamespace(
        clock=clock,
        deps=deps,
        terms=Terms(selling.SETTINGS, clock),
        facilitators={network: SimpleNamespace(url=url) for network, url in job["facilitators"].items()},
        chains={
            network: SimpleNamespace(node=SimpleNamespace(url=url, chain_id=int(network.removeprefix("eip155:"))))
            for network, url in job["nodes"].items()
        },
        **job["limits"],
    )
    process = selling.Process(world, open_staged(job["where"], clock, teller, is_staged=job["is_staged"]))
    await process.start()
    listening = socket.create_server(("127.0.0.1", 0), backlog=256)
    os.write(1, f"{os.getpid()} {listening.getsockname()[1]}\n".encode())
    config = uvicorn.Config(
        process.app, http=LimitedProtocol, ws="none", lifespan="off", log_config=None, access_log=False
    )
    await uvicorn.Server(config).serve([listening])


def warm_up():
    """What a life would load on its first sale: lives here are short."""
    from sqlalchemy.dialects import postgresql, sqlite  # noqa: F401

    digest = bytes(32)
    recover(digest, PrivateKey(b"\x01" * 32).sign_recoverable(digest, hasher=None))


def main():
    job = json.loads(sys.argv[1])
    warm_up()
    # Nobody waits for the dead here.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    os.write(1, b"ready\n")
    for line in sys.stdin:
        if os.fork() == 0:
            try:
                asyncio.run(serve(job, int(line)))
            finally:
                # Whoever waits for its pid and port must not wait for ever.
                os.write(1, b"stillborn\n")
            os._exit(0)


if __name__ == "__main__":
    main()
