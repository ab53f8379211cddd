"""A block's hash is the hash of its header: who is told both can check the one by the other, and need ask nobody.

So a node cannot tell of a block by its right hash and give it another number or time.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from tickyard.chain.keccak import keccak256
from tickyard.chain.rlp import Item, rlp

_NUMBERS: Final = frozenset(
    ("difficulty", "number", "gasLimit", "gasUsed", "timestamp", "baseFeePerGas", "blobGasUsed", "excessBlobGas")
)
_ALWAYS: Final = (
    "parentHash",
    "sha3Uncles",
    "miner",
    "stateRoot",
    "transactionsRoot",
    "receiptsRoot",
    "logsBloom",
    "difficulty",
    "number",
    "gasLimit",
    "gasUsed",
    "timestamp",
    "extraData",
    "mixHash",
    "nonce",
)
_SINCE: Final = (
    "baseFeePerGas",
    "withdrawalsRoot",
    "blobGasUsed",
    "excessBlobGas",
    "parentBeaconBlockRoot",
    "requestsHash",
)
"""What came later, in this order: a chain has some of them."""
_HEX: Final = re.compile(r"0x([0-9a-fA-F]{0,4096})")
"""The bloom is the longest by far."""
_KINDS: Final = 64
"""A few nodes, a few versions of each. A node that makes up names does not fill the memory."""


class Seals:
    """Chains differ in what a header holds, and nodes in what they show of it. A kind of header that was once seen to
    have its hash always has it; of one that never had, nothing can be said: an upgrade of the chain brings a field that
    is not known here."""

    def __init__(self) -> None:
        self._kinds: set[frozenset[str]] = set()

    def is_broken(self, header: Mapping[str, Any], block_hash: bytes) -> bool:
        """Whether this header cannot be that of the block."""
        kind = frozenset(name for name, value in header.items() if value is not None)
        held = (*_ALWAYS, *(name for name in _SINCE if name in kind))
        try:
            made = keccak256(rlp([_item(name, header.get(name)) for name in held]))
        except ValueError:
            return False
        if made == block_hash and len(self._kinds) < _KINDS:
            self._kinds.add(kind)
        return made != block_hash and kind in self._kinds


def _item(name: str, value: object) -> Item:
    digits = _HEX.fullmatch(value) if isinstance(value, str) else None
    if digits is None:
        raise ValueError(name)
    return int(digits[1], 16) if name in _NUMBERS else bytes.fromhex(digits[1])
