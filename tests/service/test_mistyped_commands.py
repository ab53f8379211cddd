"""What nobody meant to type is refused in a sentence, and never ends in a traceback."""

import asyncio
import os
import subprocess
import sys

import pytest

from tickyard.client import AsyncClient, Unreachable
from tickyard.terminal.arguments import not_text
from tickyard.terminal.commands import WrongCommand, call_command, read_call
from tickyard.terminal.parser import make_parser

NO_TEXT = b"A\xff\xfe"
NO_HOST = "http://" + "a" * 64


def parsed(*words):
    return make_parser("1").parse_args([os.fsdecode(word) for word in words])


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["call", "get_price", b"symbol=" + NO_TEXT], "values"),
        (["call", NO_TEXT], "operation"),
        (["watch", NO_TEXT, "--once"], "symbol"),
        (["trade", "buy", "AAPL", NO_TEXT], "amount"),
        (["trade", "buy", NO_TEXT, "5"], "symbol"),
        (["trade", "buy", "AAPL", "5", "--rpc", b"http://" + NO_TEXT], "rpc"),
        (["pay", b"http://" + NO_TEXT], "url"),
        (["pay", "/v1/x402/quotes", "--data", NO_TEXT], "data"),
        (["server-json", "--url", NO_TEXT], "url"),
        (["claim", "--wallet", NO_TEXT], "wallet"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_bytes_that_are_no_text_are_named(words, name):
    assert not_text(parsed(*words)) == name


@pytest.mark.parametrize(
    "words", [["keys", "rotate", NO_TEXT], ["backup", NO_TEXT], ["trade", "buy", "A", "5", "--keystore", NO_TEXT]]
)
def test_a_file_may_have_a_name_that_is_no_text(words):
    assert not_text(parsed(*words)) is None


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["call", "get_price", "--json", b"symbol=" + NO_TEXT], "values must be plain text in UTF-8"),
        (["trade", "buy", "AAPL", "5", "--rpc", NO_HOST], "--rpc is not an address"),
        (["pay", NO_HOST], "nor an address"),
        (["pay", "http://["], "nor an address"),
        (["server-json", "--url", NO_HOST], "address must be one such as"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_such_a_command_ends_in_one_sentence(words, says):
    command = [sys.executable, "-m", "tickyard", *words]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    said = done.stderr.decode()
    assert "Traceback" not in said, said
    assert (done.returncode, says in said.splitlines()[-1]) == (2, True), said


def test_the_client_cannot_reach_a_name_that_no_host_can_have():
    async def ask():
        async with AsyncClient(NO_HOST) as client:
            await client.get_price(symbol="AAPL")

    with pytest.raises(Unreachable):
        asyncio.run(ask())


def test_the_list_of_operations_tells_what_each_needs(capsys):
    assert call_command(parsed("call", "list")) == 0
    needs = {line.split()[0]: line.split()[1:] for line in capsys.readouterr().out.splitlines()}
    for operation in ("get_alert", "cancel_alert"):
        assert needs[operation] == ["id=…", "secret=…"]
        with pytest.raises(WrongCommand, match=f"{operation} needs secret"):
            read_call(operation, ["id=x"])
    assert "[limit=…]" in needs["search_assets"]
