"""How long a check may take: one budget for all that it reads, whatever is in memory."""

import asyncio
from types import SimpleNamespace

import pytest

from tickyard.config.pinned import MAINNET
from tickyard.features.trades.evidence import gather_evidence
from tickyard.kernel.errors import UpstreamDown


class Node:
    """Silent in the end, whatever it answered before; notes by when each answer was wanted."""

    def __init__(self, remembered):
        self.remembered, self.until, self.given = remembered, [], 0

    def deadline(self):
        self.given += 1
        return 70.0 + self.given

    def remembered_offer(self, token, trade):
        return self.remembered

    async def offer_at_block(self, token, trade, *, deadline=None):
        self.until.append(deadline)
        return SimpleNamespace(number=1, hash="0x" + "11" * 32), []

    async def multicall_code(self, *, deadline=None):
        self.until.append(deadline)

    async def batch(self, calls, *, deadline=None):
        self.until.append(deadline)
        raise UpstreamDown("silent")


@pytest.mark.parametrize("is_remembered", [True, False])
def test_all_readings_of_a_check_are_over_at_one_moment(is_remembered):
    block = SimpleNamespace(number=1, hash="0x" + "11" * 32)
    node = Node((block, []) if is_remembered else None)
    node.reader, swap = (
        node,
        SimpleNamespace(
            calldata=lambda: b"",
            approval=lambda _: b"",
            token_in=MAINNET.usdg,
            token_out=MAINNET.usdg,
            recipient=MAINNET.usdg,
            fill=SimpleNamespace(before=SimpleNamespace(pool=SimpleNamespace(address=MAINNET.usdg))),
        ),
    )
    wanted = SimpleNamespace(
        token=MAINNET.usdg,
        trade=None,
        recipient=MAINNET.usdg,
        contracts=MAINNET,
        extra_calls=list,
        swap=lambda fills, deadline: swap,
    )
    deps = SimpleNamespace(
        market=node, rpc=node, clock=SimpleNamespace(seconds=lambda: 0), settings=SimpleNamespace(deadline_s=1)
    )
    with pytest.raises(UpstreamDown, match="silent"):
        asyncio.run(gather_evidence(deps, wanted))
    assert node.until == [71.0] * (5 if is_remembered else 3)
