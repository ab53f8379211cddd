"""What a payer signs: the EIP-712 digests of the two ways to pay."""

from functools import cache, lru_cache
from typing import Final

from tickyard.chain.abi import address_word, uint_word
from tickyard.chain.keccak import keccak256
from tickyard.config import pinned
from tickyard.kernel.ids import Address
from tickyard.payments.offer.terms import USDC_NAME, USDC_VERSION, AcceptsEntry

_TOKEN_PERMISSIONS: Final = b"TokenPermissions(address token,uint256 amount)"
_WITNESS: Final = b"Witness(address to,uint256 validAfter)"
_DOMAIN: Final = b"EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
_DOMAIN_WITHOUT_VERSION: Final = b"EIP712Domain(string name,uint256 chainId,address verifyingContract)"
TRANSFER_WITH_AUTHORIZATION: Final = (
    b"TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,"
    b"bytes32 nonce)"
)
_PERMIT_WITNESS: Final = (
    b"PermitWitnessTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline,"
    b"Witness witness)" + _TOKEN_PERMISSIONS + _WITNESS
)


@cache
def type_hash(text: bytes) -> bytes:
    return keccak256(text)


def eip3009_digest(entry: AcceptsEntry, payer: Address, valid_after: int, valid_before: int, nonce: int) -> bytes:
    fields = (
        type_hash(TRANSFER_WITH_AUTHORIZATION),
        address_word(payer),
        address_word(entry.pay_to),
        uint_word(entry.amount_raw),
        uint_word(valid_after),
        uint_word(valid_before),
        uint_word(nonce),
    )
    return _digest(_token_domain(entry.chain_id, entry.asset), keccak256(b"".join(fields)))


def permit2_digest(entry: AcceptsEntry, nonce: int, deadline: int, valid_after: int) -> bytes:
    permitted = keccak256(type_hash(_TOKEN_PERMISSIONS) + address_word(entry.asset) + uint_word(entry.amount_raw))
    witness = keccak256(type_hash(_WITNESS) + address_word(entry.pay_to) + uint_word(valid_after))
    fields = (
        type_hash(_PERMIT_WITNESS),
        permitted,
        address_word(entry.spender),
        uint_word(nonce),
        uint_word(deadline),
        witness,
    )
    return _digest(_permit2_domain(entry.chain_id), keccak256(b"".join(fields)))


@lru_cache(maxsize=16)
def _token_domain(chain_id: int, token: Address) -> bytes:
    name, version = keccak256(USDC_NAME.encode()), keccak256(USDC_VERSION.encode())
    return keccak256(type_hash(_DOMAIN) + name + version + uint_word(chain_id) + address_word(token))


@lru_cache(maxsize=16)
def _permit2_domain(chain_id: int) -> bytes:
    permit2 = address_word(pinned.MAINNET.permit2)
    return keccak256(type_hash(_DOMAIN_WITHOUT_VERSION) + keccak256(b"Permit2") + uint_word(chain_id) + permit2)


def _digest(domain: bytes, fields: bytes) -> bytes:
    return keccak256(b"\x19\x01" + domain + fields)
