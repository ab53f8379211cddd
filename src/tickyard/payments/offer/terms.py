"""What a call costs and how it may be paid: our own entries of `accepts`, made fresh from the settings.

Whatever a client says it accepted is compared with these; whatever a facilitator is told is taken from these.
"""

from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from tickyard.chain.address import checksum
from tickyard.config import pinned
from tickyard.kernel.clock import Clock
from tickyard.kernel.ids import Address
from tickyard.kernel.units import UsdgAmount
from tickyard.kernel.wire import encode
from tickyard.payments.offer.sign_in import SignInOffer

MAX_TIMEOUT_S: Final = 300
USDC_NAME: Final = "USD Coin"
USDC_VERSION: Final = "2"
FIRST: Final = f"eip155:{pinned.CHAIN_ID}"
SECOND: Final = f"eip155:{pinned.SECOND_CHAIN_ID}"

# The client's own name for its payment: never required, and worth having when an answer gets lost.
UNNAMED: Final = {"info": {"required": False}, "schema": {"properties": {"id": {"type": "string"}}}}

NOT_OFFERED: Final = "invalid_payment_requirements: accepted is not one of this route's entries"

Method = Literal["permit2", "eip3009"]


@dataclass(frozen=True, slots=True)
class PaymentSettings:
    """What the payment layer needs to know. Facilitators and nodes are given to it ready made."""

    base_url: str
    """Public address of the service, without a trailing slash."""
    pay_to: Address
    spender: Address = pinned.SPENDER
    networks: tuple[str, ...] = (FIRST, SECOND)
    """Those on which new payments are taken."""


@dataclass(frozen=True, slots=True)
class AcceptsEntry:
    """One way to pay for one route."""

    network: str
    chain_id: int
    method: Method
    asset: Address
    amount_raw: int
    pay_to: Address
    spender: Address
    """Who may spend a Permit2 payment; means nothing for EIP-3009."""
    clock: Clock
    """The clock that this network's payers and nodes live by."""
    wire: dict[str, Any]
    """The entry as it stands in `accepts`."""
    text: bytes
    """The same as JSON."""
    closed: str | None = None
    """Why no new payment is taken by it: its network was withdrawn, or these were our terms once. What was begun by it
    is finished."""


class Terms:
    """The entries of any price. `second_clock` is a clock of its own only in the sandbox."""

    def __init__(self, settings: PaymentSettings, clock: Clock, second_clock: Clock | None = None) -> None:
        self.base_url = settings.base_url
        self._settings = settings
        self._clock = clock
        self._second_clock = second_clock or clock
        self.sign_in = SignInOffer(settings.base_url, settings.networks, (FIRST, SECOND), clock)

    def entries(self, price: UsdgAmount) -> tuple[AcceptsEntry, ...]:
        """USDG on the chain by Permit2, then USDC on the second network by EIP-3009. Both have six decimals."""
        pay_to, spender = self._settings.pay_to, self._settings.spender
        usdg_extra = {"assetTransferMethod": "permit2", "spender": checksum(spender)}
        usdc_extra = {"name": USDC_NAME, "version": USDC_VERSION}
        usdg, usdc = pinned.MAINNET.usdg, pinned.USDC_8453
        first = _wire(FIRST, usdg, price, pay_to, usdg_extra)
        second = _wire(SECOND, usdc, price, pay_to, usdc_extra)
        return (
            AcceptsEntry(
                *(FIRST, pinned.CHAIN_ID, "permit2", usdg, int(price), pay_to, spender, self._clock),
                *(first, encode(first), self._closed(FIRST)),
            ),
            AcceptsEntry(
                *(SECOND, pinned.SECOND_CHAIN_ID, "eip3009", usdc, int(price), pay_to, spender, self._second_clock),
                *(second, encode(second), self._closed(SECOND)),
            ),
        )

    def _closed(self, network: str) -> str | None:
        is_open = network in self._settings.networks
        return None if is_open else "invalid_network: this network takes no new payments"


def former(entry: AcceptsEntry, amount_raw: int, pay_to: Address, spender: Address) -> AcceptsEntry:
    """The entry as it may have been, before the price, the address to be paid at or the spender was changed."""
    wire = {**entry.wire, "amount": str(amount_raw), "payTo": checksum(pay_to)}
    if entry.method == "permit2":
        wire["extra"] = {**entry.wire["extra"], "spender": checksum(spender)}
    closed = entry.closed or NOT_OFFERED
    terms = replace(entry, amount_raw=amount_raw, pay_to=pay_to, spender=spender)
    return replace(terms, wire=wire, text=encode(wire), closed=closed)


def _wire(network: str, asset: Address, price: UsdgAmount, pay_to: Address, extra: dict[str, str]) -> dict[str, Any]:
    return {
        "scheme": "exact",
        "network": network,
        "asset": checksum(asset),
        "amount": str(int(price)),
        "payTo": checksum(pay_to),
        "maxTimeoutSeconds": MAX_TIMEOUT_S,
        "extra": extra,
    }


def is_same(left: Any, right: Any) -> bool:
    """Deep equality of JSON values, types included: to Python 300, 300.0 and True are not always different."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(is_same(value, right[key]) for key, value in left.items())
    if isinstance(left, list):
        return len(left) == len(right) and all(map(is_same, left, right))
    return bool(left == right)
