"""`tickyard call` and `tickyard watch`."""

import argparse
import asyncio
import difflib
import os
import shutil
import sys
import textwrap
from typing import Any, Final, Literal, Self, TextIO, get_args, get_origin

import msgspec

from tickyard.client import (
    AsyncClient,
    NodeUnreachable,
    ServiceError,
    TickyardError,
    TooManyRequests,
    Unreachable,
    UpstreamError,
)
from tickyard.client.operations import ROUTES
from tickyard.client.routes import Param, Route
from tickyard.config.web_address import is_web_address
from tickyard.kernel.clock import Clock, WallClock
from tickyard.terminal.ascii import print_json
from tickyard.terminal.chart import Bar, draw
from tickyard.terminal.tables import printable, render

_CLEAR: Final = "\x1b[H\x1b[2J"
_REDRAW_S: Final = 5.0
_CANDLES_MAX: Final = 300
INTERRUPTED: Final = 130


class WrongCommand(Exception):
    """What was typed cannot be sent. One sentence."""


def call_command(args: argparse.Namespace) -> int:
    """Call one operation and print its answer. 0: it worked, 1: the service said no, 2: it cannot be asked so."""
    if args.operation == "list":
        print("\n".join(f"{name:24} {_usage(route)}".rstrip() for name, route in ROUTES.items()))
        return 0
    try:
        url, values = base_url(args.url), read_call(args.operation, args.values)
    except WrongCommand as wrong:
        print(wrong, file=sys.stderr)
        return 2
    try:
        answer = asyncio.run(_call(url, args.operation, values))
    except TickyardError as error:
        print(said(error, url), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    if args.json:
        print_json(answer)
    else:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        print(render(args.operation, answer, width))
    return 0


def watch_command(args: argparse.Namespace) -> int:
    """Draw the candles of one symbol, again whenever its price moves, until Ctrl-C."""
    try:
        url = base_url(args.url)
    except WrongCommand as wrong:
        print(wrong, file=sys.stderr)
        return 2
    try:
        asyncio.run(watch(args.symbol, args.interval, url, once=args.once))
    except TickyardError as error:
        print(said(error, url), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        pass
    return 0


def base_url(given: str | None) -> str:
    """The given one, else TICKYARD_BASE_URL, else this machine's."""
    environ = os.environ
    url = given or environ.get("TICKYARD_BASE_URL") or f"http://127.0.0.1:{environ.get('TICKYARD_PORT') or 8402}"
    if not is_web_address(url):
        raise WrongCommand(f"{url!r} is not an address such as http://127.0.0.1:8402")
    return url


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
            choices = get_args(params[name].kind)
            hint = f": {', '.join(map(str, choices))}" if get_origin(params[name].kind) is Literal else ""
            raise WrongCommand(f"{name} cannot be {text!r}{hint}") from None
    missing = [name for name, param in params.items() if _is_needed(param) and name not in values]
    if missing:
        raise WrongCommand(f"{operation} needs {', '.join(missing)}")
    return values


def _usage(route: Route) -> str:
    return " ".join(f"{param.name}=…" if _is_needed(param) else f"[{param.name}=…]" for param in route.params)


def _is_needed(param: Param) -> bool:
    """Over HTTP an alert's secret may also come in a header, which a command has no words for."""
    return param.is_required or param.name == "secret"


def said(error: TickyardError, url: str) -> str:
    # The address of a node may hold a key, and is not that of the service.
    if isinstance(error, Unreachable) and not isinstance(error, NodeUnreachable):
        return printable(f"{error}: {url}")
    if isinstance(error, ServiceError):
        named = f" (request {error.request_id})" if error.request_id else ""
        return printable(f"{error.code}: {error.message}{named}")
    return printable(str(error))


async def _call(url: str, operation: str, values: dict[str, Any]) -> Any:
    async with AsyncClient(url) as client:
        return await client.call_json(operation, **values)


async def watch(
    symbol: str,
    interval: str,
    url: str,
    *,
    once: bool = False,
    out: TextIO | None = None,
    clock: Clock | None = None,
) -> None:
    """Draw until the program is stopped; once where nobody looks on, or where that is asked for."""
    out, clock = out or sys.stdout, clock or WallClock()
    is_live = out.isatty() and not once
    history: dict[str, Any] = {}
    async with AsyncClient(url) as client, _LivePrice(client, symbol) as ticker:
        while True:
            trouble = f"  now {ticker.price}" if ticker.price else ""
            try:
                history = await client.call_json("get_history", symbol=symbol, interval=interval, limit=_CANDLES_MAX)
            except (Unreachable, UpstreamError, TooManyRequests) as error:
                # A chart that has begun outlives a restart of the service.
                if not history:
                    raise
                ticker.price = None
                trouble = f"  ({error})"
            size = shutil.get_terminal_size((100, 30))
            screen = chart_screen(history, size.columns, size.lines, colours=_wants_colours(out), trouble=trouble)
            print((_CLEAR if is_live else "") + screen, file=out, flush=True)
            if not is_live:
                return
            await ticker.wait(clock)


def _wants_colours(out: TextIO) -> bool:
    """NO_COLOR, whatever it says, is how people ask any program for none."""
    return out.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class _LivePrice:
    """The price as it moves, from the stream: a screen is drawn again when it does, and every few seconds anyway."""

    def __init__(self, client: AsyncClient, symbol: str) -> None:
        self._client = client
        self._symbol = symbol
        self._moved = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.price: str | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        if self._task is not None:
            self._task.cancel()
            # Before the client is closed: it is the client's connection that it listens on.
            await asyncio.gather(self._task, return_exceptions=True)

    async def wait(self, clock: Clock) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._listen())
        waits = {asyncio.ensure_future(clock.sleep(_REDRAW_S)), asyncio.ensure_future(self._moved.wait())}
        try:
            done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()
        for each in done:
            each.result()
        self._moved.clear()

    async def _listen(self) -> None:
        try:
            async for event in self._client.stream(symbols=[self._symbol], events=["price", "sample"]):
                if event.name == "price":
                    self.price = str(event.data["price"])
                elif event.name == "snapshot":
                    # What others were told already is not told again before it moves.
                    told = [item["live"] for item in event.data["prices"] if item.get("live")]
                    self.price = str(told[0]["price"]) if told else None
                self._moved.set()
        except TickyardError:
            # A service without a stream: the chart is drawn every few seconds, as ever.
            self.price = None


def chart_screen(history: dict[str, Any], columns: int, lines: int, *, colours: bool, trouble: str = "") -> str:
    """A screen full: a headline, the chart, its axis."""
    bars = msgspec.convert(history["candles"], list[Bar])
    newest = f"{bars[-1].close:g}" if bars else "no sample yet"
    headline = f"{history['symbol']}  {newest}{trouble}  {history['interval']} candles, {history['source']}"
    # Where it does not fit it goes on in the next line: what is cut off may be the word that the prices are made up.
    head = textwrap.wrap(headline, columns)
    chart = draw(bars, width=columns, height=max(4, lines - 2 - len(head)), colours=colours)
    return "\n".join([*head, "", *chart])
