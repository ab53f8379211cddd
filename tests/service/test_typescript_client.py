"""The TypeScript client: strict, small, and true to the table it is written from."""

import gzip
import json
import re
import subprocess

import pytest

from tickyard.catalog import CATALOG
from tickyard.clientgen.__main__ import made, main, stale
from tickyard.clientgen.typescript import camel, ts_files
from yards import typescript as _typescript
from yards.patience import STUCK_S

CORE_MAX_BYTES = 8 * 1024


@pytest.fixture(scope="module", autouse=True)
def _compiled():
    _typescript.compile_client()


@pytest.mark.slow
def test_the_generated_files_are_what_the_catalog_says():
    assert stale(made()) == []
    assert main(["--check"]) == 0


@pytest.mark.slow
def test_a_stale_client_is_noticed():
    wanted = made()
    path = next(path for path in wanted if path.name == "operations.ts")
    assert stale({**wanted, path: wanted[path] + " "}) == [path]
    assert stale({other: text for other, text in wanted.items() if other != path}) == [path]


@pytest.mark.slow
def test_every_operation_is_a_method_with_its_route():
    text = ts_files()["operations.ts"]
    thrown = {name.strip() for said in re.findall(r"\* Throws ([\w, ]+)\.", text) for name in said.split(",")}
    errors = (_typescript.CLIENT / "src" / "errors.ts").read_text()
    assert [name for name in sorted(thrown) if f"class {name} " not in errors] == []
    for row in CATALOG:
        if row.is_file:
            # What a method answers is read as JSON.
            assert camel(row.name) not in text
            continue
        assert re.search(rf"^  {camel(row.name)}\(", text, re.MULTILINE), row.name
        assert f"['{row.method}', '{row.path}'" in text


@pytest.mark.slow
def test_every_test_of_the_client_passes():
    tests = sorted((_typescript.CLIENT / "test").glob("*.test.mjs"))
    assert len(tests) >= 3
    said = _typescript.run_node("--test", *tests)
    assert int(re.search(r"# pass (\d+)", said)[1]) >= 75
    assert re.search(r"# (skipped|todo) [1-9]", said) is None


@pytest.mark.slow
def test_the_core_is_small_and_needs_nothing():
    bundle = subprocess.run(
        [
            _typescript.ROOT / "node_modules" / ".bin" / "esbuild",
            _typescript.CLIENT / "dist" / "index.js",
            "--bundle",
            "--minify",
            "--format=esm",
            "--packages=external",
        ],
        capture_output=True,
        timeout=STUCK_S,
        check=True,
    ).stdout
    assert b"import" not in re.sub(rb"importKey", b"", bundle)
    assert len(gzip.compress(bundle, 9)) <= CORE_MAX_BYTES


@pytest.mark.slow
def test_the_package_has_no_runtime_dependency_and_its_entries_exist():
    package = json.loads((_typescript.CLIENT / "package.json").read_text())
    assert "dependencies" not in package
    for entry in package["exports"].values():
        assert (_typescript.CLIENT / entry["default"]).exists()
        assert (_typescript.CLIENT / entry["types"]).exists()
