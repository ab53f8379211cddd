"""A whole small market on a fresh chain: contracts, tokens, pools and people, in seconds."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Self

import msgspec

from tickyard.kernel.ids import Address
from tickyard.sandbox.node.abi import call_data
from tickyard.sandbox.node.process import Node
from tickyard.sandbox.node.transact import QueuedCall, send, send_all
from tickyard.sandbox.world import place
from tickyard.sandbox.world.listing import PENDING_AFTER_S, Listed, load
from tickyard.sandbox.world.market import SandboxPair, market_of, open_step
from tickyard.sandbox.world.place import mint_step
from tickyard.sandbox.world.walk import mid_e6
from tickyard.sandbox.world.wallets import MAKER, Wallet, relayer, wallets

_DOLLAR = 10**6
_TOKEN = 10**18
# Memory follows the gas in a block: opening a pool takes six million, naming a token a twentieth of that.
_OPENINGS_PER_BLOCK = 2
_SMALL_PER_BLOCK = 50


@dataclass(slots=True)
class World:
    """What was built and where, as much as another process needs to play with it."""

    chain_id: int
    began_at: int
    contracts: dict[str, str]
    wallets: list[Wallet]
    maker: Address
    tokens: dict[str, Address]
    pools: list[SandboxPair]
    pending_at: int
    """When the pending multipliers take effect, in Unix seconds."""
    held: set[str] = field(default_factory=set)
    """Symbols whose price somebody set by hand: the trader leaves them alone."""

    def multiplier_e18(self, listed: Listed, moment: datetime) -> int:
        if listed.pending is not None and moment.timestamp() >= self.pending_at:
            return listed.pending
        return listed.multiplier_e18

    def to_json(self) -> bytes:
        return msgspec.json.encode(self)

    @classmethod
    def from_json(cls, data: bytes) -> Self:
        return msgspec.json.decode(data, type=cls)


async def build_world(node: Node, now: datetime) -> World:
    """Place, name, mint, open and fill everything in the listing. The node must be fresh."""
    began_at = int(now.timestamp())
    deployed = [listed for listed in load() if listed.address]
    world = World(
        chain_id=int(await node.call("eth_chainId"), 16),
        began_at=began_at,
        contracts=dict(place.CONTRACTS),
        wallets=list(wallets()),
        maker=MAKER,
        tokens={listed.symbol: listed.address for listed in deployed if listed.address},
        pools=[market_of(listed, plan) for listed in deployed for plan in listed.pools],
        pending_at=began_at + PENDING_AFTER_S,
    )
    await place.unlock_maker(node)
    await place.place_contracts(node)
    await place.place_tokens(node, deployed)
    small = [
        *place.first_steps(),
        *map(place.token_step, deployed),
        *_gifts(world),
        *_notices(world, deployed),
    ]
    await send_all(node, MAKER, small, per_block=_SMALL_PER_BLOCK)
    openings = [open_step(listed, plan, mid_e6(listed, now)) for listed in deployed for plan in listed.pools]
    await send_all(node, MAKER, openings, per_block=_OPENINGS_PER_BLOCK)
    await _equip_people(node, world)
    return world


def _gifts(world: World) -> list[QueuedCall]:
    demo, alice, bob = (wallet.address for wallet in world.wallets)
    return [
        mint_step(place.USDG, demo, 100_000 * _DOLLAR),
        mint_step(place.USDG, alice, 25_000 * _DOLLAR),
        mint_step(place.USDG, bob, 500 * _DOLLAR),
        mint_step(place.SERVICE_TOKEN, demo, 2_000_000 * _TOKEN),
        mint_step(place.SERVICE_TOKEN, alice, 1_250_000 * _TOKEN),
        mint_step(place.SERVICE_TOKEN, bob, 999_999 * _TOKEN),
        # Something to look at and to sell from the first minute on.
        mint_step(world.tokens["AAPL"], demo, 4 * _TOKEN),
        mint_step(world.tokens["NVDA"], demo, 15 * _TOKEN + _TOKEN // 2),
        mint_step(world.tokens["SPY"], demo, 2 * _TOKEN),
        mint_step(world.tokens["AAPL"], alice, 12 * _TOKEN + _TOKEN // 2),
        mint_step(world.tokens["CRWD"], alice, 3 * _TOKEN),
        mint_step(world.tokens["AMC"], alice, 400 * _TOKEN),
        mint_step(world.tokens["TSLA"], bob, 7 * _TOKEN // 4),
    ]


def _notices(world: World, deployed: list[Listed]) -> list[QueuedCall]:
    """Multipliers to come, and the token whose oracle is paused for a corporate action."""
    steps = []
    for listed in deployed:
        token = world.tokens[listed.symbol]
        if listed.pending is not None:
            data = call_data("setUIMultiplier(uint256,uint256)", listed.pending, world.pending_at)
            steps.append(QueuedCall(token, data))
        if listed.is_paused:
            steps.append(QueuedCall(token, call_data("setOraclePaused(bool)", True)))
    return steps


async def _equip_people(node: Node, world: World) -> None:
    """ETH for everybody, and demo's approval of Permit2, which costs a transaction of its own."""
    for wallet in (*world.wallets, relayer(world.chain_id)):
        await node.call("hardhat_setBalance", [wallet.address, hex(100 * _TOKEN)])
    demo = world.wallets[0].address
    await node.call("hardhat_impersonateAccount", [demo])
    approval = call_data("approve(address,uint256)", place.PERMIT2, 2**256 - 1)
    await send(node, demo, QueuedCall(place.USDG, approval))
    await node.call("hardhat_stopImpersonatingAccount", [demo])
