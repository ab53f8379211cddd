"""How the web app is served: files that never change, a page that is asked for again, and strict guards around it."""

import asyncio
import gzip

import pytest
from starlette.testclient import TestClient

from tickyard.catalog import CATALOG
from tickyard.doors.describe.docs.page import render_docs
from tickyard.doors.describe.index import endpoint_lines
from tickyard.doors.describe.openapi import describe
from tickyard.doors.http.web_app import FOLDER, guards, is_built, web_routes
from tickyard.doors.routes import build_router

SCRIPT = "app-ABCDEFG2.js"
BODY = b"console.log('hello')" * 99


@pytest.fixture
def built(tmp_path):
    for name, body in {"index.html": b"<!doctype html>", SCRIPT: BODY, "look-ABCDEFG3.css": b"a{}"}.items():
        (tmp_path / name).write_bytes(body)
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(body))
    for name in ("meta.json", "ready", "secret.env", "app.js"):
        (tmp_path / name).write_text("{}")
    return tmp_path


@pytest.fixture
def client(built):
    routes = web_routes([], built)

    async def app(scope, receive, send):
        if scope["type"] == "http":
            scope["path"] = scope["raw_path"].decode("latin-1")
            await build_router(routes)(scope, receive, send)

    return TestClient(app, base_url="http://127.0.0.1")


def test_a_build_made_since_the_start_leaves_the_one_that_is_shown_whole(client, built):
    for file in built.iterdir():
        file.unlink()
    (built / "index.html").write_bytes(b"<!doctype html><p>another")
    (built / "index.html.gz").write_bytes(b"")
    assert client.get("/app").content == b"<!doctype html>"
    assert client.get(f"/app/files/{SCRIPT}").content == BODY


def test_a_file_is_kept_for_ever_because_its_name_changes_with_it(client):
    answer = client.get(f"/app/files/{SCRIPT}")
    assert answer.content == BODY
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    plain = client.get(f"/app/files/{SCRIPT}", headers={"accept-encoding": "identity"})
    assert plain.content == BODY
    assert "content-encoding" not in plain.headers


@pytest.mark.parametrize(
    "path",
    [
        "/app/files/app-ZZZZZZZZ.js",
        "/app/files/meta.json",
        "/app/files/secret.env",
        "/app/files/app.js",
        "/app/files/..%2findex.html",
        "/app/files/",
        "/app/",
        "/app/none",
        "/app/asset",
        "/app/asset/AAPL/more",
        "/APP",
    ],
)
def test_nothing_but_hashed_files_and_views_is_there(client, path):
    assert client.get(path).status_code == 404


@pytest.mark.parametrize("path", ["/app", "/app/asset/AAPL", "/app/trade/BRK.B", "/app/portfolio/0xabc", "/app/earn"])
def test_every_view_is_the_same_page_with_its_guards(client, path):
    answer = client.get(path)
    assert answer.text == "<!doctype html>"
    assert answer.headers["cache-control"] == "no-cache"
    policy = answer.headers["content-security-policy"]
    assert "script-src 'self';" in policy
    assert "connect-src 'self';" in policy
    assert "unsafe" not in policy
    again = client.get(path, headers={"if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["content-security-policy"] == policy


@pytest.mark.parametrize("path", ["/app/none", "/app/asset", "/app/asset/AAPL/more"])
def test_who_mistypes_a_view_is_shown_the_app_which_says_so(client, path):
    answer = client.get(path, headers={"accept": "text/html,*/*;q=0.8", "if-none-match": "*"})
    assert (answer.status_code, answer.text) == (404, "<!doctype html>")
    assert "script-src 'self';" in answer.headers["content-security-policy"]


@pytest.mark.parametrize(("typed", "meant"), [("/app/", "/app"), ("/app/earn/", "/app/earn"), ("/app//", "/app")])
def test_a_slash_too_many_leads_to_the_view(client, typed, meant):
    answer = client.get(typed, headers={"accept": "text/html"}, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (308, meant)


def test_a_file_that_is_gone_is_never_the_page(client):
    answer = client.get("/app/files/app-ZZZZZZZZ.js", headers={"accept": "text/html"})
    assert answer.json()["error"]["code"] == "not_found"


def test_only_a_sandbox_lets_the_page_talk_to_its_nodes():
    policy = dict(guards(["http://127.0.0.1:41/rpc", "http://127.0.0.1:42"]))[b"content-security-policy"].decode()
    assert "connect-src 'self' http://127.0.0.1:41 http://127.0.0.1:42;" in policy


def test_an_installation_without_the_app_says_so(tmp_path):
    sent = []

    async def collect(message):
        sent.append(message)

    (page,) = {endpoint for _, path, endpoint in web_routes([], tmp_path / "none") if path == "/app"}
    asyncio.run(page({"type": "http", "headers": []}, None, collect))
    assert sent[0]["status"] == 404
    assert b"without the web app" in sent[1]["body"]


def test_the_package_carries_what_was_built():
    names = {path.name for path in FOLDER.iterdir()}
    assert {"index.html", "index.html.gz"} <= names
    page = (FOLDER / "index.html").read_text()
    for name in names - {"meta.json", "ready"}:
        assert name.endswith((".js", ".css", ".html", ".gz"))
    assert [name for name in names if name.startswith("app-") and name in page]
    assert "<style" not in page
    assert "onload" not in page


@pytest.mark.slow
@pytest.mark.parametrize("has_page", [True, False])
def test_the_app_is_listed_and_linked_only_where_it_answers(built, has_page):
    if not has_page:
        (built / "index.html").unlink()
    answers = is_built(built)
    described = describe(CATALOG, base_url="http://127.0.0.1", description="")
    assert answers is has_page
    assert ("GET /app" in endpoint_lines(CATALOG, (), has_app=answers)) is has_page
    assert (b'href="/app"' in render_docs(described, has_app=answers)) is has_page
