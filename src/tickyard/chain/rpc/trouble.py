"""What can go wrong between us and a node, sorted by what to do about it.

    Trouble            this URL failed us: rest it and try another
      Unreachable        no connection, reset, server error (HungUp: a kept connection was closed)
      Garbage            an answer that is not one: not JSON-RPC, wrong id, too large, wrong shape
      Throttled          too many requests, in either of its two forms
      Lagging            the node does not have the block yet
      Stale              its newest block is too old: it is stuck, or far behind
      ForeignChain       the node serves another chain
    RpcError           the node did answer, and the answer is no: never tried again
      TooManyLogs        ask for fewer blocks
      Refused            it does not do what every node does: another URL may, and the answer is no if none does

Trouble stays inside the client. RpcError reaches callers; one that nobody expected is an upstream failure.
"""

import re
from typing import Any, ClassVar

from tickyard.kernel.errors import UpstreamDown


class Trouble(Exception):
    outcome: ClassVar[str]

    def __init__(self, *, retry_after_s: int | None = None) -> None:
        super().__init__(self.outcome)
        self.retry_after_s = retry_after_s


class NodeUnreachable(Trouble):
    outcome = "unreachable"


class HungUp(NodeUnreachable):
    """A kept connection turned out to be closed: asking again on a new one is the cure, not another URL."""

    outcome = "hung_up"


class Garbage(Trouble):
    outcome = "garbage"


class Throttled(Trouble):
    outcome = "throttled"


class Lagging(Trouble):
    outcome = "lagging"


class Stale(Trouble):
    outcome = "stale"


class ForeignChain(Trouble):
    outcome = "wrong_chain"


class RpcError(UpstreamDown):
    """A JSON-RPC error answer. `reason` is the node's own text: for logs and decisions, never for callers."""

    def __init__(self, rpc_code: int, reason: str = "", data: Any = None) -> None:
        super().__init__("the chain node refused the call")
        self.rpc_code = rpc_code
        self.reason = reason[:400]
        self.data = data

    @property
    def revert_data(self) -> bytes | None:
        """What the contract reverted with. Some nodes nest it one level deeper."""
        data = self.data.get("data") if isinstance(self.data, dict) else self.data
        if not isinstance(data, str) or not _HEX_BYTES.fullmatch(data):
            return None
        return bytes.fromhex(data[2:])

    @property
    def is_revert(self) -> bool:
        return self.rpc_code == 3 or "revert" in self.reason.lower()

    @property
    def is_too_heavy(self) -> bool:
        """The call as a whole hit the node's gas or time cap: a smaller one may pass."""
        return not self.is_revert and _TOO_HEAVY.search(self.reason) is not None


class TooManyLogs(RpcError):
    """The range matched more logs, or spans more blocks, than the node will serve."""


class Refused(RpcError):
    """No answer to a question that every node can answer, and nothing in it that speaks of the call: a gateway without
    a node behind it, a node that has forgotten old state, a plan that has run out in words that nobody knew of."""

    beside: list[Any] | None = None
    """What the batch was answered in which this one call was refused."""


_HEX_BYTES = re.compile(r"0x(?:[0-9a-fA-F]{2})*")
_TOO_HEAVY = re.compile(r"out of gas|gas required exceeds|execution (?:timeout|aborted)|request entity too large", re.I)
_LOGS_CAP = re.compile(
    r"logs? .*exceed|exceeds? .*(?:logs|results|range)|more than [0-9]+ (?:results|logs)"
    r"|too many (?:results|logs)|query timed? ?out|blocks? range|range .*(?:large|wide|limit)|response size",
    re.I,
)
_THROTTLE = re.compile(
    r"rate.?limit|too many requests|throttl|requests? (?:limit|per second)|compute units|over capacity"
    r"|limit exceeded|exceeded .*(?:capacity|quota)",
    re.I,
)
_BATCH_SIZE = re.compile(r"batch .*(?:size|large|limit|more than|exceed)|(?:size|large|limit|many) .*batch", re.I)
_THROTTLE_CODES = frozenset({429, -32005, -32029, -32097})
_LAGGING = re.compile(
    r"header (?:for hash )?not found|unknown block|block (?:\S+ )?not found|invalid block tag|after last accepted block"
    r"|\b(?:0x[0-9a-f]+|[0-9]+) could not be found",
    re.I,
)
"""A block may be asked for by its number or by its hash, and clients have words of their own for either."""
_AHEAD = re.compile(
    r"(?:beyond|past|exceeds?) (?:the )?(?:current |latest |chain )*head|beyond the latest block|could not be found"
    r"|invalid block range(?: params)?\Z",
    re.I,
)
"""Logs of blocks that the node does not have yet. Every common client refuses them, with words much like its caps'."""
_OUT_OF_ORDER = re.compile(
    r"must be authenticated|unauthori[sz]ed|api key|quota|internal (?:server |json-rpc )?error\.?\Z", re.I
)
_PLAIN = frozenset(
    {
        "batch",
        "eth_blockNumber",
        "eth_call",
        "eth_chainId",
        "eth_getBalance",
        "eth_getBlockByHash",
        "eth_getBlockByNumber",
        "eth_getBlockReceipts",
        "eth_getCode",
        "eth_getLogs",
        "eth_getStorageAt",
        "eth_getTransactionByHash",
        "eth_getTransactionCount",
        "eth_getTransactionReceipt",
    }
)
"""What every node can do. What only some can is asked to see whether this one does."""
_INVALID_PARAMS = -32602
_OF_THE_CALL = re.compile(
    r"invalid (?:opcode|jump)|bad instruction|stack (?:under|over)flow|vm (?:execution|exception)"
    r"|execution error|write protection|code size"
    r"|insufficient (?:funds|balance)|enough (?:funds|balance)|\bgas\b|\bnonce\b|out of bounds",
    re.I,
)
"""How clients say that the contract or its caller is at fault, without the word revert."""


def judge(method: str, code: int, reason: str, data: Any) -> Trouble | RpcError:
    """Sort a JSON-RPC error. Order matters: one code serves both the log cap and the throttle."""
    error = RpcError(code, reason, data)
    if error.is_revert:
        # The contract wrote this text: whatever words it holds say nothing about the node.
        return error
    if method == "eth_getLogs":
        if _AHEAD.search(reason):
            return Lagging()
        if _LOGS_CAP.search(reason):
            return TooManyLogs(code, reason, data)
    if method == "batch" and _BATCH_SIZE.search(reason):
        return error
    if code in _THROTTLE_CODES or _THROTTLE.search(reason):
        return Throttled()
    if _LAGGING.search(reason):
        return Lagging()
    if _OUT_OF_ORDER.search(reason):
        return NodeUnreachable()
    if method in _PLAIN and code != _INVALID_PARAMS and not error.is_too_heavy and not _OF_THE_CALL.search(reason):
        return Refused(code, reason, data)
    return error
