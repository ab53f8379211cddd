"""Everything that a check reads of the chain, at one named block: one request where the mirror knows the pools."""

from dataclasses import dataclass
from typing import Any, Final

from tickyard.chain import aggregate3
from tickyard.chain.abi import malformed
from tickyard.chain.blocks import read_header
from tickyard.chain.erc20 import balance_of, read_amount
from tickyard.chain.multicall import Call
from tickyard.chain.quantity import bytes_of, quantity
from tickyard.chain.rpc.client import RpcError, block_param
from tickyard.deps import Deps
from tickyard.features.trades.calldata import Swap
from tickyard.features.trades.plan import Wanted
from tickyard.features.trades.rehearse import Rehearsal, Run, holdings
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.market.market import NamedBlock
from tickyard.market.swaps.fills import Fill
from tickyard.observe.log import log

_FEE_MOST: Final = 10**13
"""Wei for a unit of gas: ten thousand gwei. Whoever tells more would have a signer pay it."""
_GAS_MOST: Final = 50_000_000


@dataclass(frozen=True, slots=True)
class Fees:
    base: int
    tip: int

    @property
    def price(self) -> int:
        """Of a unit of gas in the next block, about."""
        return self.base + self.tip

    @property
    def most(self) -> int:
        """Enough for some minutes of rising fees; what is not needed is not taken."""
        return 2 * self.base + self.tip


@dataclass(frozen=True, slots=True)
class Evidence:
    block: NamedBlock
    swap: Swap
    words: list[bytes | None]
    """What the extra calls of the plan returned."""
    balances: list[int]
    """Before, in the order of `holdings`."""
    ether: int
    fees: Fees
    run: Run | None
    run_note: str | None
    """Why there is no run."""
    first_gas: int | None
    """What the node estimates for the first step: with what it charges for the data, where it does."""
    has_moved: bool = False
    """Whether what the extra calls return has changed since that block: the newest one is to be asked instead."""

    @property
    def is_borne_out(self) -> bool:
        """Whether the run moved what the quote says. At one and the same block it can be nothing else."""
        if self.run is None or not self.run.is_success:
            return True
        paid, got = self.swap.fill.amounts(self.swap.trade.side)
        changes = [after - before for before, after in zip(self.balances, self.run.balances, strict=True)]
        return changes == [-paid, got, paid, -got]


async def gather_evidence(deps: Deps, wanted: Wanted) -> Evidence:
    # One for all tries and readings: a node that falls silent would be waited for again in each.
    deadline = deps.market.reader.deadline()
    remembered = deps.market.remembered_offer(wanted.token, wanted.trade)
    if remembered is not None:
        try:
            seen = await _evidence_at(deps, wanted, *remembered, deadline)
            if seen.is_borne_out and not seen.has_moved:
                return seen
            if not seen.is_borne_out:
                log.error("THE MIRROR AND A RUN DISAGREE ABOUT A SWAP", block=seen.block.number)
        except UpstreamDown:
            # The block may have left the chain meanwhile: the newest one knows.
            pass
    newest = await deps.market.offer_at_block(wanted.token, wanted.trade, deadline=deadline)
    seen = await _evidence_at(deps, wanted, *newest, deadline)
    if not seen.is_borne_out:
        # Quote and run come from one node and one block: one of them is not true, and nobody can tell which.
        raise UpstreamDown("the chain node's run of the steps moved something else than its own quote says")
    return seen


async def _evidence_at(deps: Deps, wanted: Wanted, block: NamedBlock, fills: list[Fill], deadline: float) -> Evidence:
    swap = wanted.swap(fills, deps.clock.seconds() + deps.settings.deadline_s)
    router, multicall = wanted.contracts.router, wanted.contracts.multicall3
    code = await deps.market.reader.multicall_code(deadline=deadline)
    ways = [Rehearsal(swap, router, with_approval) for with_approval in (False, True)]
    extra = wanted.extra_calls()
    calls = [*extra, *(Call(token, balance_of(account)) for token, account in holdings(swap))]
    at = block_param(block.hash)
    reading, own = ({"to": multicall, "data": "0x" + aggregate3.encode(each)} for each in (calls, extra))
    firsts = [(router, swap.calldata()), (swap.token_in, swap.approval(router))]
    answers = await deps.rpc.batch(
        [
            ("eth_call", [reading, at]),
            ("eth_call", [own, "latest"]),
            ("eth_getBalance", [wanted.recipient, at]),
            ("eth_getBlockByHash", [block.hash, False]),
            ("eth_maxPriorityFeePerGas", []),
            *(("eth_estimateGas", [_transaction(wanted.recipient, *first), at]) for first in firsts),
            *(way.request(code, block.hash) for way in ways if code is not None),
        ],
        deadline=deadline,
    )
    told, newest, ether, header, tip, *rest = answers
    estimates, runs = rest[:2], rest[2:]
    for answer in (told, newest, ether, header):
        if isinstance(answer, RpcError):
            raise answer
    words = aggregate3.decode(bytes_of(told), len(calls))
    words, held = words[: len(extra)], words[len(extra) :]
    if words[0] is None or None in held:
        raise UpstreamDown("the chain node failed to read the recipient's balances")
    allowance, *balances = [read_amount(word) for word in (words[0], *held) if word is not None]
    needs_approval = allowance < swap.spends_at_most
    run, run_note = None, "The node does not tell the code of Multicall3, with which the steps would be run."
    if runs:
        answer = runs[needs_approval]
        run = ways[needs_approval].read(answer, allowance=allowance, balance=balances[0])
        run_note = _why_not(answer)
        if run is None and not isinstance(answer, RpcError):
            deps.market.reader.forget_code()
    return Evidence(
        block=block,
        swap=swap,
        words=words,
        balances=balances,
        ether=quantity(ether),
        fees=_fees(header, tip, block.hash),
        run=run,
        run_note=None if run is not None else run_note,
        has_moved=words != aggregate3.decode(bytes_of(newest), len(extra)),
        first_gas=_estimate(estimates[needs_approval]),
    )


def _transaction(sender: Address, to: Address, data: bytes) -> dict[str, str]:
    return {"from": sender, "to": to, "data": "0x" + data.hex()}


def _fees(header: Any, tip: Any, block_hash: str) -> Fees:
    read = read_header(header)
    if read.hash != block_hash:
        raise malformed()
    # Not every node has this method; a chain without an auction needs no tip.
    fees = Fees(read.base_fee, 0 if isinstance(tip, RpcError) else quantity(tip))
    if fees.base > _FEE_MOST or fees.tip > _FEE_MOST:
        raise UpstreamDown("the chain node tells a gas price that cannot be")
    return fees


def _estimate(answer: Any) -> int | None:
    """None: the step would fail, or the node does not tell."""
    if isinstance(answer, RpcError):
        return None
    gas = quantity(answer)
    return gas if gas <= _GAS_MOST else None


def _why_not(answer: Any) -> str:
    if isinstance(answer, RpcError):
        return "The node refused to run the steps: it does not take state overrides."
    return "The node ignored the state overrides with which the steps would be run."
