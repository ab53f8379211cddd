"""What directories are told of a paid route, word for word."""

import base64
import json
from bisect import bisect_left
from typing import Annotated

import msgspec
import pytest
from msgspec import Meta

from tickyard.kernel.clock import WallClock
from tickyard.kernel.ids import Address
from tickyard.kernel.operation import Operation
from tickyard.kernel.units import UsdgAmount
from tickyard.kernel.wire import Answer, Ask
from tickyard.payments.offer import bazaar
from tickyard.payments.offer.challenge import PaidOffer
from tickyard.payments.offer.terms import FIRST, SECOND, PaymentSettings, Terms

DRAFT = "https://json-schema.org/draft/2020-12/schema"
OUTPUT = {"type": "object", "properties": {"type": {"const": "json"}, "example": {"type": "object"}}}
PAY_TO = Address("0x" + "ab" * 20)


class Part(msgspec.Struct):
    title: Annotated[str, Meta(title="A title", description="of a part", examples=["x"])]


class PartAsk(Ask):
    symbol: Annotated[str, Meta(description="which", min_length=1)]
    part: Part
    count: Annotated[int, Meta(ge=1)] = 3


class PlainAsk(Ask):
    side: Annotated[str, Meta(examples=["buy"])] = "buy"


class NoAsk(Ask):
    pass


class Told(Answer):
    text: str


async def handle(_deps, _ask):
    """Tell."""


def operation(method, path, ask):
    return Operation("tell", method, path, handle, Told, "trading", ask, price=UsdgAmount(10_000))


def told(method, path, ask, example):
    (first, *_) = bazaar.versions(operation(method, path, ask), example, {"text": "a"})
    return first


def shape(properties, required=None):
    needed = {} if required is None else {"required": required}
    return {"type": "object", "properties": properties, **needed, "additionalProperties": False}


PART = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
COUNT = {"type": "integer", "minimum": 1}


def expected(method, shown, described, required, **more):
    fixed = {"type": {"const": "http"}, "method": {"const": method}}
    return {
        "info": {
            "input": {"type": "http", "method": method} | shown,
            "output": {"type": "json", "example": {"text": "a"}},
        },
        "schema": {
            "$schema": DRAFT,
            "type": "object",
            "properties": {"input": shape(fixed | described, ["type", "method", *required]), "output": OUTPUT},
            "required": ["input"],
        },
        **more,
    }


EXAMPLE = {"symbol": "AAPL", "part": {"title": "x"}, "count": 3}


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_route_with_a_name_in_its_path_shows_it_apart_from_its_query(method):
    assert told(method, "/v1/item/{symbol}", PartAsk, EXAMPLE) == expected(
        method,
        {"queryParams": {"part": {"title": "x"}, "count": 3}, "pathParams": {"symbol": "AAPL"}},
        {
            "queryParams": shape({"part": PART, "count": COUNT}, ["part"]),
            "pathParams": shape({"symbol": {"type": "string", "minLength": 1}}, ["symbol"]),
        },
        ["queryParams", "pathParams"],
        routeTemplate="/v1/x402/item/:symbol",
    )


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_a_route_with_a_body_shows_the_body(method):
    everything = {"symbol": {"type": "string", "minLength": 1}, "part": PART, "count": COUNT}
    assert told(method, "/v1/build", PartAsk, EXAMPLE) == expected(
        method,
        {"bodyType": "json", "body": EXAMPLE},
        {"bodyType": {"const": "json"}, "body": shape(everything, ["symbol", "part"])},
        ["bodyType", "body"],
    )


def test_what_need_not_be_given_is_not_required_and_a_query_is_shown_though_it_is_empty():
    assert told("GET", "/v1/plain", PlainAsk, {"side": "buy"}) == expected(
        "GET", {"queryParams": {"side": "buy"}}, {"queryParams": shape({"side": {"type": "string"}})}, []
    )
    assert told("GET", "/v1/none", NoAsk, {}) == expected("GET", {"queryParams": {}}, {"queryParams": shape({})}, [])


def test_an_example_gets_shorter_from_its_depth_and_then_from_its_end():
    deep = {"a": 1, "b": {"c": {"d": 2}, "e": [3, [4]]}, "f": [{"g": 5}], "h": "i"}
    assert list(bazaar._shorter(deep)) == [
        deep,
        {"a": 1, "b": {"c": {}, "e": []}, "f": [{}], "h": "i"},
        {"a": 1, "b": {}, "f": [], "h": "i"},
        {"a": 1, "h": "i"},
        {"a": 1},
        {},
    ]


def offer(base_url="https://api.example", networks=(FIRST, SECOND)):
    terms = Terms(PaymentSettings(base_url, PAY_TO, networks=networks), WallClock())
    row = operation("GET", "/v1/item/{symbol}", PartAsk)
    return PaidOffer(row, terms, ask_example=EXAMPLE, answer_example={"text": "a"})


@pytest.mark.parametrize(("size", "is_shown"), [(96, True), (97, False)])
def test_a_path_of_ninety_six_letters_is_shown_and_a_longer_one_as_its_template(size, is_shown):
    path = b"/v1/x402/item/".ljust(size, b"x")
    shown = path.decode() if is_shown else "/v1/x402/item/{symbol}"
    assert offer().url(path) == "https://api.example" + shown
    assert offer().resource(path) == {
        "url": "https://api.example" + shown,
        "description": "Tell",
        "mimeType": "application/json",
    }


def test_a_reason_is_cut_after_a_hundred_letters_and_a_closed_network_is_not_offered():
    challenge = json.loads(offer(networks=(SECOND,)).challenge(b"/x", "r" * 101))
    assert challenge["error"] == "r" * 100
    assert [entry["network"] for entry in challenge["accepts"]] == [SECOND]
    assert [entry.closed is None for entry in offer(networks=(SECOND,)).entries] == [False, True]
    assert [each["chainId"] for each in challenge["extensions"]["sign-in-with-x"]["supportedChains"]] == [SECOND]
    assert challenge["extensions"]["payment-identifier"] == {
        "info": {"required": False},
        "schema": {"properties": {"id": {"type": "string"}}},
    }


def test_a_request_without_a_payment_gets_the_challenge_and_its_header():
    made = offer()
    body, header = made.unpaid(b"/v1/x402/item/AAPL")
    assert base64.b64decode(header) == body
    assert json.loads(body)["error"] == "Payment required"
    assert made.unpaid(b"/v1/x402/item/AAPL")[0] is body
    assert json.loads(body)["extensions"]["bazaar"] == made.extensions["bazaar"]


def room(base_size):
    """How long paths may be that are shown, for an address of ours of this size; None when nothing fits."""
    try:
        return offer("https://" + "a" * base_size)._path_max
    except ValueError:
        return None


@pytest.mark.parametrize("path_max", [96, 0])
def test_the_longest_address_that_is_taken_fills_the_header_to_its_last_byte(path_max):
    """A letter more of it stands in three places, which is four in base64: the last that fits fits exactly."""
    longest = bisect_left(range(600), True, key=lambda size: room(size) is None or room(size) < path_max) - 1
    made = offer("https://" + "a" * longest)
    assert made._path_max == path_max
    path = b"/".ljust(96, b"x") if path_max else b"/".ljust(97, b"x")
    assert len(base64.b64encode(made.challenge(path, "r" * 101))) == 4096
