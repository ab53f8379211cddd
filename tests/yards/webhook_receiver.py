"""The far end of webhooks: a certificate authority of our own, a TLS receiver with manners to choose, a resolver."""

import asyncio
import datetime
import ipaddress
import ssl
import tempfile
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tickyard.features.alerts.webhook.addresses import EgressPolicy
from tickyard.features.alerts.webhook.egress import Egress
from tickyard.features.alerts.webhook.resolver import Unresolved
from tickyard.kernel.clock import WallClock

_FAR = datetime.timedelta(days=3650)
_BORN = datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)


class Authority:
    """Signs certificates for names; `trusting()` is a client that believes in it, `serving(name)` a server."""

    def __init__(self):
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a test authority")])
        key_id = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        self._certificate = (
            self._builder(self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(key_id, critical=False)
            .sign(self._key, hashes.SHA256())
        )
        self.pem = self._certificate.public_bytes(serialization.Encoding.PEM)

    def trusting(self):
        return ssl.create_default_context(cadata=self.pem.decode())

    def serving(self, *names):
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = (
            self._builder(x509.Name([]), key.public_key())
            .add_extension(x509.SubjectAlternativeName([_san(name) for name in names]), critical=True)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "server.pem"
            plain = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
            file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM) + key.private_bytes(*plain))
            context.load_cert_chain(file)
        return context

    def _builder(self, subject, public_key):
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(_BORN)
            .not_valid_after(_BORN + _FAR)
        )


def _san(name):
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


class Receiver:
    """Counts connections and whole requests. `manner` says what it does when a request has arrived."""

    def __init__(self, tls, manner="204 No Content", *, at=("127.0.0.1", 0)):
        self._tls = tls
        self._at = at
        self.manner = manner
        self.connections = 0
        self.requests = []
        self.bytes_sent = 0
        self.ended = asyncio.Event()
        """Set when a connection has ended."""
        self._open = set()

    async def __aenter__(self):
        tls = None if self.manner in ("no handshake", "slam") else self._tls
        self._server = await asyncio.start_server(self._connected, *self._at, backlog=1024, ssl=tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        self._server.close()
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)
        await self._server.wait_closed()

    async def _connected(self, reader, writer):
        self.connections += 1
        task = asyncio.current_task()
        self._open.add(task)
        try:
            if self.manner == "no handshake":
                await reader.read()
                return
            if self.manner != "slam":
                await self._serve(reader, writer)
        except (OSError, ssl.SSLError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()
            self._open.discard(task)
            self.ended.set()

    async def _serve(self, reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")[:-2]
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        body = await reader.readexactly(int(headers["content-length"]))
        self.requests.append((first, headers, body))
        await getattr(self, "_" + self.manner, self._answer)(reader, writer)

    async def _answer(self, _reader, writer):
        await self._say(writer, f"HTTP/1.1 {self.manner}\r\ncontent-length: 0\r\n\r\n".encode())

    async def _redirect(self, _reader, writer):
        where = f"https://127.0.0.1:{self.port}/other"
        await self._say(writer, f"HTTP/1.1 307 Moved\r\nlocation: {where}\r\ncontent-length: 0\r\n\r\n".encode())

    async def _hang(self, reader, _writer):
        await reader.read()

    async def _reset(self, _reader, writer):
        writer.transport.abort()

    async def _garbage(self, _reader, writer):
        await self._say(writer, b"\x00\x01 no HTTP at all\r\n\r\n")

    async def _flood_body(self, _reader, writer):
        await self._say(writer, b"HTTP/1.1 200 OK\r\ncontent-length: 100000000\r\n\r\n")
        await self._flood(writer, b"x" * 65536)

    async def _flood_head(self, _reader, writer):
        await self._say(writer, b"HTTP/1.1 200 OK\r\n")
        await self._flood(writer, b"x-more: and more\r\n" * 4096)

    async def _flood_informational(self, _reader, writer):
        await self._flood(writer, b"HTTP/1.1 103 Early Hints\r\n\r\n" * 4096)

    async def _half_body(self, reader, writer):
        await self._say(writer, b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf")
        await reader.read()

    async def _flood(self, writer, chunk):
        while True:
            await self._say(writer, chunk)
            # To whom has hung up, all is written at once and to nowhere: only a turn of the loop ends it.
            await asyncio.sleep(0)  # noqa: TID251

    async def _say(self, writer, data):
        writer.write(data)
        await writer.drain()
        self.bytes_sent += len(data)


class StubResolver:
    """Answers from a script: each name has a list of answers, the last of which is repeated."""

    def __init__(self, answers=None, always=None):
        self._answers = {name: list(texts) for name, texts in (answers or {}).items()}
        self.always = always
        self.asked = []

    async def resolve(self, host, zone):
        self.asked.append(host)
        script = self._answers.get(host)
        texts = (script.pop(0) if len(script) > 1 else script[0]) if script else self.always
        if texts is None:
            raise Unresolved
        if isinstance(texts, asyncio.Event):
            await texts.wait()
            raise Unresolved
        return [ipaddress.ip_address(text) for text in texts]


def egress_to(receiver, authority, *, resolver=None, addresses=("127.0.0.1",), **limits):
    """An egress for which 127.0.0.1 at the receiver's port is the only loopback address allowed, unless told."""
    return Egress(
        EgressPolicy(allowed_extra=frozenset((each, receiver.port) for each in addresses)),
        resolver or StubResolver(always=["127.0.0.1"]),
        authority.trusting(),
        WallClock(),
        **limits,
    )
