"""A wallet that is not deployed yet is asked on a real chain what it will say, and is not there afterwards."""

import asyncio

import pytest
from eth_abi import encode

from tickyard.chain.keccak import keccak256
from tickyard.chain.rpc.client import Rpc
from tickyard.kernel.clock import WallClock
from tickyard.kernel.ids import Address
from tickyard.payments.proof.account import accepts, has_code

pytestmark = pytest.mark.node

DIGEST = bytes(range(32))
# Creates a contract of whatever it is asked, at an address made of that.
FACTORY = bytes.fromhex("365f5f375f365f5ff500")
YES = bytes.fromhex("631626ba7e60e01b5f5260205ff3")
"""A wallet that takes everything for its owner's signature."""
NO = bytes.fromhex("5f5f5260205ff3")


def made_by(code):
    """What leaves this code behind as a contract."""
    size = len(code)
    return bytes([0x5F + size]) + code + bytes.fromhex("5f52") + bytes([0x60, size, 0x60, 32 - size, 0xF3])


def test_a_wallet_to_be_is_asked_where_it_would_be(world):
    factory = "0x" + "fa" * 20
    world.rpc("hardhat_setCode", factory, "0x" + FACTORY.hex())

    async def ask(code, other=None):
        at = keccak256(b"\xff" + bytes.fromhex(factory[2:]) + bytes(32) + keccak256(made_by(code)))[-20:]
        wallet = Address("0x" + at.hex())
        wrapped = encode(["address", "bytes", "bytes"], [factory, made_by(other or code), b"s" * 65])
        rpc = Rpc([world.node.url], chain_id=4663, clock=WallClock())
        try:
            told = await accepts(rpc, wallet, DIGEST, wrapped + bytes.fromhex("6492" * 16), age_s=10**6)
            return told, await has_code(rpc, wallet)
        finally:
            await rpc.close()

    assert asyncio.run(ask(YES)) == (True, False)
    assert asyncio.run(ask(NO)) == (False, False)
    # Who deploys another beside it has said nothing for this one.
    assert asyncio.run(ask(NO, other=YES)) == (False, False)
