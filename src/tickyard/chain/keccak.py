"""The hash of everything on an EVM chain."""

from functools import cache
from typing import Any


@cache
def _library() -> Any:
    # Loading it costs more than all else in this folder, so it waits for the first hash.
    from Crypto.Hash import keccak

    return keccak


def keccak256(data: bytes) -> bytes:
    digest: bytes = _library().new(digest_bits=256, data=data).digest()
    return digest
