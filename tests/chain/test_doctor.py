"""The doctor in a world that is well, and in the same world with everything dead."""

import contextlib
import json
import os
import sqlite3
import subprocess
import sys

import pytest

from yards.patience import STUCK_S

pytestmark = [pytest.mark.node, pytest.mark.timeout(240)]

TARGETS = ("issuer", "filings", "rpc", "facilitator-4663", "facilitator-8453")


@pytest.fixture(scope="module")
def up(running):
    sandbox = running.Up().wait_ready()
    yield sandbox
    sandbox.stop()


def examine(up, **changed):
    settings = json.loads((up.run_dir / "settings.json").read_text()) | changed
    command = [sys.executable, "-m", "tickyard", "doctor"]
    done = subprocess.run(command, env={**os.environ, **settings}, capture_output=True, text=True, timeout=STUCK_S)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout


def test_a_desk_that_is_none_or_begins_too_late_and_a_proxy_that_nobody_trusts_are_found(up):
    """The money of the program, and the limits that are by caller."""
    usdg = up.get("/sandbox")[1]["contracts"]["usdg"]
    code, said = examine(up, TICKYARD_PAYOUT_DESK=usdg, TICKYARD_BASE_URL="https://api.tickyard.example")
    assert code == 1
    assert said.count("  BAD") == 2, said
    assert "there is no desk at this address" in said
    assert "none is trusted" in said
    code, said = examine(up, TICKYARD_PAYOUT_DESK_FIRST_BLOCK="99999999")
    assert (code, said.count("  BAD")) == (1, 1), said
    assert "its TICKYARD_PAYOUT_DESK_FIRST_BLOCK, 99999999, is after the newest, " in said
    code, said = examine(up, TICKYARD_BASE_URL="https://api.tickyard.example", TICKYARD_TRUSTED_PROXIES="127.0.0.1/32")
    assert (code, "may move all that it holds" in said) == (0, True), said


def test_a_spender_or_a_fee_tier_that_is_none_and_half_a_reward_program_are_found(up):
    nobody = "0x00000000000000000000000000000000000000aa"
    code, said = examine(up, TICKYARD_SPENDER=nobody, TICKYARD_PAYOUT_DESK="", TICKYARD_FEE_TIERS="100,30000,500")
    assert (code, said.count("  BAD")) == (1, 3), said
    assert "the factory has no fee tier 30000" in said
    assert f"there is no contract at {nobody}" in said
    assert "the reward program is off" in said


def test_money_that_goes_to_a_listed_token_and_a_node_that_is_its_own_witness_are_found(up):
    settings = json.loads((up.run_dir / "settings.json").read_text())
    token = up.get("/v1/assets/AAPL")[1]["address"]
    node = settings["TICKYARD_RPC_URLS"].split(",")[0]
    code, said = examine(up, TICKYARD_PAY_TO=token, TICKYARD_SECOND_LOGS_URL=node)
    assert (code, said.count("  BAD")) == (1, 2), said
    assert "TICKYARD_PAY_TO is the token AAPL" in said
    assert "bears witness for itself" in said


def test_a_list_that_is_refused_and_a_history_that_never_begins_are_found(up):
    """The service goes on with the last good list; nobody would look if the doctor called that well."""
    with contextlib.closing(sqlite3.connect(up.run_dir / "tickyard.db")) as book:
        was = book.execute("SELECT address FROM pinned_token WHERE symbol = 'AAPL'").fetchone()[0]
        try:
            _pin(book, "0x" + "e1" * 20)
            code, said = examine(up, TICKYARD_HISTORY_START="2999-01-01T00:00:00Z")
        finally:
            _pin(book, was)
    assert (code, said.count("  BAD")) == (1, 2), said
    assert "  BAD   issuer                 its list is refused: AAPL changed its address" in said
    assert "no sample is written before 2999-01-01T00:00:00Z" in said


def test_a_kept_list_that_is_damaged_is_found(up):
    """Processes that run do not look at it again; none would start."""
    with contextlib.closing(sqlite3.connect(up.run_dir / "tickyard.db")) as book:
        was = book.execute("SELECT body FROM kept_listing").fetchone()[0]
        try:
            _keep(book, was[: len(was) // 2])
            code, said = examine(up)
        finally:
            _keep(book, was)
    assert (code, said.count("  BAD")) == (1, 1), said
    assert "the list of assets kept in the store is damaged" in said


def _keep(book, body):
    with book:
        book.execute("UPDATE kept_listing SET body = ?", (body,))


def _pin(book, address):
    with book:
        book.execute("UPDATE pinned_token SET address = ? WHERE symbol = 'AAPL'", (address,))


def test_of_several_facilitators_the_dead_one_is_named(up):
    settings = json.loads((up.run_dir / "settings.json").read_text())
    urls = f"http://127.0.0.1:1/dead,{settings['TICKYARD_FACILITATOR_4663']}"
    code, said = examine(up, TICKYARD_FACILITATOR_4663=urls)
    assert (code, said.count("  BAD")) == (1, 1), said
    assert "  BAD   facilitator 4663 1/2" in said
    assert "  good  facilitator 4663 2/2" in said


def test_a_world_that_is_well_is_found_so_and_a_dead_one_is_not(up):
    code, said = examine(up)
    assert (code, "BAD" in said) == (0, False), said
    assert "All well." in said
    for mode in ("down", "garbage"):
        for target in TARGETS:
            assert up.post("/sandbox/fault", {"target": target, "mode": mode})[0] == 200
        code, said = examine(up)
        assert code == 1
        bad = said.count("  BAD")
        assert bad >= 6, said
        assert said.count(" -> ") == bad
        for name in ("facilitator 4663", "facilitator 8453", "issuer", "filings contact"):
            assert f"  BAD   {name}" in said, said
