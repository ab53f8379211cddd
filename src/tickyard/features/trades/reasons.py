"""Why a step would revert, in words. A closed list; what is not in it is told as it came."""

from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

from tickyard.chain.abi import WORD, revert_text
from tickyard.chain.keccak import keccak256

ReasonCode = Literal[
    "too_little_received",
    "too_much_requested",
    "transaction_too_old",
    "balance_short",
    "allowance_short",
    "recipient_blocked",
    "token_paused",
    "gas_short",
    "transfer_failed",
    "pool_refused",
    "out_of_gas_or_assertion",
    "other",
]

WORDS: Final[dict[ReasonCode, str]] = {
    "too_little_received": "Too little received: less would come out than the bound allows.",
    "too_much_requested": "Too much requested: more would have to go in than the bound allows.",
    "transaction_too_old": "Transaction too old: the deadline has passed.",
    "balance_short": "The recipient does not hold what would have to be paid.",
    "allowance_short": "The router may not spend as much as would have to be paid.",
    "recipient_blocked": "A token contract blocks the recipient or the pool.",
    "token_paused": "A token contract is paused.",
    "gas_short": "Insufficient gas money: the recipient cannot pay for the gas of this transaction.",
    "transfer_failed": "A token contract refused the transfer.",
    "pool_refused": "The pool refused the swap.",
    "out_of_gas_or_assertion": "The contract failed without a word: an assertion, an overflow, or too little gas.",
    "other": "The contract refused.",
}

_TEXTS: Final[dict[str, ReasonCode]] = {
    "Too little received": "too_little_received",
    "Too much requested": "too_much_requested",
    "Transaction too old": "transaction_too_old",
    # What the router and the pool say when a token did not move: in, out, by either of their libraries.
    "STF": "transfer_failed",
    "TF": "transfer_failed",
    "ST": "transfer_failed",
    "IIA": "transfer_failed",
    "LOK": "pool_refused",
    "SPL": "pool_refused",
    "AS": "pool_refused",
    "blocked": "recipient_blocked",
    "frozen": "recipient_blocked",
    "paused": "token_paused",
    "Pausable: paused": "token_paused",
    "ERC20: transfer amount exceeds balance": "balance_short",
    "ERC20: insufficient allowance": "allowance_short",
    "ERC20: transfer amount exceeds allowance": "allowance_short",
}

# Errors with a name, as the usual token contracts and the dollar's issuer declare them.
_DECLARED: Final[dict[str, ReasonCode]] = {
    "ERC20InsufficientBalance(address,uint256,uint256)": "balance_short",
    "ERC20InsufficientAllowance(address,uint256,uint256)": "allowance_short",
    "EnforcedPause()": "token_paused",
    "ContractPaused()": "token_paused",
    "AddressFrozen()": "recipient_blocked",
    "InsufficientFunds()": "balance_short",
    "InsufficientAllowance()": "allowance_short",
}
_PANIC: Final = bytes.fromhex("4e487b71")
_VAGUE: Final = frozenset({"transfer_failed", "other", "out_of_gas_or_assertion"})


@dataclass(frozen=True, slots=True)
class Revert:
    code: ReasonCode
    said: str | None
    """The contract's own word."""
    data: bytes

    @property
    def text(self) -> str:
        return WORDS[self.code] + (f" The contract said: {self.said}." if self.said else "")

    @property
    def is_vague(self) -> bool:
        """It tells that something failed, and not what."""
        return self.code in _VAGUE


@cache
def _named() -> dict[bytes, tuple[str, ReasonCode]]:
    """By the first bytes of what a contract throws."""
    return {
        keccak256(declared.encode())[:4]: (declared.partition("(")[0], code) for declared, code in _DECLARED.items()
    }


def read_refusal(data: bytes) -> Revert:
    text = revert_text(data)
    if text is not None:
        return Revert(_TEXTS.get(text, "other"), printable(text), data)
    if data[:4] == _PANIC and len(data) == 4 + WORD:
        return Revert("out_of_gas_or_assertion", f"Panic {int.from_bytes(data[4:], 'big'):#x}"[:40], data)
    named = _named().get(data[:4])
    if named is not None:
        return Revert(named[1], named[0], data)
    return Revert("other" if data else "out_of_gas_or_assertion", None, data)


def printable(text: str) -> str:
    """Whoever wrote a contract wrote this: no control characters, no second page."""
    return "".join(each if each.isprintable() else "?" for each in text)[:100]


def explained(refusal: Revert, doubts: list[Revert | None], *, is_balance_short: bool) -> Revert:
    """What is behind a vague refusal: an empty purse, or what the tokens say when they are asked directly."""
    if not refusal.is_vague:
        return refusal
    if is_balance_short:
        return Revert("balance_short", refusal.said, refusal.data)
    for doubt in doubts:
        if doubt is not None and doubt.code in ("recipient_blocked", "token_paused", "balance_short"):
            return Revert(doubt.code, refusal.said or doubt.said, refusal.data)
    return refusal
