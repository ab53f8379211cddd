"""What an alarm looks for is shown before it happens: a rise from nothing at all is none."""

import asyncio

import pytest

from tickyard.observe.metrics import REGISTRY
from yards import paperyard
from yards.patience import STUCK_S


def crashes(route):
    return REGISTRY.get_sample_value("tickyard_requests_total", {"route": route, "status": "500"})


@pytest.mark.slow
def test_the_crashes_of_every_route_and_the_deaths_of_every_task_are_shown_as_none(tmp_path):
    async def run():
        async with asyncio.timeout(STUCK_S), paperyard.open_yard(tmp_path) as yard:
            lines = (await yard.get("/")).json()["endpoints"]
            # This yard sells nothing, whatever its index says.
            routes = [line.partition(" ")[2] for line in lines if "/v1/x402/" not in line]
            assert len(routes) > 30
            assert [each for each in routes if crashes(each) is None] == []
            for task in (await yard.get("/readyz")).json()["tasks"]:
                assert REGISTRY.get_sample_value("tickyard_task_deaths_total", {"task": task}) is not None

    asyncio.run(run())
