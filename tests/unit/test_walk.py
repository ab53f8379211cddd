"""The sandbox's prices: many at once are the same as one by one."""

from datetime import UTC, datetime

import pytest

from tickyard.sandbox.world.listing import load
from tickyard.sandbox.world.walk import mid_e6, mids_e6

FIRST = int(datetime(2026, 12, 31, 22, tzinfo=UTC).timestamp())


@pytest.mark.parametrize("step", [300, 777])
def test_many_mids_at_once_are_those_of_each_moment(step):
    seconds = range(FIRST, FIRST + 40 * step, step)
    for listed in [*load()[:5], *(each for each in load() if each.is_halted)]:
        assert mids_e6(listed, seconds) == [mid_e6(listed, datetime.fromtimestamp(each, UTC)) for each in seconds]
