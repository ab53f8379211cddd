"""What a stock token has beyond ERC-20: a display multiplier, pauses and a blocklist.

The multiplier never moves a balance: share equivalent = raw balance x multiplier / 1e18.
"""

from typing import Final

from tickyard.chain.abi import address_word, malformed, read_bool, read_uint
from tickyard.kernel.ids import Address

UI_MULTIPLIER: Final = bytes.fromhex("a60bf13d")
NEW_UI_MULTIPLIER: Final = bytes.fromhex("dc767007")
EFFECTIVE_AT: Final = bytes.fromhex("97a4064f")
ORACLE_PAUSED: Final = bytes.fromhex("7706ba52")
UID: Final = bytes.fromhex("f514ce36")
"""Asked of the registry (the beacon), which pauses all tokens at once."""
_IS_BLOCKED: Final = bytes.fromhex("fbac3951")

MULTIPLIER_ONE: Final = 10**18
_MULTIPLIER_MOST: Final = 10**6 * MULTIPLIER_ONE


def is_blocked(account: Address) -> bytes:
    return _IS_BLOCKED + address_word(account)


def read_multiplier(data: bytes) -> int:
    """18 decimals. Zero or a million-fold one is no multiplier a token of ours could have."""
    multiplier = read_uint(data)
    if not 0 < multiplier <= _MULTIPLIER_MOST:
        raise malformed()
    return multiplier


def read_time(data: bytes) -> int:
    return read_uint(data)


def read_flag(data: bytes) -> bool:
    """The answer of oraclePaused, paused and isBlocked."""
    return read_bool(data)


def pending_multiplier(current: int, new: int, effective_at: int, now: int) -> int | None:
    """The multiplier that is announced but not yet in force.

    The contract never clears a schedule, so both must hold: its time is to come, and it changes something.
    """
    return new if effective_at > now and new != current else None
