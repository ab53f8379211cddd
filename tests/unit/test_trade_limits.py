"""Where a check begins to warn or to refuse: exactly at the share that was named, and not a unit before."""

from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace

import msgspec
import pytest

from tickyard.chain.v3.math import PoolState
from tickyard.chain.v3.ticks import tick_at
from tickyard.config.pinned import MAINNET
from tickyard.features.trades.calldata import Swap
from tickyard.features.trades.check import _figures, _gas, _limits, _refuse_beyond
from tickyard.features.trades.evidence import Evidence, Fees
from tickyard.features.trades.issues import find_issues
from tickyard.features.trades.note import Circumstances, Share
from tickyard.features.trades.reasons import Revert
from tickyard.features.trades.rehearse import Run, StepRun
from tickyard.features.trades.wire import BuildAsk
from tickyard.kernel.errors import NoLiquidity, UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.kernel.units import Price, TokenAmount, UsdgAmount
from tickyard.market.listing.asset import MultiplierSchedule
from tickyard.market.market import NamedBlock
from tickyard.market.swaps.fills import Fill, Trade
from tickyard.market.swaps.pools import Pool, PoolSpot

TOKEN, POOL, ME = (Address(f"0x{number:040x}") for number in (0xA0, 0xB0, 0xC0))
# A square root without a rounding: one base unit of USDG for 2^16 of the token, so 10^12 / 2^16 dollars.
ROOT = 2**88
SPOT = Price(10**12, 2**16)
AT = datetime(2026, 3, 4, tzinfo=UTC)
FINE = Circumstances(
    balance=10**40,
    is_paused=False,
    is_active=True,
    is_halted=False,
    equity_mid=SPOT,
    has_bad_checksum=False,
)


def planned(*, worse_by=(0, 1), side="buy", liquidity=10**30, slippage_bps=50, schedule=None, **seen):
    """A trade at the spot price of its pool, or worse by such a part of it."""
    num, den = worse_by
    usdg = 10**8 * (den + num if side == "buy" else den - num)
    token = 10**8 * den * 2**16
    curve = PoolState(ROOT, tick_at(ROOT), liquidity, 500, 10, ())
    spot = PoolSpot(Pool(POOL, TOKEN, 500, token_is_0=True), ROOT, liquidity, curve)
    trade = Trade.parse(side, "usd", "1")
    trade = replace(trade, fixed=UsdgAmount(usdg))
    swap = Swap.plan(
        trade, Fill(spot, UsdgAmount(usdg), TokenAmount(token), 1), ME, MAINNET, slippage_bps=slippage_bps, deadline=1
    )
    asset = SimpleNamespace(
        symbol="AAPL", pending_multiplier_e18=lambda at: schedule and schedule.pending_at(int(at.timestamp()))
    )
    wanted = SimpleNamespace(asset=asset, ask=SimpleNamespace(slippage_bps=slippage_bps))
    return SimpleNamespace(wanted=wanted, swap=swap, seen=replace(FINE, **seen), has_approval=False)


def look(plan, *, ether=10**18, run=None, balances=(0, 0, 0, 0)):
    block = NamedBlock(5, AT, "0x" + "11" * 32)
    return Evidence(block, plan.swap, [], list(balances), ether, Fees(3, 2), run, None, None)


def codes(plan, *, gas_money=0, floor_usd=0, **how):
    return [(each.code, each.severity) for each in find_issues(plan, look(plan, **how), gas_money, floor_usd)]


def ask(impact=None, premium=None):
    return SimpleNamespace(max_impact_bps=impact, max_premium_bps=premium)


@pytest.mark.parametrize("side", ["buy", "sell"])
def test_a_price_is_refused_beyond_the_share_that_was_named_and_not_at_it(side):
    at, beyond = planned(worse_by=(1, 100), side=side), planned(worse_by=(10_001, 10**6), side=side)
    _refuse_beyond(ask(), beyond)
    _refuse_beyond(ask(impact=100, premium=100), at)
    with pytest.raises(NoLiquidity, match=r"the price impact is 1\.0001 %; maxImpactBps allows 1\.0000 %"):
        _refuse_beyond(ask(impact=100), beyond)
    where = "above" if side == "buy" else "below"
    with pytest.raises(NoLiquidity, match=rf"the price is 1\.0001 % {where} .*maxPremiumBps allows 1\.0000 %"):
        _refuse_beyond(ask(premium=100), beyond)
    _refuse_beyond(ask(impact=0, premium=0), planned(side=side))


def test_what_cannot_be_judged_is_not_waved_through():
    none = planned()
    none.swap = replace(none.swap, fill=replace(none.swap.fill, token=TokenAmount(0)))
    with pytest.raises(NoLiquidity, match="cannot be told"):
        _refuse_beyond(ask(impact=10_000), none)
    with pytest.raises(UpstreamDown, match="maxPremiumBps"):
        _refuse_beyond(ask(premium=10_000), planned(equity_mid=None))


def test_a_share_is_over_when_it_is_more():
    assert [Share(num, 10_000).is_over(50) for num in (49, 50, 51)] == [False, False, True]
    assert not Share(-51, 10_000).is_over(50)


def test_a_trade_without_trouble_has_no_issue():
    assert codes(planned()) == []


@pytest.mark.parametrize(
    ("fine", "bad", "code"),
    [
        (planned(worse_by=(3, 100)), planned(worse_by=(30_001, 10**6)), ("impact_high", "warning")),
        (planned(slippage_bps=500), planned(slippage_bps=501), ("slippage_wide", "warning")),
    ],
    ids=["impact", "slippage"],
)
def test_each_warning_begins_at_its_bound(fine, bad, code):
    assert (codes(fine), codes(bad)) == ([], [code])


def test_a_premium_of_five_percent_is_not_high_and_one_beyond_is():
    high = ("premium_high", "warning")
    assert high not in codes(planned(worse_by=(5, 100)))
    assert high in codes(planned(worse_by=(50_001, 10**6)))


def test_gas_money_and_depth_are_short_when_they_are_less():
    plan = planned()
    assert codes(plan, gas_money=10**18) == []
    assert codes(plan, gas_money=10**18 + 1) == [("gas_short", "error")]
    # The floor is in whole dollars, the depth in millionths of one.
    floor_usd = plan.swap.fill.before.depth // 10**6
    for floor, is_shallow in ((floor_usd, False), (floor_usd + 1, True)):
        assert (("pool_shallow", "warning") in codes(plan, floor_usd=floor)) is is_shallow


def test_who_names_no_slippage_gets_half_a_percent():
    body = b'{"symbol": "AAPL", "side": "buy", "amount": "1", "recipient": "0x%s"}' % (b"11" * 20)
    assert msgspec.json.decode(body, type=BuildAsk).slippage_bps == 50


def test_an_announced_multiplier_and_an_approval_are_told_last():
    second = int(AT.timestamp())
    soon = MultiplierSchedule(10**18, 4 * 10**18, effective_at=second + 1, read_at=second)
    plan = planned(schedule=soon, slippage_bps=501)
    plan.has_approval = True
    found = find_issues(plan, look(plan, ether=0), 1, 0)
    assert [each.code for each in found] == ["gas_short", "slippage_wide", "multiplier_pending", "allowance_short"]
    assert [each.severity for each in found] == ["error", "warning", "info", "info"]
    assert found[2].text.startswith("A multiplier of 4 is announced")


@pytest.mark.parametrize(
    ("code", "flag"), [("recipient_blocked", {"blocked_by": ("AAPL",)}), ("token_paused", {"is_paused": True})]
)
def test_a_run_knows_better_than_the_flags(code, flag):
    run = Run([StepRun(None, 1), StepRun(Revert(code, None, b""), 1)], [])
    assert codes(planned(), run=run) == [(code, "error")]
    assert codes(planned(**flag), run=run) == [(code, "error")], "once, and as the run says"
    assert codes(planned(), run=Run([StepRun(None, 1)], [])) == []
    assert codes(planned(), run=Run([StepRun(Revert("other", None, b""), 1)], [])) == []


@pytest.mark.parametrize("side", ["buy", "sell"])
def test_a_run_must_move_what_the_quote_says(side):
    plan = planned(side=side)
    paid, got = plan.swap.fill.amounts(plan.swap.trade.side)
    had = (10**40, 7, 5, 10**40)
    right = [had[0] - paid, had[1] + got, had[2] + paid, had[3] - got]
    lies = [[each + more * (at == place) for at, each in enumerate(right)] for place in range(4) for more in (1, -1)]
    for after in (right, *lies):
        run = Run([StepRun(None, 1)], after)
        assert look(plan, balances=had, run=run).is_borne_out is (after == right)
        failed = Run([StepRun(Revert("other", None, b""), 1)], run.balances)
        assert look(plan, balances=had, run=failed).is_borne_out is True
    assert look(plan, balances=had).is_borne_out is True


def test_fees_are_what_the_next_block_asks_and_twice_that_at_most():
    assert (Fees(3, 2).price, Fees(3, 2).most) == (5, 8)


def test_a_limit_is_a_quarter_more_and_what_the_node_asks_for_data():
    build = SimpleNamespace(steps=[SimpleNamespace(data="x" * 100), SimpleNamespace(data="x" * 250)])
    assert _limits(build, [1000, 2001], None) == [1250, 2501]
    assert _limits(build, [1000, 2001], 999) == [1250, 2501]
    assert _limits(build, [1000, 2001], 1001) == [1251, 2504], "rounded up"
    assert _limits(build, [1000, 2001], 1100) == [1350, 2751]
    build.quote = SimpleNamespace(gas_estimate="150000")
    plan = planned()
    assert _gas(build, look(plan)) == [70_000, 150_000]
    assert _gas(build, look(plan, run=Run([StepRun(None, 5), StepRun(None, 6)], []))) == [5, 6]


@pytest.mark.parametrize(("side", "unit"), [("buy", "AAPL"), ("sell", "AAPL")])
def test_the_figures_name_the_bound_and_the_fee_in_dollars(side, unit):
    plan = planned(side=side)
    told = _figures(plan, look(plan), 7)
    usdg, token = plan.swap.fill.usdg, plan.swap.fill.token
    # Dollars are fixed: going in for a buyer, coming out for a seller.
    shown, other = (told.minimum_received, told.maximum_paid)[:: 1 if side == "buy" else -1]
    assert (shown.unit, shown.raw, other) == (unit, str(plan.swap.bound), None)
    fee = usdg * 500 // 10**6 if side == "buy" else (token * 500 // 10**6) // 2**16
    assert told.pool_fee_usdg == f"{fee // 10**6}.{fee % 10**6:06d}"
    assert (told.gas.units, told.gas.wei, told.gas.eth, told.gas.usd) == ("7", "35", "0.000000000000000035", None)
    assert (told.price_impact_pct, told.premium_pct) == ("0.0000", "0.0000")
    assert (told.block_number, told.block_hash, told.expires_at[:19]) == (5, "0x" + "11" * 32, "1970-01-01T00:00:01")
    assert _figures(planned(side=side, equity_mid=None), look(plan), 7).premium_pct is None
