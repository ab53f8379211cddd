"""The contracts that payments need, on both chains."""

import asyncio

import pytest
from eth_account import Account

from tickyard.kernel.clock import WallClock
from tickyard.sandbox.node.abi import call_data, encode, keccak, words
from tickyard.sandbox.node.process import NodeError
from tickyard.sandbox.node.transact import QueuedCall, send
from tickyard.sandbox.world.place import MULTICALL3, PERMIT2, PERMIT2_PROXY, USDC, USDG
from tickyard.sandbox.world.second_chain import mint_usdc, start_second_chain
from tickyard.sandbox.world.trader import balance_of
from tickyard.sandbox.world.wallets import MAKER, relayer, wallets
from yards.payer import PERMIT2_TYPES

pytestmark = pytest.mark.node

DEMO = wallets()[0]
PAYEE = "0x00000000000000000000000000000000000c0ffe"
SETTLE = "settle(((address,uint256),uint256,uint256),address,(address,uint256),bytes)"


def permit(amount=10_000, nonce=7, deadline=2**40, to=PAYEE, valid_after=0):
    """A payment from demo, as settle takes it; the signature is the last argument."""
    domain = {"name": "Permit2", "chainId": 4663, "verifyingContract": PERMIT2}
    message = {
        "permitted": {"token": USDG, "amount": amount},
        "spender": PERMIT2_PROXY,
        "nonce": nonce,
        "deadline": deadline,
        "witness": {"to": to, "validAfter": valid_after},
    }
    signature = Account.from_key(DEMO.private_key).sign_typed_data(domain, PERMIT2_TYPES, message).signature
    return [USDG, amount, nonce, deadline, DEMO.address, to, valid_after, bytes(signature)]


def settle(world, arguments):
    return world.run(send(world.node, MAKER, QueuedCall(PERMIT2_PROXY, call_data(SETTLE, *arguments))))


def refused(world, arguments, error):
    """The proxy's or Permit2's own error comes through, and nothing moves."""
    selector = keccak(error.encode())[:4].hex()
    with pytest.raises(NodeError, match=selector):
        world.rpc("eth_call", {"from": MAKER, "to": PERMIT2_PROXY, "data": call_data(SETTLE, *arguments)}, "latest")


def test_permit2_signs_for_this_chain_and_not_for_the_one_its_code_came_from(world):
    kind = keccak(b"EIP712Domain(string name,uint256 chainId,address verifyingContract)")
    domain = keccak(kind + keccak(b"Permit2") + encode(4663, PERMIT2))
    assert world.read(PERMIT2, "DOMAIN_SEPARATOR()") == [int.from_bytes(domain, "big")]


def test_the_proxy_moves_exactly_what_was_signed_to_whom_it_was_signed(world):
    payee_had, demo_had = (world.run(balance_of(world.node, USDG, who)) for who in (PAYEE, DEMO.address))
    settle(world, permit(amount=12_345, nonce=(5 << 8) + 200))
    assert world.run(balance_of(world.node, USDG, PAYEE)) == payee_had + 12_345
    assert world.run(balance_of(world.node, USDG, DEMO.address)) == demo_had - 12_345
    assert world.read(PERMIT2, "nonceBitmap(address,uint256)", DEMO.address, 5) == [1 << 200]


def test_a_permit_settles_once(world):
    payment = permit()
    settle(world, payment)
    refused(world, payment, "InvalidNonce()")


@pytest.mark.parametrize("changed", [1, 5, 6])
def test_a_permit_with_another_amount_receiver_or_start_is_not_the_one_that_was_signed(world, changed):
    payment = permit()
    payment[changed] = {1: 10_001, 5: DEMO.address, 6: 1}[changed]
    refused(world, payment, "InvalidSigner()")


@pytest.mark.parametrize(
    ("payment", "error"),
    [
        (permit(valid_after=2**40), "PaymentTooEarly()"),
        (permit(amount=0), "InvalidAmount()"),
        (permit(to="0x" + "0" * 40), "InvalidDestination()"),
        (permit(deadline=1), "SignatureExpired(uint256)"),
    ],
)
def test_the_proxy_refuses_what_can_never_be_meant(world, payment, error):
    refused(world, payment, error)


def test_a_relayer_has_gas_and_is_none_of_the_people(world):
    account = relayer(4663)
    assert int(world.rpc("eth_getBalance", account.address, "latest"), 16) > 10**18
    assert account.address not in {wallet.address for wallet in world.world.wallets}


def test_the_second_chain_has_usdc_as_clients_know_it(tmp_path):
    async def live():
        node = await start_second_chain(tmp_path, WallClock())
        async with node:

            async def read(signature, *values, to=USDC):
                return words(await node.call("eth_call", [{"to": to, "data": call_data(signature, *values)}, "latest"]))

            assert int(await node.call("eth_chainId"), 16) == 8453
            expected = 0x02FA7265E7C5D81118673727957699E4D68F74CD74B7DB77DA710FE8A2C7834F
            assert await read("DOMAIN_SEPARATOR()") == [expected]
            assert await read("decimals()") == [6]
            assert (await read("version()"))[2] >> 248 == ord("2")
            assert await read("balanceOf(address)", DEMO.address) == [100_000 * 10**6]
            assert await read("getChainId()", to=MULTICALL3) == [8453]
            assert int(await node.call("eth_getBalance", [relayer(8453).address, "latest"]), 16) > 10**18
            assert await mint_usdc(node, PAYEE, 5) == 5

    asyncio.run(live())


def test_the_second_chain_keeps_wall_time(tmp_path):
    async def live():
        clock = WallClock()
        async with await start_second_chain(tmp_path, clock) as node:
            await node.call("evm_mine")
            block = await node.call("eth_getBlockByNumber", ["latest", False])
            assert abs(int(block["timestamp"], 16) - clock.seconds()) <= 2

    asyncio.run(live())
