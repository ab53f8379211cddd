"""The agent's hands: what it signs, where its key lies, what it remembers, and who cannot reach any of it."""

import ast
import asyncio
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import rlp as reference_rlp
from eth_account import Account
from hypothesis import given
from hypothesis.strategies import binary, integers, lists, recursive

import tickyard
from tickyard.features.earn.digest import Sealed
from tickyard.kernel.ids import Address
from tickyard.payout.accepted import AcceptedSnapshots
from tickyard.payout.halt import Halted
from tickyard.payout.judge import Allowance, Held, PayoutCaps
from tickyard.payout.keystore import KeystoreRefused, open_keystore, write_keystore
from tickyard.payout.signer import LocalSigner
from tickyard.payout.transaction import TransferTransaction, rlp, transaction_hash

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


@given(
    nonce=integers(0, 2**40), fee=integers(1, 2**60), amount=integers(1, 2**200), to=binary(min_size=20, max_size=20)
)
def test_a_payout_is_the_transfer_that_the_reference_signs(nonce, fee, amount, to):
    receiver = Address("0x" + to.hex())
    mine = TransferTransaction(4663, nonce, fee, 200_000, USDG, receiver, amount)
    signer = LocalSigner(KEY)
    raw = mine.signed(asyncio.run(signer.sign(mine.digest)))
    data = "0xa9059cbb" + receiver[2:].rjust(64, "0") + f"{amount:064x}"
    theirs = Account.from_key(KEY).sign_transaction(
        {
            "type": 2, "chainId": 4663, "nonce": nonce, "maxFeePerGas": fee, "maxPriorityFeePerGas": 0,
            "gas": 200_000, "to": Account.from_key(b"\x09" * 32).address, "value": 0, "data": data,
        }
        | {"to": "0x5fc5360D0400a0Fd4f2af552ADD042D716F1d168"}
    )  # fmt: skip
    assert raw == bytes(theirs.raw_transaction)
    assert transaction_hash(raw) == "0x" + bytes(theirs.hash).hex()
    assert signer.address == Account.from_key(KEY).address.lower()


def test_a_keystore_opens_with_its_password_only(tmp_path):
    keystore, password = tmp_path / "key.json", tmp_path / "password"
    write_keystore(keystore, password, KEY, "correct horse", rounds=2**12)
    assert stat.S_IMODE(keystore.stat().st_mode) == 0o600
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
    os.chmod(keystore, 0o644)
    with pytest.raises(KeystoreRefused, match="owner only"):
        open_keystore(keystore, password)
    with pytest.raises(KeystoreRefused, match="cannot be read"):
        open_keystore(tmp_path / "nothing", password)


def test_an_accepted_snapshot_is_remembered_through_restarts_and_cut_lines(tmp_path):
    path = tmp_path / "accepted.jsonl"
    sealed = Sealed(20261114, "0x" + "1" * 64, 1000, {"0xa": 5, "0xb": 7})
    AcceptedSnapshots(path).accept(sealed)
    with path.open("ab") as file:
        file.write(b'{"epoch":20261115,"dig')
    memory = AcceptedSnapshots(path)
    memory.accept(sealed)
    for other in (
        Sealed(20261114, "0x" + "2" * 64, 1000, {"0xa": 5, "0xb": 7}),
        Sealed(20261114, "0x" + "1" * 64, 1001, {"0xa": 5, "0xb": 7}),
        Sealed(20261114, "0x" + "1" * 64, 1000, {"0xa": 6, "0xb": 6}),
        Sealed(20261114, "0x" + "1" * 64, 1000, {"0xa": 5, "0xb": 7, "0xc": 0}),
    ):
        with pytest.raises(Halted):
            memory.accept(other)


def test_nothing_is_spent_over_a_cap():
    allowance = Allowance(PayoutCaps(50, 120, 200), pool_raw=100, epoch_raw=0, day_raw=90)
    with pytest.raises(Held, match="claim"):
        allowance.spend(51)
    allowance.spend(50)
    allowance.spend(50)
    with pytest.raises(Held, match="epoch"):
        allowance.spend(1)
    assert (allowance.epoch_raw, allowance.day_raw) == (100, 190)
    with pytest.raises(Held, match="day"):
        Allowance(PayoutCaps(50, 120, 200), 1000, 0, 190).spend(11)


def _imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_no_room_that_serves_can_sign():
    signing = ("eth_account", "eth_keys", "eth_keyfile", "coincurve.PrivateKey", "tickyard.payout")
    allowed = ("payout/", "sandbox/", "client/", "cli.py", "processes/payout.py")
    found = [
        f"{path.relative_to(SOURCE)} imports {name}"
        for path in SOURCE.rglob("*.py")
        if not path.relative_to(SOURCE).as_posix().startswith(allowed)
        for name in _imports(path)
        if name.startswith(signing)
    ]
    assert found == []


def test_api_and_worker_load_no_signing_code_and_know_no_key():
    modules = ["tickyard.features.earn.operations", "tickyard.features.earn.books", "tickyard.features.earn.epochs"]
    code = f"import sys, {', '.join(modules)}; print(*sorted(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)
    loaded = shown.stdout.split()
    assert [name for name in loaded if name.startswith(("eth_", "tickyard.payout", "tickyard.sandbox"))] == []
    for path in (SOURCE / "features").rglob("*.py"):
        assert "keystore" not in path.read_text().lower(), f"{path.name} speaks of the key"
