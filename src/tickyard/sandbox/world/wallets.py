"""The sandbox's people. Their keys follow from public phrases: never send anything real to them."""

from dataclasses import dataclass
from functools import cache

from tickyard.kernel.ids import Address
from tickyard.sandbox.node.abi import derived_address, keccak

NAMES = ("demo", "alice", "bob")

MAKER = derived_address("tickyard sandbox maker")
"""Admin of every token and owner of the desk. The node lets it send unsigned: nobody knows a key for it."""


@dataclass(frozen=True, slots=True)
class Wallet:
    name: str
    address: Address
    private_key: str


@cache
def wallets() -> tuple[Wallet, ...]:
    """`demo` first: the one that examples and tests spend from."""
    return tuple(map(_wallet, NAMES))


@cache
def relayer(chain_id: int) -> Wallet:
    """Who pays the gas of payments on one chain: the facilitator's account, not one of the people."""
    return _wallet(f"relayer-{chain_id}")


def _wallet(name: str) -> Wallet:
    # Curve arithmetic is slow to import and only a sandbox needs it.
    from eth_keys.datatypes import PrivateKey

    secret = keccak(f"tickyard sandbox wallet {name}".encode())
    address = PrivateKey(secret).public_key.to_address()
    return Wallet(name, Address(address), "0x" + secret.hex())
