"""`tickyard trade`: shows the check of a trade, asks, sends it, shows what moved.

In a sandbox the demo wallet signs. Elsewhere a keystore and a node of the user's own are needed: the service holds no
key and sends nothing.
"""

import argparse
import asyncio
import getpass
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp

from tickyard.chain.address import checksum
from tickyard.client import AsyncClient, Order, TickyardError, TradeUnsettled
from tickyard.client.agreement import Agreed, agree
from tickyard.client.answers.execution import TradeCheck
from tickyard.config.pinned import MAINNET
from tickyard.kernel.units import TokenAmount, UsdgAmount
from tickyard.terminal.commands import INTERRUPTED, WrongCommand, base_url, said
from tickyard.terminal.tables import printable


class SigningWallet(NamedTuple):
    account: Any
    rpc_url: str


def trade_command(args: argparse.Namespace, answer: Callable[[str], str] = input) -> int:
    """0: traded, 1: not traded, 2: it cannot be asked so, 3: sent, and the outcome is not known yet."""
    signed: list[str] = []
    try:
        url = base_url(args.url)
        order = Order(args.symbol, args.side, args.amount, args.denom, args.slippage_bps, args.token, args.limit)
        return asyncio.run(_trade(url, order, args, answer, signed))
    except WrongCommand as wrong:
        print(wrong, file=sys.stderr)
        return 2
    except TradeUnsettled as unsettled:
        print(f"{unsettled}\nlook the transaction up before you trade again", file=sys.stderr)
        return 3
    except TickyardError as error:
        print(said(error, url), file=sys.stderr)
        return 1
    except (KeyboardInterrupt, EOFError):
        if not signed:
            return INTERRUPTED
        print(f"interrupted; {signed[-1]} was sent\nlook the transaction up before you trade again", file=sys.stderr)
        return 3


async def _trade(
    url: str, order: Order, args: argparse.Namespace, answer: Callable[[str], str], signed: list[str]
) -> int:
    """`signed` gains the hash of each transaction before it leaves."""
    signer = await _signer(url, args)
    async with AsyncClient(url) as client:
        check = await client.check_trade(
            symbol=order.symbol,
            side=order.side,
            amount=order.amount,
            denom=order.denom,
            slippage_bps=order.slippage_bps,
            recipient=signer.account.address,
        )
        # Whether it is too late is asked of the chain, when it is signed.
        agreed = agree(check.build, order, signer.account.address, check.build.deadline - 1)
        print(printable(shown(check)), signed_words(agreed, check.build.symbol), sep="\n\n")
        run = check.simulation
        if run is not None and not run.success:
            print("nothing was sent: it would fail", file=sys.stderr)
            return 1
        if not args.yes and answer("sign and send? [y/N] ").strip().lower() not in ("y", "yes"):
            print("nothing was sent", file=sys.stderr)
            return 1
        done = await client.send(
            check.build,
            signer.account,
            order=order,
            rpc_url=signer.rpc_url,
            on_signed=lambda step: signed.append(step.hash),
        )
    is_buy = order.side == "buy"
    dollars, tokens = (done.paid, done.received) if is_buy else (done.received, done.paid)
    usdg, token = f"{UsdgAmount(dollars).text()} USDG", f"{TokenAmount(tokens).text()} {check.build.symbol}"
    print(f"paid {usdg if is_buy else token}, received {token if is_buy else usdg}")
    for receipt in done.receipts:
        print(f"  {receipt.hash}  block {receipt.block_number}  gas {receipt.gas_used}")
    return 0


def signed_words(agreed: Agreed, symbol: str) -> str:
    """What will be signed, read here from the calldata: beside it the words of the service are only words."""
    swap = agreed.swap
    amounts = (swap.amount, swap.bound) if swap.is_exact_input else (swap.bound, swap.amount)
    paid, received = (
        f"{UsdgAmount(amount).text()} USDG" if token == MAINNET.usdg else f"{TokenAmount(amount).text()} {symbol}"
        for token, amount in zip((agreed.token_in, agreed.token_out), amounts, strict=True)
    )
    stock = agreed.token_out if agreed.token_in == MAINNET.usdg else agreed.token_in
    approval = [f"  approve   the router to take {paid}, and no more"] if len(agreed.steps) > 1 else []
    lines = [
        "what you sign:",
        *approval,
        f"  pay       {'exactly' if swap.is_exact_input else 'at most'} {paid}",
        f"  receive   {'at least' if swap.is_exact_input else 'exactly'} {received}",
        f"  token     {checksum(stock)}",
        f"  to        {checksum(swap.recipient)}",
    ]
    return "\n".join(lines)


def shown(check: TradeCheck) -> str:
    """The check, in the words of the service, for somebody who is about to sign."""
    figures, run = check.figures, check.simulation
    lines = [
        check.build.note,
        "",
        f"  price     {check.build.quote.effective_price_per_token} USDG, {figures.spot_price} before the trade",
        f"  impact    {figures.price_impact_pct} %, of it {figures.pool_fee_usdg} USDG to the pool",
        f"  gas       {figures.gas.units}, {figures.gas.eth} ETH",
        f"  block     {check.block_number}, good until {figures.expires_at}",
    ]
    if run is None:
        lines.append(f"  not run   {check.simulation_note}")
    for step in run.steps if run is not None else []:
        lines.append(f"  {'works' if step.success else 'FAILS'}     {step.description}")
        if step.reason is not None:
            lines.append(f"            {step.reason.message}")
    lines += [f"  {issue.severity:9} {issue.message}" for issue in check.issues]
    return "\n".join(lines)


async def _signer(url: str, args: argparse.Namespace) -> SigningWallet:
    try:
        from eth_account import Account
    except ImportError:
        raise WrongCommand('signing needs another package: pip install "tickyard[trade]"') from None
    if args.keystore:
        if not args.rpc:
            raise WrongCommand("a keystore needs --rpc, the address of your own node")
        return SigningWallet(_open(Account, Path(args.keystore), args.password_file), args.rpc)
    try:
        async with aiohttp.ClientSession() as session, session.get(f"{url}/sandbox") as response:
            if response.status != 200:
                raise WrongCommand("this is no sandbox: give --keystore FILE and --rpc URL of your own")
            sandbox = await response.json()
        return SigningWallet(Account.from_key(sandbox["wallets"][0]["privateKey"]), args.rpc or sandbox["rpcUrl"])
    except (aiohttp.ClientError, KeyError, ValueError):
        raise WrongCommand(f"there is no service at {url}; start one with: make up") from None


def _open(accounts: Any, keystore: Path, password_file: str | None) -> Any:
    try:
        text = keystore.read_text()
        password = Path(password_file).read_text().strip("\r\n") if password_file else getpass.getpass("password: ")
    except (OSError, UnicodeDecodeError):
        raise WrongCommand("the keystore or its password cannot be read") from None
    try:
        return accounts.from_key(accounts.decrypt(json.loads(text), password))
    except (ValueError, KeyError, TypeError, NotImplementedError, RecursionError):
        raise WrongCommand("the keystore does not open with this password") from None
