"""The stand-in of the issuer's API, with the shapes and the quirks of the real one."""

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zlib import crc32

from aiohttp import web

from tickyard.kernel.clock import Clock
from tickyard.kernel.units import ratio_text
from tickyard.kernel.wire import encode
from tickyard.sandbox.standins.faults import FaultBoard, Handler, faulty, html, huge, truncated
from tickyard.sandbox.world import walk
from tickyard.sandbox.world.listing import PENDING_AFTER_S, Listed

_NUMBER_TEXT = re.compile(rb'"([0-9]+(?:\.[0-9]+)?)"')
_POSITIVE = re.compile(rb'"(bid|ask|currentMultiplier|rate)":"')
QUIET = "OKTA"
"""Nobody bids for it: its bid is "0", as the real one's sometimes is outside of trading hours."""
_QUARTER_DAYS = 91
_PAST = timedelta(days=30)
_AHEAD = timedelta(days=21)


class IssuerStandIn:
    def __init__(
        self, board: FaultBoard, clock: Clock, listed: Sequence[Listed], *, began: datetime | None = None
    ) -> None:
        """`began`: when the world began, from which pending multipliers count."""
        self._board = board
        self._clock = clock
        self._pending_until = (began or clock.now()).replace(microsecond=0) + timedelta(seconds=PENDING_AFTER_S)
        self._listed: dict[str, Listed] = {each.symbol: each for each in listed}

    def add_to(self, app: web.Application) -> None:
        for path, answer in (
            ("assets", self.assets),
            ("prices", self.prices),
            ("prices/{symbol}", self.price),
            ("corporate-actions", self.corporate_actions),
            ("price-deviations", self.price_deviations),
        ):
            app.router.add_get(f"/issuer/{path}", self._faulty(answer))

    def _faulty(self, answer: Handler) -> Handler:
        async def garbage(request: web.Request, turn: int) -> web.StreamResponse:
            match turn % 5:
                case 1:
                    return html()
                case 3:
                    return await huge(request)
            sound = await answer(request)
            body = sound.body if isinstance(sound, web.Response) and isinstance(sound.body, bytes) else b"{}"
            match turn % 5:
                case 0:
                    return _json(_POSITIVE.sub(rb'"\1":"-', body))
                case 2:
                    return truncated(body)
                case _:
                    return _json(_NUMBER_TEXT.sub(rb"\1", body))

        return faulty(self._board, "issuer", self._clock, answer, garbage=garbage, throttle=_throttle)

    async def assets(self, _request: web.Request) -> web.StreamResponse:
        now = self._clock.now()
        return _json(encode({"assets": [self._asset(each, now) for each in self._listed.values()]}))

    async def prices(self, _request: web.Request) -> web.StreamResponse:
        now = self._clock.now()
        return _json(encode({"quotes": [self._quote(each, now) for each in self._listed.values()]}))

    async def price(self, request: web.Request) -> web.StreamResponse:
        symbol = request.match_info["symbol"]
        listed = self._listed.get(symbol)
        if listed is None:
            message = f'no whitelisted asset with symbol "{symbol}"'
            return _json(encode({"code": 5, "message": message, "details": []}), status=404)
        now = self._clock.now()
        return _json(encode({"quotes": [self._quote(listed, now) | _day_of(listed, now)]}))

    async def corporate_actions(self, _request: web.Request) -> web.StreamResponse:
        today = self._clock.now().date()
        actions = [action for each in self._listed.values() for action in _actions(each, today)]
        # The real one keeps no order either.
        actions.sort(key=lambda action: crc32(encode(action)))
        return _json(encode({"corpActions": actions}))

    async def price_deviations(self, _request: web.Request) -> web.StreamResponse:
        now = self._clock.now()
        row = {
            "symbol": "GONE",  # a token that `assets` does not list: the real one does this
            "nyseClosePrice": "12.5",
            "onchainPrice": "13.75",
            "deviationPct": "10",
            "direction": "DEVIATION_DIRECTION_PREMIUM",
            "consecutiveDays": 8,
            "firstObserved": (now - timedelta(days=11)).date().isoformat(),
        }
        return _json(encode({"asOf": _nanoseconds(now), "rows": [row]}))

    def _asset(self, listed: Listed, now: datetime) -> dict[str, Any]:
        session = {"whole": "TRADING_STATUS_TRADABLE", "fractional": "TRADING_STATUS_UNTRADABLE"}
        logo = (listed.address or listed.symbol).lower()
        asset = {
            "id": "0x" + listed.uid.hex(),
            "tokenSymbol": listed.symbol,
            "tokenName": f"{listed.name} • Robinhood Token",
            "deployments": _deployments(listed),
            "currentMultiplier": _e18_text(self._multiplier_e18(listed, now)),
            "pendingMultiplier": "",
            "status": listed.status,
            "logoUrl": f"https://cdn.robinhood.com/ncw_assets/logos/{logo}.png",
            "tokenDecimals": 18,
            "isin": listed.isin,
            "tradingCapabilities": {"market": session, "extended": session, "overnight": session},
        }
        if listed.pending is not None and now < self._pending_until:
            asset["pendingMultiplier"] = _e18_text(listed.pending)
            asset["pendingMultiplierEffectiveTime"] = self._pending_until.strftime("%Y-%m-%dT%H:%M:%SZ")
        return asset

    def _multiplier_e18(self, listed: Listed, now: datetime) -> int:
        if listed.pending is not None and now >= self._pending_until:
            return listed.pending
        return listed.multiplier_e18

    def _quote(self, listed: Listed, now: datetime) -> dict[str, Any]:
        """The bulk form: range and volume are "0" in it."""
        bid_e6, ask_e6 = _sides(listed, now)
        multiplier_e18 = self._multiplier_e18(listed, now)
        return {
            "tokenSymbol": listed.symbol,
            "deployments": _deployments(listed),
            "bid": ratio_text(bid_e6, 10**6, 6),
            "ask": ratio_text(ask_e6, 10**6, 6),
            "currency": "USD",
            "dailyTradingVolume": "0",
            "isTradingHalt": listed.is_halted,
            "generatedAt": _nanoseconds(now),
            "dailyHigh": "0",
            "dailyLow": "0",
            "mintBurnTokenVolume": "0",
            "mintBurnUsdVolume": "0",
            "tokenBid": _e18_text(bid_e6 * multiplier_e18 // 10**6),
            "tokenAsk": _e18_text(ask_e6 * multiplier_e18 // 10**6),
        }


def _json(body: bytes, *, status: int = 200) -> web.Response:
    return web.Response(status=status, body=body, content_type="application/json")


async def _throttle(_request: web.Request, _turn: int) -> web.StreamResponse:
    return web.Response(text="local_rate_limited", content_type="text/plain")


def _e18_text(value: int) -> str:
    """Always eighteen decimals, as the issuer writes multipliers and token sides."""
    return f"{value // 10**18}.{value % 10**18:018d}"


def _nanoseconds(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f") + "303Z"


def _deployments(listed: Listed) -> list[dict[str, Any]]:
    """Where the token lives. One without an address on our chain is shown on another."""
    is_ours = listed.address is not None
    return [
        {
            "contractAddress": listed.address or "0x" + listed.uid[-20:].hex(),
            "chainId": 4663 if is_ours else 46630,
            "networkName": "Robinhood Chain" if is_ours else "Robinhood Chain Testnet",
            "itnEnabled": False,
            "atomicEnabled": False,
        }
    ]


def _sides(listed: Listed, moment: datetime) -> tuple[int, int]:
    bid_e6, ask_e6 = walk.quote_e6(listed, moment)
    return (0 if listed.symbol == QUIET else bid_e6), ask_e6


def _day_of(listed: Listed, now: datetime) -> dict[str, str]:
    """What only the form for one symbol knows: the range since midnight and the volumes."""
    midnight = datetime.combine(now.date(), time(), UTC)
    hours = [midnight + timedelta(hours=hour) for hour in range(now.hour + 1)]
    sides = [_sides(listed, moment) for moment in (*hours, now)]
    volume = (1_000_000 + crc32(listed.symbol.encode()) % 50_000_000) * (int((now - midnight).total_seconds()) + 1)
    return {
        "dailyHigh": ratio_text(max(ask for _, ask in sides), 10**6, 6),
        "dailyLow": ratio_text(min(bid for bid, _ in sides), 10**6, 6),
        "dailyTradingVolume": str(volume // 86_400),
        "mintBurnTokenVolume": ratio_text(volume, 86_400 * 30_000, 5),
        "mintBurnUsdVolume": ratio_text(volume * sides[-1][1], 86_400 * 30_000 * 10**6, 7),
    }


def _actions(listed: Listed, today: date) -> list[dict[str, Any]]:
    """The actions of one asset that the window shows today; yesterday's window is forgotten."""
    seed = crc32(listed.symbol.encode())
    seen = []
    if seed % 3 == 0:
        first = today - _PAST
        due = first + timedelta(days=(seed - first.toordinal()) % _QUARTER_DAYS)
        if due <= today + _AHEAD:
            rate = ratio_text(5 + seed % 120, 100, 2)
            seen.append(_action(listed, "CASH_DIVIDEND", due, today, {"rate": rate}))
    if seed % 40 == 7:
        # Announced, but nobody has said for when.
        seen.append(_action(listed, "FORWARD_SPLIT", None, today, {"oldRate": "1", "newRate": "2"}))
    return seen


def _action(listed: Listed, kind: str, due: date | None, today: date, rates: dict[str, str]) -> dict[str, Any]:
    first, *rest = kind.lower().split("_")
    is_done = due is not None and due < today
    return {
        "id": "0x" + listed.uid.hex(),
        "type": f"CORPORATE_ACTION_TYPE_{kind}",
        "status": "CORPORATE_ACTION_STATUS_" + ("COMPLETED" if is_done else "IN_PROGRESS"),
        "processDate": {"year": due.year, "month": due.month, "day": due.day} if due else None,
        "tokenSymbol": listed.symbol,
        "deployments": _deployments(listed),
        "details": {first + "".join(map(str.capitalize, rest)): {"underlyingSymbol": listed.symbol} | rates},
    }
