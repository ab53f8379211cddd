"""The operations of the group 'research'. Written by `python -m tickyard.clientgen`."""

from typing import cast

from tickyard.client.answers.research import Explanation, Financials, Research, VoteList, VotePower
from tickyard.client.routes import AsyncGroup, Group, Param, Route

ROUTES: dict[str, Route] = {
    "get_research": Route(
        "GET", "/v1/research/{symbol}", Research, params=(Param("symbol", str, is_required=True),), is_paid=True
    ),
    "explain_research": Route(
        "GET", "/v1/research/{symbol}/explain", Explanation, params=(Param("symbol", str, is_required=True),)
    ),
    "get_financials": Route(
        "GET", "/v1/research/{symbol}/financials", Financials, params=(Param("symbol", str, is_required=True),)
    ),
    "list_votes": Route("GET", "/v1/votes", VoteList),
    "get_vote_power": Route(
        "GET",
        "/v1/votes/power/{address}",
        VotePower,
        params=(
            Param("address", str, is_required=True),
            Param("symbol", str | None),
        ),
    ),
}


class AsyncResearchGroup(AsyncGroup):
    async def get_research(self, *, symbol: str) -> Research:
        """Look up the company behind a token: who it is, its revenue and net income of the newest whole year, its
        shares and market cap, each from a named filing, beside the token and its price."""
        return cast(Research, await self._call(ROUTES["get_research"], {"symbol": symbol}))

    async def explain_research(self, *, symbol: str) -> Explanation:
        """Explain how the figures of a company were chosen: for revenue, net income, shares and market cap every
        candidate with its filing, which one won, and for each other one sentence why not."""
        return cast(Explanation, await self._call(ROUTES["explain_research"], {"symbol": symbol}))

    async def get_financials(self, *, symbol: str) -> Financials:
        """Look up a company's years and quarters: revenue, net income, diluted profit per share and shares, each from
        the newest filing of its period with what earlier ones said, the trailing twelve months where the quarters
        truly add up, and price to earnings and to sales at the live price."""
        return cast(Financials, await self._call(ROUTES["get_financials"], {"symbol": symbol}))

    async def list_votes(self) -> VoteList:
        """List shareholder votes that concern stock tokens."""
        return cast(VoteList, await self._call(ROUTES["list_votes"], {}))

    async def get_vote_power(self, *, address: str, symbol: str | None = None) -> VotePower:
        """Count the shares that a wallet's stock tokens stand for: balance times multiplier, read at one block,
        largest first."""
        return cast(VotePower, await self._call(ROUTES["get_vote_power"], {"address": address, "symbol": symbol}))


class ResearchGroup(Group):
    def get_research(self, *, symbol: str) -> Research:
        """Look up the company behind a token: who it is, its revenue and net income of the newest whole year, its
        shares and market cap, each from a named filing, beside the token and its price."""
        return cast(Research, self._call(ROUTES["get_research"], {"symbol": symbol}))

    def explain_research(self, *, symbol: str) -> Explanation:
        """Explain how the figures of a company were chosen: for revenue, net income, shares and market cap every
        candidate with its filing, which one won, and for each other one sentence why not."""
        return cast(Explanation, self._call(ROUTES["explain_research"], {"symbol": symbol}))

    def get_financials(self, *, symbol: str) -> Financials:
        """Look up a company's years and quarters: revenue, net income, diluted profit per share and shares, each from
        the newest filing of its period with what earlier ones said, the trailing twelve months where the quarters
        truly add up, and price to earnings and to sales at the live price."""
        return cast(Financials, self._call(ROUTES["get_financials"], {"symbol": symbol}))

    def list_votes(self) -> VoteList:
        """List shareholder votes that concern stock tokens."""
        return cast(VoteList, self._call(ROUTES["list_votes"], {}))

    def get_vote_power(self, *, address: str, symbol: str | None = None) -> VotePower:
        """Count the shares that a wallet's stock tokens stand for: balance times multiplier, read at one block,
        largest first."""
        return cast(VotePower, self._call(ROUTES["get_vote_power"], {"address": address, "symbol": symbol}))
