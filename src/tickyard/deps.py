"""What every operation may use. Rooms that need more say so in a protocol of their own; wiring provides it."""

from dataclasses import dataclass

from tickyard.chain.rpc.client import Rpc
from tickyard.config.settings import Settings
from tickyard.kernel.clock import Clock
from tickyard.market.market import Market
from tickyard.store.engine import Store
from tickyard.supervisor import Supervisor


@dataclass(frozen=True, slots=True)
class Deps:
    settings: Settings
    clock: Clock
    market: Market
    rpc: Rpc
    store: Store
    tasks: Supervisor
