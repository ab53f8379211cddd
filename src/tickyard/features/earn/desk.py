"""What the reward program needs beyond store, chain and clock."""

from dataclasses import dataclass, field
from typing import Final, Protocol

from tickyard.chain.blocks import Finality
from tickyard.chain.rpc.client import Rpc
from tickyard.features.earn.drift import DriftWatch
from tickyard.features.earn.holders import HolderIndex, Stride
from tickyard.features.earn.message import EarnTerms
from tickyard.features.earn.token import TokenFacts
from tickyard.features.earn.waiting import WaitingRoom
from tickyard.kernel.clock import Clock
from tickyard.store.engine import Store

GAS_LIMIT: Final = 200_000
"""Of one payout. A transfer needs a third of it; the rest covers what the chain adds for its own costs."""

_FEE_FACTOR: Final = 20
_FEE_FLOOR: Final = 10**8


def max_fee(base_fee: int) -> int:
    """What a payout offers per gas, so that it is never stuck for its fee; what is not needed is not paid."""
    return max(base_fee * _FEE_FACTOR, _FEE_FLOOR)


@dataclass(slots=True)
class EarnDesk:
    terms: EarnTerms
    finality: Finality
    first_block: int = 0
    """The service token is not older than this block."""
    stride: Stride = field(default_factory=Stride)
    facts: TokenFacts | None = None
    """Read from the chain when first asked for."""
    waiting: WaitingRoom = field(default_factory=WaitingRoom)
    drift: DriftWatch = field(default_factory=DriftWatch)
    late: set[tuple[int, str]] = field(default_factory=set)
    """Epochs that are late, and why: each is said once."""


class EarnDeps(Protocol):
    @property
    def store(self) -> Store: ...
    @property
    def rpc(self) -> Rpc: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def earn(self) -> EarnDesk: ...


def holder_index(deps: EarnDeps) -> HolderIndex:
    return HolderIndex(deps.store, deps.rpc, deps.earn.terms.token, deps.earn.first_block, deps.earn.stride)


async def token_facts(deps: EarnDeps) -> TokenFacts:
    if deps.earn.facts is None:
        deps.earn.facts = await TokenFacts.read(deps.rpc, deps.earn.terms.token)
    return deps.earn.facts
