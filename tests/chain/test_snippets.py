"""What README and docs tell people to type is typed, in a sandbox of its own."""

import os
import re
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.node

ROOT = Path(__file__).parents[2]
DEFAULT = "127.0.0.1:8402"
BLOCK = re.compile(r"^```(?:sh|bash|console)?\n(.*?)^```", re.MULTILINE | re.DOTALL)
TARGETS = ("issuer", "filings", "rpc", "facilitator-4663", "facilitator-8453")


def snippets(page):
    """The blocks of a page that talk to a running service."""
    return [block for block in BLOCK.findall(page.read_text()) if f"curl {DEFAULT}" in _plain(block)]


def _plain(block):
    """Each call of curl as `curl host`, whatever stands between."""
    return re.sub(r"curl [^\n|]*?https?://", "curl ", block)


PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if snippets(page)]


@pytest.fixture(scope="module")
def up(running):
    sandbox = running.Up().wait_ready()
    yield sandbox
    sandbox.stop()


def test_there_are_snippets():
    assert [page.name for page in PAGES][:1] == ["README.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_snippet_works_as_written(up, page):
    path = f"{ROOT / '.venv' / 'bin'}:{os.environ['PATH']}"
    environ = {**os.environ, "PATH": path, "TICKYARD_BASE_URL": up.base, "TICKYARD_PORT": str(up.port)}
    for block in snippets(page):
        script = block.replace(DEFAULT, f"127.0.0.1:{up.port}")
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=ROOT,
            env=environ,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        shown = f"{block}\n{done.stdout[-3000:]}\n{done.stderr[-1000:]}"
        assert done.returncode == 0, shown
        for word in ("internal_error", "no such route", "bad_request", "unknown field"):
            assert word not in done.stdout, shown
    # A page may end with something broken; the next one starts whole.
    for target in TARGETS:
        up.post("/sandbox/fault", {"target": target, "mode": "ok"})
