"""The watch over the suite's output can fail: planted secrets are found, and a session that says one is red."""

import os
import subprocess
import sys
from pathlib import Path
from textwrap import indent

import pytest

from yards.patience import STUCK_S

HERE = Path(__file__).parents[1]
SECRET = "Zq8" + "tJ-_4" * 8
CONFTEST = """
import sys
sys.path.insert(0, {tests!r})
from canary import Canary

def pytest_configure(config):
    config.pluginmanager.register(Canary(), "canary")
"""
SIGNATURE, KEY, ADDRESS = "0x" + "ab" * 65, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "postgresql://me:hunter22@db/it"
HEADER = "eyJ4NDAyVmVyc2lvbiI6MiwicGF5bG9hZCI6e30sImFjY2VwdGVkIjp7fX0="
PASSWORD = "correct horse battery"
LOGGED = f"from tickyard.observe.log import log; log.warning('it fired', alert={SECRET!r})"
LEAKS = {
    "an alert secret in the log": LOGGED,
    "a webhook signing key in the log": f"""
from tickyard.observe.log import log
try: raise ValueError({KEY!r})
except ValueError: log.exception('no')""",
    "a signature in the metrics": f"from tickyard.observe.metrics import coverage; coverage.labels({SIGNATURE!r}).set(1)",
    "a password in an address in Captured stdout": f"print('it is', {ADDRESS!r})",
    "the password in Captured stdout": f"""
pytestconfig.pluginmanager.get_plugin('canary').watch.secret('the password', {PASSWORD!r})
print({PASSWORD!r})""",
    "a payment header in Captured stderr": f"import sys; print({HEADER!r}, file=sys.stderr)",
}


def session(folder, bodies):
    """A session of its own, of one test with each body."""
    (folder / "conftest.py").write_text(CONFTEST.format(tests=str(HERE)))
    tests = (f"def test_{n}(pytestconfig):\n" + indent(body, "    ") for n, body in enumerate(bodies))
    (folder / "test_it.py").write_text("\n".join(tests))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder)]
    # The plugins of others take longer to load than all the rest.
    environ = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, text=True, timeout=STUCK_S, check=False
    )


@pytest.mark.slow
def test_secrets_in_the_output_fail_the_session(tmp_path):
    done = session(tmp_path, LEAKS.values())
    assert done.returncode == 1, done.stdout
    assert f"{len(LEAKS)} passed" in done.stdout
    assert "secrets in the output" in done.stdout
    assert [leak for leak in LEAKS if leak not in done.stdout] == []
    said = [secret for secret in (SECRET, SIGNATURE, KEY, ADDRESS, HEADER, PASSWORD) if secret in done.stdout]
    assert said == [], "the watch itself must not say it"


@pytest.mark.slow
def test_a_clean_session_stays_green(tmp_path):
    done = session(tmp_path, [LOGGED.replace(SECRET, "5d1c4f0be2a94b7c")])
    assert done.returncode == 0, done.stdout


@pytest.fixture
def watch(pytestconfig):
    return type(pytestconfig.pluginmanager.get_plugin("canary").watch)()


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (SIGNATURE, "a signature"),
        (f"PAYMENT-SIGNATURE: {HEADER}", "a payment header"),
        (KEY, "a webhook signing key"),
        (f"?secret={SECRET} ", "an alert secret"),
        (ADDRESS, "a password in an address"),
    ],
)
def test_what_has_the_shape_of_a_secret_is_found(watch, text, what):
    watch.output("a log", f"before {text}")
    assert watch.found() == [f"{what} in a log"]


@pytest.mark.parametrize(
    "text",
    [
        "0x" + "ab" * 32,
        "block 0x" + "cd" * 32 + " 0x" + "ef" * 20,
        "test_a_delivery_carries_the_payload_and_a_sig",
        "postgresql://***:***@db.internal/tickyard",
        "https://127.0.0.1:8402/v1/assets and nobody@example.com",
    ],
)
def test_hashes_addresses_and_names_are_no_secrets(watch, text):
    watch.output("a log", text)
    assert watch.found() == []
