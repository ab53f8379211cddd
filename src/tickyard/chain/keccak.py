"""Keccak-256 as Ethereum means it: the original padding, not NIST's SHA3."""

from Crypto.Hash import keccak


def keccak256(data: bytes) -> bytes:
    digest: bytes = keccak.new(digest_bits=256, data=data).digest()
    return digest
