"""The agent's hands: what it signs, where its key lies, what it remembers, and who cannot reach any of it."""

import ast
import asyncio
import errno
import hashlib
import os
import stat
import subprocess
import sys
from pathlib import Path

import eth_abi as reference_abi
import pytest
import rlp as reference_rlp
from eth_account import Account
from hypothesis import given, settings
from hypothesis.strategies import binary, dictionaries, integers, lists, recursive, tuples

import tickyard
from tickyard.features.earn.books.desk import open_call, pay_call
from tickyard.features.earn.books.digest import HEADER, Books
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.payout.accepted import AcceptedBooks
from tickyard.payout.halt import Halted
from tickyard.payout.judge import Allowance, CapReached, PayoutCaps
from tickyard.payout.signing.keystore import KeystoreRefused, open_keystore, write_keystore
from tickyard.payout.signing.signer import LocalSigner
from tickyard.payout.signing.transaction import CallTransaction, rlp, transaction_hash
from yards.patience import STUCK_S

SOURCE = Path(tickyard.__file__).parent
KEY = bytes(range(1, 33))
USDG = Address("0x5fc5360d0400a0fd4f2af552add042d716f1d168")


@given(recursive(binary(max_size=70) | integers(0, 2**256 - 1), lambda items: lists(items, max_size=5), max_leaves=30))
def test_rlp_is_the_references(item):
    def plain(value):
        if isinstance(value, list):
            return [plain(each) for each in value]
        return value if isinstance(value, bytes) else reference_rlp.sedes.big_endian_int.serialize(value)

    assert rlp(item) == reference_rlp.encode(plain(item))


@settings(deadline=None)
@given(
    nonce=integers(0, 2**40),
    fee=integers(1, 2**60),
    tip=integers(0, 2**30),
    gas=integers(1, 2**30),
    data=binary(max_size=300),
)
def test_a_payout_is_the_call_that_the_reference_signs(nonce, fee, tip, gas, data):
    mine = CallTransaction(4663, nonce, tip, fee, gas, USDG, data)
    signer = LocalSigner(KEY)
    raw = mine.signed(asyncio.run(signer.sign(mine.digest)))
    theirs = Account.from_key(KEY).sign_transaction(
        {
            "type": 2, "chainId": 4663, "nonce": nonce, "maxFeePerGas": fee, "maxPriorityFeePerGas": tip,
            "gas": gas, "to": "0x5fc5360D0400a0Fd4f2af552ADD042D716F1d168", "value": 0, "data": data,
        }
    )  # fmt: skip
    assert raw == bytes(theirs.raw_transaction)
    assert transaction_hash(raw) == "0x" + bytes(theirs.hash).hex()
    assert signer.address == Account.from_key(KEY).address.lower()


@given(lists(tuples(binary(min_size=20, max_size=20), integers(1, 2**64)), min_size=1, max_size=100))
def test_a_batch_is_encoded_as_the_reference_does(lines):
    mine = pay_call(20261114, [(Address("0x" + account.hex()), amount) for account, amount in lines])
    theirs = reference_abi.encode(["uint256", "(address,uint256)[]"], [20261114, lines])
    assert mine[4:] == theirs
    assert open_call(20261114, "ab" * 32, 5)[4:] == reference_abi.encode(
        ["uint256", "bytes32", "uint256"], [20261114, b"\xab" * 32, 5]
    )


def test_a_batch_has_one_to_a_hundred_lines():
    line = (USDG, 1)
    for wrong in ([], [line] * 101):
        with pytest.raises(ValueError, match="1 to 100"):
            pay_call(20261114, wrong)
    assert len(pay_call(20261114, [line] * 100)) == 4 + 32 * (3 + 2 * 100)


@settings(deadline=None)
@given(dictionaries(binary(min_size=20, max_size=20), integers(1, 2**90), max_size=40), integers(0, 2**50))
def test_books_tell_every_share_and_hash_what_the_file_says(held, pool):
    rows = [(f"0x{account.hex()}", balance) for account, balance in sorted(held.items())]
    total = sum(held.values())
    books = Books(20261114, pool, total)
    for start in range(0, len(rows), 7):
        books.add(rows[start : start + 7])
    shares = {address: pool * balance // total for address, balance in rows}
    assert {address: books.share_of(address) for address in shares} == shares
    assert books.share_of("0x" + "12" * 20) == shares.get("0x" + "12" * 20, 0)
    text = HEADER.decode() + "".join(f"{address},{balance},{shares[address]}\n" for address, balance in rows)
    assert books.digest == hashlib.sha256(text.encode()).hexdigest()
    assert books.is_whole


def test_a_keystore_opens_with_its_password_only(tmp_path):
    keystore, password = tmp_path / "key.json", tmp_path / "password"
    write_keystore(keystore, password, KEY, "correct horse", rounds=2**12)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (keystore, password)] == [0o600, 0o600]
    signer = open_keystore(keystore, password)
    assert signer.address == Account.from_key(KEY).address.lower()
    assert KEY.hex() not in repr(signer)
    password.write_text("wrong")
    with pytest.raises(KeystoreRefused, match="does not open"):
        open_keystore(keystore, password)
    password.write_text("correct horse\n")
    keystore.write_text("{}")
    with pytest.raises(KeystoreRefused, match="does not open"):
        open_keystore(keystore, password)
    keystore.write_text("no json")
    with pytest.raises(KeystoreRefused, match="does not open"):
        open_keystore(keystore, password)
    # A JSON file that was cut from something else, or is none at all.
    for content in (b"\xff\xfe", b"[" * 100_000):
        keystore.write_bytes(content)
        with pytest.raises(KeystoreRefused):
            open_keystore(keystore, password)
    os.chmod(keystore, 0o644)
    with pytest.raises(KeystoreRefused, match="owner only"):
        open_keystore(keystore, password)
    with pytest.raises(KeystoreRefused, match="cannot be read"):
        open_keystore(tmp_path / "nothing", password)


def test_a_key_that_systemd_hands_over_by_an_access_list_is_taken(tmp_path, monkeypatch):
    keystore, password = tmp_path / "key.json", tmp_path / "password"
    write_keystore(keystore, password, KEY, "correct horse", rounds=2**12)
    for path in (keystore, password):
        # What such a list looks like to who asks for the rights: its mask in the place of the group's.
        path.chmod(0o440)
    with pytest.raises(KeystoreRefused, match="owner only"):
        open_keystore(keystore, password)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    assert open_keystore(keystore, password).address == Account.from_key(KEY).address.lower()
    for mode in (0o444, 0o460, 0o450):
        keystore.chmod(mode)
        with pytest.raises(KeystoreRefused, match="owner only"):
            open_keystore(keystore, password)
    keystore.chmod(0o440)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path / "elsewhere"))
    with pytest.raises(KeystoreRefused, match="owner only"):
        open_keystore(keystore, password)


def test_a_key_that_any_other_account_could_read_write_or_run_is_refused(tmp_path):
    keystore, password = tmp_path / "key.json", tmp_path / "password"
    write_keystore(keystore, password, KEY, "correct horse", rounds=2**12)
    for path in (keystore, password):
        for bit in (0o040, 0o020, 0o010, 0o004, 0o002, 0o001):
            path.chmod(0o600 | bit)
            with pytest.raises(KeystoreRefused, match="owner only"):
                open_keystore(keystore, password)
        path.chmod(0o700)
    assert open_keystore(keystore, password).address == Account.from_key(KEY).address.lower()
    with pytest.raises(FileExistsError):
        write_keystore(keystore, tmp_path / "another", KEY, "correct horse", rounds=2**12)


def _books(pool=1000, **held):
    books = Books(20261114, pool, sum(held.values()))
    books.add([("0x" + name * 40, balance) for name, balance in sorted(held.items())])
    return books


def test_accepted_books_are_remembered_through_restarts(tmp_path):
    path = tmp_path / "accepted.jsonl"
    AcceptedBooks(path).accept(_books(a=5, b=7))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    written = path.read_bytes()
    memory = AcceptedBooks(path)
    memory.accept(_books(a=5, b=7))
    assert path.read_bytes() == written, "once"
    for other in (_books(pool=1001, a=5, b=7), _books(a=6, b=6), _books(a=5, b=7, c=0)):
        with pytest.raises(Halted):
            memory.accept(other)


def test_books_that_were_accepted_for_one_desk_are_not_paid_by_another(tmp_path):
    path, first, second = tmp_path / "accepted.jsonl", "0x" + "d1" * 20, "0x" + "d2" * 20
    AcceptedBooks(path, first).accept(_books(a=5, b=7))
    AcceptedBooks(path, first).accept(_books(a=5, b=7))
    with pytest.raises(Halted, match=f"for the desk {first}"):
        AcceptedBooks(path, second).accept(_books(a=5, b=7))
    path.write_text(path.read_text().replace(first, ""))
    AcceptedBooks(path, second).accept(_books(a=5, b=7))


@pytest.mark.parametrize("cut", range(1, 100, 7))
def test_a_torn_line_swallows_neither_the_one_before_nor_the_one_after(tmp_path, cut):
    path = tmp_path / "accepted.jsonl"
    AcceptedBooks(path).accept(_books(a=5, b=7))
    whole = path.read_bytes()
    later = Books(20261115, 9, 5)
    later.add([("0x" + "a" * 40, 5)])
    AcceptedBooks(path).accept(later)
    # The power went while the second line was being written.
    path.write_bytes(path.read_bytes()[: len(whole) + cut])
    memory = AcceptedBooks(path)
    memory.accept(later)
    for book in (_books(a=5, b=7), later):
        AcceptedBooks(path).accept(book)
    with pytest.raises(Halted):
        AcceptedBooks(path).accept(_books(a=6, b=6))
    changed = Books(20261115, 8, 5)
    changed.add([("0x" + "a" * 40, 5)])
    with pytest.raises(Halted):
        AcceptedBooks(path).accept(changed)


def test_a_line_that_a_full_disk_cut_off_does_not_swallow_the_next_one(tmp_path, monkeypatch):
    path, write = tmp_path / "accepted.jsonl", os.write
    memory = AcceptedBooks(path)

    def half(file, line):
        if len(line) < 20:
            raise OSError(errno.ENOSPC, "no space left on device")
        return write(file, line[: len(line) // 2])

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(UpstreamDown, match=r"accepted\.jsonl cannot be written"):
        memory.accept(_books(a=5, b=7))
    # The same process goes on when there is room again.
    monkeypatch.setattr(os, "write", write)
    memory.accept(_books(a=5, b=7))
    with pytest.raises(Halted):
        AcceptedBooks(path).accept(_books(a=6, b=6))


def test_nothing_is_spent_over_a_cap():
    allowance = Allowance(PayoutCaps(50, 120, 200), pool_raw=100, epoch_raw=0, day_raw=90)
    with pytest.raises(CapReached, match="claim"):
        allowance.spend(51)
    allowance.spend(50)
    allowance.spend(50)
    with pytest.raises(CapReached, match="epoch"):
        allowance.spend(1)
    assert (allowance.epoch_raw, allowance.day_raw) == (100, 190)
    with pytest.raises(CapReached, match="day"):
        Allowance(PayoutCaps(50, 120, 200), 1000, 0, 190).spend(11)


def _imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.slow
def test_no_room_that_serves_can_sign():
    signing = ("eth_account", "eth_keys", "eth_keyfile", "coincurve.PrivateKey", "tickyard.payout")
    allowed = ("payout/", "sandbox/", "client/", "cli.py", "processes/payout.py", "terminal/trade.py")
    # The doctor serves nobody: it compares the desk on the chain with the one that we ship.
    allowed += ("processes/doctor/chains.py",)
    found = [
        f"{path.relative_to(SOURCE)} imports {name}"
        for path in SOURCE.rglob("*.py")
        if not path.relative_to(SOURCE).as_posix().startswith(allowed)
        for name in _imports(path)
        if name.startswith(signing)
    ]
    assert found == []


@pytest.mark.slow
def test_api_and_worker_load_no_signing_code_and_know_no_key():
    modules = [
        "tickyard.features.earn.operations",
        "tickyard.features.earn.books.public",
        "tickyard.features.earn.days.epochs",
        "tickyard.features.earn.books.reserves",
    ]
    code = f"import sys, {', '.join(modules)}; print(*sorted(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=STUCK_S)
    loaded = shown.stdout.split()
    assert [name for name in loaded if name.startswith(("eth_", "tickyard.payout", "tickyard.sandbox"))] == []
    for path in (SOURCE / "features").rglob("*.py"):
        assert "keystore" not in path.read_text().lower(), f"{path.name} speaks of the key"
