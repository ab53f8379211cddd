"""The doctor in a world that is well, and in the same world with everything dead."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.node, pytest.mark.timeout(240)]

TARGETS = ("issuer", "filings", "rpc", "facilitator-4663", "facilitator-8453")


@pytest.fixture(scope="module")
def up(running):
    sandbox = running.Up().wait_ready()
    yield sandbox
    sandbox.stop()


def examine(up):
    settings = json.loads((up.run_dir / "settings.json").read_text())
    command = [sys.executable, "-m", "tickyard", "doctor"]
    done = subprocess.run(command, env={**os.environ, **settings}, capture_output=True, text=True, timeout=90)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout


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
