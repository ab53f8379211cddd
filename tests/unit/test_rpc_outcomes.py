"""The names under which a node's troubles are counted: dashboards and alarms know them."""

from tickyard.chain.rpc import trouble


def test_every_trouble_is_counted_under_its_name():
    kinds = [each for each in vars(trouble).values() if isinstance(each, type) and issubclass(each, trouble.Trouble)]
    assert {each.__name__: each.outcome for each in kinds if "outcome" in vars(each)} == {
        "NodeUnreachable": "unreachable",
        "HungUp": "hung_up",
        "Garbage": "garbage",
        "Throttled": "throttled",
        "Lagging": "lagging",
        "Stale": "stale",
        "ForeignChain": "wrong_chain",
    }
