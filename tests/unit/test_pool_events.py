"""The topics of the pools' logs, worked out anew from what stands above each."""

import re
from pathlib import Path

from web3 import Web3

from tickyard.chain.v3 import events


def test_every_topic_is_the_hash_of_what_is_declared():
    declared = re.findall(
        r'^# (\w+\([\w,]*\))\n\w+: Final = "(0x\w{64})"$', Path(events.__file__).read_text(), re.MULTILINE
    )
    assert len(declared) == len(events.TOPICS)
    for signature, topic in declared:
        assert Web3.keccak(text=signature).to_0x_hex() == topic
