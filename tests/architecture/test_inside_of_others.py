"""What we use of the inside of other people's packages, named one by one.

When a newer one moves something, this says what; until somebody has read it, pyproject.toml holds it off.
"""

import inspect
import re
import tomllib
from pathlib import Path

import aiohttp
import httptools
import pytest
import uvicorn
from aiohttp import connector, http_parser
from aiohttp.client_proto import ResponseHandler
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

ROOT = Path(__file__).parents[2]


def test_a_package_whose_inside_we_use_is_bounded_to_what_was_read():
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    bounds = {re.split(r"[<>=\[]", line)[0]: line for line in wanted}
    for name, module in (("uvicorn", uvicorn), ("aiohttp", aiohttp), ("httptools", httptools)):
        major, minor = module.__version__.split(".")[:2]
        assert bounds[name].endswith(f"<{major}.{int(minor) + 1}"), (
            f"{name}: read its inside again, then move the bound"
        )


def test_the_protocol_stands_on_what_this_uvicorn_has_inside():
    made = inspect.getsource(HttpToolsProtocol.__init__)
    for name in (
        "self.parser", "self.loop", "self.app", "self.flow", "self.pipeline", "self.headers", "self.cycle", "self.client",
        "self.transport", "self.server_state", "self.timeout_keep_alive", "self.expect_100_continue", "self.config",
    ):  # fmt: skip
        assert f"{name}:" in made or f"{name} =" in made, name
    for name in (
        "on_headers_complete", "on_body", "on_message_complete", "on_response_complete", "data_received", "connection_made",
        "connection_lost", "pause_writing", "resume_writing", "shutdown", "_start_asgi_task",
    ):  # fmt: skip
        assert name in HttpToolsProtocol.__dict__, name
    cycle = inspect.signature(RequestResponseCycle.__init__).parameters
    assert {"message_event", "keep_alive", "on_response", "flow"} <= set(cycle)
    kept = inspect.getsource(RequestResponseCycle.__init__)
    for name in ("disconnected", "response_complete", "response_started", "waiting_for_100_continue", "more_body"):
        assert f"self.{name}" in kept, name
    assert STATUS_LINE[431].startswith(b"HTTP/1.1 431 ")
    assert "waiting_for_100_continue" in inspect.getsource(RequestResponseCycle.receive)
    for name in ("shutdown", "capture_signals", "main_loop", "on_tick", "startup"):
        assert name in uvicorn.Server.__dict__, name


def test_refusals_stand_on_how_this_httptools_tells_what_went_wrong():
    class Callbacks:
        def on_headers_complete(self):
            raise LookupError("ours")

    with pytest.raises(httptools.HttpParserCallbackError) as caught:
        httptools.HttpRequestParser(Callbacks()).feed_data(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    assert isinstance(caught.value.__context__, LookupError)
    assert issubclass(httptools.HttpParserInvalidMethodError, httptools.HttpParserError)


def test_the_lane_to_a_node_stands_on_what_this_aiohttp_has_inside():
    assert {"traces", "timeout"} <= set(inspect.signature(aiohttp.TCPConnector.connect).parameters)
    assert "socket_factory" in inspect.signature(aiohttp.TCPConnector.__init__).parameters
    assert {"method", "url", "headers", "loop"} <= set(inspect.signature(aiohttp.ClientRequest.__init__).parameters)
    for name in ("protocol", "transport", "close"):
        assert hasattr(connector.Connection, name), name
    for name in ("is_connected", "should_close", "set_response_params", "read"):
        assert hasattr(ResponseHandler, name), name
    assert "read_until_eof" in inspect.signature(ResponseHandler.set_response_params).parameters
    assert {"code", "headers"} <= set(dir(http_parser.RawResponseMessage))
