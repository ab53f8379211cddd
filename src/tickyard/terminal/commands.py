"""`tickyard call` and `tickyard watch`."""

import argparse
import asyncio
import difflib
import os
import shutil
import sys
from typing import Any, Final, TextIO

import msgspec

from tickyard.client import AsyncClient, ServiceError, TickyardError
from tickyard.client.operations import ROUTES
from tickyard.client.routes import Route
from tickyard.kernel.clock import Clock, WallClock
from tickyard.terminal.chart import Bar, draw
from tickyard.terminal.tables import render

_CLEAR: Final = "\x1b[H\x1b[2J"
_REDRAW_S: Final = 5.0
_CANDLES_MAX: Final = 300


class WrongCommand(Exception):
    """What was typed cannot be sent. One sentence."""


def call_command(args: argparse.Namespace) -> int:
    """Call one operation and print its answer. 0: it worked, 1: the service said no, 2: it cannot be asked so."""
    if args.operation == "list":
        print("\n".join(f"{name:24} {_usage(route)}".rstrip() for name, route in ROUTES.items()))
        return 0
    try:
        values = read_call(args.operation, args.values)
        answer = asyncio.run(_call(base_url(args.url), args.operation, values))
    except WrongCommand as wrong:
        print(wrong, file=sys.stderr)
        return 2
    except TickyardError as error:
        print(_said(error), file=sys.stderr)
        return 1
    builtins = msgspec.to_builtins(answer)
    if args.json:
        print(msgspec.json.format(msgspec.json.encode(builtins), indent=2).decode())
    else:
        print(render(args.operation, builtins))
    return 0


def watch_command(args: argparse.Namespace) -> int:
    """Draw the candles of one symbol, again every few seconds, until Ctrl-C."""
    try:
        asyncio.run(watch(args.symbol, args.interval, base_url(args.url), once=args.once))
    except TickyardError as error:
        print(_said(error), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        pass
    return 0


def base_url(given: str | None) -> str:
    """The given one, else TICKYARD_BASE_URL, else this machine's."""
    return given or os.environ.get("TICKYARD_BASE_URL") or f"http://127.0.0.1:{os.environ.get('TICKYARD_PORT') or 8402}"


def read_call(operation: str, pairs: list[str]) -> dict[str, Any]:
    """`name=value` texts as the types that the operation takes."""
    route = ROUTES.get(operation)
    if route is None:
        near = difflib.get_close_matches(operation, ROUTES, 1)
        hint = f"; did you mean {near[0]}?" if near else "; `tickyard call list` shows them all"
        raise WrongCommand(f"there is no operation {operation}{hint}")
    params = {param.name: param for param in route.params}
    values: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or name not in params or name in values:
            raise WrongCommand(f"{pair!r} is not one of: {_usage(route)}")
        try:
            values[name] = msgspec.convert(text, params[name].kind, strict=False)
        except msgspec.ValidationError:
            raise WrongCommand(f"{name} cannot be {text!r}") from None
    missing = [name for name, param in params.items() if param.is_required and name not in values]
    if missing:
        raise WrongCommand(f"{operation} needs {', '.join(missing)}")
    return values


def _usage(route: Route) -> str:
    return " ".join(f"{param.name}=…" if param.is_required else f"[{param.name}=…]" for param in route.params)


def _said(error: TickyardError) -> str:
    if isinstance(error, ServiceError):
        named = f" (request {error.request_id})" if error.request_id else ""
        return f"{error.code}: {error.message}{named}"
    return str(error)


async def _call(url: str, operation: str, values: dict[str, Any]) -> Any:
    async with AsyncClient(url) as client:
        return await client.call(operation, **values)


async def watch(
    symbol: str,
    interval: str,
    url: str,
    *,
    once: bool = False,
    out: TextIO | None = None,
    clock: Clock | None = None,
) -> None:
    """Draw until the program is stopped, or once."""
    out, clock = out or sys.stdout, clock or WallClock()
    is_live = out.isatty()
    async with AsyncClient(url) as client:
        while True:
            size = shutil.get_terminal_size((100, 30))
            answer = await client.call("get_history", symbol=symbol, interval=interval, limit=_CANDLES_MAX)
            screen = chart_screen(msgspec.to_builtins(answer), size.columns, size.lines, colours=is_live)
            print((_CLEAR if is_live and not once else "") + screen, file=out, flush=True)
            if once:
                return
            await clock.sleep(_REDRAW_S)


def chart_screen(history: dict[str, Any], columns: int, lines: int, *, colours: bool) -> str:
    """A screen full: a headline, the chart, its axis."""
    bars = msgspec.convert(history["candles"], list[Bar])
    newest = f"{bars[-1].close:g}" if bars else "no sample yet"
    headline = f"{history['symbol']}  {newest}  {history['interval']} candles, {history['source']}"
    chart = draw(bars, width=columns, height=max(4, lines - 3), colours=colours)
    return "\n".join([headline[:columns], "", *chart])
