"""Signing and sending the steps of a build, one after the other, each at most once.

A step is signed once. Whatever happens to the answer, only those very bytes are sent again: they carry their nonce, and
the chain takes a nonce once. The next step begins when the one before it is on the chain.
"""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import msgspec

from tickyard.chain.abi import malformed
from tickyard.chain.address import checksum
from tickyard.chain.blocks import header
from tickyard.chain.keccak import keccak256
from tickyard.chain.quantity import hash_text, quantity
from tickyard.chain.rlp import read_rlp_list
from tickyard.chain.rpc.client import Rpc, RpcError
from tickyard.chain.transfers import TRANSFER
from tickyard.client.agreement import Agreed, agree
from tickyard.client.answers.shared import TradeBuild
from tickyard.client.errors import NodeUnreachable, TradeRefused, TradeUnsettled
from tickyard.client.order import Order
from tickyard.config.pinned import CHAIN_ID
from tickyard.features.trades.reasons import WORDS, read_refusal
from tickyard.kernel.clock import Clock, WallClock
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address, is_address

_POLL_S: Final = 0.25
_AGAIN_S: Final = 3.0


class Account(Protocol):
    """Who signs: an account of eth-account, or anything that does as it does."""

    @property
    def address(self) -> Any: ...
    def sign_transaction(self, transaction_dict: Any, /) -> Any: ...


class SignedStep(msgspec.Struct, frozen=True):
    """One step, signed. Sending it again can do nothing that sending it once would not."""

    nonce: int
    hash: str
    raw: str


class StepReceipt(msgspec.Struct, frozen=True):
    hash: str
    block_number: int
    gas_used: int
    fee_wei: int


class TradeDone(msgspec.Struct, frozen=True):
    receipts: list[StepReceipt]
    paid: int
    """Base units of the token that went out, as the chain's own Transfer events tell."""
    received: int


@dataclass(frozen=True, slots=True)
class Sending:
    rpc: Rpc
    account: Account
    clock: Clock
    wait_s: float
    on_signed: Callable[[SignedStep], None] | None = None
    """Told of each step before it leaves: whoever is interrupted after that still has the bytes."""

    async def send(self, build: TradeBuild, order: Order, sent: Sequence[SignedStep]) -> TradeDone:
        """`sent`: steps that an earlier try has signed; they are continued, never signed anew."""
        signed = list(sent)
        try:
            return await self._send(build, order, signed)
        except UpstreamDown as down:
            if signed:
                raise TradeUnsettled(f"{down.message}; what was sent may be on the chain", signed) from None
            raise NodeUnreachable(f"the node to send through: {down.message}; nothing was signed") from None

    async def _send(self, build: TradeBuild, order: Order, signed: list[SignedStep]) -> TradeDone:
        now = (await self.rpc.head()).timestamp
        # A step that is out may have outlived the deadline; what it says was looked at before it was signed.
        agreed = agree(build, order, str(self.account.address), min(now, build.deadline - 1) if signed else now)
        for index, step in enumerate(signed):
            if index >= len(agreed.steps) or not _is_of(step, *agreed.steps[index]):
                raise TradeRefused(
                    f"what was signed before is no step of this build: {step.hash}; go on with the build that it was"
                    " signed for, or look it up and begin anew"
                )
        done: list[StepReceipt] = []
        moved = (0, 0)
        for index, (to, data) in enumerate(agreed.steps):
            if index == len(signed):
                nonce = await self._free_nonce(signed)
                signed.append(await self._sign(to, data, nonce, order.fee_most_wei))
                if self.on_signed is not None:
                    self.on_signed(signed[index])
            receipt = await self._settle(signed, index)
            if quantity(receipt.get("status")) != 1:
                raise TradeRefused(f"step {index + 1} was mined and failed: {signed[index].hash}")
            done.append(_read_receipt(receipt))
            moved = _moved(receipt, agreed, Address(str(self.account.address).lower()))
        return TradeDone(done, *moved)

    async def _free_nonce(self, signed: list[SignedStep]) -> int:
        """The next one, of a node that knows the block of the step before: behind a balancer another one may answer,
        and would give a nonce that is used and judge the step by a state without the approval."""
        least = signed[-1].nonce + 1 if signed else 0
        until = self.clock.monotonic() + self.wait_s
        while True:
            sender = str(self.account.address)
            counts = [await self.rpc.call("eth_getTransactionCount", [sender, tag]) for tag in ("latest", "pending")]
            mined, pending = (quantity(count) for count in counts)
            if mined >= least:
                break
            if self.clock.monotonic() >= until:
                raise TradeUnsettled(f"the node is behind: it does not know step {len(signed)}, which is mined", signed)
            await self.clock.sleep(_POLL_S)
        if pending > mined:
            raise TradeRefused("the account has transactions under way: wait for them first")
        return mined

    async def _sign(self, to: Address, data: bytes, nonce: int, fee_most: int) -> SignedStep:
        sender = str(self.account.address)
        call = {"from": sender, "to": to, "data": "0x" + data.hex()}
        try:
            gas = _limit(quantity(await self.rpc.call("eth_estimateGas", [call])))
        except RpcError as refusal:
            reason = read_refusal(refusal.revert_data).text if refusal.revert_data else "the node gives no reason"
            raise TradeRefused(f"the next step would fail, nothing of it was sent: {reason}") from None
        newest = await header(self.rpc, "latest")
        tip = await self._tip()
        fee = 2 * newest.base_fee + tip
        # Whatever a node names is paid: it must not be able to spend the wallet on gas.
        if gas * fee > fee_most:
            raise TradeRefused(
                f"the node asks for a fee of up to {gas * fee} wei, over the {fee_most} that are allowed"
            )
        # A node takes no transaction that its sender cannot pay for, and says so in its own words, after the signing.
        held = quantity(await self.rpc.call("eth_getBalance", [sender, "latest"]))
        if held < gas * fee:
            raise TradeRefused(f"{WORDS['gas_short']} It holds {held} wei; up to {gas * fee} may be needed.")
        signed = self.account.sign_transaction(
            {
                "type": 2,
                "chainId": CHAIN_ID,
                "nonce": nonce,
                "to": checksum(to),
                "data": "0x" + data.hex(),
                "value": 0,
                "gas": gas,
                "maxFeePerGas": fee,
                "maxPriorityFeePerGas": tip,
            }
        )
        return SignedStep(nonce, "0x" + bytes(signed.hash).hex(), "0x" + bytes(signed.raw_transaction).hex())

    async def _tip(self) -> int:
        try:
            return quantity(await self.rpc.call("eth_maxPriorityFeePerGas", []))
        except RpcError:
            return 0

    async def _settle(self, signed: list[SignedStep], index: int) -> dict[str, Any]:
        """Send the bytes until the chain has them. Raises TradeUnsettled when that cannot be told in time."""
        step, refusal, refused = signed[index], "", 0
        until = self.clock.monotonic() + self.wait_s
        again = self.clock.monotonic()
        while self.clock.monotonic() < until:
            try:
                if self.clock.monotonic() >= again:
                    again = self.clock.monotonic() + _AGAIN_S
                    refusal = await self._broadcast(step)
                    refused += bool(refusal)
                receipt = await self.rpc.call("eth_getTransactionReceipt", [step.hash])
            except UpstreamDown:
                receipt = None
            if isinstance(receipt, dict):
                if hash_text(receipt.get("transactionHash")) != step.hash:
                    raise malformed()
                return receipt
            if refusal and await self._is_void(step):
                # A node that has lost a receipt looks just the same: nobody is told that nothing happened.
                raise TradeUnsettled(
                    f"step {index + 1} is not to be found, and its nonce is used, by another transaction it seems:"
                    f" {step.hash}",
                    signed,
                )
            if refused > 1 and not await self._is_known(step):
                # It does not want it. Somebody else may still: what became of it stays open.
                break
            await self.clock.sleep(_POLL_S)
        why = f" (the node says: {refusal})" if refusal else ""
        raise TradeUnsettled(f"step {index + 1} was sent and is not on the chain yet: {step.hash}{why}", signed)

    async def _broadcast(self, step: SignedStep) -> str:
        """What the node says against it. That decides nothing: one that knows the bytes already refuses them too."""
        try:
            await self.rpc.call("eth_sendRawTransaction", [step.raw])
        except RpcError as refused:
            return refused.reason[:200] or "no reason"
        return ""

    async def _is_known(self, step: SignedStep) -> bool:
        try:
            return await self.rpc.call("eth_getTransactionByHash", [step.hash]) is not None
        except UpstreamDown:
            return True

    async def _is_void(self, step: SignedStep) -> bool:
        """Whether another transaction seems to have used its nonce: then these bytes can do nothing any more."""
        sender = str(self.account.address)
        try:
            used = quantity(await self.rpc.call("eth_getTransactionCount", [sender, "latest"])) > step.nonce
            # Asked last: what is mined between two questions is found.
            return used and not await self._is_known(step)
        except UpstreamDown:
            return False


def _limit(estimate: int) -> int:
    """About a quarter more, and for nobody else the same: else one key in two programs signs one order to the same
    bytes, and both take the one trade for theirs."""
    return estimate * 5 // 4 - secrets.randbelow(estimate // 32 + 1)


def _is_of(step: SignedStep, to: Address, data: bytes) -> bool:
    """Whether these bytes are this step: what somebody else's receipt says would be told of this trade."""
    try:
        raw = bytes.fromhex(step.raw.removeprefix("0x"))
        chain_id, nonce, _tip, _fee, _gas, target, value, calldata, *_rest = read_rlp_list(raw[1:])
    except ValueError:
        return False
    said = (raw[0], int.from_bytes(chain_id, "big"), int.from_bytes(nonce, "big"), value, target, calldata)
    is_step = said == (2, CHAIN_ID, step.nonce, b"", bytes.fromhex(to[2:]), data)
    return is_step and step.hash == "0x" + keccak256(raw).hex()


def _read_receipt(receipt: dict[str, Any]) -> StepReceipt:
    gas = quantity(receipt.get("gasUsed"))
    return StepReceipt(
        hash=hash_text(receipt.get("transactionHash")),
        block_number=quantity(receipt.get("blockNumber")),
        gas_used=gas,
        fee_wei=gas * quantity(receipt.get("effectiveGasPrice", "0x0")),
    )


def _moved(receipt: dict[str, Any], agreed: Agreed, account: Address) -> tuple[int, int]:
    """(paid, received) by the account, from the Transfer events of both tokens."""
    own = "0x" + account[2:].rjust(64, "0")
    change = {agreed.token_in: 0, agreed.token_out: 0}
    logs = receipt.get("logs")
    if not isinstance(logs, list):
        raise malformed()
    for log in logs:
        if not (isinstance(log, dict) and is_address(log.get("address")) and isinstance(log.get("topics"), list)):
            # A log with holes may be the very one that tells what moved.
            raise malformed()
        token, topics = Address(str(log["address"]).lower()), log["topics"]
        if token in change and len(topics) == 3 and topics[0] == TRANSFER:
            amount = quantity(log.get("data"))
            change[token] += amount * ((topics[2] == own) - (topics[1] == own))
    return -change[agreed.token_in], change[agreed.token_out]


async def send_trade(
    build: TradeBuild,
    account: Account,
    *,
    order: Order,
    rpc_url: str,
    sent: Sequence[SignedStep] = (),
    wait_s: float = 120.0,
    on_signed: Callable[[SignedStep], None] | None = None,
    clock: Clock | None = None,
) -> TradeDone:
    """Check the build against the order, then sign and send its steps through a node of one's own, in order."""
    clock = clock or WallClock()
    async with Rpc([rpc_url], chain_id=CHAIN_ID, clock=clock) as rpc:
        return await Sending(rpc, account, clock, wait_s, on_signed).send(build, order, sent)
