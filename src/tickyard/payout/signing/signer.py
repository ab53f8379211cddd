"""Who holds the payout key. A key in this process, or anything else that signs 32 bytes: a vault, a remote signer."""

from typing import Protocol

from coincurve import PrivateKey

from tickyard.chain.keccak import keccak256
from tickyard.kernel.ids import Address


class Signer(Protocol):
    @property
    def address(self) -> Address: ...

    async def sign(self, digest: bytes) -> bytes:
        """65 bytes: r, s in its lower half, and the parity of y as 0 or 1."""
        ...


class LocalSigner:
    """The key of an opened keystore. It is never shown, logged or handed on."""

    __slots__ = ("_key", "address")

    def __init__(self, key: bytes) -> None:
        self._key = PrivateKey(key)
        self.address = Address("0x" + keccak256(self._key.public_key.format(compressed=False)[1:])[12:].hex())

    def __repr__(self) -> str:
        return f"LocalSigner({self.address})"

    async def sign(self, digest: bytes) -> bytes:
        return self._key.sign_recoverable(digest, hasher=None)
