"""The payment layer: terms, ledger, facilitators, and our own eyes on both chains."""

import contextlib
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

from tickyard.chain.rpc.client import Rpc
from tickyard.config.pinned import SECOND_CHAIN_ID
from tickyard.config.settings import Settings, SettingsError
from tickyard.kernel.clock import Clock, WallClock
from tickyard.kernel.ids import Address
from tickyard.observe.metrics import observe_upstream
from tickyard.payments.books.ledger import Ledger
from tickyard.payments.facilitators.credentials import BadCredentials, Credentials, FixedHeaders, SignedTokens
from tickyard.payments.facilitators.facilitator import Facilitator
from tickyard.payments.facilitators.till import Till
from tickyard.payments.layer import Payments
from tickyard.payments.offer.terms import FIRST, SECOND, PaymentSettings, Terms
from tickyard.payments.proof.chain import ChainProof
from tickyard.payments.receipts import ReceiptKey
from tickyard.payments.selling.cashier import Cashier
from tickyard.payments.selling.identity import PayerIdentity
from tickyard.store.engine import Store
from tickyard.supervisor import Supervisor
from tickyard.wiring.spares import watch_spares


@contextlib.asynccontextmanager
async def open_payments(
    settings: Settings, store: Store, rpc: Rpc, clock: Clock, tasks: Supervisor
) -> AsyncIterator[Payments]:
    # In the sandbox the second network stays on wall time, so that unmodified clients can always pay there.
    second_clock = WallClock()
    async with contextlib.AsyncExitStack() as stack:
        second_rpc = Rpc(
            settings.rpc_urls_8453,
            chain_id=SECOND_CHAIN_ID,
            clock=second_clock,
            max_age_s=settings.head_age_max_s,
            observe=lambda _url, _method, outcome, seconds: observe_upstream("node-8453", outcome, seconds),
        )
        stack.push_async_callback(second_rpc.close)
        if len(settings.rpc_urls_8453) > 1:
            tasks.start("nodes of 8453", partial(watch_spares, second_rpc, second_clock))
        tills, chains = {}, {}
        for network, its_rpc, its_clock in ((FIRST, rpc, clock), (SECOND, second_rpc, second_clock)):
            facilitators = _facilitators(settings, network, its_clock)
            for each in facilitators:
                await each.start()
                stack.push_async_callback(each.close)
            chains[network] = ChainProof(network, its_rpc, Address(settings.spender.lower()))
            tills[network] = Till(facilitators, chains[network], its_clock)
        ledger = Ledger(store, clock)
        cashier = Cashier(ledger, tills, clock)
        # Nothing between taking the money and sending the answer may be lost when we stop.
        stack.push_async_callback(cashier.drain)
        yield Payments(
            _terms(settings, clock, second_clock), ledger, cashier, PayerIdentity(chains), chains, receipt_key(settings)
        )


def _facilitators(settings: Settings, network: str, clock: Clock) -> list[Facilitator]:
    """In the order of the settings. What the first one wants to see of us is shown to no other."""
    name = "facilitator_" + network.removeprefix("eip155:")
    shown = credentials_of(settings, network, clock)
    return [
        Facilitator(network, url, clock, place=n, observe=observe_upstream, credentials=shown if n == 1 else None)
        for n, url in enumerate(getattr(settings, name), start=1)
    ]


def credentials_of(settings: Settings, network: str, clock: Clock) -> Credentials | None:
    """What the first facilitator of a network wants to see; None: nothing."""
    name = "facilitator_" + network.removeprefix("eip155:")
    headers_file, key_file = getattr(settings, f"{name}_headers_file"), getattr(settings, f"{name}_key_file")
    try:
        if key_file:
            return SignedTokens(Path(key_file), clock)
        return FixedHeaders(Path(headers_file)) if headers_file else None
    except BadCredentials as wrong:
        raise SettingsError(f"the credentials of a facilitator cannot be used: {wrong}") from None


def receipt_key(settings: Settings) -> ReceiptKey | None:
    if not settings.receipt_key_file:
        return None
    try:
        return ReceiptKey(Path(settings.receipt_key_file), settings.base_url)
    except BadCredentials as wrong:
        raise SettingsError(f"the key of receipts cannot be used: {wrong}") from None


def _terms(settings: Settings, clock: Clock, second_clock: Clock) -> Terms:
    terms = PaymentSettings(
        settings.base_url,
        Address(settings.pay_to.lower()),
        Address(settings.spender.lower()),
        tuple(f"eip155:{chain}" for chain in settings.networks),
    )
    return Terms(terms, clock, second_clock)
