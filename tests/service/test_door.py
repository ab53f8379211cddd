"""The HTTP door with a small catalog of its own: what every operation gets for free."""

import gzip
import io
import json
from typing import Annotated

import pytest
from msgspec import Meta

from tickyard.doors.http.bodies import BODY_MAX_BYTES
from tickyard.doors.http.cache import FrontCache
from tickyard.doors.http.edge import Edge
from tickyard.doors.http.limits import RateLimit
from tickyard.doors.routes import Endpoint, build_router
from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import NotFound, UpstreamDown
from tickyard.kernel.operation import Kept, NoAsk, Operation
from tickyard.kernel.wire import Answer, Ask, SymbolField
from tickyard.observe.lines import Lines
from tickyard.observe.log import AccessLog, configure_logging


class Text(Answer):
    text: str


class ItemAsk(Ask):
    symbol: SymbolField


class EchoAsk(Ask):
    text: Annotated[str, Meta(max_length=10)]


class Deps:
    def __init__(self):
        self.runs = 0


async def get_item(deps, ask):
    """Kept for a minute."""
    deps.runs += 1
    if ask.symbol == "GONE":
        raise NotFound("no such thing")
    if ask.symbol == "DOWN":
        raise UpstreamDown("the source did not answer", retry_after_s=3)
    return Kept(Text(text=f"{ask.symbol} {deps.runs} " + "x" * 2000), 60)


async def get_live(deps, _ask):
    """Never kept."""
    deps.runs += 1
    return Text(text="y" * 2000)


async def crash(_deps, _ask):
    """A bug."""
    raise RuntimeError("secret detail")


async def echo(_deps, ask):
    """Says it back."""
    return Text(text=ask.text)


def row(name, method, path, run, ask=NoAsk):
    return Operation(name=name, method=method, path=path, run=run, ask=ask, answer=Text, tag="registry")


ROWS = (
    row("get_item", "GET", "/v1/items/{symbol}", get_item, ItemAsk),
    row("get_live", "GET", "/v1/live", get_live),
    row("crash", "GET", "/v1/crash", crash),
    row("echo", "POST", "/v1/echo", echo, EchoAsk),
)


@pytest.fixture
def deps():
    return Deps()


@pytest.fixture
def build(deps):
    def make(**options):
        clock = WallClock()
        cache = FrontCache(clock)
        router = build_router((r.method, r.path, Endpoint(r, deps, cache, clock)) for r in ROWS)
        defaults = {"rate_limit": None, "access_log": None, "profile_header": None}
        return Edge(router, cache, clock, **{**defaults, **options})

    return make


@pytest.fixture
def app(build):
    return build()


JSON = {"content-type": "application/json"}


@pytest.mark.parametrize(
    "target",
    [
        "/v1/items",
        "/v1/items/",
        "/v1/items/A/",
        "//v1/items/A",
        "/v1//items/A",
        "/V1/items/A",
        "/v1/items/A/B",
        "/v1%2Fitems/A",
        "/v1/%69tems/A",
        "/v1/./items/A",
        "/v1/live/",
        "/v1/live/.",
        "/nothing",
        "/%",
        "/v1/live%00",
    ],
)
def test_a_path_that_is_not_exactly_a_route_is_404(ask, app, target):
    response = ask(app, "GET", target)
    assert (response.status, response.error["code"]) == (404, "not_found")


def test_a_wrong_method_is_405_and_says_what_is_allowed(ask, app):
    response = ask(app, "DELETE", "/v1/live")
    assert (response.status, response.error["code"]) == (405, "bad_request")
    assert response.headers["allow"] == "GET, HEAD, OPTIONS"


def test_a_failure_becomes_the_error_object(ask, app):
    assert ask(app, "GET", "/v1/items/gone").error == {"code": "not_found", "message": "no such thing"}
    down = ask(app, "GET", "/v1/items/down")
    assert (down.status, down.error["code"], down.headers["retry-after"]) == (502, "upstream_error", "3")
    assert ask(app, "GET", "/v1/items/" + "A" * 17).status == 400


def test_a_crash_is_a_500_that_tells_nothing(ask, app):
    log = io.StringIO()
    lines = configure_logging(log)
    response = ask(app, "GET", "/v1/crash", headers={"x-request-id": "my-id"})
    lines.drain()
    assert (response.status, response.error["code"]) == (500, "internal_error")
    assert b"secret" not in response.body
    event = json.loads(log.getvalue().splitlines()[0])
    assert (event["event"], event["request_id"], event["route"]) == ("request crashed", "my-id", "/v1/crash")
    assert "secret detail" in event["exception"]


def test_every_answer_carries_request_id_and_cors(ask, app):
    for target in ("/v1/live", "/nothing", "/v1/crash", "/v1/items/A", "/v1/items/A"):
        headers = ask(app, "GET", target).headers
        assert headers["access-control-allow-origin"] == "*"
        assert "PAYMENT-REQUIRED" in headers["access-control-expose-headers"]
        assert 1 <= len(headers["x-request-id"]) <= 64


@pytest.mark.parametrize(("given", "is_kept"), [("abc-1.2_3", True), ("a" * 65, False), ('a"b', False), ("a b", False)])
def test_a_sane_request_id_is_kept(ask, app, given, is_kept):
    assert (ask(app, "GET", "/v1/live", headers={"x-request-id": given}).headers["x-request-id"] == given) == is_kept


def test_a_preflight_passes_with_the_payment_headers(ask, app):
    response = ask(app, "OPTIONS", "/v1/echo", headers={"access-control-request-headers": "payment-signature"})
    assert (response.status, response.body) == (204, b"")
    assert "PAYMENT-SIGNATURE" in response.headers["access-control-allow-headers"]


def test_a_kept_answer_is_made_once_for_all_spellings(ask, app, deps):
    bodies = {ask(app, "GET", target).body for target in ("/v1/items/aapl", "/v1/items/AAPL", "/v1/items/AAPL?x=1")}
    assert (len(bodies), deps.runs) == (1, 1)


def test_a_kept_answer_has_a_tag_and_answers_304(ask, app):
    first = ask(app, "GET", "/v1/items/A")
    assert first.headers["cache-control"] == "public, max-age=60"
    for tag in (first.headers["etag"], first.headers["etag"].removeprefix("W/"), "*", f'"x", {first.headers["etag"]}'):
        again = ask(app, "GET", "/v1/items/A", headers={"if-none-match": tag})
        assert (again.status, again.body) == (304, b"")
        assert again.headers["etag"] == first.headers["etag"]
        assert "content-length" not in again.headers
    assert ask(app, "GET", "/v1/items/A", headers={"if-none-match": '"other"'}).status == 200


@pytest.mark.parametrize("target", ["/v1/items/A", "/v1/live"])
def test_gzip_is_sent_to_those_who_ask(ask, app, target):
    plain = ask(app, "GET", target)
    squeezed = ask(app, "GET", target, headers={"accept-encoding": "br, gzip;q=0.5"})
    assert squeezed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(squeezed.body) == plain.body
    assert "content-encoding" not in ask(app, "GET", target, headers={"accept-encoding": "gzip;q=0"}).headers


def test_an_answer_that_is_not_kept_is_no_store(ask, app, deps):
    for expected in (1, 2):
        response = ask(app, "GET", "/v1/live")
        assert (response.headers["cache-control"], deps.runs) == ("no-store", expected)
        assert "etag" not in response.headers


def test_head_is_get_for_the_headers(ask, app):
    got, head = ask(app, "GET", "/v1/items/A"), ask(app, "HEAD", "/v1/items/A")
    assert (head.status, head.headers["content-length"]) == (200, got.headers["content-length"])


def test_a_body_is_bound_strictly(ask, app):
    assert ask(app, "POST", "/v1/echo", headers=JSON, chunks=[b'{"te', b'xt":"hi"}']).json() == {"text": "hi"}
    typed = {"content-type": "application/json; charset=utf-8"}
    assert ask(app, "POST", "/v1/echo", headers=typed, chunks=[b'{"text":"hi"}']).status == 200
    refused = ask(app, "POST", "/v1/echo", headers=JSON, chunks=[b'{"text":"01234567890"}'])
    assert (refused.status, refused.error["code"]) == (400, "bad_request")


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"content-type": "text/plain"},
        {"content-type": "application/json-seq"},
        {**JSON, "content-encoding": "gzip"},
    ],
)
def test_a_body_that_is_not_plain_json_is_415(ask, app, headers):
    response = ask(app, "POST", "/v1/echo", headers=headers, chunks=[b'{"text":"hi"}'])
    assert (response.status, response.error["code"]) == (415, "bad_request")


def test_an_oversize_body_is_413_whatever_its_length_header_says(ask, app):
    chunks = [b" " * BODY_MAX_BYTES, b'{"text":"hi"}']
    response = ask(app, "POST", "/v1/echo", headers={**JSON, "content-length": "5"}, chunks=chunks)
    assert (response.status, response.error["code"]) == (413, "bad_request")


def test_too_many_requests_are_429_also_when_kept(ask, build):
    app = build(rate_limit=RateLimit(3))
    responses = [ask(app, "GET", "/v1/items/A") for _ in range(4)]
    assert [response.status for response in responses] == [200, 200, 200, 429]
    assert responses[0].headers["ratelimit"].startswith('"default";r=2')
    assert responses[3].error["code"] == "bad_request"
    assert int(responses[3].headers["retry-after"]) > 0
    assert ask(app, "GET", "/v1/items/A", client=("203.0.113.10", 1)).status == 200


def test_access_lines_show_the_route_and_never_the_query(ask, build):
    out = io.StringIO()
    lines = Lines(out)
    log = AccessLog(lines)
    app = build(access_log=log)
    ask(app, "GET", "/v1/items/A?secret=hunter2")
    ask(app, "GET", "/nothing/hunter2")
    log.flush()
    lines.drain()
    shown = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [(line["route"], line["status"]) for line in shown] == [("/v1/items/{symbol}", 200), ("(none)", 404)]
    assert "hunter2" not in out.getvalue()
