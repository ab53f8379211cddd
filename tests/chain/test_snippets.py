"""What README and docs tell people to type is typed, in a sandbox of its own."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from yards import typescript
from yards.patience import STUCK_S

pytestmark = pytest.mark.node

ROOT = Path(__file__).parents[2]
DEFAULT = "127.0.0.1:8402"
BLOCK = re.compile(r"^```([a-z]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE_JSON = re.compile(r"`(\{\"(?:mcpS|s)ervers.*?\})`")
TARGETS = ("issuer", "filings", "rpc", "facilitator-4663", "facilitator-8453")
RUN = {
    "": ("bash", "-euo", "pipefail"),
    "python": (sys.executable, "-W", "error", "-"),
    "js": ("node", "--input-type=module"),
}


def snippets(page):
    """The blocks of a page that talk to a running service, each with its language."""
    found = [
        (language if language in ("python", "js") else "", block) for language, block in BLOCK.findall(page.read_text())
    ]
    return [(language, block) for language, block in found if DEFAULT in block and (language or "curl" in block)]


def moves_the_clock(page):
    return any("sandbox/clock" in block or "sandbox/tick" in block for _, block in snippets(page))


# On a clock that was moved by minutes, ordinary clients can no longer pay with USDG: whoever moves it comes last.
PAGES = sorted(
    (page for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if snippets(page)),
    key=moves_the_clock,
)


@pytest.fixture(scope="module")
def up(running):
    typescript.compile_client()
    sandbox = running.Up().wait_ready()
    yield sandbox
    sandbox.stop()


def test_there_are_snippets():
    assert {"README.md", "client.md", "mcp.md", "sandbox.md"} <= {page.name for page in PAGES}
    languages = {language for page in PAGES for language, _ in snippets(page)}
    assert languages == set(RUN)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_snippet_works_as_written(up, page):
    path = f"{ROOT / '.venv' / 'bin'}:{os.environ['PATH']}"
    environ = {**os.environ, "PATH": path, "TICKYARD_BASE_URL": up.base, "TICKYARD_PORT": str(up.port)}
    for language, block in snippets(page):
        done = subprocess.run(
            RUN[language],
            input=block.replace(DEFAULT, f"127.0.0.1:{up.port}"),
            # The package of the client is found from inside of it, as it would be where it is installed.
            cwd=typescript.CLIENT if language == "js" else ROOT,
            env=environ,
            capture_output=True,
            text=True,
            timeout=STUCK_S,
            check=False,
        )
        shown = f"{block}\n{done.stdout[-3000:]}\n{done.stderr[-1000:]}"
        assert done.returncode == 0, shown
        assert done.stdout, shown
        for word in ("internal_error", "no such route", "bad_request", "unknown field"):
            assert word not in done.stdout, shown
    # A page may end with something broken; the next one starts whole.
    for target in TARGETS:
        up.post("/sandbox/fault", {"target": target, "mode": "ok"})


def test_the_settings_of_other_programs_are_json():
    found = INLINE_JSON.findall((ROOT / "docs" / "mcp.md").read_text())
    assert len(found) == 2
    for text in found:
        ((_, servers),) = json.loads(text).items()
        assert servers["tickyard"]["url"] == f"http://{DEFAULT}/mcp"
