"""The watch over the suite's output can fail: planted secrets are found, and a session that says one is red."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parents[1]
SECRET = "Zq8" + "tJ-_4" * 8
CONFTEST = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("canary", {path!r})
sys.modules["canary"] = module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)

def pytest_configure(config):
    config.pluginmanager.register(module.Canary(), "canary")
"""
LEAKS = {
    "a log": "from tickyard.observe.log import log; log.warning('it fired', alert={secret!r})",
    "a traceback": "from tickyard.observe.log import log\ntry: raise ValueError({secret!r})\nexcept ValueError: log.exception('no')",
    "a metric": "from tickyard.observe.metrics import coverage; coverage.labels({secret!r}).set(1)",
    "standard output": "print('the secret is', {secret!r})",
    "standard error": "import sys; print({secret!r}, file=sys.stderr)",
}


def session(folder, body, *more):
    """A session of its own, of one test with this body."""
    (folder / "conftest.py").write_text(CONFTEST.format(path=str(HERE / "canary.py")))
    lines = "\n    ".join(body.splitlines())
    (folder / "test_it.py").write_text(f"def test_it(pytestconfig):\n    {lines}\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder), *more]
    # The plugins of others take longer to load than all the rest.
    environ = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("where", LEAKS)
def test_a_secret_in_the_output_fails_the_session(tmp_path, where):
    done = session(tmp_path, LEAKS[where].format(secret=SECRET))
    assert done.returncode == 1, done.stdout
    assert "1 passed" in done.stdout
    assert "secrets in the output" in done.stdout
    assert "an alert secret in" in done.stdout
    assert SECRET not in done.stdout, "the watch itself must not say it"


def test_it_fails_when_several_processes_share_the_tests_too(tmp_path):
    done = session(tmp_path, LEAKS["a log"].format(secret=SECRET), "-p", "xdist", "-n", "2")
    assert done.returncode == 1, done.stdout
    assert "an alert secret in the log of the tests' own process" in done.stdout


def test_a_secret_that_a_test_met_is_found_whatever_its_shape(tmp_path):
    told = "watch = pytestconfig.pluginmanager.get_plugin('canary').watch\nwatch.secret('the password', {0!r})\nprint({0!r})"
    done = session(tmp_path, told.format("correct horse battery"))
    assert done.returncode == 1
    assert "the password in Captured stdout call of" in done.stdout


def test_a_clean_session_stays_green(tmp_path):
    done = session(tmp_path, "from tickyard.observe.log import log; log.warning('it fired', alert='5d1c4f0be2a94b7c')")
    assert done.returncode == 0, done.stdout


@pytest.fixture
def watch(pytestconfig):
    return type(pytestconfig.pluginmanager.get_plugin("canary").watch)()


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("0x" + "ab" * 65, "a signature"),
        ("PAYMENT-SIGNATURE: eyJ4NDAyVmVyc2lvbiI6MiwicGF5bG9hZCI6e30sImFjY2VwdGVkIjp7fX0=", "a payment header"),
        ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "a webhook signing key"),
        (f"?secret={SECRET} ", "an alert secret"),
        ("postgresql://tickyard:hunter22@db.internal/tickyard", "a password in an address"),
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
