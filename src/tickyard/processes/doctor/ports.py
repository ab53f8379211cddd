"""Questions to this machine: whether the service can listen where it is told to."""

import errno
import socket
from collections.abc import Iterator
from functools import partial

import aiohttp

from tickyard.config.settings import Settings
from tickyard.processes.doctor.finding import Bad, Examination

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  not bound, asked


def questions(settings: Settings) -> Iterator[Examination]:
    callers = partial(
        _listen, settings.host, settings.port, "TICKYARD_HOST", "TICKYARD_PORT", "/healthz", '"status":"ok"'
    )
    yield Examination("address", callers, "look at TICKYARD_HOST and TICKYARD_PORT")
    yield _watched(settings, "metrics address", settings.metrics_port, "TICKYARD_METRICS_PORT")
    # A worker starts without its metrics where their port is taken, and only a line of its log says so.
    yield _watched(settings, "worker's metrics", settings.worker_metrics_port, "TICKYARD_WORKER_METRICS_PORT")


def _watched(settings: Settings, name: str, port: int, variable: str) -> Examination:
    ask = partial(_listen, settings.metrics_host, port, "TICKYARD_METRICS_HOST", variable, "/metrics", "tickyard_")
    return Examination(name, ask, f"look at TICKYARD_METRICS_HOST and {variable}")


async def _listen(host: str, port: int, host_name: str, port_name: str, path: str, ours: str) -> str:
    where = f"{host}:{port}"
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as door:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            door.bind((host, port))
        except OSError as error:
            refused = error
        else:
            return f"{where} is free"
    if refused.errno == errno.EADDRINUSE:
        if ours in await _said(host, port, path):
            return f"{where} is taken, by a service that answers as ours does"
        raise Bad(f"something that is not this service listens on {where}", f"stop it, or set {port_name}")
    if refused.errno == errno.EACCES:
        raise Bad(f"this account may not listen on {where}", f"set {port_name} to 1024 or more")
    raise Bad(f"it cannot listen on {where}: {refused.strerror}", f"set {host_name} to an address of this machine")


async def _said(host: str, port: int, path: str) -> str:
    host = _EVERYWHERE.get(host, host)
    url = f"http://[{host}]:{port}{path}" if ":" in host else f"http://{host}:{port}{path}"
    timeout = aiohttp.ClientTimeout(total=3)
    try:
        async with aiohttp.ClientSession(timeout=timeout, trust_env=False) as session, session.get(url) as response:
            return (await response.content.read(64 * 1024)).decode("utf-8", "replace")
    except (aiohttp.ClientError, OSError):
        return ""
