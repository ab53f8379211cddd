"""Deploying the desk: the unsigned transaction that makes one, and whether a desk on the chain is this one.

The bytecode is shipped beside its source, so that who deploys needs no compiler and everybody compares with the same
bytes; a test compiles the source again.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from tickyard.chain.abi import address_word
from tickyard.chain.rpc.client import Rpc
from tickyard.chain.rpc.trouble import RpcError
from tickyard.features.earn.books.desk import read_owner_and_token, read_payer
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.payout import contracts

_FILE: Final = Path(contracts.__file__).with_name("desk.json")


class Compiled(msgspec.Struct, frozen=True):
    compiler: str
    evm: str
    creation: str
    runtime: str


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a desk on the chain is. `problems` is empty for one of ours."""

    payer: Address | None
    owner: Address | None
    problems: list[str]


def compiled() -> Compiled:
    return msgspec.json.decode(_FILE.read_bytes(), type=Compiled)


def deployment(usdg: Address, owner: Address, payer: Address, chain_id: int) -> dict[str, Any]:
    """The unsigned transaction; whoever signs and sends it has no rights over the desk."""
    arguments = address_word(usdg) + address_word(owner) + address_word(payer)
    return {"chainId": chain_id, "value": "0x0", "data": compiled().creation + arguments.hex()}


def deployed_code(usdg: Address, owner: Address) -> str:
    """The code of a desk, to the last byte: what it never changes is written behind its program."""
    return compiled().runtime + (address_word(usdg) + address_word(owner)).hex()


async def inspect(rpc: Rpc, desk: Address, usdg: Address, first_block: int) -> Inspection:
    """Of the desk that the settings name, with the block from which on its events are to be read."""
    try:
        code = await rpc.call("eth_getCode", [desk, "latest"])
    except RpcError as error:
        raise UpstreamDown("the chain node refused to show code") from error
    if not isinstance(code, str) or not code.lower().startswith(compiled().runtime):
        return Inspection(None, None, ["there is no desk at this address: its code is another one"])
    owner, token = await read_owner_and_token(rpc, desk)
    problems = []
    if code.lower() != deployed_code(token, owner):
        problems.append("the code is not the desk's to the last byte")
    if token != usdg:
        problems.append("the desk pays another token than USDG")
    if first_block and (head := await rpc.block_number()) < first_block:
        # Nothing would be read until then, and every payout would go again and again.
        problems.append(f"its TICKYARD_PAYOUT_DESK_FIRST_BLOCK, {first_block}, is after the newest, {head}")
    return Inspection(await read_payer(rpc, desk), owner, problems)
