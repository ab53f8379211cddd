"""Reading logs, those of a token's transfers above all: a range of blocks at a time, from one node, of one chain."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from tickyard.chain.abi import malformed, read_address
from tickyard.chain.blocks import read_header
from tickyard.chain.quantity import hash_text, quantity
from tickyard.chain.rpc.client import Rpc
from tickyard.chain.rpc.trouble import RpcError, TooManyLogs
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address

TRANSFER: Final = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"


class Transfer(NamedTuple):
    block: int
    log_index: int
    sender: Address
    receiver: Address
    amount: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """All transfers of a range of blocks, the hash before it and the hash at its end."""

    parent_hash: str | None
    last_hash: str
    transfers: Sequence[Transfer]


class ChainMoved(UpstreamDown):
    """The chain changed while it was read. The same read may be whole the next time."""


@dataclass(frozen=True, slots=True)
class RawLogs:
    parent_hash: str | None
    last_hash: str
    logs: Sequence[dict[str, Any]]


async def read_logs(rpc: Rpc, address: Address, topics: Sequence[Any], first: int, last: int) -> RawLogs:
    """One contract's logs of [first, last]. Raises TooManyLogs when the node wants a smaller range.

    One batch goes to one node, so the hashes and the logs are that node's; the last hash is asked for before and
    after the logs, and every log names its block, so they are of one chain.
    """
    around = ["eth_getBlockByNumber", [hex(last), False]]
    query = {"fromBlock": hex(first), "toBlock": hex(last), "address": address, "topics": topics}
    calls: list[tuple[str, Sequence[Any]]] = [
        ("eth_getBlockByNumber", [hex(max(0, first - 1)), False]),
        (str(around[0]), around[1]),
        ("eth_getLogs", [query]),
        (str(around[0]), around[1]),
    ]
    before, end, logs, again = await rpc.batch(calls)
    for answer in (before, end, logs, again):
        if isinstance(answer, RpcError):
            raise answer if isinstance(answer, TooManyLogs) else UpstreamDown("the chain node refused to show logs")
    end_hash = read_header(end).hash
    if read_header(again).hash != end_hash:
        raise ChainMoved("the chain was reorganised while it was read")
    if not isinstance(logs, list):
        raise malformed()
    for log in logs:
        _check(log, address, first, last, end_hash)
    if len({(log["blockNumber"], log["logIndex"]) for log in logs}) != len(logs):
        raise malformed()
    return RawLogs(read_header(before).hash if first else None, end_hash, logs)


async def read_chunk(rpc: Rpc, token: Address, first: int, last: int) -> Chunk:
    """The transfers of [first, last]. Raises TooManyLogs when the node wants a smaller range."""
    found = await read_logs(rpc, token, [TRANSFER], first, last)
    return Chunk(found.parent_hash, found.last_hash, sorted(map(_read, found.logs)))


def _check(log: Any, address: Address, first: int, last: int, last_hash: str) -> None:
    if not isinstance(log, dict) or log.get("removed") is True:
        raise ChainMoved("the chain was reorganised while it was read")
    block = quantity(log.get("blockNumber"))
    quantity(log.get("logIndex"))
    if str(log.get("address")).lower() != address or not first <= block <= last:
        raise malformed()
    if block == last and hash_text(log.get("blockHash")) != last_hash:
        raise ChainMoved("the chain was reorganised while it was read")


def _read(log: dict[str, Any]) -> Transfer:
    topics, data = log.get("topics"), log.get("data")
    if not isinstance(topics, list) or len(topics) != 3 or str(topics[0]).lower() != TRANSFER:
        raise malformed()
    if not isinstance(data, str) or len(data) != 66:
        raise malformed()
    return Transfer(
        quantity(log["blockNumber"]), quantity(log["logIndex"]), read_address(_word(topics[1])),
        read_address(_word(topics[2])), quantity(data),
    )  # fmt: skip


def _word(text: Any) -> bytes:
    return bytes.fromhex(hash_text(text)[2:])
