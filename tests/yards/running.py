"""A running `tickyard up`, as a newcomer starts and stops it."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

from yards.patience import STUCK_S

ROOT = Path(__file__).parents[2]
PAUSE = threading.Event()
WATCH = None
"""The canary's, when it watches: what processes say is searched for the secrets they were given."""
SECRET_HEADERS = ("x-svc-alert-secret", "payment-signature", "x-payment")


def free_port():
    """A port free now, whose metrics port a thousand above is free as well."""
    while True:
        with socket.socket() as one, socket.socket() as other:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
            try:
                other.bind(("127.0.0.1", port + 1000))
            except (OSError, OverflowError):
                continue
            return port


def read_metrics(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=STUCK_S) as response:
        return response.read().decode()


class Caller:
    """Asks the service at `base`."""

    base: str

    def ask(self, method, path, body=None, headers=None, limit_s=10):
        """(status, JSON, seconds)."""
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.base + path, data=data, method=method, headers=headers or {})
        if data is not None:
            request.add_header("content-type", "application/json")
        began = time.monotonic()
        try:
            with urllib.request.urlopen(request, timeout=limit_s) as response:
                status, text = response.status, response.read()
        except urllib.error.HTTPError as error:
            with error:
                status, text = error.code, error.read()
        took = time.monotonic() - began
        answer = json.loads(text)
        if WATCH is not None:
            self._watch(status, text, answer, headers or {})
        return status, answer, took

    def _watch(self, status, text, answer, headers):
        if status >= 400:
            WATCH.output(f"an error answer of {self.base}", text.decode())
        elif isinstance(answer, dict):
            WATCH.secret("the secret of an alert", answer.get("secret"))
        for name, value in headers.items():
            if name.lower() in SECRET_HEADERS:
                WATCH.secret(f"what was sent as {name}", value)

    def get(self, path):
        return self.ask("GET", path)[:2]

    def post(self, path, body):
        return self.ask("POST", path, body)[:2]


class Up(Caller):
    """One running sandbox."""

    def __init__(self, port=None, demo_days=0, **environ):
        self.port = port or free_port()
        self.demo_days = demo_days
        self.base = f"http://127.0.0.1:{self.port}"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tickyard", "up", "--port", str(self.port), "--demo-history", str(self.demo_days)],
            cwd=ROOT,
            env={**os.environ, **environ},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.run_dir = ROOT / ".run" / f"{self.port}-{self.process.pid}"

    def wait_ready(self):
        began = time.monotonic()
        self.shown = ""
        for line in self.process.stdout:
            self.shown += line
            if "Ctrl-C" in line:
                break
        assert self.process.poll() is None, self.shown
        self.ready_s = time.monotonic() - began
        if WATCH is not None:
            WATCH.secret("an alert key", (self.run_dir / "alert.key").read_text().split()[1])
            WATCH.secret("the inbox's key", (self.run_dir / "inbox-key.pem").read_text().splitlines()[1])
            WATCH.secret("the password of the payout key", (self.run_dir / "payout.password").read_text())
        return self

    def children(self):
        """Process ids of everything it started, whoever their parent is now."""
        found = []
        for folder in Path("/proc").iterdir() if Path("/proc").exists() else []:
            if folder.name.isdigit():
                try:
                    command = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
                except OSError:
                    continue
                if str(self.run_dir).encode() in command:
                    found.append(int(folder.name))
        return found

    def stop(self, number=signal.SIGTERM):
        """How long it took to be gone."""
        self._listen()
        began = time.monotonic()
        self.process.send_signal(number)
        self.shown += self.process.communicate(timeout=STUCK_S)[0]
        took = time.monotonic() - began
        if WATCH is not None:
            WATCH.output("what `tickyard up` showed", self.shown)
        return took

    def _listen(self):
        """The run's folder goes with it: its logs and metrics are taken before."""
        if WATCH is None:
            return
        for log in self.run_dir.glob("*.log"):
            WATCH.output(f"{log.name} of a sandbox", log.read_text(errors="replace"))
        with contextlib.suppress(OSError):
            WATCH.output("the metrics of a sandbox", read_metrics(self.port + 1000))


class Process(Caller):
    """One more process of the service."""

    def __init__(self, command, log, environ):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("TICKYARD_")}
        self.base = f"http://127.0.0.1:{environ['TICKYARD_PORT']}"
        self._log = log
        with log.open("a") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tickyard", command],
                env={**clean, **environ},
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=out,
            )

    def wait_ready(self):
        deadline = time.monotonic() + 60
        while True:
            try:
                if self.get("/readyz")[0] == 200:
                    return self
            except (urllib.error.URLError, ConnectionError):
                pass
            assert self.process.poll() is None, self._log.read_text()
            assert time.monotonic() < deadline, self._log.read_text()
            PAUSE.wait(0.05)

    def kill(self):
        self.process.kill()
        self._end()

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        self._end()

    def _end(self):
        self.process.wait(timeout=STUCK_S)
        self.process.stdin.close()
        if WATCH is not None:
            WATCH.output(f"{self._log.name} of a process", self._log.read_text(errors="replace"))


@contextlib.contextmanager
def service(command, log, environ):
    process = Process(command, log, environ)
    try:
        yield process
    finally:
        process.stop()
