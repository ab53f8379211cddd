"""Two worlds on two ports do not touch each other, also when the second is simply on the next port."""

import pytest

from tickyard.sandbox.commands.parts import worker_metrics_port


def taken(port):
    """The port of the API and those on which the API, the worker and the payout agent show their metrics."""
    worker = worker_metrics_port(port)
    return {port, port + 1000, worker, worker + 1}


@pytest.mark.parametrize("apart", [1, 2, 3, 100, 998])
def test_neighbours_have_no_port_in_common(apart):
    assert taken(8402).isdisjoint(taken(8402 + apart))


@pytest.mark.parametrize("port", [1024, 8402, 54_534, 54_535, 65_535])
def test_every_port_has_room_for_its_metrics(port):
    assert 1024 < worker_metrics_port(port) < 65535
