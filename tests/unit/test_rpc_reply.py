"""A node's answers, letter by letter: what has not exactly the promised shape is its failure."""

import msgspec
import pytest

from tickyard.chain.rpc.reply import any_value, hex_bytes, read_many, read_one, read_quantity
from tickyard.chain.rpc.trouble import Garbage, RpcError

RESULT = b'{"jsonrpc":"2.0","id":7,"result":"0x1"}'
REVERT = b'{"jsonrpc":"2.0","id":7,"error":{"code":3,"message":"execution reverted","data":"0x"}}'
NESTED = b"[" * 200_000


def test_one_answer_is_its_result_or_its_error():
    assert bytes(read_one(RESULT, (7, "eth_call"))) == b'"0x1"'
    assert bytes(read_one(RESULT.replace(b'"0x1"', b"null"), (7, "eth_call"))) == b"null"
    with pytest.raises(RpcError):
        read_one(REVERT, (7, "eth_call"))
    # A node that could not read the request has no id to answer under.
    with pytest.raises(RpcError):
        read_one(REVERT.replace(b'"id":7', b'"id":null'), (7, "eth_call"))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"\xff",
        NESTED,
        b"[]",
        RESULT.replace(b'"2.0"', b'"1.0"'),
        RESULT.replace(b":7", b":8"),
        RESULT.replace(b":7", b":null"),
        REVERT.replace(b":7", b":8"),
        REVERT.replace(b'"2.0"', b'"1.0"'),
        b'{"jsonrpc":"2.0","id":7}',
    ],
)
def test_whatever_else_is_garbage(body):
    with pytest.raises(Garbage):
        read_one(body, (7, "eth_call"))


ASKED = [(1, "eth_call"), (2, "eth_getLogs")]


def many(*replies):
    return msgspec.json.encode([{"jsonrpc": "2.0", **reply} for reply in replies])


def test_the_answers_of_a_batch_come_in_any_order_and_are_told_in_ours():
    first, second = read_many(many({"id": 2, "result": "b"}, {"id": 1, "result": "a"}), ASKED)
    assert (bytes(first), bytes(second)) == (b'"a"', b'"b"')
    first, second = read_many(
        many({"id": 1, "result": "a"}, {"id": 2, "error": {"code": -32000, "message": "no"}}), ASKED
    )
    assert isinstance(second, RpcError)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        NESTED,
        b"\xff",
        many(),
        many({"id": 1, "result": "a"}),
        many({"id": 1, "result": "a"}, {"id": 1, "result": "b"}),
        many({"id": 1, "result": "a"}, {"id": 3, "result": "b"}),
        many({"id": 1, "result": "a"}, {"id": 2, "result": "b"}, {"id": 3, "result": "c"}),
        many({"id": 1, "result": "a"}, {"id": 2, "result": "b"}, {"id": 2, "result": "b"}),
        many({"id": 1, "result": "a"}, {"id": 2}),
        b'{"jsonrpc":"2.0","id":1,"result":"a"}',
    ],
)
def test_a_batch_with_an_answer_too_few_or_too_many_is_garbage(body):
    with pytest.raises(Garbage):
        read_many(body, ASKED)


@pytest.mark.parametrize("form", [b"%b", b"[%b]"])
def test_one_error_for_the_whole_batch_is_everybodys(form):
    error = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"batch too large"}}'
    with pytest.raises(RpcError):
        read_many(form % error, ASKED)
    if form == b"[%b]":
        (alone,) = read_many(form % error, ASKED[:1])
        assert isinstance(alone, RpcError)


@pytest.mark.parametrize(("text", "data"), [(b'"0x"', b""), (b'"0x00ff"', b"\0\xff"), (b'"0xAbCd"', b"\xab\xcd")])
def test_bytes_are_read(text, data):
    assert hex_bytes(msgspec.Raw(text)) == data


@pytest.mark.parametrize(
    "text", [b"", b'"', b'"0x', b"null", b'"00ff"', b'"0x0"', b'"0xzz"', b'"0x 0f"', b"'0x00'", b'"1x00"']
)
def test_what_is_no_bytes_is_garbage(text):
    with pytest.raises(Garbage):
        hex_bytes(msgspec.Raw(text))


def test_a_number_is_read_and_nothing_else():
    assert read_quantity(msgspec.Raw(b'"0x10"')) == 16
    for text in (b"16", b'"16"', b'"-0x5"', b"null", b'"0x"', b"{", b'"\xff"'):
        with pytest.raises(Garbage):
            read_quantity(msgspec.Raw(text))


def test_a_value_is_any_json():
    assert any_value(msgspec.Raw(b'{"a":[1]}')) == {"a": [1]}
    for text in (b"{", NESTED, b'"\xff"'):
        with pytest.raises(Garbage):
            any_value(msgspec.Raw(text))
