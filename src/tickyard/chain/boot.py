"""What must be true of the chain before we serve anything from it."""

from tickyard.chain.abi import read_address, read_uint
from tickyard.chain.address import checksum
from tickyard.chain.erc20 import DECIMALS
from tickyard.chain.rpc.client import Rpc
from tickyard.chain.rpc.trouble import RpcError
from tickyard.chain.v3.pools import FACTORY
from tickyard.config.pinned import Contracts
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address

_USDG_DECIMALS = 6


class WrongChain(Exception):
    """A pinned contract is not what it should be. The message is one clear sentence."""


async def check_contracts(rpc: Rpc, contracts: Contracts) -> None:
    """Raise WrongChain on a mismatch, UpstreamDown when the node is silent. The chain id is the client's check."""
    pinned = {name: getattr(contracts, name) for name in contracts.__struct_fields__}
    codes = await rpc.batch([("eth_getCode", [address, "latest"]) for address in pinned.values()])
    for (name, address), code in zip(pinned.items(), codes, strict=True):
        if isinstance(code, RpcError):
            raise UpstreamDown("the chain node refused to show contract code")
        if not isinstance(code, str) or len(code) <= 2:
            raise WrongChain(f"there is no contract at the pinned {name} address {checksum(address)}")
    factory = await _read(rpc, contracts.router, FACTORY, "router")
    if read_address(factory) != contracts.factory:
        raise WrongChain(f"the pinned router belongs to another factory, {checksum(read_address(factory))}")
    decimals = read_uint(await _read(rpc, contracts.usdg, DECIMALS, "usdg"))
    if decimals != _USDG_DECIMALS:
        raise WrongChain(f"the pinned USDG has {decimals} decimals, not {_USDG_DECIMALS}")


async def _read(rpc: Rpc, to: Address, data: bytes, name: str) -> bytes:
    try:
        answer = await rpc.eth_call(to, data)
    except RpcError as error:
        if not error.is_revert:
            raise  # the node would not run it: that says nothing about the contract
        answer = b""
    if len(answer) != 32:
        raise WrongChain(f"the contract at the pinned {name} address {checksum(to)} is something else")
    return answer
