"""What an operation may use."""

from dataclasses import dataclass

from tickyard.chain.rpc import Rpc
from tickyard.config.settings import Settings
from tickyard.kernel.clock import Clock
from tickyard.market.market import Market


@dataclass(frozen=True, slots=True)
class Deps:
    settings: Settings
    clock: Clock
    market: Market
    rpc: Rpc
