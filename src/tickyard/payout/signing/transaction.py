"""The one kind of transaction that the agent ever signs: a call of the desk, as EIP-1559 lays it out."""

from dataclasses import dataclass
from typing import Final

from tickyard.chain.keccak import keccak256
from tickyard.chain.rlp import Item, rlp
from tickyard.kernel.ids import Address

_TYPE: Final = b"\x02"


@dataclass(frozen=True, slots=True)
class CallTransaction:
    chain_id: int
    nonce: int
    tip: int
    max_fee: int
    gas_limit: int
    to: Address
    data: bytes

    @property
    def digest(self) -> bytes:
        """What is signed."""
        return keccak256(_TYPE + rlp(self._fields()))

    def signed(self, signature: bytes) -> bytes:
        """The bytes that are broadcast. The signature is r, s and the parity of y as one byte."""
        r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:64], "big")
        return _TYPE + rlp([*self._fields(), signature[64], r, s])

    def _fields(self) -> list[Item]:
        # No value, no access list.
        return [
            self.chain_id,
            self.nonce,
            self.tip,
            self.max_fee,
            self.gas_limit,
            bytes.fromhex(self.to[2:]),
            0,
            self.data,
            [],
        ]


def transaction_hash(raw: bytes) -> str:
    return "0x" + keccak256(raw).hex()
