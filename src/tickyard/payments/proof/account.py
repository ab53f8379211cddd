"""Contract wallets: whether one takes a signature for its owner's (ERC-1271).

A node that lags has not heard of a wallet that was deployed a moment ago, and whoever is told no pays again. So that
there is no such wallet is believed only of a node that has come as far as the signature.

A wallet that is not deployed yet signs with what deploys it (ERC-6492). It is asked where it would be: in one call that
first deploys it and changes nothing. Its address is made of its code, so nobody else's answers there.
"""

import re
from collections.abc import Sequence
from typing import Any, Final

from tickyard.chain.abi import malformed, uint_word
from tickyard.chain.aggregate3 import decode, encode
from tickyard.chain.blocks import read_header
from tickyard.chain.multicall import Call
from tickyard.chain.quantity import bytes_of
from tickyard.chain.rpc.client import Rpc
from tickyard.chain.rpc.trouble import RpcError
from tickyard.config import pinned
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address

_IS_VALID_SIGNATURE: Final = bytes.fromhex("1626ba7e")
# The word of a contract, and not only its first bytes: this is what tokens take for a yes.
_YES: Final = re.compile(r"0x1626ba7e[0-9a-f]{56}", re.IGNORECASE)
_ITS_OWN_FAULT: Final = re.compile(
    "invalid opcode|invalid jump|stack underflow|stack overflow|out of gas", re.IGNORECASE
)
_WRAPPED: Final = bytes.fromhex("6492" * 16)
"""The end of a signature by a wallet that took itself for not deployed yet (ERC-6492)."""
_SIGNATURE_GAS: Final = 1_000_000
"""What a wallet's own contract may cost: several owners, or a curve that the chain does not know."""
_DEPLOYING_GAS: Final = 5_000_000
"""With what it may cost to deploy it before."""
_PATIENCE_S: Final = 5.0
_POLL_S: Final = 1.0


async def has_code(rpc: Rpc, account: str) -> bool:
    return _is_code(await rpc.call("eth_getCode", [account, "latest"]))


async def accepts(rpc: Rpc, account: Address, digest: bytes, signature: bytes, *, age_s: int) -> bool:
    """Whether the account is a contract, or would be one, that takes this signature. `age_s`: so long ago it was made,
    at least. UpstreamDown when that cannot be told."""
    since, until = rpc.clock.seconds() - age_s, rpc.clock.monotonic() + _PATIENCE_S
    deploying, shown = _parts(signature)
    padded = shown + bytes(-len(shown) % 32)
    data = _IS_VALID_SIGNATURE + digest + uint_word(64) + uint_word(len(shown)) + padded
    asked = {"to": account, "data": "0x" + data.hex(), "gas": hex(_SIGNATURE_GAS)}
    # In one request, which goes to one node: another may not know what this one knows.
    questions: list[tuple[str, Sequence[Any]]] = [
        ("eth_getCode", [account, "latest"]),
        ("eth_call", [asked, "latest"]),
        ("eth_getBlockByNumber", ["latest", False]),
    ]
    if deploying is not None:
        both = "0x" + encode([deploying, Call(account, data)])
        anew = {"to": pinned.MAINNET.multicall3, "data": both, "gas": hex(_DEPLOYING_GAS)}
        questions.append(("eth_call", [anew, "latest"]))
    while True:
        code, answer, newest, *would_be = await rpc.batch(questions)
        if _is_code(code):
            return _is_yes(answer)
        if any(_is_yes_of_both(each) for each in would_be):
            return True
        if read_header(newest).timestamp >= since:
            return False
        if rpc.clock.monotonic() >= until:
            raise UpstreamDown(
                "whether this account has signed is not known yet; repeat this request and do not pay again",
                retry_after_s=2,
            )
        await rpc.clock.sleep(_POLL_S)


def _parts(signature: bytes) -> tuple[Call | None, bytes]:
    """What deploys the wallet, where the signature says so, and what the wallet itself is shown."""
    if not signature.endswith(_WRAPPED):
        return None, signature
    parts = signature[: -len(_WRAPPED)]
    factory = Address("0x" + parts[12:32].ljust(20, b"\0").hex())
    return Call(factory, _bytes_at(parts, 32)), _bytes_at(parts, 64)


def _bytes_at(parts: bytes, head: int) -> bytes:
    at = int.from_bytes(parts[head : head + 32], "big")
    size = int.from_bytes(parts[at : at + 32], "big")
    return parts[at + 32 : at + 32 + size]


def _is_code(code: Any) -> bool:
    if isinstance(code, RpcError):
        raise code
    if not isinstance(code, str) or not code.startswith("0x"):
        raise malformed()
    return len(code) > 2


def _is_yes(answer: Any) -> bool:
    if not isinstance(answer, RpcError):
        return isinstance(answer, str) and _YES.match(answer) is not None
    if answer.is_revert or _ITS_OWN_FAULT.search(answer.reason):
        return False
    # The node's trouble is no word of the contract's: who is told no pays again.
    raise answer


def _is_yes_of_both(answer: Any) -> bool:
    """Of the wallet that was deployed for the question. Whether that went well is for its own answer to say."""
    if isinstance(answer, RpcError):
        return _is_yes(answer)
    _, told = decode(bytes_of(answer), 2)
    return told is not None and _is_yes("0x" + told.hex())
