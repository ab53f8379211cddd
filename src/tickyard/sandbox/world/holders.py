"""The service token's holders, and the account that pays them: a reward program to try out in an afternoon."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from tickyard.chain.erc20 import approve
from tickyard.chain.keccak import keccak256
from tickyard.chain.rlp import rlp
from tickyard.config.pinned import CHAIN_ID
from tickyard.kernel.ids import Address
from tickyard.payout.deploy import deployed_code, deployment
from tickyard.payout.signing.keystore import write_keystore
from tickyard.sandbox.node.process import Node, NodeError
from tickyard.sandbox.node.transact import QueuedCall, send, send_all
from tickyard.sandbox.world.place import SERVICE_TOKEN, USDG, mint_step
from tickyard.sandbox.world.wallets import MAKER, Wallet

HOLDERS: Final = 300
KEYSTORE_FILE: Final = "payout.json"
PASSWORD_FILE: Final = "payout.password"  # noqa: S105  the name of a file

_THRESHOLD: Final = 1_000_000 * 10**18
_FLOAT_USDG: Final = 10_000 * 10**6
_ETH: Final = 100 * 10**18
_PER_BLOCK: Final = 50
_DEPLOY_GAS: Final = 3_000_000
# Everybody knows the sandbox's keys: guessing the password should take no time, and so should opening the file.
_PASSWORD: Final = "sandbox"  # noqa: S105
_ROUNDS: Final = 2**10


@cache
def holders() -> tuple[Wallet, ...]:
    """Wallets with keys, so that anybody can claim for any of them."""
    return tuple(wallet_of(f"holder-{n}") for n in range(HOLDERS))


@cache
def payout_wallet() -> Wallet:
    """Who pays the rewards. Its key is in the keystore file, where only the payout agent looks."""
    return wallet_of("payout")


@cache
def desk_owner() -> Wallet:
    """The cold key."""
    return wallet_of("desk-owner")


@cache
def desk_deployer() -> Wallet:
    return wallet_of("desk-deployer")


def holding(n: int) -> int:
    """What the n-th holder has: a third under the threshold, some exactly at it, the rest up to fifty times as much."""
    if n % 3 == 0:
        return _THRESHOLD - 1 - n * 10**15 * (n % 7)
    if n % 10 == 1:
        return _THRESHOLD
    return _THRESHOLD + (n * n * 7_919 % 49_000) * 10**21 + n


async def settle_holders(
    node: Node, among: Sequence[Wallet] | None = None, held: Callable[[int], int] = holding
) -> None:
    """Mint the holders' tokens, and fund the account that pays them."""
    people = holders() if among is None else among
    gifts: list[QueuedCall] = [mint_step(SERVICE_TOKEN, each.address, held(n)) for n, each in enumerate(people)]
    payer = payout_wallet().address
    await send_all(node, MAKER, [*gifts, mint_step(USDG, payer, _FLOAT_USDG)], per_block=_PER_BLOCK)
    await node.call("hardhat_setBalance", [payer, hex(_ETH)])
    await deploy_desk(node)


async def deploy_desk(node: Node) -> None:
    """As on the real chain: a deployment by somebody who has no rights over the desk, and the payer's approval."""
    payer, deployer = payout_wallet().address, desk_deployer().address
    made = deployment(USDG, desk_owner().address, payer, CHAIN_ID)
    for account in (payer, deployer, desk_owner().address):
        await node.call("hardhat_impersonateAccount", [account])
    await node.call("hardhat_setBalance", [desk_owner().address, hex(_ETH)])
    data = {"from": deployer, "data": made["data"], "gas": hex(_DEPLOY_GAS), "gasPrice": "0x0"}
    await node.call("eth_sendTransaction", [data])
    await send(node, payer, QueuedCall(USDG, "0x" + approve(DESK, 2**256 - 1).hex()))
    await node.call("hardhat_stopImpersonatingAccount", [payer])
    if await node.call("eth_getCode", [DESK, "latest"]) != deployed_code(USDG, desk_owner().address):
        raise NodeError("the desk is not where it belongs: the node is not fresh")


def write_payout_keystore(folder: Path) -> tuple[Path, Path]:
    """The payout key as the agent expects it: keystore and password file."""
    keystore, password = folder / KEYSTORE_FILE, folder / PASSWORD_FILE
    write_keystore(keystore, password, bytes.fromhex(payout_wallet().private_key[2:]), _PASSWORD, rounds=_ROUNDS)
    return keystore, password


def _first_contract_of(account: Address) -> Address:
    """Where the first contract of an account comes to be."""
    return Address("0x" + keccak256(rlp([bytes.fromhex(account[2:]), 0]))[12:].hex())


def wallet_of(name: str) -> Wallet:
    """A wallet whose key follows from its name."""
    from coincurve import PrivateKey

    secret = keccak256(f"tickyard sandbox wallet {name}".encode())
    public = PrivateKey(secret).public_key.format(compressed=False)[1:]
    return Wallet(name, Address("0x" + keccak256(public)[12:].hex()), "0x" + secret.hex())


DESK: Final = _first_contract_of(desk_deployer().address)
"""Known before it is deployed: it is the first thing that its deployer does."""
