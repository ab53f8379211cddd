"""A webhook receiver of the sandbox's own: what an alert delivers can be read back.

It speaks HTTPS with a certificate of its own making, for one loopback address. The service trusts that certificate
and may dial that one address in the sandbox profile alone.
"""

from datetime import timedelta
from ipaddress import IPv4Address
from pathlib import Path
from ssl import PROTOCOL_TLS_SERVER, SSLContext
from typing import Any, Final

import msgspec
from aiohttp import web

from tickyard.kernel.clock import Clock
from tickyard.kernel.wire import encode, iso

HOST: Final = "127.0.0.1"
PORT_FILE: Final = "inbox.json"
CERTIFICATE_FILE: Final = "inbox.pem"
_KEPT_MAX: Final = 20_000
_BODY_MAX: Final = 64 * 1024


def read_port(file: Path) -> int:
    return msgspec.json.decode(file.read_bytes(), type=dict[str, int])["port"]


class Inbox:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._deliveries: list[dict[str, Any]] = []

    def add_to(self, app: web.Application) -> None:
        app.router.add_get("/control/inbox", self.show)

    async def show(self, request: web.Request) -> web.Response:
        wanted = request.query.get("id")
        found = [each for each in self._deliveries if wanted is None or each["headers"].get("webhook-id") == wanted]
        return web.Response(body=encode({"deliveries": found}), content_type="application/json")

    async def receive(self, request: web.Request) -> web.Response:
        body = await request.content.read(_BODY_MAX)
        self._deliveries.append(
            {
                "receivedAt": iso(self._clock.now()),
                "method": request.method,
                "path": request.path_qs,
                "headers": {name.lower(): value for name, value in request.headers.items()},
                "body": body.decode("utf-8", "replace"),
            }
        )
        del self._deliveries[:-_KEPT_MAX]
        return web.Response(status=204)

    async def open(self, run_dir: Path) -> tuple[web.AppRunner, int]:
        """Receive on a loopback port of the system's choice. Clean up the runner to stop."""
        app = web.Application(client_max_size=_BODY_MAX)
        app.router.add_route("*", "/{anything:.*}", self.receive)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
        await runner.setup()
        await web.TCPSite(runner, HOST, 0, ssl_context=_tls(run_dir, self._clock)).start()
        return runner, runner.addresses[0][1]


def _tls(run_dir: Path, clock: Clock) -> SSLContext:
    # The library is heavy to import, and only this process makes a certificate.
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tickyard sandbox inbox")])
    now = clock.now()
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        # TLS goes by wall time, which the sandbox's clock may be far ahead of.
        .not_valid_before(now - timedelta(days=3650))
        .not_valid_after(now + timedelta(days=3650))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address(HOST))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    secret = run_dir / "inbox-key.pem"
    secret.touch(mode=0o600)
    secret.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    (run_dir / CERTIFICATE_FILE).write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    context = SSLContext(PROTOCOL_TLS_SERVER)
    context.load_cert_chain(run_dir / CERTIFICATE_FILE, secret)
    return context
