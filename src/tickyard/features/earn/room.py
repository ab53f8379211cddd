"""What the reward program needs beyond store, chain and clock."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, Protocol

from sqlalchemy import Row

from tickyard.chain.blocks import Finality
from tickyard.chain.rpc.client import Rpc
from tickyard.chain.rpc.stride import Stride
from tickyard.features.earn.books.sums import SharedSums
from tickyard.features.earn.claims.message import EarnTerms
from tickyard.features.earn.claims.waiting import WaitingRoom
from tickyard.features.earn.days.drift import DriftWatch
from tickyard.features.earn.days.holders import HolderIndex
from tickyard.features.earn.days.token import TokenFacts
from tickyard.kernel.clock import Clock
from tickyard.kernel.ids import Address
from tickyard.store.engine import Store


@dataclass(slots=True)
class EarnRoom:
    terms: EarnTerms
    finality: Finality
    desk: Address
    multicall: Address
    first_block: int = 0
    """The service token is not older than this block."""
    second_logs: Rpc | None = None
    """Another node, which must show the same transfers."""
    desk_first_block: int = 0
    """The desk is not older than this block."""
    stride: Stride = field(default_factory=Stride)
    facts: TokenFacts | None = None
    """Read from the chain when first asked for."""
    waiting: WaitingRoom = field(default_factory=WaitingRoom)
    sums: SharedSums = field(default_factory=SharedSums)
    drift: DriftWatch = field(default_factory=DriftWatch)
    late: set[tuple[int, str]] = field(default_factory=set)
    """Epochs that are late, and why: each is said once."""
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)
    """The index is read by one task at a time."""

    def desk_of(self, epoch: Row[Any]) -> Address:
        """The desk that pays this epoch, whichever one the settings name by now."""
        return self.desk if epoch.desk is None else Address(epoch.desk)


class EarnDeps(Protocol):
    @property
    def store(self) -> Store: ...
    @property
    def rpc(self) -> Rpc: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def earn(self) -> EarnRoom: ...


def holder_index(deps: EarnDeps) -> HolderIndex:
    room = deps.earn
    return HolderIndex(deps.store, deps.rpc, room.terms.token, room.first_block, room.stride, room.second_logs)


async def token_facts(deps: EarnDeps) -> TokenFacts:
    if deps.earn.facts is None:
        deps.earn.facts = await TokenFacts.read(deps.rpc, deps.earn.terms.token)
    return deps.earn.facts
