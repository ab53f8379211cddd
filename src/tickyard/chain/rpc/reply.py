"""Reading JSON-RPC answers. Whatever does not have exactly the promised shape is the node's failure."""

import binascii
from collections.abc import Sequence
from typing import Any

import msgspec

from tickyard.chain.quantity import quantity
from tickyard.chain.rpc.trouble import Garbage, Refused, RpcError, Trouble, judge
from tickyard.kernel.errors import UpstreamDown

_ABSENT = msgspec.Raw()


class ErrorObject(msgspec.Struct):
    code: int
    message: str = ""
    data: Any = None


class RpcReply(msgspec.Struct):
    jsonrpc: str
    id: int | str | None = None
    result: msgspec.Raw = _ABSENT
    error: ErrorObject | None = None


_one = msgspec.json.Decoder(RpcReply)
_many = msgspec.json.Decoder(list[RpcReply] | RpcReply)
_value = msgspec.json.Decoder()

Asked = tuple[int, str]
"""The id and the method of a request."""


def read_one(body: bytes, asked: Asked) -> msgspec.Raw:
    """The raw result of a single answer; the error it carries is raised."""
    request_id, method = asked
    try:
        reply = _one.decode(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        raise Garbage from None
    # A node that could not even read the request may answer an error without its id.
    if reply.id != request_id and not (reply.id is None and reply.error):
        raise Garbage
    outcome = _outcome(reply, method)
    if isinstance(outcome, RpcError):
        raise outcome
    return outcome


def read_many(body: bytes, asked: Sequence[Asked]) -> list[msgspec.Raw | RpcError]:
    """The results of a batch in the order asked. The node may answer in any order, but each exactly once."""
    try:
        replies = _many.decode(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        raise Garbage from None
    if isinstance(replies, list) and len(replies) == 1 < len(asked) and replies[0].error is not None:
        # Some nodes put it into a list, under the first call's id.
        replies = replies[0]
    if isinstance(replies, RpcReply):
        # One error for the whole batch: a throttle, or a node that takes no batches of this size.
        outcome = _outcome(replies, "batch")
        raise outcome if isinstance(outcome, RpcError) else Garbage
    by_id = {reply.id: reply for reply in replies}
    if len(replies) != len(asked) or by_id.keys() != {request_id for request_id, _ in asked}:
        raise Garbage
    return [_outcome(by_id[request_id], method) for request_id, method in asked]


def _outcome(reply: RpcReply, method: str) -> msgspec.Raw | RpcError:
    if reply.jsonrpc != "2.0":
        raise Garbage
    if reply.error is not None:
        verdict = judge(method, reply.error.code, reply.error.message, reply.error.data)
        if isinstance(verdict, Trouble):
            raise verdict
        return verdict
    if reply.result is _ABSENT:
        raise Garbage
    return reply.result


def any_values(body: bytes, asked: Sequence[Asked]) -> list[Any | RpcError]:
    """The values of a batch in the order asked. A call that any node would answer, and this one does not, is raised
    with the rest beside it: another may answer them all."""
    values = [each if isinstance(each, RpcError) else any_value(each) for each in read_many(body, asked)]
    for refusal in values:
        if isinstance(refusal, Refused):
            refusal.beside = values
            raise refusal
    return values


def any_value(raw: msgspec.Raw) -> Any:
    try:
        return _value.decode(raw)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        raise Garbage from None


def hex_bytes(raw: msgspec.Raw) -> bytes:
    """`"0x..."` as bytes. unhexlify takes hex digits only, where bytes.fromhex also takes blanks."""
    text = memoryview(raw)
    if len(text) < 4 or bytes(text[:3]) != b'"0x' or text[-1] != 0x22:
        raise Garbage
    try:
        return binascii.unhexlify(text[3:-1])
    except ValueError:
        raise Garbage from None


def read_quantity(raw: msgspec.Raw) -> int:
    """The number in a raw result."""
    try:
        return quantity(_value.decode(raw))
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, UpstreamDown):
        raise Garbage from None
