"""The two clients: the same calls, awaited or not."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from tickyard.client.answers.shared import TradeBuild
from tickyard.client.caller import DEFAULT_URL, Caller
from tickyard.client.operations import ROUTES, AsyncOperations, Operations
from tickyard.client.order import Order
from tickyard.client.payer import Payer
from tickyard.client.routes import Route
from tickyard.client.stream import StreamEvent, listen
from tickyard.kernel.clock import Clock

if TYPE_CHECKING:
    from tickyard.client.sending import Account, SignedStep, TradeDone

T = TypeVar("T")
_CLOSE_S: Final = 10


class AsyncClient(AsyncOperations):
    """
    async with AsyncClient("https://api.example.com") as client:
        quote = await client.get_quote(symbol="AAPL", side="buy", amount="100")
    """

    def __init__(
        self,
        base_url: str = DEFAULT_URL,
        *,
        payer: Payer | None = None,
        retries: int = 2,
        timeout_s: float = 30.0,
        clock: Clock | None = None,
    ) -> None:
        self._caller = Caller(base_url, payer=payer, retries=retries, timeout_s=timeout_s, clock=clock)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._caller.close()

    async def call(self, operation: str, **arguments: Any) -> Any:
        """Any operation by its name, with wire names as arguments."""
        return await self._caller.call(ROUTES[operation], arguments)

    async def call_json(self, operation: str, **arguments: Any) -> Any:
        """The same, with the answer as plain JSON values, exactly as it came."""
        return await self._caller.call(ROUTES[operation].untyped(), arguments)

    def stream(
        self,
        *,
        symbols: Iterable[str] | None = None,
        events: Iterable[str] | None = None,
        last_event_id: str | None = None,
    ) -> AsyncIterator[StreamEvent]:
        """What happens, as it happens, for ever: it comes back by itself and goes on where it was."""
        caller = self._caller
        return listen(caller.base_url, caller.clock, symbols=symbols, events=events, last_event_id=last_event_id)

    async def send(
        self,
        build: TradeBuild,
        account: "Account",
        *,
        order: Order,
        rpc_url: str,
        sent: Sequence["SignedStep"] = (),
        wait_s: float = 120.0,
        on_signed: "Callable[[SignedStep], None] | None" = None,
    ) -> "TradeDone":
        """Sign and send the steps of a build through a node of your own, and wait for each. Refused unless the calldata
        says what the order says. `account` comes from eth-account; `sent`: of a TradeUnsettled, to go on.
        `on_signed` is told of each step before it leaves: an interrupted trade goes on with those bytes."""
        from tickyard.client.sending import send_trade

        return await send_trade(
            build, account, order=order, rpc_url=rpc_url, sent=sent, wait_s=wait_s, on_signed=on_signed
        )

    async def _call(self, route: Route, values: dict[str, Any]) -> Any:
        return await self._caller.call(route, values)


class Client(Operations):
    """
    with Client("https://api.example.com") as client:
        quote = client.get_quote(symbol="AAPL", side="buy", amount="100")

    It works from any thread, also from one in which an event loop runs.
    """

    def __init__(
        self,
        base_url: str = DEFAULT_URL,
        *,
        payer: Payer | None = None,
        retries: int = 2,
        timeout_s: float = 30.0,
        clock: Clock | None = None,
    ) -> None:
        self._caller = Caller(base_url, payer=payer, retries=retries, timeout_s=timeout_s, clock=clock)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="tickyard client", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        if self._loop.is_closed():
            return
        self._wait(self._caller.close())
        # A stream that somebody still holds ends with its client.
        self._wait(self._loop.shutdown_asyncgens())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CLOSE_S)
        self._loop.close()

    def call(self, operation: str, **arguments: Any) -> Any:
        """Any operation by its name, with wire names as arguments."""
        return self._call(ROUTES[operation], arguments)

    def call_json(self, operation: str, **arguments: Any) -> Any:
        """The same, with the answer as plain JSON values, exactly as it came."""
        return self._call(ROUTES[operation].untyped(), arguments)

    def stream(
        self,
        *,
        symbols: Iterable[str] | None = None,
        events: Iterable[str] | None = None,
        last_event_id: str | None = None,
    ) -> Iterator[StreamEvent]:
        """What happens, as it happens, for ever: it comes back by itself and goes on where it was."""
        caller = self._caller
        told = listen(caller.base_url, caller.clock, symbols=symbols, events=events, last_event_id=last_event_id)

        waiting: set[asyncio.Task[Any]] = set()

        async def next_one() -> StreamEvent:
            task = asyncio.ensure_future(anext(told))
            waiting.add(task)
            task.add_done_callback(waiting.discard)
            return await task

        async def end() -> None:
            # Whoever leaves with Ctrl-C leaves a wait behind: the connection is closed after it.
            for task in [*waiting]:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            await told.aclose()

        try:
            while True:
                yield self._wait(next_one())
        finally:
            if not self._loop.is_closed():
                self._wait(end())

    def send(
        self,
        build: TradeBuild,
        account: "Account",
        *,
        order: Order,
        rpc_url: str,
        sent: Sequence["SignedStep"] = (),
        wait_s: float = 120.0,
        on_signed: "Callable[[SignedStep], None] | None" = None,
    ) -> "TradeDone":
        """Sign and send the steps of a build through a node of your own, and wait for each. Refused unless the calldata
        says what the order says. `account` comes from eth-account; `sent`: of a TradeUnsettled, to go on.
        `on_signed` is told of each step before it leaves: an interrupted trade goes on with those bytes."""
        from tickyard.client.sending import send_trade

        return self._wait(
            send_trade(build, account, order=order, rpc_url=rpc_url, sent=sent, wait_s=wait_s, on_signed=on_signed)
        )

    def _call(self, route: Route, values: dict[str, Any]) -> Any:
        return self._wait(self._caller.call(route, values))

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        outcome: Future[T] = Future()
        tasks: list[asyncio.Task[T]] = []

        def start() -> None:
            tasks.append(self._loop.create_task(work))
            tasks[0].add_done_callback(partial(_hand_over, outcome))

        def stop() -> None:
            for task in tasks:
                task.cancel()

        # Whoever is interrupted here wants no more of it: the next step of a trade is not signed behind their back. The
        # loop takes both in this order, so at no instant is there work that an interruption would miss.
        try:
            self._loop.call_soon_threadsafe(start)
            return outcome.result()
        finally:
            if not outcome.done():
                self._loop.call_soon_threadsafe(stop)


def _hand_over(outcome: "Future[T]", task: "asyncio.Task[T]") -> None:
    if task.cancelled():
        outcome.cancel()
    elif (error := task.exception()) is not None:
        outcome.set_exception(error)
    else:
        outcome.set_result(task.result())
