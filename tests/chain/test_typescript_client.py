"""The TypeScript client against a running sandbox, and the snippets of its README as a newcomer runs them."""

import re

import pytest

from yards import typescript as _typescript

pytestmark = pytest.mark.node

SNIPPET = re.compile(r"^```js\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SNIPPETS = SNIPPET.findall((_typescript.CLIENT / "README.md").read_text())


@pytest.fixture(scope="module")
def up(running):
    _typescript.compile_client()
    sandbox = running.Up().wait_ready()
    yield sandbox
    sandbox.stop()


def test_the_client_pays_trades_and_listens(up):
    said = _typescript.run_node("--test", "test/sandbox.e2e.mjs", TICKYARD_BASE_URL=up.base)
    assert int(re.search(r"# pass (\d+)", said)[1]) >= 9


def test_there_are_snippets():
    assert len(SNIPPETS) == 5


@pytest.mark.parametrize("snippet", SNIPPETS, ids=range(len(SNIPPETS)))
def test_every_snippet_works_as_written(up, snippet):
    text = snippet.replace("127.0.0.1:8402", f"127.0.0.1:{up.port}")
    assert _typescript.run_node("--input-type=module", text=text)
