"""Logs of the chain as payments: whose nonce was used, by which transfer, or cancelled."""

from dataclasses import dataclass
from typing import Any, Final

from tickyard.chain.abi import address_word, malformed, uint_word
from tickyard.chain.quantity import hash_text, quantity
from tickyard.chain.transfers import TRANSFER
from tickyard.kernel.ids import Address
from tickyard.payments.books.row import PaymentRow
from tickyard.payments.signed.key import Key

AUTHORIZATION_USED: Final = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5"
AUTHORIZATION_CANCELED: Final = "0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81"
NONCES_INVALIDATED: Final = "0x3704902f963766a4e561bbaab6e6cdc1b1dd12f6e9e99648da8843b3f46b918d"
"""Permit2's UnorderedNonceInvalidation(address,uint256,uint256)."""
_WORDS_AT: Final = len("0x12345678")
"""Where the words of a call begin, after the name of what is called."""


@dataclass(frozen=True, slots=True)
class PaidTransfer:
    """One transfer of a payment's amount from its payer to us."""

    transaction: str
    log_index: int
    block: int
    block_hash: str
    calldata: str | None = None
    """What its transaction was asked, where the log itself does not name the nonce."""
    asked: str | None = None
    """Whom it asked."""

    @property
    def is_named(self) -> bool:
        """Whether the log itself names the nonce: then it is the transfer of one payment and of no other."""
        return self.calldata is None

    def names(self, row: PaymentRow) -> bool:
        """Whether it is this very payment's, as far as its transaction says."""
        return self.calldata is None or permit_words(row.key, row.amount_raw, row.valid_before) in self.calldata

    def is_call_of(self, row: PaymentRow, spender: Address) -> bool:
        """Whether its transaction is nothing but this payment: the proxy's own call, its permit in the first words.
        One that names it anywhere else may be a batch that went through without it, or somebody's lie."""
        words = permit_words(row.key, row.amount_raw, row.valid_before)
        return self.asked == spender and (self.calldata or "").startswith(words, _WORDS_AT)


@dataclass(frozen=True, slots=True)
class ReadLog:
    """One log, its shape checked."""

    address: Address
    topics: tuple[str, ...]
    data: str
    place: PaidTransfer


def permit_words(key: Key, amount_raw: int, deadline: int) -> str:
    """A permit as it stands in calldata: token, amount, nonce and deadline, one after the other. A nonce alone may be
    any small number, which every calldata has."""
    before, after = address_word(key.asset) + uint_word(amount_raw), uint_word(deadline)
    return before.hex() + key.nonce[2:] + after.hex()


def read_entry(log: Any) -> ReadLog:
    if not isinstance(log, dict) or not isinstance(topics := log.get("topics"), list) or log.get("removed") is True:
        raise malformed()
    address, data = log.get("address"), log.get("data")
    if not isinstance(address, str) or not isinstance(data, str):
        raise malformed()
    place = PaidTransfer(
        hash_text(log.get("transactionHash")),
        quantity(log.get("logIndex")),
        quantity(log.get("blockNumber")),
        hash_text(log.get("blockHash")),
    )
    return ReadLog(Address(address.lower()), tuple(hash_text(topic) for topic in topics), data, place)


def topic(word: bytes) -> str:
    return "0x" + word.hex()


def owner_topic(key: Key) -> str:
    return topic(address_word(key.payer))


def is_transfer(entry: ReadLog, key: Key, pay_to: Address, amount_raw: int) -> bool:
    """Whether this is a transfer of the amount from the payer to us."""
    parties = (TRANSFER, owner_topic(key), topic(address_word(pay_to)))
    return entry.address == key.asset and entry.topics == parties and quantity(entry.data) == amount_raw


def is_use(entry: ReadLog, key: Key) -> bool:
    """Whether this is the token's word that the payment's own nonce was used."""
    return entry.address == key.asset and entry.topics == (AUTHORIZATION_USED, owner_topic(key), key.nonce)


def is_cancelled(entry: ReadLog, key: Key) -> bool:
    """Whether this is the token's word that the payer cancelled the payment's own nonce."""
    return entry.address == key.asset and entry.topics == (AUTHORIZATION_CANCELED, owner_topic(key), key.nonce)


def is_cancelled_by(entry: ReadLog, permit2: Address, key: Key) -> bool:
    """Whether Permit2 says here that the owner crossed out the payment's nonce by hand."""
    if entry.address != permit2 or entry.topics != (NONCES_INVALIDATED, owner_topic(key)) or len(entry.data) != 130:
        return False
    nonce = int(key.nonce, 16)
    word, mask = quantity("0x" + entry.data[2:66]), quantity("0x" + entry.data[66:])
    return word == nonce >> 8 and mask >> (nonce & 255) & 1 == 1
