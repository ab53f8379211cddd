"""The name of a payment."""

import msgspec

from tickyard.kernel.ids import Address


class Key(msgspec.Struct, frozen=True, gc=False):
    """The name of one payment: the chain lets it happen once."""

    network: str
    asset: Address
    payer: Address
    nonce: str
    """0x and 64 hex digits, lower case, for both methods."""
