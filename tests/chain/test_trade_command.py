"""`tickyard trade` typed in a sandbox, and where there is none."""

import functools
import json
import os
import signal
import subprocess
import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from eth_account import Account

from tickyard.sandbox.node.abi import keccak
from yards.patience import STUCK_S

pytestmark = pytest.mark.node

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def up(running):
    sandbox = running.Up().wait_ready()
    yield sandbox
    sandbox.stop()


def trade(base, *words, typed=""):
    return subprocess.run(
        [sys.executable, "-m", "tickyard", "trade", *words],
        input=typed,
        cwd=ROOT,
        env={**os.environ, "TICKYARD_BASE_URL": base},
        capture_output=True,
        text=True,
        timeout=STUCK_S,
        check=False,
    )


def test_a_trade_is_shown_asked_for_sent_and_told(up):
    done = trade(up.base, "buy", "AAPL", "25", typed="y\n")
    assert done.returncode == 0, done.stderr
    assert "Two steps: approve the router for exactly 25.000000 USDG" in done.stdout
    assert "works     Buy AAPL in the" in done.stdout
    assert "sign and send?" in done.stdout
    assert "paid 25.000000 USDG, received 0." in done.stdout
    again = trade(up.base, "sell", "aapl", "0.01", "--denom", "token", "--yes")
    assert again.returncode == 0, again.stderr
    assert "paid 0.01 AAPL, received" in again.stdout
    assert "sign and send?" not in again.stdout


@pytest.mark.parametrize("typed", ["n\n", "\n", "", "yesterday\n"])
def test_nothing_is_sent_unless_somebody_says_yes(up, typed):
    done = trade(up.base, "buy", "AAPL", "25", typed=typed)
    assert done.returncode == 1
    assert "nothing was sent" in done.stderr
    assert "paid" not in done.stdout


def test_what_would_fail_is_not_even_asked_for(up):
    done = trade(up.base, "sell", "MSFT", "1", "--yes")
    assert done.returncode == 1
    assert "FAILS     Sell MSFT" in done.stdout
    assert "does not hold what would have to be paid" in done.stdout
    assert "nothing was sent" in done.stderr


@pytest.mark.parametrize(
    ("words", "why"),
    [(("--token", "0x" + "66" * 20), "for another token"), (("--limit", "25"), "a worse price than the limit")],
)
def test_what_its_owner_knows_better_is_not_even_asked_for(up, words, why):
    done = trade(up.base, "buy", "AAPL", "25", "--yes", *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert why in done.stderr


def test_a_keystore_signs_elsewhere(up, tmp_path):
    account = Account.from_key("0x" + "6b" * 32)
    (tmp_path / "key.json").write_text(json.dumps(Account.encrypt(account.key, "secret", iterations=2)))
    (tmp_path / "password").write_text("secret\n")
    for asset, amount in (("ETH", "1"), ("USDG", "50")):
        up.post("/sandbox/fund", {"address": account.address, "asset": asset, "amount": amount})
    own = ("--keystore", str(tmp_path / "key.json"), "--password-file", str(tmp_path / "password"))
    rpc = up.get("/sandbox")[1]["rpcUrl"]
    done = trade(up.base, "buy", "KO", "10", *own, "--rpc", rpc, "--yes")
    assert done.returncode == 0, done.stderr
    assert "paid 10.000000 USDG" in done.stdout
    assert "6b6b6b" not in done.stdout + done.stderr
    (tmp_path / "password").write_text("guess\n")
    for words in ((*own, "--rpc", rpc), own, ("--keystore", str(tmp_path / "none"), "--rpc", rpc)):
        done = trade(up.base, "buy", "KO", "10", *words, "--yes")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--limit", "abc"), "limit must be digits"),
        (("--slippage-bps", "0"), "slippage must be from 1 to 5000"),
        (("--slippage-bps", "6000"), "slippage must be from 1 to 5000"),
    ],
)
def test_what_no_order_can_be_is_named(up, words, says):
    done = trade(up.base, "buy", "AAPL", "25", "--yes", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(says)


def unread(up, *words, after=b""):
    """Type a trade into a pipe whose reader goes away, at once or when it has read so much."""
    demo = up.get("/sandbox")[1]
    reader, writer = os.pipe()
    if not after:
        os.close(reader)
    before = nonce(demo)
    child = subprocess.Popen(
        [sys.executable, "-m", "tickyard", "trade", "buy", "AAPL", "25", *words],
        cwd=ROOT,
        env={**os.environ, "TICKYARD_BASE_URL": up.base},
        stdin=subprocess.DEVNULL,
        stdout=writer,
        stderr=subprocess.PIPE,
    )
    os.close(writer)
    if after:
        read = b""
        while after not in read:
            read += os.read(reader, 4096)
        os.close(reader)
    _, complaint = child.communicate(timeout=STUCK_S)
    return child.returncode, nonce(demo) - before, complaint.decode()


def nonce(demo):
    body = {"jsonrpc": "2.0", "id": 1, "method": "eth_getTransactionCount"}
    body["params"] = [demo["wallets"][0]["address"], "latest"]
    headers = {"content-type": "application/json"}
    asked = urllib.request.Request(demo["rpcUrl"], json.dumps(body).encode(), headers)
    with urllib.request.urlopen(asked, timeout=STUCK_S) as answer:
        return int(json.load(answer)["result"], 16)


@pytest.mark.parametrize("words", [(), ("--yes",)])
def test_nothing_is_sent_and_nothing_called_sent_for_a_reader_who_has_gone(up, words):
    code, sent, complaint = unread(up, *words)
    assert (code, sent) == (1, 0)
    assert "nothing was sent" in complaint
    assert "Traceback" not in complaint


def test_what_was_sent_is_called_sent_although_its_reader_has_gone(up):
    code, sent, complaint = unread(up, "--yes", after=b"what you sign")
    assert code == 0, complaint
    assert sent == complaint.count("sending 0x") > 0


@pytest.mark.parametrize("rpc", ["wss://your.node", "127.0.0.1:8545", "http://", "http://[::1", "http://node:99999"])
def test_an_address_that_no_node_can_have_is_told_before_anything_is_asked(up, rpc):
    done = trade(up.base, "buy", "KO", "10", "--rpc", rpc, "--yes")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("--rpc is not an address of a node")
    assert done.stderr.count("\n") == 1


def test_a_silent_or_foreign_node_is_not_told_as_the_service(up):
    foreign = up.get("/sandbox")[1]["rpcUrl8453"]
    for rpc, why in (("http://127.0.0.1:1/key", "did not answer"), (foreign, "serves another chain")):
        done = trade(up.base, "buy", "KO", "10", "--rpc", rpc, "--yes")
        assert done.returncode == 1
        assert done.stderr == f"the node to send through: the chain node {why}; nothing was signed\n"


def test_where_there_is_no_sandbox_it_says_what_is_missing(up):
    done = trade("http://127.0.0.1:1", "buy", "KO", "10")
    assert done.returncode == 2
    assert "there is no service at" in done.stderr
    assert trade(up.base, "buy", "NOPE", "10").returncode == 1
    assert trade(up.base, "hold", "KO", "10").returncode == 2


def test_one_interrupt_ends_it_while_it_asks(up, tmp_path):
    (tmp_path / "key.json").write_text("{}")
    own = ("--keystore", str(tmp_path / "key.json"), "--rpc", "http://127.0.0.1:1")
    heeded = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    for words, prompt, told in (((), "[y/N] ", "stdout"), (own, "password: ", "stderr")):
        command = [sys.executable, "-m", "tickyard", "trade", "buy", "AAPL", "25", "--url", up.base, *words]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        # In a session of its own there is no terminal that a password could be asked on but these pipes.
        with subprocess.Popen(command, cwd=ROOT, preexec_fn=heeded, start_new_session=True, **pipes) as running:
            said = b""
            while not said.endswith(prompt.encode()):
                each = getattr(running, told).read(1)
                assert each, said
                said += each
            # Python hears a signal that comes between its prompt and its reading only once something was read.
            while not subprocess.check_output(["ps", "-o", "stat=", "-p", str(running.pid)]).startswith(b"S"):
                pass
            running.send_signal(signal.SIGINT)
            try:
                assert running.wait(STUCK_S) == 130
            finally:
                running.kill()


class _Odd(BaseHTTPRequestHandler):
    said = b""

    def do_GET(self):
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(self.said)))
        self.end_headers()
        self.wfile.write(self.said)

    def log_message(self, *_words):
        pass


@pytest.mark.parametrize(
    "said",
    [
        "[]",
        "null",
        '{"wallets":[',
        '{"wallets":[],"rpcUrl":""}',
        '{"wallets":null}',
        '{"wallets":[{"privateKey":5}]}',
        "[" * 200_000,
        '{"wallets":[{"privateKey":"0x00"}],"rpcUrl":"x"}',
    ],
    ids=range(8),
)
def test_whoever_answers_something_else_than_a_sandbox_is_none(said):
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Said", (_Odd,), {"said": said.encode()})) as odd:
        threading.Thread(target=odd.serve_forever, daemon=True).start()
        done = trade(f"http://127.0.0.1:{odd.server_port}", "buy", "KO", "10", "--yes")
        odd.shutdown()
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("there is no service at")


class _Forgetful(ThreadingHTTPServer):
    """A node that takes transactions and shows no receipts."""

    daemon_threads = True

    def __init__(self, behind):
        super().__init__(("127.0.0.1", 0), _Forgetting)
        self.behind, self.sent, self.looked = behind, [], threading.Event()


class _Forgetting(BaseHTTPRequestHandler):
    server: _Forgetful

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        asked = json.loads(body)
        if asked["method"] == "eth_getTransactionReceipt":
            self.server.looked.set()
            told = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": None}).encode()
        else:
            if asked["method"] == "eth_sendRawTransaction":
                self.server.sent.append(asked["params"][0])
            request = urllib.request.Request(self.server.behind, body, {"content-type": "application/json"})
            with urllib.request.urlopen(request) as answer:
                told = answer.read()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    def log_message(self, *_words):
        pass


def test_whoever_interrupts_a_trade_is_told_what_was_sent(up):
    with _Forgetful(up.get("/sandbox")[1]["rpcUrl"]) as node:
        threading.Thread(target=node.serve_forever, daemon=True).start()
        words = ("buy", "AAPL", "25", "--yes", "--url", up.base, "--rpc", f"http://127.0.0.1:{node.server_port}")
        command = [sys.executable, "-m", "tickyard", "trade", *words]
        # Whoever runs these tests in the background has them ignore the signal, and so would the command.
        heeded = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen(command, cwd=ROOT, preexec_fn=heeded, **pipes) as running:
            assert node.looked.wait(30)
            running.send_signal(signal.SIGINT)
            _, said = running.communicate(timeout=STUCK_S)
        node.shutdown()
    assert running.returncode == 3
    assert len(set(node.sent)) == 1
    assert "0x" + keccak(bytes.fromhex(node.sent[0][2:])).hex() in said
    assert "look the transaction up" in said


class _Dishonest(ThreadingHTTPServer):
    """A service that has `twist` change the answers of its checks before it gives them."""

    daemon_threads = True

    def __init__(self, behind, twist):
        super().__init__(("127.0.0.1", 0), _Twisting)
        self.behind, self.twist = behind, twist


class _Twisting(BaseHTTPRequestHandler):
    server: _Dishonest

    def do_GET(self):
        self._pass_on(None)

    def do_POST(self):
        self._pass_on(self.rfile.read(int(self.headers["content-length"])))

    def _pass_on(self, body):
        request = urllib.request.Request(self.server.behind + self.path, body, {"content-type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            told = answer.read()
        if self.path == "/v1/trade/check":
            check = json.loads(told)
            self.server.twist(check)
            told = json.dumps(check).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    def log_message(self, *_words):
        pass


def twisted(up, twist, *words, typed="n\n"):
    with _Dishonest(up.base, twist) as service:
        threading.Thread(target=service.serve_forever, daemon=True).start()
        try:
            return trade(f"http://127.0.0.1:{service.server_port}", *words, typed=typed)
        finally:
            service.shutdown()


def test_what_is_shown_is_what_the_calldata_says_whatever_the_service_says_of_it(up):
    """A bound a thousand times too low, quoted so as to agree with itself, under the fair figures."""

    def twist(check):
        fair = int(check["figures"]["minimumReceived"]["raw"])
        swap, quote = check["build"]["steps"][-1], check["build"]["quote"]
        swap["data"] = swap["data"].replace(f"{fair:064x}", f"{10**14:064x}")
        quote["tokenAmount"] = "0.0001"

    done = twisted(up, twist, "buy", "AAPL", "25")
    assert done.returncode == 1, done.stderr
    signed = done.stdout.split("what you sign:")[1]
    assert "pay       exactly 25.000000 USDG" in signed
    assert "receive   at least 0.0001 AAPL" in signed


def test_an_approval_is_told_among_what_is_signed_and_only_where_there_is_one(up):
    def shorten(check):
        check["build"]["steps"] = check["build"]["steps"][-1:]

    told = [twisted(up, twist, "buy", "AAPL", "77").stdout for twist in (lambda check: None, shorten)]
    line = "approve   the router to take 77.000000 USDG, and no more"
    assert [line in each.split("what you sign:")[1] for each in told] == [True, False]


def test_what_would_be_refused_is_not_even_asked_for(up):
    def twist(check):
        check["build"]["steps"][0]["data"] = check["build"]["steps"][0]["data"][:-64] + "f" * 64

    done = twisted(up, twist, "buy", "AAPL", "31", typed="y\n")
    assert done.returncode == 1
    assert "sign and send?" not in done.stdout
    assert "the approval allows something else" in done.stderr


def test_the_words_of_a_service_do_not_move_the_cursor_of_whoever_signs(up):
    def twist(check):
        check["build"]["note"] = "\x1b[2J\x9b1A\u202eYou receive a fortune."
        check["issues"] = [{"code": "halted", "severity": "warning", "message": "\x1b[8m\rhidden"}]

    done = twisted(up, twist, "buy", "AAPL", "25")
    assert "You receive a fortune." in done.stdout
    assert [char for char in done.stdout if not char.isprintable() and char != "\n"] == []


def test_whoever_interrupts_what_has_ended_does_not_change_how_it_is_told(up):
    demo = up.get("/sandbox")[1]
    with _Forgetful(demo["rpcUrl"]) as node:
        threading.Thread(target=node.serve_forever, daemon=True).start()
        forgetful = f"http://127.0.0.1:{node.server_port}"
        for rpc, told, code in ((demo["rpcUrl"], "paid 25", 0), (forgetful, "interrupted; 0x", 3)):
            words = ("buy", "AAPL", "25", "--yes", "--url", up.base, "--rpc", rpc)
            command = [sys.executable, "-m", "tickyard", "trade", *words]
            heeded = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
            pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
            with subprocess.Popen(command, cwd=ROOT, preexec_fn=heeded, **pipes) as running:
                if rpc == forgetful:
                    assert node.looked.wait(STUCK_S)
                    running.send_signal(signal.SIGINT)
                said = next((line for line in running.stdout if line.startswith(told)), "")
                # Python takes a while to go, and whoever is impatient has pressed it again by then.
                running.send_signal(signal.SIGINT)
                running.communicate(timeout=STUCK_S)
            assert (running.returncode, bool(said)) == (code, True)
        node.shutdown()
