"""The little of the contract ABI that the sandbox speaks: 32-byte words, selectors, addresses."""

from collections.abc import Sequence

from sha3 import keccak_256

from tickyard.kernel.ids import Address

Static = int | str
"""A number (negative ones too), a truth value, or an address."""
Row = Sequence[Static]
Value = Static | bytes | Sequence[Static] | Sequence[Row]
"""Beside the static ones: bytes (for `bytes` and `string`) and lists of static values or rows."""


def keccak(data: bytes) -> bytes:
    digest: bytes = keccak_256(data).digest()
    return digest


def derived_address(phrase: str) -> Address:
    """An address that follows from a phrase and has no known key."""
    return Address("0x" + keccak(phrase.encode())[-20:].hex())


def create2_address(deployer: str, salt: bytes, code_hash: bytes) -> Address:
    content = b"\xff" + bytes.fromhex(deployer[2:]) + salt + code_hash
    return Address("0x" + keccak(content)[-20:].hex())


def _static(value: Static) -> bytes:
    number = int(value, 16) if isinstance(value, str) else int(value)
    return (number % 2**256).to_bytes(32, "big")


def _list(values: Sequence[Static] | Sequence[Row]) -> bytes:
    parts = [_static(len(values))]
    for value in values:
        parts.extend([_static(value)] if isinstance(value, int | str) else map(_static, value))
    return b"".join(parts)


def encode(*values: Value) -> bytes:
    """Arguments as the ABI lays them out: heads first, what has no fixed length behind them."""
    heads: list[bytes] = []
    tails = b""
    for value in values:
        if isinstance(value, int | str):
            heads.append(_static(value))
            continue
        heads.append(_static(32 * len(values) + len(tails)))
        if isinstance(value, bytes):
            tails += _static(len(value)) + value + bytes(-len(value) % 32)
        else:
            tails += _list(value)
    return b"".join(heads) + tails


def call_data(signature: str, *values: Value) -> str:
    return "0x" + (keccak(signature.encode())[:4] + encode(*values)).hex()


def words(result: str) -> list[int]:
    """A call's hex result as unsigned words."""
    data = bytes.fromhex(result[2:])
    return [int.from_bytes(data[i : i + 32], "big") for i in range(0, len(data), 32)]
