"""Words of the chain: addresses, topics, selectors, and how values stand in bytes.

Nothing of the code that is judged is imported here but its hash function.
"""

from dataclasses import dataclass

import rlp
from coincurve import PublicKey

from tickyard.chain.keccak import keccak256

CHAIN_ID = 4663
USDG = "0x5fc5360d0400a0fd4f2af552add042d716f1d168"
TOKEN = "0x" + "7e" * 20
DESK = "0x" + "de" * 20
MULTICALL = "0xca11bde05977b3631167028862be2a173976ca11"
ZERO = "0x" + "0" * 40
TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"


def topic_of(signature):
    return "0x" + keccak256(signature.encode()).hex()


def selector(signature):
    return keccak256(signature.encode())[:4].hex()


PAID, SKIPPED, FAILED = (topic_of(f"{name}(uint256,address,uint256)") for name in ("Paid", "Skipped", "Failed"))
AUTHORIZATION_USED = topic_of("AuthorizationUsed(address,bytes32)")
OPENED = topic_of("Opened(uint256,bytes32,uint256)")
AUTHORIZATION_STATE = selector("authorizationState(address,bytes32)")
NONCE_BITMAP = selector("nonceBitmap(address,uint256)")
OPEN_CALL, PAY_CALL = selector("open(uint256,bytes32,uint256)"), selector("pay(uint256,(address,uint256)[])")


@dataclass
class Transaction:
    hash: str
    sender: str
    nonce: int
    to: str
    receiver: str = ""
    amount: int = 0
    data: bytes = b""
    fee: int = 10**18
    tip: int = 0
    gas: int = 0
    not_before: float = 0.0
    authorization: str = ""
    deadline: int = 0
    """After it what was signed is worth nothing."""


def read_transaction(data):
    """A signed EIP-1559 call, its sender recovered as the chain would."""
    fields = rlp.decode(data[1:])
    digest = keccak256(data[:1] + rlp.encode(fields[:9]))
    parity, r, s = fields[9:]
    signature = r.rjust(32, b"\0") + s.rjust(32, b"\0") + (parity or b"\0")
    key = PublicKey.from_signature_and_message(signature, digest, hasher=None)
    sender = "0x" + keccak256(key.format(compressed=False)[1:])[12:].hex()
    chain_id, nonce, tip, fee, gas = (int.from_bytes(each, "big") for each in fields[:5])
    assert chain_id == CHAIN_ID
    assert not fields[6]
    to = "0x" + fields[5].hex()
    assert to == DESK or (to == sender and not fields[7]), "the agent calls the desk and nobody else"
    hash_ = "0x" + keccak256(data).hex()
    return Transaction(hash_, sender, nonce, to, data=fields[7], fee=fee, tip=tip, gas=gas)


def fits(topics, wanted):
    for got, want in zip(topics, wanted, strict=False):
        if want is not None and got not in (want if isinstance(want, list) else [want]):
            return False
    return len(topics) >= len(wanted)


def bitmap(used, owner, word_number):
    nonces = [nonce for payer, nonce in used if payer == owner and nonce >> 8 == word_number]
    return sum(1 << (nonce & 255) for nonce in nonces)


def raw(number):
    return number.to_bytes(32, "big")


def word(value):
    return "0x" + raw(int(value, 16) if isinstance(value, str) else value).hex()


def number_at(data, at):
    return int.from_bytes(data[at : at + 32], "big")


def account_at(data, at):
    return "0x" + data[at + 12 : at + 32].hex()
