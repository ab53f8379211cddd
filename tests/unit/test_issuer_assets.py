"""Which entries of the issuer's listing are let in."""

from datetime import UTC, datetime

import msgspec
import pytest

from tickyard.sources.issuer.border import read_asset, read_moment, read_multiplier

ADDRESS = "0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9"
BREACH = (ValueError, msgspec.MsgspecError)

ASSET = {
    "id": "0x000000000000000000000000000000000022015c295294037bfe416d3e45327b",
    "tokenSymbol": "CRM",
    "tokenName": "Salesforce • Robinhood Token",
    "deployments": [
        {"contractAddress": "0x" + "1" * 40, "chainId": 1, "networkName": "Elsewhere"},
        {"contractAddress": ADDRESS, "chainId": 4663, "networkName": "Robinhood Chain", "itnEnabled": False},
    ],
    "currentMultiplier": "1.000566080061092436",
    "pendingMultiplier": "",
    "status": "ASSET_STATUS_ACTIVE",
    "logoUrl": "https://cdn.robinhood.com/ncw_assets/logos/0xaf3d.png",
    "tokenDecimals": 18,
    "isin": "US79466L3024",
    "tradingCapabilities": {"market": {"whole": "TRADING_STATUS_TRADABLE"}},
    "somethingNew": [1, 2, 3],
}


def asset(**changes):
    return read_asset(msgspec.Raw(msgspec.json.encode(ASSET | changes)), 4663)


def test_a_listed_asset_keeps_what_we_show():
    crm = asset()
    assert (crm.symbol, crm.name, crm.address) == ("CRM", "Salesforce", ADDRESS.lower())
    assert crm.multiplier_e18 == 1_000566080061092436
    assert (crm.pending_multiplier_e18, crm.pending_effective_at) == (None, None)
    assert (crm.status, crm.isin, crm.id) == ("ASSET_STATUS_ACTIVE", "US79466L3024", ASSET["id"])
    assert crm.logo_url == ASSET["logoUrl"]
    assert bytes(crm.trading_capabilities) == b'{"market":{"whole":"TRADING_STATUS_TRADABLE"}}'


def test_an_asset_without_a_deployment_on_our_chain_has_no_address():
    assert asset(deployments=ASSET["deployments"][:1]).address is None
    assert asset(deployments=[]).address is None


def test_a_pending_multiplier_comes_with_its_time():
    crm = asset(pendingMultiplier="4.0", pendingMultiplierEffectiveTime="2026-10-04T00:00:00Z")
    assert crm.pending_multiplier_e18 == 4 * 10**18
    assert crm.pending_effective_at == datetime(2026, 10, 4, tzinfo=UTC)


def test_an_empty_pending_multiplier_is_none_whatever_its_time_says():
    assert asset(pendingMultiplierEffectiveTime="2026-10-04T00:00:00Z").pending_effective_at is None
    assert asset(pendingMultiplier=None).pending_multiplier_e18 is None


@pytest.mark.parametrize(
    "changes",
    [
        {"tokenSymbol": ""},
        {"tokenSymbol": "crm"},
        {"tokenSymbol": "CRM\n"},
        {"tokenSymbol": "../X"},
        {"tokenSymbol": ".."},
        {"tokenSymbol": "A" * 17},
        {"tokenSymbol": 7},
        {"tokenName": ""},
        {"tokenName": "\u200b • Robinhood Token"},
        {"tokenName": None},
        {"tokenDecimals": 6},
        {"tokenDecimals": "18"},
        {"currentMultiplier": 1},
        {"currentMultiplier": ""},
        {"pendingMultiplier": "soon"},
        {"pendingMultiplier": "2.0", "pendingMultiplierEffectiveTime": "tomorrow"},
        {"status": "ACTIVE"},
        {"status": "ASSET_STATUS_ACTIVE\n"},
        {"status": "ASSET_STATUS_<b>"},
        {"id": "x"},
        {"deployments": [{"contractAddress": "0x12", "chainId": 4663}]},
        {"deployments": [{"contractAddress": "0x" + "0" * 40, "chainId": 4663}]},
        {"deployments": [{"contractAddress": "0x" + d * 40, "chainId": 4663} for d in "12"]},
        {"deployments": [{"contractAddress": ADDRESS, "chainId": "4663"}]},
        {"deployments": {"contractAddress": ADDRESS}},
        {"tradingCapabilities": "x" * 9000},
    ],
)
def test_an_asset_that_breaks_its_shape_is_refused(changes):
    with pytest.raises(BREACH):
        asset(**changes)


def test_capabilities_that_are_not_valid_text_are_refused():
    raw = msgspec.json.encode(ASSET).replace(b"TRADING_STATUS_TRADABLE", b"TRADING\xff")
    with pytest.raises(BREACH):
        read_asset(msgspec.Raw(raw), 4663)


@pytest.mark.parametrize(
    "url",
    ["", "http://a.b/c.png", "javascript:alert(1)", "https://a.b/\u202ec", 'https://a.b/"><i>', "https:///x"],
)
def test_a_logo_that_is_no_plain_https_address_is_left_out(url):
    assert asset(logoUrl=url).logo_url == ""


def test_capabilities_may_be_absent_null_or_of_another_shape():
    assert asset(tradingCapabilities=None).trading_capabilities is None
    assert bytes(asset(tradingCapabilities="FLAT").trading_capabilities) == b'"FLAT"'
    bare = {key: value for key, value in ASSET.items() if key != "tradingCapabilities"}
    assert read_asset(msgspec.Raw(msgspec.json.encode(bare)), 4663).trading_capabilities is None


@pytest.mark.parametrize(
    ("text", "e18"),
    [
        ("1", 10**18),
        ("1.000000000000000000", 10**18),
        ("0.000000000000000001", 1),
        ("1000000", 10**24),
        ("4.0", 4 * 10**18),
    ],
)
def test_a_multiplier_is_read_by_its_exact_text(text, e18):
    assert read_multiplier(text) == e18


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0",
        "0.000000000000000000",
        "-1",
        "+1",
        " 1",
        "1 ",
        "1\n",
        "1_0",
        "1e3",
        "NaN",
        "Infinity",
        "1.",
        ".5",
        "1,5",
        "1.0000000000000000001",
        "1000000.000000000000000001",
        "9" * 5000,
        "\u0661",
    ],
)
def test_a_multiplier_of_any_other_text_is_refused(text):
    with pytest.raises(BREACH):
        read_multiplier(text)


def test_nanoseconds_are_cut_and_offsets_understood():
    assert read_moment("2026-10-03T14:23:10.223339303Z") == datetime(2026, 10, 3, 14, 23, 10, 223339, UTC)
    assert read_moment("2026-10-03T14:23:10Z") == datetime(2026, 10, 3, 14, 23, 10, 0, UTC)
    assert read_moment("2026-10-03T16:23:10.5+02:00") == datetime(2026, 10, 3, 14, 23, 10, 500_000, UTC)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-10-03",
        "2026-10-03T14:23:10",
        "2026-13-03T14:23:10Z",
        "0001-01-01T00:00:00Z",
        "2026-10-03T14:23:10Z\n",
    ],
)
def test_a_time_of_another_form_is_refused(text):
    with pytest.raises(BREACH):
        read_moment(text)
