"""Who signed a digest: the address behind an ordinary signature. Recovering needs no key, and cannot sign."""

from tickyard.chain.keccak import keccak256
from tickyard.kernel.ids import Address


def signer_of(digest: bytes, r_and_s: bytes, parity: int) -> Address | None:
    """The address; None when nobody can have made this signature."""
    # Loaded by the first signature: half a process's life may pass without one.
    from coincurve import PublicKey

    try:
        key = PublicKey.from_signature_and_message(r_and_s + bytes([parity]), digest, hasher=None)
    except ValueError:
        return None
    return Address("0x" + keccak256(key.format(compressed=False)[1:])[12:].hex())
