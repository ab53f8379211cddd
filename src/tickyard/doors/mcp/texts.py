"""What agents read: the server's instructions, the words around each tool, the page on units, the prompts.

Only our own words are in here. Texts from registries and filings reach an agent as data, never as a description.
"""

from dataclasses import dataclass
from typing import Final

from tickyard.kernel.errors import BadRequest
from tickyard.kernel.operation import Operation

INSTRUCTIONS: Final = (
    "Data and execution preparation for tokenized US stocks and ETFs on EVM chain 4663. Every tool is free. "
    "Start with list_assets or get_asset when you are not sure of a ticker. Amounts and prices are decimal strings: "
    "do not round them. A token stands for `multiplier` underlying shares, so compare token prices with token prices "
    "(resource tickyard://units). build_trade returns unsigned transactions: nothing here signs, sends, pays or "
    "claims. null means unknown, never zero. The shape of every answer is in resource tickyard://openapi. A failed "
    "call carries {error: {code, message}}: bad_request (an argument is out of shape; the message names it), "
    "not_found, no_liquidity (no pool can fill the swap; try a smaller amount), upstream_error (a source did not "
    "answer; the only one worth a retry). All tools share one rate limit per client address."
)


def describe_tool(row: Operation) -> str:
    """The operation's own description, then what every caller wants to know before a call."""
    lines = [row.text]
    if advice := row.part("Advice"):
        lines.append(advice)
    if freshness := row.part("Freshness"):
        lines.append(f"Freshness: {freshness}")
    if limits := row.part("Limits"):
        lines.append(f"Limits: {limits}")
    # Any argument may be out of shape: the instructions say so once, for all of them.
    codes = [failure.code for failure in row.failures if failure is not BadRequest]
    lines.append(f"Fails with: {', '.join(codes) or 'nothing of its own'}.")
    return "\n".join(lines)


UNITS: Final = """# Units and multipliers

- A stock token is an ERC-20 with 18 decimals. Amounts of tokens are whole tokens as exact decimal strings.
- USDG is the dollar of the chain, with 6 decimals. Dollar amounts are strings with six decimals, rounded down.
- Prices are dollars per unit: strings with at most 18 decimals. Percentages are strings with four decimals.
- `multiplier`: one token stands for this many underlying shares. It absorbs splits and reinvested dividends, so it
  drifts away from 1. Token value = underlying price x multiplier. A multiplier never changes a balance.
- `underlying` figures are per share, `token` figures per token. `dexUsd` is per token, from the deepest pool;
  `equityTokenUsd` is the equity quote times the multiplier. `dexPremiumPct` compares these two.
- `feeTier` is in hundredths of a basis point: 500 is 0.05 %. `slippageBps` is in basis points: 50 is 0.5 %.
- Candles are made of samples taken every 5 minutes; `ticks` counts them. Times without a sample have no candle.
- Times are ISO 8601 in UTC. Addresses are EIP-55. null means unknown, never zero.
- Outside of market hours equity quotes are wide and old: look at bid, ask and asOf before you trust a mid.
"""


@dataclass(frozen=True, slots=True)
class PromptText:
    """A prompt: its arguments are (name, what it is, whether it is required)."""

    name: str
    title: str
    description: str
    arguments: tuple[tuple[str, str, bool], ...]
    text: str


PROMPTS: Final = (
    PromptText(
        "check_premium",
        "Is the token cheap or dear?",
        "Compare what a stock token costs in the pools with what its shares cost on the exchange.",
        (("symbol", "Ticker, such as AAPL", True), ("amount", "Dollars to buy for, default 1000", False)),
        "Compare the on-chain price of {symbol} with its equity quote. Call get_price and get_stats for {symbol}, then "
        "get_quote with side=buy and amount={amount}. Say in a few sentences: the equity mid per token (mind the "
        "multiplier), how old the quote is and whether trading is halted, the pool price, the premium or discount, and "
        "the premium that remains after fees and price impact for that amount. Do not recommend a trade.",
    ),
    PromptText(
        "prepare_trade",
        "Prepare a swap to sign",
        "Quote a swap, explain it, and build the unsigned transactions when the user agrees.",
        (
            ("symbol", "Ticker, such as AAPL", True),
            ("side", "buy or sell", True),
            ("amount", "Size: dollars for a buy, tokens for a sell", True),
            ("recipient", "The wallet that will sign and send, 0x and 40 hex digits", True),
        ),
        "Prepare a swap: {side} {symbol}, amount {amount} (usd for a buy, token for a sell), for wallet {recipient}. "
        "First call get_quote and show the price, the pool's fee and the difference to get_price. Ask whether to go "
        "on. Only then call build_trade, show its note word for word, and list the steps in the order in which the "
        "wallet must sign and send them, with the deadline. Sign and send nothing yourself.",
    ),
    PromptText(
        "review_portfolio",
        "Review a wallet's stock tokens",
        "Value a wallet, find what moved, and name what deserves attention.",
        (("address", "The wallet, 0x and 40 hex digits", True),),
        "Review the stock tokens of {address}. Call get_portfolio, then list_stats for the symbols held. Give a table "
        "of symbol, balance, value and share of the total, largest first, with the 24-hour change and the premium "
        "against the equity quote where they are known. Then name, in at most five sentences, positions without a "
        "price, halted assets, large premiums and thin pools. Leave out what the data does not tell.",
    ),
)
DEFAULT_ARGUMENTS: Final = {"amount": "1000"}
