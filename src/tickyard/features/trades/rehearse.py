"""The steps of a build, run in order by the node as the recipient would send them, and what they would cost.

A run of several steps in one call is not the transactions themselves, in ways that are known to the gas unit: a
transaction pays for its own existence and its calldata, calls its target for nothing, and finds cold whatever an
earlier step of the run has warmed. How much an approval warms depends on the token, so it is measured: the approval is
made twice, and the second one finds everything warm.
"""

from dataclasses import dataclass
from typing import Any, Final

from tickyard.chain import erc20, rehearsal
from tickyard.chain.multicall import Call
from tickyard.chain.rpc.client import Block
from tickyard.chain.v3 import pools as v3
from tickyard.features.trades.calldata import Swap
from tickyard.features.trades.reasons import Revert, explained, read_refusal
from tickyard.kernel.ids import Address
from tickyard.market.swaps.fills import Mode

_TRANSACTION: Final = 21_000
_TOKEN_GAS: Final = 4
_TOKEN_FLOOR: Final = 10
_COLD_ACCOUNT: Final = 2_500
_COPIED_WORD: Final = 9
_CLEARED: Final = 4_800
_RESTORED: Final = 2_800
"""Refunds: for a slot that ends at zero, and for one that ends as it began."""
_SLOT_SET: Final = 22_000
_SLOT_CHANGED: Final = 4_900
"""What the first of two approvals pays more than the second for writing the allowance: where there was none, and where
there was one."""
_ALLOWANCE_SPENT: Final = 4_800
_OTHER_SLOT: Final = 2_000
"""The approval also looks at the spender, whom the swap's transfer does not ask about."""
_UNTOUCHED: Final = frozenset({"TF", "Transaction too old"})
"""What is said before anybody looks at the token that is paid in: by the pool of what goes out, by the router of the
time."""


@dataclass(frozen=True, slots=True)
class StepRun:
    refusal: Revert | None
    """None: it succeeds."""
    gas: int


@dataclass(frozen=True, slots=True)
class Run:
    """What would happen."""

    steps: list[StepRun]
    balances: list[int]
    """After it, in the order of `holdings`."""

    @property
    def is_success(self) -> bool:
        return all(step.refusal is None for step in self.steps)


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """One way to run a swap: with its approval before it, or without."""

    swap: Swap
    router: Address
    with_approval: bool

    def request(self, code: str, block: Block) -> tuple[str, list[Any]]:
        return rehearsal.request(self.swap.recipient, code, self._steps(), self._after(), block)

    def read(self, answer: object, *, allowance: int, balance: int) -> Run | None:
        """None: the node cannot do it."""
        steps = self._steps()
        told = rehearsal.read(answer, len(steps), len(self._after()))
        if told is None:
            return None
        *views, why_in, why_out = told.after
        if any(not view.has_succeeded or len(view.data) < 32 for view in views):
            return None
        *balances, allowance_left = [erc20.read_amount(view.data) for view in views[:5]]
        is_still = v3.read_slot0(views[5].data).sqrt_price_x96 == self.swap.fill.before.sqrt_price_x96
        doubts = [None if why.has_succeeded else read_refusal(why.data) for why in (why_in, why_out)]
        spends = self.swap.fill.amounts(self.swap.trade.side)[0]
        used = [
            outcome.gas - 2 * told.between - _COPIED_WORD * -(-len(step.data) // 32)
            for outcome, step in zip(told.steps, steps, strict=True)
        ]
        outcomes, made = [told.steps[-1]], [(steps[-1].data, used[-1] - _COLD_ACCOUNT)]
        if self.with_approval:
            warmed = used[0] - used[1] - (_SLOT_CHANGED if allowance else _SLOT_SET)
            spent = warmed + _ALLOWANCE_SPENT - _OTHER_SLOT
            if not told.steps[-1].has_succeeded and read_refusal(told.steps[-1].data).said in _UNTOUCHED:
                spent = 0
            outcomes.insert(0, told.steps[0])
            made = [(steps[0].data, used[0] - _COLD_ACCOUNT), (made[0][0], made[0][1] + max(0, spent))]
        refund = _RESTORED * (is_still + (self.swap.trade.mode is Mode.EXACT_OUT))
        refund += _CLEARED * ((not allowance_left) + (not balances[0]))
        runs = []
        for (data, execution), outcome in zip(made, outcomes, strict=True):
            is_swap = outcome is outcomes[-1]
            back = refund if is_swap and outcome.has_succeeded else 0
            refusal = None
            if not outcome.has_succeeded:
                is_short = is_swap and balance < spends
                refusal = explained(read_refusal(outcome.data), doubts, is_balance_short=is_short)
            runs.append(StepRun(refusal, transaction_gas(data, max(0, execution), back)))
        return Run(runs, balances)

    def _steps(self) -> list[Call]:
        swap = Call(self.router, self.swap.calldata())
        if not self.with_approval:
            return [swap]
        approval = Call(self.swap.token_in, self.swap.approval(self.router))
        return [approval, approval, swap]

    def _after(self) -> list[Call]:
        swap = self.swap
        pool = swap.fill.before.pool.address
        spends = swap.fill.amounts(swap.trade.side)[0]
        return [
            *[Call(token, erc20.balance_of(account)) for token, account in holdings(swap)],
            Call(swap.token_in, erc20.allowance(swap.recipient, self.router)),
            Call(pool, v3.SLOT0),
            # When the swap has failed, the tokens themselves say why. What these move nobody looks at any more.
            Call(swap.token_in, erc20.transfer(pool, spends)),
            Call(swap.token_out, erc20.transfer(pool, 0)),
        ]


def holdings(swap: Swap) -> list[tuple[Address, Address]]:
    """The (token, account) pairs whose balance a swap changes; the recipient's input first."""
    accounts = (swap.recipient, swap.fill.before.pool.address)
    return [(token, account) for account in accounts for token in (swap.token_in, swap.token_out)]


def transaction_gas(data: bytes, execution: int, refund: int) -> int:
    """Of a transaction with this calldata. At least what the data alone costs (EIP-7623)."""
    zeros = data.count(0)
    tokens = zeros + 4 * (len(data) - zeros)
    used = _TRANSACTION + _TOKEN_GAS * tokens + execution
    return max(used - min(refund, used // 5), _TRANSACTION + _TOKEN_FLOOR * tokens)
