"""What the reward program needs beyond store, chain and clock."""

from dataclasses import dataclass, field
from typing import Final, Protocol

from tickyard.chain.rpc import Rpc
from tickyard.features.earn.blocks import Finality
from tickyard.features.earn.holders import HolderIndex, Stride
from tickyard.features.earn.message import Terms
from tickyard.features.earn.token import TokenFacts
from tickyard.features.earn.waiting import WaitingRoom
from tickyard.kernel.clock import Clock
from tickyard.store.engine import Store

GAS_LIMIT: Final = 200_000
"""Of one payout. A transfer needs a third of it; the rest covers what the chain adds for its own costs."""


@dataclass(slots=True)
class EarnDesk:
    terms: Terms
    finality: Finality
    first_block: int = 0
    """The service token is not older than this block."""
    stride: Stride = field(default_factory=Stride)
    facts: TokenFacts | None = None
    """Read from the chain when first asked for."""
    waiting: WaitingRoom = field(default_factory=WaitingRoom)


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
