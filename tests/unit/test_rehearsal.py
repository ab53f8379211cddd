"""A run of several steps in one call: what is asked, which answers count, and what gas each step would really take."""

from math import isqrt

import pytest
from eth_abi import decode, encode
from eth_utils import keccak

from tickyard.chain import rehearsal
from tickyard.chain.multicall import Call
from tickyard.config.pinned import MAINNET
from tickyard.features.trades.calldata import Swap
from tickyard.features.trades.rehearse import Rehearsal, holdings, transaction_gas
from tickyard.kernel.ids import Address
from tickyard.kernel.units import TokenAmount, UsdgAmount
from tickyard.market.swaps.fills import Fill, Trade
from tickyard.market.swaps.pools import Pool, PoolSpot

TOKEN, POOL, ME = (Address(f"0x{number:040x}") for number in (0xA0, 0xB0, 0xC0))
BLOCK = "0x" + "11" * 32
ROOT = isqrt(200 * 2**192 // 10**12)
BETWEEN = 640
"""Gas of two probes with nothing between them. All gas here is a multiple of 64: a 64th stays with the caller."""
SPENT = 100_000_000


def swap(side="buy", denom="usd"):
    state = PoolSpot(Pool(POOL, TOKEN, 500, token_is_0=True), ROOT, 10**20)
    trade = Trade.parse(side, denom, "100" if denom == "usd" else "0.5")
    fill = Fill(state, UsdgAmount(SPENT), TokenAmount(5 * 10**17), 100_000)
    return Swap.plan(trade, fill, ME, MAINNET, slippage_bps=50, deadline=1_800_000_000)


def word(number):
    return number.to_bytes(32, "big")


def revert(text):
    return bytes.fromhex("08c379a0") + encode(["string"], [text])


def slot0(root=ROOT + 1):
    return encode(["uint160", "int24", "uint16", "uint16", "uint16", "uint8", "bool"], [root, 0, 0, 1, 1, 0, True])


def answered(steps, after, start=10_000_000):
    """`steps`: (succeeds, data, gas). What Multicall3 returns: a probe, a probe, and one behind every step."""
    left, outcomes = start, [(True, word(start))]
    for step in (None, *steps):
        if step is not None:
            outcomes.append(step[:2])
        left -= (BETWEEN if step is None else step[2]) // 64 * 63
        outcomes.append((True, word(left)))
    return "0x" + encode(["(bool,bytes)[]"], [[*outcomes, *after]]).hex()


def views(balances=(7, 8, 9, 10), allowance=5, root=ROOT + 1, why=None):
    return [
        *((True, word(each)) for each in (*balances, allowance)),
        (True, slot0(root)),
        *(why or [(True, word(1))] * 2),
    ]


def data_gas(data, a_token):
    zeros = sum(not byte for byte in data)
    return 21_000 + a_token * (zeros + 4 * (len(data) - zeros))


def copied(data):
    return 9 * ((len(data) + 31) // 32)


def test_the_account_is_believed_to_be_multicall3_and_every_step_stands_between_two_probes():
    steps, after = [Call(TOKEN, b"\1\2"), Call(POOL, b"\3")], [Call(TOKEN, b"\4")]
    method, [call, block, overrides] = rehearsal.request(ME, "0x6001", steps, after, BLOCK)
    assert (method, call["from"], call["to"], block) == ("eth_call", ME, ME, {"blockHash": BLOCK})
    [probe] = overrides.keys() - {ME}
    # GAS, PUSH1 0, MSTORE, PUSH1 32, PUSH1 0, RETURN
    assert overrides == {ME: {"code": "0x6001"}, probe: {"code": "0x5a60005260206000f3"}}
    calldata = bytes.fromhex(call["data"][2:])
    assert calldata[:4] == keccak(text="aggregate3((address,bool,bytes)[])")[:4]
    [calls] = decode(["(address,bool,bytes)[]"], calldata[4:])
    assert [(to, data) for to, _, data in calls] == [
        (probe, b""),
        (probe, b""),
        (TOKEN, b"\1\2"),
        (probe, b""),
        (POOL, b"\3"),
        (probe, b""),
        (TOKEN, b"\4"),
    ]


def test_a_run_is_read_step_by_step_with_its_gas():
    steps = [(True, b"one", 6_400), (False, b"two", 64_000)]
    told = rehearsal.read(answered(steps, [(False, b"no"), (True, b"yes")]), 2, 2)
    assert told.between == BETWEEN
    assert told.steps == [(True, b"one", 6_400), (False, b"two", 64_000)]
    assert told.after == [(False, b"no", 0), (True, b"yes", 0)]


def test_what_is_no_run_is_not_taken_for_one():
    def read(probes, count=1, after=0):
        outcomes = [probes[0], probes[1], (True, b""), *probes[2:]]
        return rehearsal.read("0x" + encode(["(bool,bytes)[]"], [outcomes]).hex(), count, after)

    def probes(*left):
        return [(True, word(each)) for each in left]

    assert read(probes(1000, 900, 100)) is not None
    assert read(probes(2**48 - 1, 900, 100)) is not None
    for left in ((2**48, 900, 100), (1000, 1000, 100), (1000, 900, 900), (1000, 1001, 100), (1000, 900, 901)):
        assert read(probes(*left)) is None, left
    for place in range(3):
        for bad in ((False, word(950)), (True, word(950)[1:]), (True, b"")):
            outcomes = probes(1000, 900, 100)
            outcomes[place] = bad
            assert read(outcomes) is None, (place, bad)
    assert read(probes(1000, 900, 100), count=2) is None
    assert read(probes(1000, 900, 100), after=1) is None
    for nonsense in (None, {}, 5, "0x", "0xzz", "0x" + "00" * 64):
        assert rehearsal.read(nonsense, 1, 0) is None


def test_a_transaction_pays_for_its_data_and_never_less_than_that():
    data = bytes(10) + b"\1" * 5
    assert transaction_gas(data, 100_000, 0) == 21_000 + 4 * (10 + 4 * 5) + 100_000
    # A fifth at most is given back.
    assert transaction_gas(data, 100_000, 5_000) == 21_120 + 100_000 - 5_000
    assert transaction_gas(data, 100_000, 10**6) == 121_120 - 121_120 // 5
    assert transaction_gas(data, 0, 0) == 21_000 + 10 * 30
    assert transaction_gas(data, 180, 0) == 21_300
    assert transaction_gas(data, 181, 0) == 21_301


@pytest.mark.parametrize("side", ["buy", "sell"])
def test_a_swap_moves_two_tokens_of_two_accounts(side):
    tokens = (MAINNET.usdg, TOKEN) if side == "buy" else (TOKEN, MAINNET.usdg)
    assert holdings(swap(side)) == [(token, account) for account in (ME, POOL) for token in tokens]


@pytest.mark.parametrize("with_approval", [False, True])
def test_the_steps_are_run_and_then_looked_at(with_approval):
    planned = swap()
    _, [call, *_] = Rehearsal(planned, MAINNET.router, with_approval).request("0x6001", BLOCK)
    [calls] = decode(["(address,bool,bytes)[]"], bytes.fromhex(call["data"][10:]))
    probe = calls[0][0]
    made = [(to, data) for to, _, data in calls if to != probe]

    def selector(signature):
        return keccak(text=signature)[:4]

    balance, allowance = selector("balanceOf(address)"), selector("allowance(address,address)")
    transfer = selector("transfer(address,uint256)")
    approval = (
        MAINNET.usdg,
        selector("approve(address,uint256)") + encode(["address", "uint256"], [MAINNET.router, SPENT]),
    )
    assert made == [
        *([approval, approval] if with_approval else []),
        (MAINNET.router, planned.calldata()),
        *((token, balance + encode(["address"], [who])) for who in (ME, POOL) for token in (MAINNET.usdg, TOKEN)),
        (MAINNET.usdg, allowance + encode(["address", "address"], [ME, MAINNET.router])),
        (POOL, selector("slot0()")),
        (MAINNET.usdg, transfer + encode(["address", "uint256"], [POOL, SPENT])),
        (TOKEN, transfer + encode(["address", "uint256"], [POOL, 0])),
    ]


@pytest.mark.parametrize(
    ("denom", "seen", "back"),
    [
        ("usd", {}, 0),
        # Slots that end as they began, and slots that end at zero.
        ("usd", {"root": ROOT}, 2_800),
        ("token", {}, 2_800),
        ("token", {"root": ROOT}, 5_600),
        ("usd", {"allowance": 0}, 4_800),
        ("usd", {"balances": (0, 8, 9, 10)}, 4_800),
        ("usd", {"balances": (1, 0, 0, 0)}, 0),
        ("token", {"balances": (0, 8, 9, 10), "allowance": 0, "root": ROOT}, 15_200),
    ],
)
def test_a_swap_alone_costs_its_run_and_its_data_less_what_it_frees(denom, seen, back):
    planned = swap(denom=denom)
    way, data = Rehearsal(planned, MAINNET.router, with_approval=False), planned.calldata()
    run = way.read(answered([(True, b"", 128_000)], views(**seen)), allowance=SPENT, balance=SPENT)
    spent = data_gas(data, 4) + 128_000 - 2 * BETWEEN - copied(data) - 2_500
    assert [(step.refusal, step.gas) for step in run.steps] == [(None, spent - back)]
    assert run.balances == list(seen.get("balances", (7, 8, 9, 10)))
    assert run.is_success is True


@pytest.mark.parametrize(
    ("allowance", "first", "warmed"),
    [
        # A slot that was set costs more than one that is changed; the rest is what the approval has warmed.
        (0, 32_000, 32_000 - 6_400 - 22_000),
        (5, 16_000, 16_000 - 6_400 - 4_900),
        (0, 6_400, None),
    ],
)
def test_behind_its_approval_a_swap_would_find_cold_what_the_approval_has_warmed(allowance, first, warmed):
    planned = swap()
    way, data = Rehearsal(planned, MAINNET.router, with_approval=True), planned.calldata()
    approval = planned.approval(MAINNET.router)
    steps = [(True, word(1), first), (True, word(1), 6_400), (True, b"", 128_000)]
    run = way.read(answered(steps, views()), allowance=allowance, balance=SPENT)
    alone = data_gas(data, 4) + 128_000 - 2 * BETWEEN - copied(data) - 2_500
    cold = 0 if warmed is None else warmed + 4_800 - 2_000
    floor = data_gas(approval, 10)
    approving = data_gas(approval, 4) + first - 2 * BETWEEN - copied(approval) - 2_500
    assert [step.gas for step in run.steps] == [max(approving, floor), alone + cold]


@pytest.mark.parametrize(("said", "is_touched"), [("TF", False), ("Transaction too old", False), ("STF", True)])
def test_a_swap_that_fails_before_it_asks_for_the_input_finds_nothing_cold_behind_its_approval(said, is_touched):
    planned = swap()
    way, data = Rehearsal(planned, MAINNET.router, with_approval=True), planned.calldata()
    steps = [(True, word(1), 32_000), (True, word(1), 6_400), (False, revert(said), 128_000)]
    run = way.read(answered(steps, views(allowance=5)), allowance=0, balance=SPENT)
    alone = data_gas(data, 4) + 128_000 - 2 * BETWEEN - copied(data) - 2_500
    cold = 32_000 - 6_400 - 22_000 + 4_800 - 2_000
    assert run.steps[1].gas == alone + (cold if is_touched else 0)


def test_a_step_that_fails_frees_nothing_and_says_why():
    planned = swap()
    way, data = Rehearsal(planned, MAINNET.router, with_approval=False), planned.calldata()
    frees = {"allowance": 0, "root": ROOT}
    failed = (False, revert("STF"), 64_000)
    spent = data_gas(data, 4) + 64_000 - 2 * BETWEEN - copied(data) - 2_500

    def reason(balance=SPENT, **seen):
        run = way.read(answered([failed], views(**frees, **seen)), allowance=SPENT, balance=balance)
        assert not run.is_success
        [step] = run.steps
        assert step.gas == spent
        return step.refusal.code, step.refusal.said

    assert reason() == ("transfer_failed", "STF")
    assert reason(balance=SPENT - 1) == ("balance_short", "STF")
    fine, blocked = (True, word(1)), (False, revert("blocked"))
    assert reason(why=(blocked, fine)) == reason(why=(fine, blocked)) == ("recipient_blocked", "STF")


def test_an_approval_that_fails_is_not_explained_by_an_empty_purse():
    way = Rehearsal(swap(), MAINNET.router, with_approval=True)
    steps = [(False, b"", 6_400), (False, b"", 6_400), (False, revert("STF"), 64_000)]
    run = way.read(answered(steps, views(allowance=0)), allowance=0, balance=0)
    assert [step.refusal.code for step in run.steps] == ["out_of_gas_or_assertion", "balance_short"]


def test_a_run_whose_balances_cannot_be_read_is_none():
    way = Rehearsal(swap(), MAINNET.router, with_approval=False)
    good = views()
    assert way.read(answered([(True, b"", 64_000)], good), allowance=1, balance=1) is not None
    for place in range(6):
        for bad in ((False, good[place][1]), (True, good[place][1][:31])):
            seen = [*good[:place], bad, *good[place + 1 :]]
            assert way.read(answered([(True, b"", 64_000)], seen), allowance=1, balance=1) is None, (place, bad)
    assert way.read("0x", allowance=1, balance=1) is None


def test_so_little_gas_that_nothing_is_left_of_it_counts_as_none():
    planned = swap()
    way, data = Rehearsal(planned, MAINNET.router, with_approval=False), planned.calldata()
    run = way.read(answered([(True, b"", 640)], views()), allowance=SPENT, balance=SPENT)
    assert run.steps[0].gas == data_gas(data, 10)
