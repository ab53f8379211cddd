"""The figures of the examples, worked out so that they agree with one another.

By the name of a shape and of its field on the wire. What is not here is composed from the examples that the fields
carry. One story runs through all of them: a holder of AAPL and MSFT on a Saturday in October.
"""

from typing import Any, Final

from tickyard.kernel.ids import EXAMPLE_WALLET

_MSFT: Final = "0x6A3e1CA30eC5C0D7dA4a2f1AeA5fBEd5cE1f0a77"
_POOL: Final = "0x4F8dC7c1e2b5b7f6E43A9a3d2c10F5e0dA6b7C18"
_SECOND_POOL: Final = "0x91B0e45D7a6cC0f2348Fe51d9a7706B1c3D2E4f5"
_USDG: Final = "0x5fc5360D0400a0Fd4f2af552ADD042D716F1d168"
_TICK: Final = "0x7D1c0A9bE3f25846a1C7d0eB94F3a26850cE17d4"
_ROUTER: Final = "0xCaf681a66D020601342297493863E78C959E5cb2"
_PAID: Final = "0x9f2c1d5be8a04c6f73f0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f6"
_NOW: Final = "2026-10-03T14:23:10.223Z"
_SECRET: Final = "kq3vX9ZrT2mYw5b8Jd1fHs7Lc0eNgPu6Ra4Qx-UiVoE"  # noqa: S105  an example, of nothing

_TOKEN_MID: Final = "371.825363841902865604"  # noqa: S105  371.615 x 1.000566080061092436
_UNKNOWN: Final = {"code": "not_found", "message": "no asset with this symbol"}
_QUOTE: Final = {
    "usdAmount": "100.500000",
    "tokenAmount": "0.27",
    "effectivePricePerToken": "372.222222222222222222",
}
_POOLS: Final[list[dict[str, Any]]] = [
    {
        "pool": _POOL,
        "price": "372.042",
        "usdgLiquidity": "391250.512000",
        "tokenLiquidity": "1048.75",
        "tvlUsd": "781429.559500",
    },
    {
        "pool": _SECOND_POOL,
        "feeTier": 3000,
        "price": "371.98",
        "usdgLiquidity": "62000.250000",
        "tokenLiquidity": "166.2",
        "tvlUsd": "123823.326000",
    },
]
_EPOCH: Final = {
    "claimOpenAt": "2026-11-16T00:00:00Z",
    "claimCloseAt": "2026-11-16T01:00:00Z",
    "claimOpen": True,
}
_MESSAGE: Final = (
    "tickyard asks you to sign a reward claim.\n\nSigning costs nothing, moves nothing and approves nothing. ...\n\n"
    f"Epoch: 20261115\nAddress: {EXAMPLE_WALLET}"
)

WORKED: Final[dict[str, dict[str, Any]]] = {
    "UnderlyingPrice": {"bid": "371.6", "ask": "371.63", "mid": "371.615"},
    "TokenPrice": {"bid": "371.810355350701949217", "ask": "371.84037233310378199", "mid": _TOKEN_MID},
    "PriceRecord": {"dailyHigh": "374.6", "dailyLow": "369.12"},
    "PriceItem": {"error": None},
    "Prices": {"prices": [{}, {"symbol": "XYZ", "price": None, "error": _UNKNOWN}], "count": 2},
    "ErrorDetail": _UNKNOWN,
    "TokenQuote": {"tokenMid": _TOKEN_MID},
    "ReportedFact": {"periodStart": "2024-09-29"},
    "Facts": {"revenue": {"value": 416161000000}, "netIncome": {"value": 112010000000}},
    "SharesOutstanding": {"value": 14776353000, "asOf": "2025-10-17"},
    "MarketCapitalization": {
        "value": 5491114420095,
        "basis": "14776353000 shares as of 2025-10-17 (cover page, 0000320193-25-000079) x 371.615 USD, the mid quote",
    },
    "Research": {"note": None},
    "Explanation": {"note": None},
    "Financials": {"note": None},
    "SeriesFigure": {"reason": None},
    "Ratio": {"reason": None},
    "FoundAssets": {
        "assets": [{}, {"symbol": "APLE", "name": "Apple Hospitality REIT", "address": None, "isin": "US03784Y2000"}],
        "count": 2,
    },
    "Token": {"pendingMultiplier": None},
    "AssetDetail": {"pendingMultiplier": None},
    "Assets": {
        "assets": [
            {},
            {"symbol": "MSFT", "name": "Microsoft", "address": _MSFT, "multiplier": "1", "isin": "US5949181045",
             "logoUrl": "https://cdn.example/logos/msft.png"},
        ],
        "count": 2,
    },
    "QuotesItem": {"error": None},
    "Quotes": {"quotes": [{}, {"quote": None, "error": _UNKNOWN}], "count": 2},
    "Quote": _QUOTE,
    "QuoteDetails": _QUOTE,
    "TradeBuild": {
        "steps": [
            {
                "description": "Approve the router to spend exactly what the swap needs.",
                "to": _USDG,
                "data": "0x095ea7b3" + _ROUTER[2:].lower().rjust(64, "0") + f"{100_500_000:064x}",
            },
            {"description": "Buy AAPL in the 0.05 % pool.", "to": _ROUTER, "data": "0x5ae401dc"},
        ],
        "note": "Two steps: an approval for exactly 100.500000 USDG, then the swap, which buys at least 0.26865 AAPL.",
    },
    "PortfolioAsk": {"address": EXAMPLE_WALLET},
    "Portfolio": {
        "address": EXAMPLE_WALLET,
        "positions": [
            {"usdPrice": _TOKEN_MID, "usdValue": "1208.432432"},
            {"symbol": "MSFT", "name": "Microsoft", "address": _MSFT, "balance": "1.5", "usdPrice": "512.34",
             "usdValue": "768.510000"},
        ],
        "totalUsdValue": "1976.942432",
    },
    "History": {
        "interval": "1h",
        "historySince": "2026-09-16T00:00:00Z",
        "candles": [
            {"t": "2026-10-03T12:00:00Z", "open": 370.91, "high": 371.88, "low": 370.64, "close": 371.7},
            {"t": "2026-10-03T13:00:00Z", "open": 371.7, "high": 372.35, "low": 371.22, "close": 372.042},
        ],
    },
    "Supply": {"totalTokens": "15250.5", "valueUsd": "5670522.711270"},
    "StatsPrice": {
        "dexUsd": "372.042", "equityTokenUsd": _TOKEN_MID, "dexPremiumPct": "0.0583", "change24hPct": "-0.4120",
    },
    "Stats": {"pools": _POOLS},
    "StatsItem": {"error": None},
    "ManyStats": {"stats": [{}, {"symbol": "XYZ", "stats": None, "error": _UNKNOWN}], "count": 2},
    "CorporateActions": {
        "corpActions": [
            {"firstSeenAt": "2026-08-28T06:00:12Z", "updatedAt": "2026-09-11T06:00:09Z"},
            {"id": "ca_7c1e90b3f5a2486d0c9b1d2e", "symbol": "MSFT", "processDate": "2026-09-11",
             "details": {"cashDividend": {"underlyingSymbol": "MSFT", "rate": "0.91"}},
             "firstSeenAt": "2026-08-28T06:00:12Z", "updatedAt": "2026-09-12T06:00:10Z"},
        ],
        "count": 2,
    },
    "MarketRow": {"depthUsd": "41250.330000"},
    "Markets": {
        "markets": [_POOLS[0], {**_POOLS[1], "depthUsd": "9120.004000"}],
        "count": 2,
        "total": 312,
    },
    "VotePowerAsk": {"address": EXAMPLE_WALLET},
    "VotePower": {
        "address": EXAMPLE_WALLET,
        "positions": [
            {}, {"symbol": "MSFT", "tokenBalance": "1.5", "multiplier": "1", "shareEquivalent": "1.500000"},
        ],
        "totalShareEquivalent": "4.751839",
    },
    "AlertAsk": {"secret": _SECRET, "secretHeader": _SECRET},
    "CreateAlertAsk": {"price": 375.5},
    "CreatedAlert": {"price": 375.5, "expiresAt": "2026-11-02T14:23:10.223Z", "secret": _SECRET},
    "AlertRecord": {
        "price": 375.5, "status": "fired", "createdAt": _NOW, "expiresAt": "2026-11-02T14:23:10.223Z",
        "firedAt": "2026-10-05T15:05:08.114Z", "firedPrice": 375.62,
    },
    "EarnToken": {"address": _TICK, "decimals": 18},
    "PayoutAsset": {"address": _USDG, "decimals": 6},
    "Schedule": {
        "claimOpenUtc": "00:00", "claimCloseUtc": "01:00", "nextSnapshotAt": "2026-11-16T23:00:00Z",
        "nextClaimOpenAt": "2026-11-17T00:00:00Z",
    },
    "Accruing": {"epoch": 20261116, "revenueUsd": "18.420000", "calls": 921, "rolloverUsd": "604.512311"},
    "EpochState": {
        **_EPOCH, "poolUsd": "1250.000000", "revenueUsd": "412.860000", "rolloverUsd": "837.140000",
        "eligibleWallets": 214, "claimedWallets": 97, "claimedUsd": "645.487689",
    },
    "Earn": {"thresholdTokens": "1000000"},
    "StatusAsk": {"address": EXAMPLE_WALLET},
    "WalletStatus": {"address": EXAMPLE_WALLET, "balanceTokens": "2000000", "eligibleNow": True},
    "WalletEpoch": {
        **_EPOCH, "inSnapshot": True, "claimableUsd": "5.841121", "claimTx": None, "message": _MESSAGE,
    },
    "ClaimAsk": {"address": EXAMPLE_WALLET},
    "Claimed": {"ok": True, "address": EXAMPLE_WALLET, "amountUsd": "5.841121"},
    "EpochBooks": {
        "blockNumber": 48211075, "blockHash": "0x3e1f" + "5a0c7b92" * 7 + "4d6e", "provenAtBlock": 48211203,
        "digest": "8d5e957f297893487bd98fa830fa6413" * 2, "revenueUsd": "412.860000", "calls": 20643,
        "rolloverUsd": "837.140000", "poolUsd": "1250.000000", "eligibleWallets": 214,
        "eligibleTotal": "428000000000000000000000000", "paidUsd": "645.487689", "inFlightUsd": "0.000000",
        "rolledOverUsd": "604.512311", "returnedLaterUsd": "0.000000", "balanced": True,
        "sealedAt": "2026-11-16T00:00:00Z", "closedAt": "2026-11-16T01:00:00Z",
    },
    "BookLine": {"address": EXAMPLE_WALLET, "shareUsd": "5.841121"},
    "SettledPayment": {
        "asset": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "amountUsd": "0.020000", "payer": EXAMPLE_WALLET,
    },
    "PaymentAsk": {"transaction": _PAID},
    "Status": {"block": {"at": "2026-10-03T14:22:58Z"}, "lastSlot": "2026-10-03T14:20:00Z"},
    "Upstream": {"lastOkAt": "2026-10-03T14:22:58Z"},
}  # fmt: skip
