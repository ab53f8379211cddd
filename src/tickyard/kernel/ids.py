"""Names of things: tickers and addresses."""

import re
from typing import NewType

from tickyard.kernel.errors import BadRequest

Symbol = NewType("Symbol", str)
"""A ticker in upper case, as the registry spells it."""

Address = NewType("Address", str)
"""`0x` and 40 hex digits, always lower case inside the house. Doors show the EIP-55 form."""

SYMBOL_MAX = 16
ADDRESS_PATTERN = "^0x[0-9a-fA-F]{40}$"

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
# str.upper() would turn other letters into ASCII ones (long s, dotless i): only a-z may change.
_UPPER = str.maketrans({chr(c): chr(c - 32) for c in range(ord("a"), ord("z") + 1)})

ZERO_ADDRESS = Address("0x" + "0" * 40)
EXAMPLE_WALLET = "0x54272d10F4fF50Ee2530899012E36f9c6e9E1fCB"
"""Stands for the caller's own wallet in examples. The last 20 bytes of the Keccak-256 hash of the words "tickyard: put
your own wallet here", so nobody has a key for it: what is sent there is lost, and a build for it is refused."""


def read_symbol(text: str) -> Symbol:
    """A ticker as typed by a caller. Whether it is listed is for the registry to say."""
    if not 1 <= len(text) <= SYMBOL_MAX:
        raise BadRequest(f"symbol must be 1 to {SYMBOL_MAX} characters long")
    return Symbol(text.translate(_UPPER))


def read_address(text: str, *, name: str = "address") -> Address:
    """An address as typed by a caller, in any letter case."""
    if not _ADDRESS.fullmatch(text):
        raise BadRequest(f"{name} must be 0x followed by 40 hex digits")
    return Address(text.lower())


def is_address(text: object) -> bool:
    return isinstance(text, str) and _ADDRESS.fullmatch(text) is not None
