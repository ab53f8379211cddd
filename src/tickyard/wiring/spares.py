"""A node that is lost while another answers: nobody notices, and the next one lost is an outage."""

from typing import Final

from tickyard.chain.rpc.client import Rpc
from tickyard.kernel.clock import Clock
from tickyard.observe.log import log
from tickyard.observe.watched import node_url_up

_EVERY_S: Final = 60


async def watch_spares(rpc: Rpc, clock: Clock) -> None:
    """Ask each of several URLs now and then, for ever. Its place in the setting says which: the URL may hold a key."""
    known: dict[int, bool] = {}
    while True:
        for place, answers in enumerate(await rpc.look(), start=1):
            node_url_up.labels(str(rpc.chain_id), str(place)).set(answers)
            if known.get(place, True) != answers:
                tell = log.info if answers else log.warning
                tell("a node answers again" if answers else "a node is lost", chain=rpc.chain_id, place=place)
            known[place] = answers
        await clock.sleep(_EVERY_S)
