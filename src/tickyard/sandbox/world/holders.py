"""The service token's holders, and the account that pays them: a reward program to try out in an afternoon."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from tickyard.chain.keccak import keccak256
from tickyard.kernel.ids import Address
from tickyard.payout.keystore import write_keystore
from tickyard.sandbox.node.process import Node
from tickyard.sandbox.node.transact import QueuedCall, send_all
from tickyard.sandbox.world.place import SERVICE_TOKEN, USDG, mint_step
from tickyard.sandbox.world.wallets import MAKER, Wallet

HOLDERS: Final = 300
KEYSTORE_FILE: Final = "payout.json"
PASSWORD_FILE: Final = "payout.password"  # noqa: S105  the name of a file

_THRESHOLD: Final = 1_000_000 * 10**18
_FLOAT_USDG: Final = 10_000 * 10**6
_ETH: Final = 100 * 10**18
_PER_BLOCK: Final = 50
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


def write_payout_keystore(folder: Path) -> tuple[Path, Path]:
    """The payout key as the agent expects it: keystore and password file."""
    keystore, password = folder / KEYSTORE_FILE, folder / PASSWORD_FILE
    write_keystore(keystore, password, bytes.fromhex(payout_wallet().private_key[2:]), _PASSWORD, rounds=_ROUNDS)
    return keystore, password


def wallet_of(name: str) -> Wallet:
    """A wallet whose key follows from its name."""
    from coincurve import PrivateKey

    secret = keccak256(f"tickyard sandbox wallet {name}".encode())
    public = PrivateKey(secret).public_key.format(compressed=False)[1:]
    return Wallet(name, Address("0x" + keccak256(public)[12:].hex()), "0x" + secret.hex())
