"""Examples are copied: they must be whole, agree with themselves, and cost nobody a cent."""

from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Decimal

import jsonschema
import msgspec
import pytest
from msgspec import inspect

from tickyard.catalog import CATALOG
from tickyard.chain.address import checksum, has_valid_checksum
from tickyard.chain.keccak import keccak256
from tickyard.config.pinned import MAINNET
from tickyard.doors.describe.examples import example_of, with_wallet
from tickyard.doors.describe.openapi import as_text, describe
from tickyard.doors.describe.worked import WORKED
from tickyard.doors.mcp.tools import input_schema
from tickyard.features.trades.bounds import check_recipient
from tickyard.kernel.errors import BadRequest
from tickyard.kernel.ids import EXAMPLE_WALLET, Address
from tickyard.kernel.wire import TextAnswer
from tickyard.sandbox.world.wallets import wallets

ROWS = {row.name: row for row in CATALOG}
DEMO = checksum(wallets()[0].address)


def answer(name):
    return example_of(ROWS[name].answer)


def leaves(value, name=""):
    if isinstance(value, dict):
        for key, part in value.items():
            yield from leaves(part, key)
    elif isinstance(value, list):
        for part in value:
            yield from leaves(part, name)
    else:
        yield name, value


@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS)
def test_an_example_has_the_shape_it_shows_and_no_placeholder(name):
    row = ROWS[name]
    # A text shows itself, not the fields that carry it.
    for kind in (row.ask,) if issubclass(row.answer, TextAnswer) else (row.ask, row.answer):
        example = example_of(kind)
        jsonschema.validate(example, msgspec.json.schema(kind))
        assert [
            field for field, value in leaves(example) if value == "text" or (value == 1 and value is not True)
        ] == []


def test_every_worked_out_figure_belongs_to_a_field():
    shapes = {}

    def walk(kind):
        match kind:
            case inspect.Metadata(type=inner):
                walk(inner)
            case inspect.StructType(cls=cls, fields=fields):
                shapes[cls.__name__] = {field.encode_name for field in fields}
                for field in fields:
                    walk(field.type)
            case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
                walk(item)
            case inspect.UnionType(types=types):
                for part in types:
                    walk(part)

    for row in CATALOG:
        walk(inspect.type_info(row.ask))
        walk(inspect.type_info(row.answer))
    strays = {name: set(fields) - shapes.get(name, set()) for name, fields in WORKED.items()}
    assert {name: fields for name, fields in strays.items() if fields} == {}


def test_the_figures_agree_with_one_another():
    def usd(value):
        return str(value.quantize(Decimal("0.000001"), ROUND_DOWN))

    price = answer("get_price")
    under, token = price["underlying"], price["token"]
    assert Decimal(under["mid"]) == (Decimal(under["bid"]) + Decimal(under["ask"])) / 2
    for side in ("bid", "mid", "ask"):
        exact = Decimal(under[side]) * Decimal(token["multiplier"])
        assert Decimal(token[side]) == exact.quantize(Decimal(10) ** -18, ROUND_DOWN)
    assert Decimal(price["dailyLow"]) < Decimal(under["bid"]) < Decimal(under["ask"]) < Decimal(price["dailyHigh"])
    quote = answer("get_quote")
    paid = Decimal(quote["usdAmount"]) / Decimal(quote["tokenAmount"])
    assert Decimal(quote["effectivePricePerToken"]) == paid.quantize(Decimal(10) ** -18, ROUND_DOWN)
    assert Decimal(example_of(ROWS["get_quote"].ask)["amount"]) == Decimal(quote["usdAmount"])
    portfolio = answer("get_portfolio")
    for position in portfolio["positions"]:
        assert position["usdValue"] == usd(Decimal(position["balance"]) * Decimal(position["usdPrice"]))
    assert portfolio["totalUsdValue"] == str(sum(Decimal(each["usdValue"]) for each in portfolio["positions"]))
    stats = answer("get_stats")
    equity = Decimal(stats["price"]["equityTokenUsd"])
    assert stats["supply"]["valueUsd"] == usd(Decimal(stats["supply"]["totalTokens"]) * equity)
    premium = (Decimal(stats["price"]["dexUsd"]) / equity - 1) * 100
    assert stats["price"]["dexPremiumPct"] == str(premium.quantize(Decimal("0.0001"), ROUND_HALF_EVEN))
    for pool in (*stats["pools"], *answer("list_markets")["markets"]):
        worth = Decimal(pool["usdgLiquidity"]) + Decimal(pool["tokenLiquidity"]) * Decimal(pool["price"])
        assert pool["tvlUsd"] == usd(worth)
    for candle in answer("get_history")["candles"]:
        assert (
            candle["low"]
            <= min(candle["open"], candle["close"])
            <= max(candle["open"], candle["close"])
            <= candle["high"]
        )
    power = answer("get_vote_power")
    for each in power["positions"]:
        assert each["shareEquivalent"] == usd(Decimal(each["tokenBalance"]) * Decimal(each["multiplier"]))
    assert power["totalShareEquivalent"] == str(sum(Decimal(each["shareEquivalent"]) for each in power["positions"]))
    earn = answer("get_earn")["epoch"]
    assert Decimal(earn["poolUsd"]) == Decimal(earn["revenueUsd"]) + Decimal(earn["rolloverUsd"])
    facts = answer("get_research")["facts"]
    cap = Decimal(facts["sharesOutstanding"]["value"]) * Decimal(under["mid"])
    assert facts["marketCap"]["value"] == int(cap)


@pytest.mark.parametrize("name", ["list_assets", "list_prices", "list_stats", "list_corporate_actions", "list_markets"])
def test_a_count_counts_what_is_shown(name):
    example = answer(name)
    (shown,) = [value for value in example.values() if isinstance(value, list)]
    assert example["count"] == len(shown)


def test_the_wallet_of_the_examples_is_nobodys_and_a_build_for_it_is_refused():
    assert EXAMPLE_WALLET[2:].lower() == keccak256(b"tickyard: put your own wallet here")[-20:].hex()
    assert has_valid_checksum(EXAMPLE_WALLET)
    with pytest.raises(BadRequest, match="put your own wallet here"):
        check_recipient(Address(EXAMPLE_WALLET.lower()), MAINNET.usdg, [], MAINNET)


def test_no_description_shows_a_wallet_whose_key_is_public():
    keys = {wallet.address.lower() for wallet in wallets()}
    told = as_text(CATALOG).lower() + str([input_schema(row) for row in CATALOG]).lower()
    assert not [address for address in keys if address in told]
    assert example_of(ROWS["build_trade"].ask)["recipient"] == EXAMPLE_WALLET


def test_the_sandbox_shows_a_wallet_that_may_be_used():
    document = with_wallet(describe(CATALOG, base_url="http://x", description="x"), DEMO)
    assert EXAMPLE_WALLET not in str(document)
    body = document["paths"]["/v1/trade/build"]["post"]["requestBody"]["content"]["application/json"]["example"]
    assert body["recipient"] == DEMO
