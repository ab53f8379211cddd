"""The second payment network: a small chain 8453 with nothing on it but dollars and people who hold them.

It keeps wall time, whatever the sandbox's clock shows, so that any client can always pay here.
"""

from pathlib import Path

from tickyard.config.pinned import SECOND_CHAIN_ID
from tickyard.kernel.clock import Clock
from tickyard.sandbox.contracts import build
from tickyard.sandbox.node.process import Node
from tickyard.sandbox.node.transact import send, send_all
from tickyard.sandbox.world.place import MULTICALL3, USDC, dollar_step, mint_step, unlock_maker
from tickyard.sandbox.world.trader import balance_of
from tickyard.sandbox.world.wallets import MAKER, relayer, wallets

NODE_FILE = "node-8453.json"
"""Where `tickyard up` writes this chain's URL for its other processes."""
_BLOCK_MS = 2000
_ETH = hex(100 * 10**18)
_DEMO_USDC = 100_000 * 10**6


async def start_second_chain(run_dir: Path, wall: Clock) -> Node:
    """A node with the whole second world on it, ready to be paid on. Stop the node to end it."""
    node = await Node.start(chain_id=SECOND_CHAIN_ID, now=wall.now(), run_dir=run_dir, interval_ms=_BLOCK_MS)
    try:
        await build_second_world(node)
    except BaseException:
        await node.stop()
        raise
    return node


async def build_second_world(node: Node) -> None:
    await unlock_maker(node)
    creation = {"from": MAKER, "data": build.multicall3_creation()}
    # The reference facilitator asks Multicall3 why a transfer fails.
    multicall3 = await node.call("eth_call", [creation, "latest"])
    holders = (*wallets(), relayer(SECOND_CHAIN_ID))
    await node.batch(
        [
            ("hardhat_setCode", [MULTICALL3, multicall3]),
            ("hardhat_setCode", [USDC, build.compiled("dollar")]),
            *(("hardhat_setBalance", [holder.address, _ETH]) for holder in holders),
        ]
    )
    steps = [
        dollar_step(USDC, name="USD Coin", symbol="USDC", version="2", shows_version=True),
        mint_step(USDC, wallets()[0].address, _DEMO_USDC),
    ]
    await send_all(node, MAKER, steps, per_block=len(steps))


async def mint_usdc(node: Node, receiver: str, amount: int) -> int:
    """More USDC for somebody, in base units; returns the balance after."""
    await send(node, MAKER, mint_step(USDC, receiver, amount))
    return await balance_of(node, USDC, receiver)
