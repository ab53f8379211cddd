"""What the head of a node's answer alone decides."""

from types import SimpleNamespace

import pytest

from tickyard.chain.rpc.connection import Lane, _whole_number
from tickyard.chain.rpc.trouble import Garbage, NodeUnreachable, RpcError, Throttled


def judge(code, **headers):
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    Lane._judge(SimpleNamespace(_max_bytes=100), SimpleNamespace(code=code, headers=given))


@pytest.mark.parametrize("code", [200, 400])
@pytest.mark.parametrize("kind", ["application/json", "Application/JSON; charset=utf-8", "application/problem+json"])
def test_json_is_read_also_where_it_is_a_refusal(code, kind):
    judge(code, Content_Type=kind)
    judge(code, Content_Type=kind, Content_Length="100")
    judge(code, Content_Type=kind, Content_Length="lots")


@pytest.mark.parametrize(
    ("code", "headers", "trouble", "retry_after_s"),
    [
        (429, {"Retry_After": "7"}, Throttled, 7),
        (429, {}, Throttled, None),
        (429, {"Retry_After": "Wed, 21 Oct 2026 07:28:00 GMT"}, Throttled, None),
        (503, {"Retry_After": "7"}, NodeUnreachable, 7),
        *(
            (code, {"Content_Type": "application/json"}, NodeUnreachable, None)
            for code in (201, 204, 302, 401, 404, 500)
        ),
        (200, {}, Garbage, None),
        (200, {"Content_Type": "text/html; note=json"}, Garbage, None),
        (200, {"Content_Type": "application/json", "Content_Length": "101"}, Garbage, None),
    ],
)
def test_whatever_else_is_trouble_of_its_kind(code, headers, trouble, retry_after_s):
    with pytest.raises(trouble) as caught:
        judge(code, **headers)
    assert caught.value.retry_after_s == retry_after_s


def test_a_request_that_is_too_large_must_be_sent_in_parts():
    with pytest.raises(RpcError) as refused:
        judge(413)
    assert (refused.value.rpc_code, refused.value.is_too_heavy) == (413, True)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("7", 7),
        ("9" * 12, 10**12 - 1),
        ("9" * 13, None),
        ("", None),
        (None, None),
        ("-1", None),
        ("1.5", None),
        ("\u0663", None),
    ],
)
def test_a_number_of_a_header_is_digits_and_not_too_many(text, number):
    assert _whole_number(text) == number
