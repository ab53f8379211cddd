"""The note of a build: what a signer is told."""

from dataclasses import replace
from math import isqrt

import pytest

from tickyard.config.pinned import MAINNET
from tickyard.features.trades.calldata import Swap
from tickyard.features.trades.note import Circumstances, warnings, write_note
from tickyard.kernel.ids import Address
from tickyard.kernel.units import Price, TokenAmount, UsdgAmount
from tickyard.market.swaps.fills import Fill, Trade
from tickyard.market.swaps.pools import Pool, PoolSpot

TOKEN, POOL, ME = (Address(f"0x{number:040x}") for number in (0xA0, 0xB0, 0xC0))
FINE = Circumstances(
    balance=10**30,
    is_paused=False,
    is_active=True,
    is_halted=False,
    equity_mid=Price(200, 1),
    has_bad_checksum=False,
)
ROOT_200 = isqrt(200 * 2**192 // 10**12)
"""A price of 200 dollars, less a rounding."""


def swap(side="buy", denom="usd", amount="100", usdg=100_000_000, token=5 * 10**17, bps=50):
    state = PoolSpot(Pool(POOL, TOKEN, 500, token_is_0=True), ROOT_200, 10**20)
    trade = Trade.parse(side, denom, amount)
    fill = Fill(state, UsdgAmount(usdg), TokenAmount(token), 100_000)
    return Swap.plan(trade, fill, ME, MAINNET, slippage_bps=bps, deadline=1)


def note(swapped=None, *, has_approval=True, **changes):
    return write_note(swapped or swap(), "AAPL", replace(FINE, **changes), has_approval=has_approval)


def test_a_note_without_trouble_has_steps_bound_and_impact():
    assert note() == (
        "Two steps: approve the router for exactly 100.000000 USDG, then the swap, which buys AAPL for USDG."
        " You receive at least 0.4975 AAPL, or the swap reverts. Price impact 0.0000 %, pool fee included."
    )
    assert note(has_approval=False).startswith("One step: the swap, which buys AAPL for USDG. You receive")


def test_an_exact_output_names_the_most_that_is_paid():
    text = note(swap("buy", "token", "0.5"))
    assert "approve the router for exactly 100.500000 USDG" in text
    assert "You pay at most 100.500000 USDG, or the swap reverts." in text
    text = note(swap("sell", "usd", "100"))
    assert "You pay at most 0.5025 AAPL, or the swap reverts." in text


def test_a_sale_names_the_least_dollars():
    text = note(swap("sell", "token", "0.5"))
    assert "approve the router for exactly 0.5 AAPL, then the swap, which sells AAPL for USDG" in text
    assert "You receive at least 99.500000 USDG" in text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"balance": 99_999_999}, "The recipient holds only 99.999999 USDG: the swap may revert."),
        ({"is_paused": True}, "The token is paused for a corporate action: the swap may revert."),
        ({"paused": "AAPL"}, "AAPL is paused, nobody can move it: the swap will revert."),
        ({"paused": "AAPL", "is_paused": True}, "AAPL is paused, nobody can move it: the swap will revert."),
        ({"paused": "USDG"}, "USDG is paused, nobody can move it: the swap will revert."),
        ({"blocked_by": ("USDG",)}, "The contract of USDG blocks the recipient: the swap will revert."),
        ({"blocked_by": ("AAPL", "USDG")}, "The contracts of AAPL and USDG block the recipient: the swap will"),
        ({"is_active": False}, "The issuer lists AAPL as not active."),
        ({"is_halted": True}, "Trading in the underlying is halted."),
        ({"is_halted": None}, "The equity quote could not be read, so halt and premium were not checked."),
        ({"is_halted": None, "equity_mid": None}, "The equity quote could not be read, so halt and premium were not"),
        ({"equity_mid": None}, "The equity quote has no usable bid and ask, so the premium was not checked."),
        ({"has_bad_checksum": True}, "The recipient's mixed-case checksum is wrong"),
    ],
)
def test_each_trouble_is_one_warning(changes, words):
    text = note(**changes)
    assert f"Warning: {words}" in text
    assert text.count("Warning") == 1


@pytest.mark.parametrize(
    ("changes", "code", "severity"),
    [
        ({"balance": 99_999_999}, "balance_short", "error"),
        ({"is_paused": True}, "token_paused", "warning"),
        ({"paused": "USDG"}, "token_paused", "error"),
        ({"blocked_by": ("USDG",)}, "recipient_blocked", "error"),
        ({"is_active": False}, "inactive", "warning"),
        ({"equity_mid": None}, "quote_unreadable", "warning"),
    ],
)
def test_each_trouble_has_a_code_for_programs(changes, code, severity):
    asked = swap()
    found = warnings(asked, "AAPL", replace(FINE, **changes))
    assert [(each.code, each.severity) for each in found] == [(code, severity)]


def test_a_halt_is_told_although_nobody_bids():
    found = warnings(swap(), "AAPL", replace(FINE, is_halted=True, equity_mid=None))
    assert [each.code for each in found] == ["halted", "quote_unreadable"]


def test_a_balance_that_just_suffices_is_no_warning():
    assert "Warning" not in note(balance=100_000_000)


@pytest.mark.parametrize(
    ("side", "denom", "equity", "words"),
    [
        ("buy", "usd", Price(190, 1), "The price is 5.2632 % above the equity quote times the multiplier."),
        ("sell", "usd", Price(211, 1), "The price is 5.2133 % below the equity quote times the multiplier."),
        ("buy", "usd", Price(191, 1), None),
        ("sell", "usd", Price(210, 1), None),
        ("buy", "usd", Price(300, 1), None),
        ("sell", "usd", Price(100, 1), None),
    ],
)
def test_a_price_far_from_the_equity_quote_is_named_when_it_hurts(side, denom, equity, words):
    text = note(swap(side, denom), equity_mid=equity)
    assert (f"Warning: {words}" in text) if words else ("Warning" not in text)


def test_the_premium_limit_is_five_percent_sharp():
    assert "Warning" not in note(swap(usdg=105_000_000, amount="105"), equity_mid=Price(200, 1))
    assert "Warning" in note(swap(usdg=105_000_001, amount="105.000001"), equity_mid=Price(200, 1))


def test_an_impact_is_told_in_percent_of_the_price_before():
    assert "Price impact 1.0000 %" in note(swap(usdg=101_000_000, amount="101"))
    assert "Price impact 1.0000 %" in note(swap("sell", "token", "0.5", usdg=99_000_000))
