"""A node that is lost while others answer is told, once, and so is its return."""

import asyncio

import pytest

from tickyard.observe.metrics import REGISTRY
from tickyard.wiring.spares import watch_spares


class Over(Exception):
    """The test has seen enough."""


class Node:
    chain_id = 4663

    def __init__(self, *looks):
        self.looks = list(looks)
        self.shown = []

    async def look(self):
        return self.looks.pop(0)

    async def sleep(self, _seconds):
        labels = ({"chain": "4663", "place": place} for place in "12")
        self.shown.append([REGISTRY.get_sample_value("tickyard_node_url_up", each) for each in labels])
        if not self.looks:
            raise Over


def test_each_url_is_told_of_by_its_place_and_each_change_is_logged_once(caplog):
    caplog.set_level("INFO")
    node = Node([True, True], [False, True], [False, True], [True, True])
    with pytest.raises(Over):
        asyncio.run(watch_spares(node, node))
    assert node.shown == [[1, 1], [0, 1], [0, 1], [1, 1]]
    assert [record.getMessage() for record in caplog.records] == ["a node is lost", "a node answers again"]


def test_one_that_is_lost_from_the_start_is_told_of(caplog):
    node = Node([True, False])
    with pytest.raises(Over):
        asyncio.run(watch_spares(node, node))
    assert [record.getMessage() for record in caplog.records] == ["a node is lost"]
