"""The sandbox's node, when it is not there."""

import asyncio
import socket

import pytest

from tickyard.kernel.errors import UpstreamDown
from tickyard.sandbox.node.process import Node


def test_a_hand_on_the_sandbox_whose_node_is_gone_is_told_so_and_not_of_a_bug():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))

        async def ask():
            async with Node.attach(f"http://127.0.0.1:{taken.getsockname()[1]}") as node:
                await node.call("eth_blockNumber", [])

        with pytest.raises(UpstreamDown, match="the EVM node did not answer") as told:
            asyncio.run(ask())
    assert told.value.status == 502
