"""The payment layer: terms, ledger, facilitators, and our own eyes on both chains."""

import contextlib
from collections.abc import AsyncIterator

from tickyard.chain.rpc.client import Rpc
from tickyard.config.pinned import SECOND_CHAIN_ID
from tickyard.config.settings import Settings
from tickyard.kernel.clock import Clock, WallClock
from tickyard.kernel.ids import Address
from tickyard.observe.metrics import observe_upstream
from tickyard.payments.cashier import Cashier
from tickyard.payments.facilitator import Facilitator
from tickyard.payments.identity import Identity
from tickyard.payments.layer import Payments
from tickyard.payments.ledger import Ledger
from tickyard.payments.offer.terms import FIRST, SECOND, PaymentSettings, Terms
from tickyard.payments.proof.chain import ChainProof
from tickyard.payments.till import Till
from tickyard.store.engine import Store


@contextlib.asynccontextmanager
async def open_payments(settings: Settings, store: Store, rpc: Rpc, clock: Clock) -> AsyncIterator[Payments]:
    # In the sandbox the second network stays on wall time, so that unmodified clients can always pay there.
    second_clock = WallClock()
    async with contextlib.AsyncExitStack() as stack:
        second_rpc = Rpc(
            settings.rpc_urls_8453,
            chain_id=SECOND_CHAIN_ID,
            clock=second_clock,
            observe=lambda _url, _method, outcome, seconds: observe_upstream("node-8453", outcome, seconds),
        )
        stack.push_async_callback(second_rpc.close)
        tills, chains = {}, {}
        networks = (
            (FIRST, settings.facilitator_4663, rpc, clock),
            (SECOND, settings.facilitator_8453, second_rpc, second_clock),
        )
        for network, url, its_rpc, its_clock in networks:
            facilitator = Facilitator(network, url, its_clock, observe=observe_upstream)
            await facilitator.start()
            stack.push_async_callback(facilitator.close)
            chains[network] = ChainProof(network, its_rpc)
            tills[network] = Till([facilitator], chains[network], its_clock)
        ledger = Ledger(store, clock)
        cashier = Cashier(ledger, tills, clock)
        # Nothing between taking the money and sending the answer may be lost when we stop.
        stack.push_async_callback(cashier.drain)
        terms = Terms(
            PaymentSettings(settings.base_url, Address(settings.pay_to.lower()), Address(settings.spender.lower())),
            clock,
            second_clock,
        )
        yield Payments(terms, ledger, cashier, Identity(chains), chains)
