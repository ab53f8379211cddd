"""Generated builds, read back by somebody else's codec and compared with their requests."""

import pytest
from eth_abi import decode
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import booleans, composite, integers, sampled_from

from proof import count
from tickyard.config.pinned import MAINNET
from tickyard.features.trades.bounds import maximum_in, minimum_out
from tickyard.features.trades.calldata import Swap
from tickyard.kernel.ids import Address
from tickyard.kernel.units import TokenAmount, UsdgAmount
from tickyard.market.swaps.fills import Fill, Mode, Side, Trade
from tickyard.market.swaps.pools import Pool, PoolSpot

COUNT = count(10_000)
SINGLE = "(address,address,uint24,address,uint256,uint256,uint160)"

addresses = integers(3, 2**160 - 1).map(lambda number: Address(f"0x{number:040x}"))
amounts = integers(0, 253).flatmap(lambda bits: integers(1, (2 << bits) - 1))


@composite
def plans(draw):
    """(trade, fill, recipient, slippage, deadline)."""
    side, is_usd = draw(sampled_from(list(Side))), draw(booleans())
    token = draw(addresses.filter(lambda address: address != MAINNET.usdg))
    usdg, tokens = UsdgAmount(draw(amounts)), TokenAmount(draw(amounts))
    trade = Trade.parse(side.value, "usd" if is_usd else "token", (usdg if is_usd else tokens).text())
    pool = Pool(draw(addresses), token, draw(sampled_from([100, 500, 3000, 10000])), token < MAINNET.usdg)
    state = PoolSpot(pool, draw(integers(4295128739, 2**160 - 1)), draw(integers(1, 2**128 - 1)))
    return trade, Fill(state, usdg, tokens, 1), draw(addresses), draw(integers(1, 5000)), draw(integers(0, 2**40))


@pytest.mark.slow
@pytest.mark.timeout(900)
@settings(max_examples=COUNT, deadline=None, suppress_health_check=list(HealthCheck))
@given(plans())
def test_calldata_says_exactly_what_was_asked(plan):
    trade, fill, recipient, bps, deadline = plan
    swap = Swap.plan(trade, fill, recipient, MAINNET, slippage_bps=bps, deadline=deadline)
    data = swap.calldata()
    assert data[:4].hex() == "5ae401dc"
    read_deadline, calls = decode(["uint256", "bytes[]"], data[4:])
    [inner] = calls
    [single] = decode([SINGLE], inner[4:])
    is_exact_in = trade.mode is Mode.EXACT_IN
    is_buy = trade.side is Side.BUY
    token_in, token_out = (MAINNET.usdg, fill.before.pool.token) if is_buy else (fill.before.pool.token, MAINNET.usdg)
    amount_in, amount_out = (fill.usdg, fill.token) if is_buy else (fill.token, fill.usdg)
    wanted = (amount_in, minimum_out(amount_out, bps)) if is_exact_in else (amount_out, maximum_in(amount_in, bps))
    assert inner[:4].hex() == ("04e45aaf" if is_exact_in else "5023b4df")
    assert read_deadline == deadline
    assert single == (token_in, token_out, fill.before.pool.fee, recipient, *wanted, 0)
    assert len(data) == 4 + 32 * 5 + 256, "not a byte that no field explains"

    approval = swap.approval(MAINNET.router)
    assert approval[:4].hex() == "095ea7b3"
    spender, approved = decode(["address", "uint256"], approval[4:])
    assert (spender, approved, len(approval)) == (MAINNET.router, wanted[0] if is_exact_in else wanted[1], 68)
