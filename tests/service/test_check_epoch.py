"""The script with which anybody checks an epoch, against a node that is as strict as real ones and never stands still."""

import gzip
import hashlib
import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from yards.patience import STUCK_S

CHECK = Path(__file__).parents[2] / "docs" / "check_epoch.py"
EPOCH, POOL = 20261114, 1_000_003
DESK = "0x" + "de" * 20
HELD = {f"0x{n:040x}": n * 10**24 for n in (3, 4, 0xABC)}


def share(address, held=HELD):
    return POOL * held[address] // sum(held.values())


def book(held=HELD):
    return "address,balance,share\n" + "".join(f"{each},{raw},{share(each, held)}\n" for each, raw in held.items())


class Desk:
    """A node with the desk on it, and a new block after every answer."""

    def __init__(self, text):
        self.head = 250_000
        self.books = hashlib.sha256(text.encode()).hexdigest()
        self.events = []
        self.answers = 0
        self.to_pay = {}
        """Who is paid after which of its answers."""

    def pay(self, account, amount):
        self.events.append((self.head, account, amount))

    def answer(self, method, params):
        try:
            return {"result": getattr(self, method)(*params)}
        except LookupError as refused:
            return {"error": {"code": -32602, "message": str(refused)}}
        finally:
            self.head += 1
            for account in self.to_pay.get(self.answers, ()):
                self.pay(account, share(account))
            self.answers += 1

    def eth_blockNumber(self):
        return hex(self.head)

    def eth_call(self, call, block):
        at = self.head if block == "latest" else int(block, 16)
        spent = sum(amount for when, _, amount in self.events if when <= at)
        return (
            "0x" + {"68744046": self.books, "fe313112": f"{POOL:064x}", "d5b5cc23": f"{spent:064x}"}[call["data"][2:10]]
        )

    def eth_getLogs(self, query):
        first, last = int(query["fromBlock"], 16), int(query["toBlock"], 16)
        if last > self.head:
            raise LookupError(f"block range extends beyond current head block: requested {last}, head {self.head}")
        return [
            {"topics": [*query["topics"], "0x" + account[2:].rjust(64, "0")], "data": f"0x{amount:064x}"}
            for when, account, amount in self.events
            if first <= when <= last
        ]


@pytest.fixture
def checked(tmp_path):
    """Run the script on a text and the desk that was opened with it: its exit code, and what it said."""
    servers = []

    def run(desk, text, *more):
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
                told = desk.answer(asked["method"], asked["params"])
                body = json.dumps({"jsonrpc": "2.0", "id": asked["id"], **told}).encode()
                self.send_response(200)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        file = tmp_path / "books.csv.gz"
        file.write_bytes(gzip.compress(text.encode()))
        command = [
            sys.executable,
            str(CHECK),
            f"http://127.0.0.1:{server.server_port}",
            DESK,
            str(file),
            str(EPOCH),
            *more,
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=STUCK_S, check=False)
        return done.returncode, done.stdout + done.stderr

    yield run
    for server in servers:
        server.shutdown()
        server.server_close()


def test_an_epoch_is_checked_on_a_node_that_refuses_blocks_it_does_not_have(checked):
    desk = Desk(book())
    for address in HELD:
        desk.pay(address, share(address))
    assert checked(desk, book()) == (
        0,
        f"{EPOCH}: 3 wallets share 1.000003 USDG; 3 were paid {sum(map(share, HELD)) / 1e6:f}\n",
    )


@pytest.mark.slow
def test_it_may_begin_later_and_read_less_at_once_but_never_after_a_payment(checked):
    desk = Desk(book())
    first = desk.head
    for address in HELD:
        desk.pay(address, share(address))
    assert checked(desk, book(), str(first), "2")[0] == 0
    assert checked(desk, book(), str(first + 1), "2") == (1, "NOT AS IT SHOULD BE: the payments do not add up\n")


@pytest.mark.slow
@pytest.mark.parametrize("answers", range(8))
def test_a_payment_while_it_reads_is_no_reason_to_cry_wolf(checked, answers):
    """Whoever is paid after any of its questions is in all of the figures, or in none."""
    desk = Desk(book())
    one, *others = HELD
    desk.pay(one, share(one))
    desk.to_pay = {answers: others}
    code, said = checked(desk, book())
    assert code == 0, said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "why"),
    [
        (book().replace("abc,", "ABC,"), "the books can be read in two ways"),
        (book().replace(",3000", ",+3000"), "the books can be read in two ways"),
        (
            book().replace(f",{share(f'0x{4:040x}')}\n", f",0{share(f'0x{4:040x}')}\n"),
            "the books can be read in two ways",
        ),
        (book(dict(sorted(HELD.items(), reverse=True))), "the wallets are not in the order of addresses"),
        (book() + "\n", "the books can be read in two ways"),
        (book() + book().splitlines()[-1] + "\n", "a wallet is in the books twice"),
        # Somebody with less than nothing leaves more than there is for the others: who comes first takes it.
        (book({**HELD, "0x" + "77" * 20: -(10**24)}), "the books can be read in two ways"),
        (book().replace("address,balance,share", "address,share,balance"), "the books can be read in two ways"),
        (book().replace(str(share(f"0x{4:040x}")), str(share(f"0x{4:040x}") + 1)), "not their share of the pool"),
    ],
)
def test_books_that_were_wrong_when_the_desk_was_opened_are_found_out(checked, text, why):
    code, said = checked(Desk(text), text)
    assert (code, said.startswith(f"NOT AS IT SHOULD BE: {why}")) == (1, True), said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("paid", "why"),
    [
        ([(f"0x{3:040x}", share(f"0x{3:040x}"))] * 2, "was paid twice"),
        ([(f"0x{3:040x}", share(f"0x{3:040x}") + 1)], "was not paid its share"),
        ([("0x" + "77" * 20, 1)], "was not paid its share"),
    ],
)
def test_payments_that_must_not_be_are_found_out(checked, paid, why):
    desk = Desk(book())
    for each in paid:
        desk.pay(*each)
    code, said = checked(desk, book())
    assert (code, said.startswith("NOT AS IT SHOULD BE"), why in said) == (1, True, True), said


def test_a_node_in_trouble_is_named_and_accuses_nobody(checked):
    desk = Desk(book())
    desk.answer = lambda *_: {"error": {"code": 429, "message": "slow down"}}
    code, said = checked(desk, book())
    assert (code, said) == (1, "the node refused eth_blockNumber: {'code': 429, 'message': 'slow down'}\n")
