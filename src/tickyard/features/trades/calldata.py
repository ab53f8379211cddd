"""From a fill to calldata, and back again by other eyes before it leaves the house."""

from dataclasses import dataclass

from tickyard.chain import erc20
from tickyard.chain.v3.router import exact_input_single, exact_output_single, with_deadline
from tickyard.chain.v3.swap_reader import DecodedApproval, DecodedSwap, decode_approval, decode_swap
from tickyard.config.pinned import Contracts
from tickyard.features.trades.bounds import maximum_in, minimum_out
from tickyard.kernel.ids import Address
from tickyard.market.swaps.fills import Fill, Mode, Trade


class CalldataMismatch(RuntimeError):
    """Our own calldata does not say what was asked. A bug, and never served."""


@dataclass(frozen=True, slots=True)
class Swap:
    """Everything that the calldata must say."""

    trade: Trade
    fill: Fill
    recipient: Address
    deadline: int
    token_in: Address
    token_out: Address
    amount: int
    """The fixed leg."""
    bound: int
    """Minimum out (exactIn) or maximum in (exactOut)."""

    @classmethod
    def plan(
        cls, trade: Trade, fill: Fill, recipient: Address, contracts: Contracts, *, slippage_bps: int, deadline: int
    ) -> "Swap":
        amount_in, amount_out = fill.amounts(trade.side)
        token_in, token_out = trade.side.tokens(fill.before.pool.token, contracts.usdg)
        if trade.mode is Mode.EXACT_IN:
            amount, bound = amount_in, minimum_out(amount_out, slippage_bps)
        else:
            amount, bound = amount_out, maximum_in(amount_in, slippage_bps)
        return cls(trade, fill, recipient, deadline, token_in, token_out, amount, bound)

    @property
    def spends_at_most(self) -> int:
        """What must be approved, to the base unit."""
        return self.amount if self.trade.mode is Mode.EXACT_IN else self.bound

    def calldata(self) -> bytes:
        encode = exact_input_single if self.trade.mode is Mode.EXACT_IN else exact_output_single
        fee = self.fill.before.pool.fee
        single = encode(self.token_in, self.token_out, fee, self.recipient, self.amount, self.bound)
        data = with_deadline(self.deadline, single)
        self._check(decode_swap(data))
        return data

    def _check(self, read: DecodedSwap) -> None:
        wanted = DecodedSwap(
            deadline=self.deadline,
            is_exact_input=self.trade.mode is Mode.EXACT_IN,
            token_in=self.token_in,
            token_out=self.token_out,
            fee=self.fill.before.pool.fee,
            recipient=self.recipient,
            amount=self.trade.fixed,
            bound=self.bound,
            price_limit=0,
        )
        if read != wanted:
            raise CalldataMismatch("the swap calldata differs from the request")

    def approval(self, router: Address) -> bytes:
        data = erc20.approve(router, self.spends_at_most)
        if decode_approval(data) != DecodedApproval(router, self.spends_at_most):
            raise CalldataMismatch("the approval calldata differs from the request")
        return data
