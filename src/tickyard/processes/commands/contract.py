"""What stands on the chain at an address that the issuer says is a token's: asked before a person's word is taken."""

from tickyard.chain.abi import read_text, read_uint
from tickyard.chain.erc20 import DECIMALS, SYMBOL, read_decimals
from tickyard.chain.rpc.client import Rpc
from tickyard.chain.rpc.trouble import RpcError
from tickyard.chain.stock_token import UID
from tickyard.config.settings import Settings
from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.sources.text import clean
from tickyard.store.identities import AssetIdentity

_DECIMALS = 18


class NotTheToken(Exception):
    """The chain contradicts the issuer. The message is one sentence for the operator."""


async def look_at_contract(settings: Settings, clock: Clock, token: AssetIdentity) -> str:
    """What the contract says of itself, for a person to read. A silent node is said too, and refuses nothing."""
    rpc = Rpc(settings.rpc_urls, chain_id=settings.chain_id, clock=clock)
    try:
        return await _look(rpc, token)
    except UpstreamDown as trouble:
        return f"could not be asked: {trouble.message}"
    finally:
        await rpc.close()


async def _look(rpc: Rpc, token: AssetIdentity) -> str:
    code = await rpc.call("eth_getCode", [token.address, "latest"])
    if not isinstance(code, str) or len(code) <= 2:
        raise NotTheToken("there is no contract at that address on this chain")
    decimals = await _ask(rpc, token.address, DECIMALS)
    if decimals is None or read_decimals(decimals) != _DECIMALS:
        raise NotTheToken(f"the contract at that address is no token of {_DECIMALS} decimals")
    uid = await _ask(rpc, token.address, UID)
    if uid and read_uint(uid) != int(token.uid, 16):
        raise NotTheToken(f"the contract at that address says that its uid is {hex(read_uint(uid))}")
    symbol = await _ask(rpc, token.address, SYMBOL)
    name = f"calls itself {clean(read_text(symbol), 40)!r}" if symbol else "does not tell its symbol"
    return f"a token of {_DECIMALS} decimals, {name}, {'with that uid' if uid else 'does not tell its uid'}"


async def _ask(rpc: Rpc, address: Address, question: bytes) -> bytes | None:
    try:
        return await rpc.eth_call(address, question) or None
    except RpcError:
        return None
