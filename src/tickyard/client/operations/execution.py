"""The operations of the group 'execution'. Written by `python -m tickyard.clientgen`."""

from typing import Literal, cast

from tickyard.client.answers.execution import TradeCheck
from tickyard.client.routes import AsyncGroup, Group, Param, Route

ROUTES: dict[str, Route] = {
    "check_trade": Route(
        "POST",
        "/v1/trade/check",
        TradeCheck,
        params=(
            Param("symbol", str, is_required=True),
            Param("side", Literal["buy", "sell"], is_required=True),
            Param("amount", str, is_required=True),
            Param("recipient", str, is_required=True),
            Param("denom", Literal["token", "usd"]),
            Param("slippageBps", int),
            Param("maxPremiumBps", int | None),
            Param("maxImpactBps", int | None),
        ),
    ),
}


class AsyncExecutionGroup(AsyncGroup):
    async def check_trade(
        self,
        *,
        symbol: str,
        side: Literal["buy", "sell"],
        amount: str,
        recipient: str,
        denom: Literal["token", "usd"] = "usd",
        slippage_bps: int = 50,
        max_premium_bps: int | None = None,
        max_impact_bps: int | None = None,
    ) -> TradeCheck:
        """Build one swap and tell what would happen if the recipient signed it now: every step run by the node in
        order at one named block (outcome, gas, balance changes, the reason of a failure in words), the figures, a
        closed list of issues, the steps ready for a wallet, and what the calldata says when somebody else reads
        it."""
        return cast(
            TradeCheck,
            await self._call(
                ROUTES["check_trade"],
                {
                    "symbol": symbol,
                    "side": side,
                    "amount": amount,
                    "recipient": recipient,
                    "denom": denom,
                    "slippageBps": slippage_bps,
                    "maxPremiumBps": max_premium_bps,
                    "maxImpactBps": max_impact_bps,
                },
            ),
        )


class ExecutionGroup(Group):
    def check_trade(
        self,
        *,
        symbol: str,
        side: Literal["buy", "sell"],
        amount: str,
        recipient: str,
        denom: Literal["token", "usd"] = "usd",
        slippage_bps: int = 50,
        max_premium_bps: int | None = None,
        max_impact_bps: int | None = None,
    ) -> TradeCheck:
        """Build one swap and tell what would happen if the recipient signed it now: every step run by the node in
        order at one named block (outcome, gas, balance changes, the reason of a failure in words), the figures, a
        closed list of issues, the steps ready for a wallet, and what the calldata says when somebody else reads
        it."""
        return cast(
            TradeCheck,
            self._call(
                ROUTES["check_trade"],
                {
                    "symbol": symbol,
                    "side": side,
                    "amount": amount,
                    "recipient": recipient,
                    "denom": denom,
                    "slippageBps": slippage_bps,
                    "maxPremiumBps": max_premium_bps,
                    "maxImpactBps": max_impact_bps,
                },
            ),
        )
