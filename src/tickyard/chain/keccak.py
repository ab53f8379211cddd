"""The hash of everything on an EVM chain."""

from sha3 import keccak_256


def keccak256(data: bytes) -> bytes:
    digest: bytes = keccak_256(data).digest()
    return digest
