"""Who may call the tool server, as the operator says in the settings."""

import asyncio
import dataclasses
import json

import msgspec
import pytest

from tickyard.catalog import CATALOG
from tickyard.config.reading import read_settings
from tickyard.config.settings import SettingsError
from tickyard.doors.app import Plan, build_app
from tickyard.doors.mcp.guard import HostGuard
from yards import paperyard
from yards.patience import STUCK_S

NEEDED = {"TICKYARD_PROFILE": "sandbox", "TICKYARD_RPC_URLS": "http://127.0.0.1:1"}
JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
LIST = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).encode()


def settings(**given):
    return read_settings({**NEEDED, **{f"TICKYARD_{name.upper()}": value for name, value in given.items()}})


def statuses(folder, calls, **given):
    """What the whole service answers to the same request under each of these headers."""
    read = settings(**given)

    async def run():
        async with asyncio.timeout(STUCK_S), paperyard.open_yard(folder) as yard:
            changed = {"base_url": read.base_url, "mcp_hosts": read.mcp_hosts, "mcp_origins": read.mcp_origins}
            deps = dataclasses.replace(yard.deps, settings=msgspec.structs.replace(yard.deps.settings, **changed))
            app = build_app(Plan(CATALOG, deps), access_log=None)
            try:
                return [
                    (
                        await paperyard.asgi.ask_app(
                            app.edge, "POST", "/mcp", headers={**JSON, **headers}, chunks=(LIST,)
                        )
                    ).status
                    for headers in calls
                ]
            finally:
                await app.mcp.close()

    return asyncio.run(run())


@pytest.mark.slow
def test_without_a_word_of_the_operator_the_public_host_and_this_machine_may_call(tmp_path):
    good = ["api.example.com", "API.EXAMPLE.COM:8443", "127.0.0.1:18730", "localhost", "localhost:9", "[::1]:18730"]
    # The last ones are what a page on another site can make a browser send to an address of its own choice.
    strange = [
        "",
        "evil.example",
        "localhost.evil.example:8402",
        "api.example.com.evil.example",
        "127.0.0.1.nip.example",
    ]
    calls = [{"host": host} for host in good + strange]
    wanted = [200] * len(good) + [421] * len(strange)
    assert statuses(tmp_path, calls, base_url="https://api.example.com") == wanted


@pytest.mark.parametrize(
    "host",
    [
        b"localhost:80:80",
        b"localhost:port",
        b"localhost.",
        b"user@localhost",
        b"localhost#x",
        b"localhost/",
        b"localhost\\@evil.example",
        b"127.0.0.1,evil.example",
        b"127.0.0.1 evil.example",
        b"127.1",
        b"2130706433",
        b"0x7f000001",
        b"[::ffff:127.0.0.1]",
        b"[::1%25eth0]",
        b"[127.0.0.1]",
        b"[localhost]",
        b"\xa0localhost",
        b"loc\xe1lhost",
        b"localhost%00.evil.example",
    ],
)
def test_a_host_that_only_looks_like_ours_is_none(host):
    # A list with something that is no name in it opens nothing.
    for guard in (HostGuard("http://127.0.0.1:8402"), HostGuard("not an address", ["/", ""])):
        assert not guard.allows_host([(b"host", host)])
        assert guard.allows_host([(b"accept", b"*/*"), (b"host", b"localhost:1 ")])


def test_two_hosts_are_none():
    guard = HostGuard("http://127.0.0.1:8402")
    assert not guard.allows_host([])
    assert not guard.allows_host([(b"host", b"localhost"), (b"host", b"localhost")])
    assert not guard.allows_host([(b"host", b"localhost"), (b"host", b"evil.example")])


@pytest.mark.slow
def test_the_operator_names_further_hosts(tmp_path):
    calls = [{"host": host} for host in ("tools.example.org:444", "mcp.internal", "[fd00::1]:8402", "other.example")]
    given = {"base_url": "https://api.example.com", "mcp_hosts": "tools.example.org, mcp.internal,[fd00::1]"}
    assert statuses(tmp_path, calls, **given) == [200, 200, 200, 421]


@pytest.mark.slow
def test_once_an_origin_is_named_another_is_refused(tmp_path):
    here = {"host": "localhost"}
    origins = ["https://app.example", "https://APP.example", "https://evil.example", "http://app.example", "null"]
    calls = [here, *({**here, "origin": origin} for origin in origins)]
    assert statuses(tmp_path, calls) == [200] * 6
    assert statuses(tmp_path, calls, mcp_origins="https://app.example/") == [200, 200, 200, 403, 403, 403]


def test_the_settings_start_empty_and_are_read_as_lists():
    assert (settings().mcp_hosts, settings().mcp_origins) == ((), ())
    assert settings(mcp_hosts="a.example,b.example").mcp_hosts == ("a.example", "b.example")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mcp_hosts", "https://api.example.com"),
        ("mcp_hosts", "api.example.com/mcp"),
        ("mcp_hosts", "api.example.com:8402"),
        ("mcp_hosts", "*"),
        ("mcp_origins", "app.example"),
        ("mcp_origins", "https://app.example/page"),
        ("mcp_origins", "*"),
    ],
)
def test_a_value_that_could_never_match_stops_the_start(name, value):
    with pytest.raises(SettingsError, match=f"TICKYARD_{name.upper()}"):
        settings(**{name: value})
