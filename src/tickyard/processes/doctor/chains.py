"""Questions to the nodes of both chains, one by one: the service fails over between them and would hide a bad one."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from tickyard.chain.abi import read_uint
from tickyard.chain.blocks import final_header
from tickyard.chain.boot import check_contracts
from tickyard.chain.erc20 import DECIMALS, TOTAL_SUPPLY, balance_of, read_amount, read_decimals
from tickyard.chain.quantity import quantity
from tickyard.chain.rpc.client import Rpc, RpcError, TooManyLogs
from tickyard.chain.rpc.feed import LogFeed
from tickyard.chain.rpc.trouble import ForeignChain, Trouble
from tickyard.chain.transfers import TRANSFER
from tickyard.chain.v3.bitmap import fee_tick_spacing
from tickyard.chain.v3.events import TOPICS
from tickyard.config.pinned import SECOND_CHAIN_ID, USDC_8453
from tickyard.config.settings import Settings
from tickyard.features.earn.books.desk import read_till
from tickyard.kernel.clock import Clock
from tickyard.kernel.ids import Address
from tickyard.payout.deploy import inspect
from tickyard.processes.doctor.finding import Bad, Examination

_LOG_BLOCKS: Final = 1_000
_NODE: Final = "look at the node: is it running, is the address right, is the key good? Put a better one first"
NODES_FIRST: Final = "mend the nodes of TICKYARD_RPC_URLS first: no node could be asked"


def questions(settings: Settings, clock: Clock, wall: Clock) -> Iterator[Examination]:
    for chain_id, urls, its_clock in (
        (settings.chain_id, settings.rpc_urls, clock),
        (SECOND_CHAIN_ID, settings.rpc_urls_8453, wall),
    ):
        for place, url in enumerate(urls, 1):
            name = f"node {chain_id} {place}/{len(urls)}"
            checks = (("", _identity), (" head", _head), (" state", _state), (" logs", _logs))
            for suffix, check in checks:
                yield Examination(name + suffix, partial(check, settings, url, chain_id, its_clock), _NODE, url)
    for place, url in enumerate(settings.rpc_ws_urls, 1):
        name = f"websocket {place}/{len(settings.rpc_ws_urls)}"
        yield Examination(name, partial(_websocket, settings, url, clock), "look at TICKYARD_RPC_WS_URLS", url)
    if settings.second_logs_url:
        ask = partial(_second_logs, settings, clock)
        yield Examination(
            "second logs",
            ask,
            "look at TICKYARD_SECOND_LOGS_URL: without it no epoch is opened",
            settings.second_logs_url,
        )
    yield Examination("fee tiers", partial(_fee_tiers, settings, clock), NODES_FIRST)
    yield Examination("spender", partial(_spender, settings, clock), NODES_FIRST)


@asynccontextmanager
async def connected(url: str, chain_id: int, clock: Clock) -> AsyncIterator[Rpc]:
    async with Rpc([url], chain_id=chain_id, clock=clock) as rpc:
        yield rpc


async def _identity(settings: Settings, url: str, chain_id: int, clock: Clock) -> str:
    async with connected(url, chain_id, clock) as rpc:
        if chain_id == settings.chain_id:
            await check_contracts(rpc, settings.contracts)
            return f"chain {chain_id}, every pinned contract in place"
        code = await rpc.call("eth_getCode", [USDC_8453, "latest"])
        if not isinstance(code, str) or len(code) <= 2:
            raise Bad("there is no USDC on this chain", "name a node of the real chain 8453")
        decimals = read_decimals(await rpc.eth_call(USDC_8453, DECIMALS))
        if decimals != 6:
            raise Bad(f"USDC has {decimals} decimals there, not 6", "name a node of the real chain 8453")
        return f"chain {chain_id}, USDC in place"


async def _head(settings: Settings, url: str, chain_id: int, clock: Clock) -> str:
    async with connected(url, chain_id, clock) as rpc:
        head = await rpc.head()
    age = clock.seconds() - head.timestamp
    if age > settings.head_age_max_s:
        raise Bad(f"block {head.number} is {age} s old", "the node has stopped following its chain: mend or replace it")
    if age < -settings.head_age_max_s:
        raise Bad(
            f"block {head.number} is {-age} s in our future", "set this machine's clock (chrony, systemd-timesyncd)"
        )
    return f"block {head.number}, {max(age, 0)} s old"


async def _state(settings: Settings, url: str, chain_id: int, clock: Clock) -> str:
    """The reward program proves its books at the newest final block; payments look there as well."""
    token = settings.contracts.usdg if chain_id == settings.chain_id else USDC_8453
    async with connected(url, chain_id, clock) as rpc:
        head = await rpc.block_number()
        final = await final_header(rpc, settings.final_after if chain_id == settings.chain_id else "finalized")
        depth = head - final.number
        try:
            await rpc.eth_call(token, TOTAL_SUPPLY, block=final.number)
        except RpcError:
            raise Bad(f"it has no state {depth} blocks back, at the newest final block",
                      "let the node keep more state (archive, or a longer pruning window)") from None  # fmt: skip
    return f"final block {final.number}, state {depth} blocks back"


async def _logs(settings: Settings, url: str, chain_id: int, clock: Clock) -> str:
    token = settings.contracts.usdg if chain_id == settings.chain_id else USDC_8453
    async with connected(url, chain_id, clock) as rpc:
        head = await rpc.block_number()
        span = min(_LOG_BLOCKS, head)
        while True:
            try:
                await rpc.get_logs(
                    from_block=head - span, to_block=head, addresses=[token], topics=[TRANSFER, None, "0x" + "0" * 64]
                )
            except (TooManyLogs, RpcError):
                span //= 2
                if span < 10:
                    raise Bad("it shows no logs", "name a node that answers eth_getLogs") from None
            else:
                break
    return f"logs of {span} blocks in one answer"


async def _second_logs(settings: Settings, clock: Clock) -> str:
    if settings.second_logs_url in settings.rpc_urls:
        raise Bad("it is one of TICKYARD_RPC_URLS, and bears witness for itself while that one answers alone",
                  "name a node here that is not in TICKYARD_RPC_URLS")  # fmt: skip
    return await _logs(settings, settings.second_logs_url, settings.chain_id, clock)


async def _websocket(settings: Settings, url: str, clock: Clock) -> str:
    mend = (
        "name a websocket of a node of chain 4663 in TICKYARD_RPC_WS_URLS, or leave it out: the mirror looks by itself"
    )
    try:
        await LogFeed([url], chain_id=settings.chain_id, topics=TOPICS, clock=clock).try_once()
    except ForeignChain:
        raise Bad("it is a node of another chain", mend) from None
    except Trouble:
        raise Bad("it does not tell new logs", mend) from None
    return f"chain {settings.chain_id}, tells new logs"


async def _fee_tiers(settings: Settings, clock: Clock) -> str:
    """In a tier that the factory does not have there is never a pool: a mistyped one is one that is missed."""
    async with Rpc(settings.rpc_urls, chain_id=settings.chain_id, clock=clock) as rpc:
        spacings = [
            read_uint(await rpc.eth_call(settings.contracts.factory, fee_tick_spacing(fee)))
            for fee in settings.fee_tiers
        ]
    if unknown := [str(fee) for fee, spacing in zip(settings.fee_tiers, spacings, strict=True) if not spacing]:
        raise Bad(f"the factory has no fee tier {', '.join(unknown)}", "set TICKYARD_FEE_TIERS to tiers that it has")
    return ", ".join(map(str, settings.fee_tiers))


async def _spender(settings: Settings, clock: Clock) -> str:
    """Payments in USDG are allowances to this contract."""
    async with Rpc(settings.rpc_urls, chain_id=settings.chain_id, clock=clock) as rpc:
        code = await rpc.call("eth_getCode", [settings.spender.lower(), "latest"])
    if not isinstance(code, str) or len(code) <= 2:
        raise Bad(f"there is no contract at {settings.spender}", "leave TICKYARD_SPENDER out: nobody could pay in USDG")
    return "in place"


async def service_token(settings: Settings, clock: Clock) -> str:
    token = Address(settings.service_token.lower())
    async with Rpc(settings.rpc_urls, chain_id=settings.chain_id, clock=clock) as rpc:
        code = await rpc.call("eth_getCode", [token, "latest"])
        if not isinstance(code, str) or len(code) <= 2:
            raise Bad("there is no contract at this address", "set TICKYARD_SERVICE_TOKEN to the token's address")
        decimals = read_decimals(await rpc.eth_call(token, DECIMALS))
        supply = read_amount(await rpc.eth_call(token, TOTAL_SUPPLY))
        first = settings.service_token_first_block
        if first and (head := await rpc.block_number()) < first:
            raise Bad(f"its first block {first} is after the newest, {head}", "set TICKYARD_SERVICE_TOKEN_FIRST_BLOCK")
    if supply == 0:
        raise Bad("nobody holds any: its supply is 0", "is this the right token?")
    return f"{decimals} decimals, {supply // 10**decimals} tokens in all"


async def payout_desk(settings: Settings, clock: Clock) -> str:
    """Whether the desk is ours to the last byte, and may move what its payer holds."""
    desk, usdg = Address(settings.payout_desk.lower()), settings.contracts.usdg
    async with Rpc(settings.rpc_urls, chain_id=settings.chain_id, clock=clock) as rpc:
        seen = await inspect(rpc, desk, usdg, settings.payout_desk_first_block)
        if seen.problems:
            raise Bad("; ".join(seen.problems), "`tickyard payout deploy` makes one, and checks one")
        till = await read_till(rpc, settings.contracts.multicall3, desk, usdg)
    if till.is_paused:
        raise Bad("its owner has paused it", "the owner's key unpauses it, when they know why it was")
    if till.allowance_raw < max(till.usdg_raw, 1):
        found = (
            f"it may move {till.allowance_raw // 10**6} of the {till.usdg_raw // 10**6} USDG that {till.payer} holds"
        )
        raise Bad(found, f"let {till.payer} approve {desk} for USDG")
    return f"pays from {till.payer}, and may move all that it holds"


async def payout_account(settings: Settings, clock: Clock, account: Address) -> str:
    """What the agent pays from: dollars for the claims, and gas."""
    async with Rpc(settings.rpc_urls, chain_id=settings.chain_id, clock=clock) as rpc:
        gas = await rpc.call("eth_getBalance", [account, "latest"])
        dollars = read_amount(await rpc.eth_call(settings.contracts.usdg, balance_of(account)))
    if quantity(gas) == 0:
        raise Bad(f"{account} has no gas", f"send ETH on chain {settings.chain_id} to it")
    if dollars == 0:
        raise Bad(f"{account} has no USDG", "send USDG to it: claims stay closed until it holds the pool")
    return f"{account} holds {dollars // 10**6} USDG and gas"
