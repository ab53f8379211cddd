"""Every foreseeable mistake at the command line, and the one sentence that answers it. Never a traceback."""

import asyncio
import http.server
import os
import re
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tickyard.features.alerts.secret import AlertKeys
from tickyard.payments.receipts import ReceiptKey
from yards import paperyard
from yards.operators import GOOD, NOWHERE, run
from yards.patience import STUCK_S


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("commands")
    (folder / "file").write_text("not a folder, not a database, not a key\n")
    (folder / "binary").write_bytes(bytes(range(256)))
    (folder / "sealed").mkdir(mode=0o500)
    os.mkfifo(folder / "pipe")
    (folder / "keys").write_text(f"1 {'5a' * 32}\n")
    return folder


PROGRAM = {"SERVICE_TOKEN": "0x" + "7e" * 20, "PAYOUT_DESK": "0x" + "de" * 20}

MISTAKES = [
    (["serve"], {}, "TICKYARD_RPC_URLS is not set"),
    (["work"], {}, "TICKYARD_RPC_URLS is not set"),
    (["payout"], GOOD, "there is no reward program"),
    (["payout"], GOOD | {"SERVICE_TOKEN": "0x" + "7e" * 20}, "TICKYARD_PAYOUT_DESK is not set"),
    (["payout"], GOOD | PROGRAM, "TICKYARD_PAYOUT_KEYSTORE"),
    (["payout"], GOOD | PROGRAM | {"PAYOUT_KEYSTORE": "none", "PAYOUT_PASSWORD_FILE": "none"}, "cannot be read"),
    (["serve"], GOOD | {"PORT": "x"}, "TICKYARD_PORT must be a whole number"),
    (["serve"], GOOD | {"DATA_DIR": "file/data"}, "the data folder"),
    (["serve"], GOOD | {"HOST": "203.0.113.77"}, "it cannot listen on 203.0.113.77:8402"),
    (["migrate"], GOOD | {"DATA_DIR": "file/data"}, "the data folder"),
    (["migrate"], GOOD | {"DATABASE_URL": "postgresql://127.0.0.1:1/none"}, "the store"),
    (["migrate"], GOOD | {"SETTINGS": "nothing.toml"}, "nothing.toml"),
    (["payments", "export", "--from", "2026-10-02", "--to", "2026-10-01"], GOOD, "--to lies before --from"),
    (["migrate"], GOOD | {"SETTINGS": "binary"}, "binary"),
    (["migrate"], GOOD | {"DATABASE_URL": "file"}, "the store's file gives trouble: file is not a database"),
    (["backup", "file"], GOOD | {"DATA_DIR": "made"}, "exists already"),
    (["backup", "nofolder/copy"], GOOD | {"DATA_DIR": "made"}, ""),
    (["backup", "copy"], GOOD | {"DATA_DIR": "empty"}, ""),
    (["restore", "nothing"], GOOD | {"DATA_DIR": "other"}, ""),
    (["restore", "file"], GOOD | {"DATA_DIR": "other2"}, ""),
    (["restore", "binary"], GOOD | {"DATA_DIR": "other3"}, ""),
    (["up"], {"PORT": "abc"}, "a whole number from 1 to 65535, not 'abc'"),
    (["up", "--port", "99999"], {}, "a whole number from 1 to 65535, not '99999'"),
    (["up", "--port", "-1"], {}, "a whole number from 1 to 65535, not '-1'"),
    (["up", "--demo-history", "1000000000"], {}, "a whole number from 0 to 3650"),
    (["serve"], {"PROFILE": "sandbox", "RPC_URLS": NOWHERE}, "there is no sandbox in"),
    (["work"], {"PROFILE": "sandbox", "RPC_URLS": NOWHERE}, "there is no sandbox in"),
    (["doctor"], {"PROFILE": "sandbox", "RPC_URLS": NOWHERE}, "there is no sandbox in"),
    (["serve"], GOOD | {"DATABASE_URL": "postgresql://u:p@127.0.0.1:x/d"}, "a postgresql:// address"),
    (["migrate"], GOOD | {"DATABASE_URL": "postgresql://u:secret@127.0.0.1:1/d?nonsense=1"}, "cannot be understood"),
    (["migrate"], GOOD | {"DATABASE_URL": "postgresql://u:p@127.0.0.1:1/d?sslmode=nonsense"}, "invalid sslmode"),
    (["doctor"], GOOD | {"DATABASE_URL": "postgresql://u:secret@127.0.0.1:1/d?nonsense=1"}, "cannot be understood"),
    (["migrate"], GOOD | {"DATABASE_URL": "postgresql://u:head@tail@127.0.0.1:1/d"}, "the password as %40"),
    (["doctor"], GOOD | {"DATABASE_URL": "postgresql://u:head@tail@127.0.0.1:1/d"}, "the password as %40"),
    (["payments", "export", "--from", "2026-01-01", "--to", "9999-12-31"], GOOD, "a day between"),
    (["payments", "list", "--day", "9999-12-31"], GOOD, "a day between"),
    (["payments", "list", "--limit", "1" * 30], GOOD, "a whole number from"),
    (["payments", "list"], GOOD | {"DATA_DIR": "empty"}, "tickyard payments: there is no store"),
    # The books are in the store alone: no node, facilitator or key is asked for.
    (["payments", "list"], {"DATA_DIR": "empty"}, "tickyard payments: there is no store"),
    (["payments", "list"], {"DATA_DIR": "empty", "PORT": "no"}, "TICKYARD_PORT"),
    (["earn", "skip", "1" * 30], GOOD | {"DATA_DIR": "made"}, "YYYYMMDD"),
    (["keys", "new", "alert", "file"], {}, "never overwritten"),
    (["keys", "new", "alert", "nofolder/key"], {}, "cannot be written"),
    (["keys", "rotate", "nothing"], {}, "cannot be read"),
    (["keys", "rotate", "file"], {}, "is no file of alert keys"),
    (["keys", "rotate", "binary"], {}, "cannot be read"),
    (["call", "get_price", "symbol=AAPL"], {"BASE_URL": NOWHERE}, NOWHERE),
    (["call", "get_price"], {"BASE_URL": NOWHERE}, "needs symbol"),
    (["call", "get_prise", "symbol=AAPL"], {}, "did you mean"),
    (["call", "get_price", "symbol=AAPL"], {"BASE_URL": "nowhere"}, "is not an address"),
    (["watch", "AAPL"], {"BASE_URL": NOWHERE}, NOWHERE),
    (["pay", "/v1/x402/quote"], {"BASE_URL": NOWHERE}, "there is no sandbox"),
    (["pay", "/v1/x402/quote"], {"BASE_URL": "nonsense"}, "the service's address must be one such as"),
    (["claim"], {"BASE_URL": NOWHERE}, "there is no sandbox"),
    (["doctor"], {}, "TICKYARD_RPC_URLS is not set"),
    (["nonsense"], {}, "invalid choice"),
    ([], {}, "required"),
    # The store alone: no node, facilitator or key is asked for.
    (["backup", "copy"], {"DATA_DIR": "empty"}, "there is no store"),
    (["restore", "nothing"], {"DATA_DIR": "other"}, "there is no such copy"),
    (["registry", "show"], {"DATA_DIR": "empty"}, "there is no store"),
    (["registry", "forget"], {"DATA_DIR": "empty"}, "there is no store"),
    (["registry", "accept", "AAPL"], {"DATA_DIR": "empty"}, "TICKYARD_RPC_URLS is not set"),
    (["earn", "skip", "20261001"], {"DATA_DIR": "empty"}, "there is no store"),
    (["payout", "resume"], {"DATA_DIR": "empty"}, "there is no store"),
    # A pipe that nobody writes to.
    (["migrate"], {"SETTINGS": "pipe"}, "pipe"),
    (["keys", "rotate", "pipe"], {}, "cannot be read"),
    (["doctor"], GOOD | {"DATA_DIR": "made", "SECRET_KEY_FILE": "pipe"}, "pipe cannot be read"),
]


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, len(MISTAKES), 16))
def test_no_foreseeable_mistake_shows_a_traceback(folder, first):
    # A copy to refuse to overwrite, and a store to refuse to fill; neither needs another setting.
    made = run(folder, "migrate", DATA_DIR="made")
    assert made.returncode == 0, made.stderr
    wrong, mistakes = {}, MISTAKES[first : first + 16]
    with ThreadPoolExecutor(4) as pool:
        for (words, settings, says), done in zip(
            mistakes, pool.map(lambda each: run(folder, *each[0], **each[1]), mistakes), strict=True
        ):
            said = done.stdout + done.stderr
            if done.returncode == 0 or "Traceback" in said or says not in said or not said.strip():
                wrong[f"{words} {settings}"] = (done.returncode, said[-700:])
    assert not wrong, "\n".join(f"{what}: {said}" for what, said in wrong.items())


@pytest.mark.slow
def test_a_taken_port_is_a_sentence(folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run(folder, "serve", **GOOD | {"PORT": taken.getsockname()[1], "DATA_DIR": "made"})
    assert done.returncode == 2
    assert re.search(r"^tickyard does not start: it cannot listen on 127\.0\.0\.1:\d+", done.stderr)


@pytest.mark.slow
def test_the_doctor_says_what_is_bad_and_how_to_mend_it(folder):
    done = run(folder, "doctor", **GOOD | {"DATA_DIR": "none", "FACILITATOR_8453": NOWHERE})
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    bad = [line.split(None, 1)[1] for line in lines if line.startswith("  BAD")]
    for name in ("node 4663 1/1", "node 8453 1/1", "facilitator 4663", "facilitator 8453", "issuer", "filings contact", "filings ",
                 "clock", "data folder", "database"):  # fmt: skip
        assert any(line.startswith(name) for line in bad), (name, bad)
    assert len([line for line in lines if "-> " in line]) == len(bad)
    assert "All well" not in done.stdout


@pytest.mark.slow
def test_a_folder_that_nobody_may_look_into_is_bad_and_the_doctor_asks_on(folder):
    done = run(folder, "doctor", **GOOD | {"DATA_DIR": "x" * 300})
    assert (done.returncode, done.stderr) == (1, "")
    assert re.search(r"^  BAD +data folder .*File name too long", done.stdout, re.MULTILINE), done.stdout
    # What cannot be seen is not said to be missing.
    assert re.search(r"^  BAD +database .* cannot be opened: File name too long", done.stdout, re.MULTILINE), (
        done.stdout
    )
    assert re.search(r"^  BAD +node 4663 1/1 ", done.stdout, re.MULTILINE), done.stdout


def examined(folder, **settings):
    """The lines of the doctor's report that are bad, and those that are good, by what they are about."""
    done = run(folder, "doctor", **GOOD | {"DATA_DIR": "made", "PORT": free_port()} | settings)
    assert "Traceback" not in done.stderr, done.stderr
    lines = [line.split(None, 1) for line in done.stdout.splitlines()]
    return [[line[1] for line in lines if line and line[0] == mark] for mark in ("BAD", "good")]


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


DEAD = {
    "RECEIPT_KEY_FILE": "nothing",
    "FACILITATOR_4663_KEY_FILE": "nothing",
    "FACILITATOR_8453_HEADERS_FILE": "binary",
    "RPC_WS_URLS": "ws://127.0.0.1:1",
    "SECOND_LOGS_URL": NOWHERE,
    "FILINGS_URL": NOWHERE,
    "TRACES_URL": NOWHERE,
    "SERVICE_TOKEN": "0x" + "7e" * 20,
    "HOST": "203.0.113.77",
}


@pytest.mark.slow
def test_who_works_on_the_store_alone_needs_not_say_where_money_goes(folder):
    """The documents say: no setting but where the store is. The sample's placeholder is for who is paid."""
    sample = {"SETTINGS": Path(__file__).parents[2] / "deploy/settings.example.toml", "DATA_DIR": "sampled"}
    done = run(folder, "migrate", DATABASE_URL="sampled/tickyard.db", **sample)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert "TICKYARD_PAY_TO is a placeholder" in run(folder, "serve", **sample).stderr


@pytest.mark.slow
def test_the_doctor_calls_the_names_of_the_sample_settings_bad(folder):
    ours = {"BASE_URL": "https://a.test", "SECURITY_CONTACT": "mailto:us@a.test", "FILINGS_CONTACT": "us@a.test"}
    assert any(line.startswith("names ") for line in examined(folder, **ours)[1])
    for name, left in (
        ("BASE_URL", "https://tickyard.example"),
        ("SECURITY_CONTACT", "mailto:security@tickyard.example"),
        ("FILINGS_CONTACT", "operations@tickyard.example"),
    ):
        (said,) = [line for line in examined(folder, **ours | {name: left})[0] if line.startswith("names ")]
        assert f"TICKYARD_{name} names tickyard.example, which belongs to nobody" in said


@pytest.mark.slow
def test_the_doctor_asks_everything_that_a_setting_names(folder):
    run(folder, "migrate", **GOOD | {"DATA_DIR": "made"})
    with socket.create_server(("127.0.0.1", 0)) as taken, socket.create_server(("127.0.0.1", 0)) as other:
        ports = {"METRICS_PORT": taken.getsockname()[1], "WORKER_METRICS_PORT": other.getsockname()[1]}
        bad, good = examined(folder, **ports, **DEAD)
    for says in (
        r"receipt key +the key of receipts cannot be used: nothing",
        r"facilitator 4663 +the credentials of a facilitator cannot be used: nothing cannot be read",
        r"facilitator 8453 +the credentials of a facilitator cannot be used: binary",
        r"websocket 1/1 +it does not tell new logs",
        r"second logs ",
        r"filings ",
        r"traces +it does not answer",
        r"spender ",
        r"reward program +TICKYARD_SERVICE_TOKEN is set and TICKYARD_PAYOUT_DESK is not",
        r"address +it cannot listen on 203\.0\.113\.77",
        r"metrics address +something that is not this service listens on",
        r"worker's metrics +something that is not this service listens on",
    ):
        assert any(re.match(says, line) for line in bad), (says, bad)
    assert any(line.startswith("database ") for line in good)
    bad, good = examined(folder)
    assert [line for line in good if line.startswith(("address ", "metrics address ", "worker's metrics "))] != []
    assert not [line for line in bad if line.startswith(("address", "metrics", "receipt", "reward", "database"))]


@pytest.mark.slow
def test_the_doctor_writes_before_it_calls_a_database_well(folder):
    run(folder, "migrate", **GOOD | {"DATA_DIR": "made"})
    environ = {**os.environ, **{f"TICKYARD_{name}": value for name, value in GOOD.items()}, "TICKYARD_DATA_DIR": "made"}
    command = ["/bin/sh", "-c", f"ulimit -f 0; exec {sys.executable} -m tickyard doctor"]
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=STUCK_S)
    assert re.search(r"BAD +database +the store's file gives trouble", done.stdout), done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_the_doctor_judges_a_head_by_the_age_that_was_set(folder):
    async def go():
        async with paperyard.open_far_ends() as far:
            far.chain.time -= 30
            return [
                await asyncio.to_thread(examined, folder, RPC_URLS=far.node.url, HEAD_AGE_MAX_S=seconds)
                for seconds in (5, 3600)
            ]

    (bad, _), (_, good) = asyncio.run(go())
    assert any(re.match(r"node 4663 1/1 head +block 1000 is \d+ s old", line) for line in bad)
    assert any(line.startswith("node 4663 1/1 head") for line in good)


class Wary(http.server.BaseHTTPRequestHandler):
    """A facilitator that answers only who shows the right header."""

    def do_GET(self):
        is_known = self.headers.get("X-Key") == "right"
        body = b'{"kinds":[{"x402Version":2,"scheme":"exact","network":"eip155:4663"}]}' if is_known else b"{}"
        self.send_response(200 if is_known else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.mark.slow
def test_the_doctor_shows_a_facilitator_what_the_service_shows_it(folder):
    (folder / "headers").write_text("X-Key: right\n")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Wary) as wary:
        thread = threading.Thread(target=wary.serve_forever)
        thread.start()
        try:
            at = {"FACILITATOR_4663": f"http://127.0.0.1:{wary.server_port}"}
            _, good = examined(folder, **at, FACILITATOR_4663_HEADERS_FILE="headers")
            assert any(line.startswith("facilitator 4663") for line in good)
            bad, _ = examined(folder, **at)
            assert any(re.match("facilitator 4663 +it answers 401", line) for line in bad)
        finally:
            wary.shutdown()
            thread.join()


@pytest.mark.slow
@pytest.mark.parametrize("closing", ["2>&-", "2>/dev/full", "0<&- 1>&- 2>&-"])
def test_a_process_without_standard_streams_lives_and_refuses_as_any_other(folder, closing):
    """A closed one gives its number to the next socket, and the event loop aborts when that is closed."""
    environ = {**os.environ, **{f"TICKYARD_{name}": value for name, value in GOOD.items()}, "TICKYARD_DATA_DIR": "made"}
    command = ["/bin/sh", "-c", f"exec {sys.executable} -m tickyard doctor {closing}"]
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=STUCK_S)
    assert done.returncode == 1
    assert "Traceback" not in done.stdout + done.stderr
    environ["TICKYARD_PORT"] = "x"
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=STUCK_S)
    assert done.returncode == 2


@pytest.mark.slow
def test_an_output_that_takes_ascii_alone_is_no_reason_for_a_traceback(folder):
    done = subprocess.run(
        [sys.executable, "-m", "tickyard", "call", "list"],
        cwd=folder,
        env={**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        timeout=STUCK_S,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"symbol=~" in done.stdout


@pytest.mark.slow
def test_the_version_is_told(folder):
    done = run(folder, "--version")
    assert (done.returncode, done.stdout) == (0, "tickyard 1.0.0\n")


@pytest.mark.slow
def test_keys_are_made_for_their_owner_alone_and_renewed_beside_the_old(folder):
    path = folder / "fresh.key"
    assert run(folder, "keys", "new", "alert", str(path)).returncode == 0
    assert path.stat().st_mode & 0o777 == 0o600
    first = path.read_text()
    before = AlertKeys.read(first)
    done = run(folder, "keys", "rotate", str(path))
    assert done.returncode == 0
    assert "restart all workers" in done.stdout
    assert path.read_text().startswith(first)
    after = AlertKeys.read(path.read_text())
    assert (before.version, after.version) == (1, 2)
    assert after.secret_text("x", 1) == before.secret_text("x", 1) != after.secret_text("x", 2)
    assert path.stat().st_mode & 0o777 == 0o600
    # What is secret is never shown.
    assert not set(re.findall(r"[0-9a-f]{64}", path.read_text())) & set(re.findall(r"[0-9a-f]{64}", done.stdout))
    receipt = folder / "receipt.key"
    assert run(folder, "keys", "new", "receipt", str(receipt)).returncode == 0
    assert receipt.stat().st_mode & 0o777 == 0o600
    # What is made is what is read.
    made = ReceiptKey(receipt, "https://api.tickyard.example")
    assert made.sign(network="eip155:8453", url="/", payer="0x", transaction="0x", issued_at=1)


@pytest.mark.slow
def test_renewed_keys_are_read_by_whoever_read_them_before(folder):
    """Operators do it as root, and the service runs as somebody else; a link is how some machines keep secrets."""
    real, named = folder / "shared.key", folder / "named.key"
    real.write_text(f"1 {'5a' * 32}\n")
    real.chmod(0o640)
    is_root = os.geteuid() == 0
    os.chown(real, *((12_345, 54_321) if is_root else (-1, -1)))
    named.symlink_to(real)
    before = real.stat()
    assert run(folder, "keys", "rotate", str(named)).returncode == 0
    after = real.stat()
    assert (after.st_uid, after.st_gid, after.st_mode) == (before.st_uid, before.st_gid, before.st_mode)
    assert named.is_symlink()
    assert AlertKeys.read(real.read_text()).version == 2


@pytest.mark.slow
def test_a_key_that_cannot_be_written_to_its_end_is_not_left_behind(folder):
    shell = ["/bin/sh", "-c", 'ulimit -f 0; exec "$@"', "sh", sys.executable, "-m", "tickyard", "keys"]
    keys = (folder / "keys").read_text()
    for words in (["new", "alert", "half.key"], ["new", "receipt", "half.key"], ["rotate", "keys"]):
        done = subprocess.run([*shell, *words], cwd=folder, capture_output=True, text=True, timeout=STUCK_S)
        assert (done.returncode, "cannot be written: File too large" in done.stderr) == (2, True), done.stderr
    assert not (folder / "half.key").exists()
    assert not (folder / ".keys.new").exists()
    assert (folder / "keys").read_text() == keys


@pytest.mark.slow
def test_a_command_whose_reader_has_gone_does_not_say_that_it_worked():
    reader, writer = os.pipe()
    os.close(reader)
    # More than one pipe holds, so that it is written while the command still runs.
    command = [sys.executable, "-m", "tickyard", "openapi"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, timeout=STUCK_S, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")
