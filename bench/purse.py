"""Paid load: keep-alive connections, and a payment of its own for every request, signed before the clock starts.

python -m bench.purse '{"target": ..., "count": ...}'    ->  one line of JSON
"""

import asyncio
import base64
import json
import os
import secrets
import sys
import time
import urllib.error
import urllib.request
from dataclasses import asdict, dataclass
from itertools import chain, repeat
from urllib.parse import urlsplit

import uvloop
from coincurve import PrivateKey

from bench.cpu import cores, cpu_seconds, pin
from bench.load import Sample
from bench.report import Row
from tickyard.chain.keccak import keccak256
from tickyard.kernel.clock import WallClock
from tickyard.kernel.ids import Address
from tickyard.payments.offer.terms import SECOND, AcceptsEntry, PaymentSettings, Terms
from tickyard.payments.signed.typed_data import eip3009_digest

PAY_TO = Address("0x" + "7a" * 20)
VALID_S = 3600
# More than anybody serves in a second; payments left over are thrown away.
PER_SECOND = 4500


@dataclass(frozen=True)
class Shop:
    """A URL, the process that serves it, and what an answer must look like."""

    url: str
    pid: int
    status: int
    length: int
    is_paid: bool = False


class Purse:
    """A wallet that pays what a challenge asks for, as standard clients do, on the second network."""

    def __init__(self, challenge: bytes) -> None:
        offered = json.loads(challenge)
        self._key = PrivateKey(secrets.token_bytes(32))
        self._payer = Address("0x" + keccak256(self._key.public_key.format(compressed=False)[1:])[12:].hex())
        self._accepted = next(offer for offer in offered["accepts"] if offer["network"] == SECOND)
        self._entry = self._entry_of(int(self._accepted["amount"]))
        # What the client was told is told back.
        self._echo = {name: offered[name] for name in ("resource", "extensions") if offered.get(name)}
        self._until = WallClock().seconds() + VALID_S

    @staticmethod
    def _entry_of(amount_raw: int) -> AcceptsEntry:
        terms = Terms(PaymentSettings("http://127.0.0.1", PAY_TO), WallClock())
        return next(entry for entry in terms.entries(amount_raw) if entry.network == SECOND)

    def header(self) -> bytes:
        """A payment that was never made before, as the value of its header."""
        nonce = secrets.randbits(256)
        signature = bytearray(
            self._key.sign_recoverable(eip3009_digest(self._entry, self._payer, 0, self._until, nonce), hasher=None)
        )
        signature[64] += 27
        signed = {"from": self._payer, "to": self._accepted["payTo"], "value": self._accepted["amount"]}
        signed |= {"validAfter": "0", "validBefore": str(self._until), "nonce": f"0x{nonce:064x}"}
        inner = {"signature": "0x" + signature.hex(), "authorization": signed}
        envelope = {"x402Version": 2, "accepted": self._accepted, "payload": inner, **self._echo}
        return base64.b64encode(json.dumps(envelope, separators=(",", ":")).encode())


def ask(url: str, **headers: str) -> tuple[int, list[tuple[str, str]], bytes]:
    """Status, headers and body, whatever the status."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10) as answer:
            return answer.status, answer.headers.items(), answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers.items(), error.read()


def offer_of(url: str) -> bytes:
    """The challenge's JSON: of the header, because not every service repeats it as its body."""
    _, headers, _ = ask(url)
    return base64.b64decode(next(value for name, value in headers if name.lower() == "payment-required"))


class Connection(asyncio.Protocol):
    def __init__(self, requests, shop: Shop, failed: asyncio.Future) -> None:
        self.requests, self.shop, self.failed = requests, shop, failed
        self.answers = 0
        self.buffer = b""
        self.start = b"HTTP/1.1 %d " % shop.status

    def connection_made(self, transport) -> None:
        self.transport = transport
        self.send()

    def send(self) -> None:
        request = next(self.requests, None)
        if request is None:
            self.fail("was faster than payments had been signed for")
        else:
            self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        data = self.buffer + data
        if not data.startswith(self.start[: len(data)]):
            self.fail(f"answered {data[:300]!r}")
            return
        end = data.find(b"\r\n\r\n")
        if end < 0 or len(data) < end + 4 + self.shop.length:
            self.buffer = data
        elif len(data) != end + 4 + self.shop.length:
            self.fail("sent more than the expected body")
        elif self.shop.is_paid and b"\r\npayment-response: " not in data[:end].lower():
            self.fail("sent no receipt")
        else:
            self.buffer = b""
            self.answers += 1
            self.send()

    def connection_lost(self, exc: Exception | None) -> None:
        self.fail(f"closed the connection after {self.answers} answers ({exc})")

    def fail(self, what: str) -> None:
        if not self.failed.done():
            self.failed.set_exception(RuntimeError(f"the server {what}"))


def requests_of(shop: Shop, count: int):
    parts = urlsplit(shop.url)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    head = f"GET {target} HTTP/1.1\r\nHost: {parts.netloc}\r\nAccept: */*\r\nUser-Agent: bench\r\n".encode()
    if not shop.is_paid:
        return repeat(head + b"\r\n")
    purse = Purse(offer_of(shop.url))
    return chain([head + b"PAYMENT-SIGNATURE: " + purse.header() + b"\r\n\r\n" for _ in range(count)])


async def load(shop: Shop, connections: int, warm_up_s: float, seconds: float) -> Sample:
    requests = requests_of(shop, int(PER_SECOND * (warm_up_s + seconds)))
    loop = asyncio.get_running_loop()
    parts = urlsplit(shop.url)
    failed: asyncio.Future = loop.create_future()
    opened = [
        (await loop.create_connection(lambda: Connection(requests, shop, failed), parts.hostname, parts.port))[1]
        for _ in range(connections)
    ]

    async def until(seconds: float) -> tuple[float, float, float, int]:
        await asyncio.wait([failed], timeout=seconds)
        if failed.done():
            failed.result()
        return time.perf_counter(), cpu_seconds(shop.pid), time.process_time(), sum(c.answers for c in opened)

    before = await until(warm_up_s)
    after = await until(seconds)
    failed.cancel()
    for connection in opened:
        connection.transport.abort()
    elapsed, server_cpu, client_cpu, answered = (b - a for a, b in zip(before, after, strict=True))
    return Sample(answered, elapsed, server_cpu, client_cpu)


async def measure(shop: Shop, *, connections: int, seconds: float, warm_up_s: float = 0.3) -> Sample:
    """Run one repetition in a process of its own."""
    job = {"shop": asdict(shop), "connections": connections, "warm_up_s": warm_up_s, "seconds": seconds}
    command = [sys.executable, "-m", "bench.purse", json.dumps(job)]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    out, _ = await asyncio.wait_for(process.communicate(), 60 + 10 * seconds)
    if process.returncode:
        raise RuntimeError(f"the load generator failed on {shop.url}")
    return Sample(**json.loads(out))


async def compare(name: str, ours: Shop, theirs: Shop, goal: float, *, connections: int, repetitions: int = 5) -> Row:
    """Load both in turn, so that whatever slows the machine slows both."""
    samples: tuple[list[Sample], list[Sample]] = ([], [])
    for shop in (ours, theirs):
        await measure(shop, connections=connections, seconds=0.5)
    for _ in range(repetitions):
        for shop, side in zip((ours, theirs), samples, strict=True):
            side.append(await measure(shop, connections=connections, seconds=1.5))
    return Row(name, goal, *samples)


if __name__ == "__main__":
    pair = cores()
    pin(os.getpid(), pair and pair[1])
    job = json.loads(sys.argv[1])
    print(json.dumps(asdict(uvloop.run(load(Shop(**job.pop("shop")), **job)))))
