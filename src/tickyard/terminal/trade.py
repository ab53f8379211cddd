"""`tickyard trade`: shows the check of a trade, asks, sends it, shows what moved.

In a sandbox the demo wallet signs. Elsewhere a keystore and a node of the user's own are needed: the service holds no
key and sends nothing.
"""

import argparse
import asyncio
import contextlib
import getpass
import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import aiohttp
import msgspec

from tickyard.chain.address import checksum
from tickyard.client import AsyncClient, Order, TickyardError, TradeRefused, TradeUnsettled
from tickyard.client.agreement import Agreed, agree
from tickyard.client.answers.execution import TradeCheck
from tickyard.client.answers.shared import TradeBuild
from tickyard.client.sending import SignedStep, TradeDone
from tickyard.config.pinned import MAINNET
from tickyard.config.web_address import is_web_address
from tickyard.kernel.units import TokenAmount, UsdgAmount
from tickyard.terminal.ascii import give_up_output
from tickyard.terminal.commands import INTERRUPTED, WrongCommand, base_url, said
from tickyard.terminal.tables import printable


class SigningWallet(NamedTuple):
    account: Any
    rpc_url: str


class _DemoWallet(msgspec.Struct, rename="camel"):
    private_key: str


class _Sandbox(msgspec.Struct, rename="camel"):
    """What whoever answers `/sandbox` must say to be one."""

    wallets: Annotated[list[_DemoWallet], msgspec.Meta(min_length=1)]
    rpc_url: str


def trade_command(args: argparse.Namespace, answer: Callable[[str], str] = input) -> int:
    """0: traded, 1: not traded, 2: it cannot be asked so, 3: sent, and the outcome is not known yet, 130: interrupted
    before anything was sent."""
    signed: list[str] = []
    try:
        url = base_url(args.url)
        return _trade(url, _order(args), args, answer, signed)
    except WrongCommand as wrong:
        _complain(wrong)
        return 2
    except TradeUnsettled as unsettled:
        _complain(f"{unsettled}\nlook the transaction up before you trade again")
        return 3
    except TickyardError as error:
        _complain(said(error, url))
        return 1
    except BrokenPipeError:
        # Before anything was signed: what is written after it is looked after where it is written.
        give_up_output()
        _complain("nothing was sent: nobody reads what would be signed")
        return 1
    except (KeyboardInterrupt, EOFError) as stop:
        if not signed and isinstance(stop, EOFError):
            _complain("nothing was sent: nobody said yes (--yes asks nobody)")
            return 1
        if not signed:
            _complain("nothing was sent")
            return INTERRUPTED
        _complain(f"interrupted; {signed[-1]} was sent\nlook the transaction up before you trade again")
        return 3


def _order(args: argparse.Namespace) -> Order:
    try:
        order = Order(args.symbol, args.side, args.amount, args.denom, args.slippage_bps, args.token, args.limit)
        order.allows(order.fixed)
    except TradeRefused as refused:
        raise WrongCommand(str(refused)) from None
    return order


def _complain(words: object) -> None:
    """Nothing that is said may change how a trade ends, also when nobody hears it."""
    with contextlib.suppress(OSError):
        print(words, file=sys.stderr, flush=True)


def _trade(url: str, order: Order, args: argparse.Namespace, answer: Callable[[str], str], signed: list[str]) -> int:
    """`signed` gains the hash of each transaction before it leaves.

    What asks the user something runs outside of the loop: in it the first Ctrl-C at a prompt is not heard."""
    signer = _signer(url, args)
    check = asyncio.run(_checked(url, order, signer))
    # Whether it is too late is asked of the chain, when it is signed.
    agreed = agree(check.build, order, signer.account.address, check.build.deadline - 1)
    print(printable(shown(check)), signed_words(agreed, check.build.symbol), sep="\n\n", flush=True)
    run = check.simulation
    if run is not None and not run.success:
        _complain("nothing was sent: it would fail")
        return 1
    if not args.yes and answer("sign and send? [y/N] ").strip().lower() not in ("y", "yes"):
        _complain("nothing was sent")
        return 1
    try:
        done = asyncio.run(_sent(url, order, signer, check.build, signed))
    finally:
        # How it ended is known from here on. Python takes a while to go, and a Ctrl-C in that time would end it as 130:
        # before anything was sent.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    is_buy = order.side == "buy"
    dollars, tokens = (done.paid, done.received) if is_buy else (done.received, done.paid)
    usdg, token = f"{UsdgAmount(dollars).text()} USDG", f"{TokenAmount(tokens).text()} {check.build.symbol}"
    lines = [f"paid {usdg if is_buy else token}, received {token if is_buy else usdg}"]
    lines += [f"  {receipt.hash}  block {receipt.block_number}  gas {receipt.gas_used}" for receipt in done.receipts]
    try:
        print(*lines, sep="\n", flush=True)
    except BrokenPipeError:
        give_up_output()
    return 0


async def _checked(url: str, order: Order, signer: SigningWallet) -> TradeCheck:
    async with AsyncClient(url) as client:
        return await client.check_trade(
            symbol=order.symbol,
            side=order.side,
            amount=order.amount,
            denom=order.denom,
            slippage_bps=order.slippage_bps,
            recipient=signer.account.address,
        )


async def _sent(url: str, order: Order, signer: SigningWallet, build: TradeBuild, signed: list[str]) -> TradeDone:
    def note(step: SignedStep) -> None:
        signed.append(step.hash)
        # Whoever is killed before the end must still be able to look it up.
        _complain(f"sending {step.hash}")

    async with AsyncClient(url) as client:
        return await client.send(
            build,
            signer.account,
            order=order,
            rpc_url=signer.rpc_url,
            on_signed=note,
        )


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


def _signer(url: str, args: argparse.Namespace) -> SigningWallet:
    try:
        from eth_account import Account
    except ImportError:
        raise WrongCommand('signing needs another package: pip install "tickyard[trade]"') from None
    if args.rpc and not is_web_address(args.rpc):
        raise WrongCommand("--rpc is not an address of a node such as https://your.node or http://127.0.0.1:8545")
    if args.keystore:
        if not args.rpc:
            raise WrongCommand("a keystore needs --rpc, the address of your own node")
        return SigningWallet(_open(Account, Path(args.keystore), args.password_file), args.rpc)
    try:
        sandbox = asyncio.run(_sandbox(url))
        return SigningWallet(Account.from_key(sandbox.wallets[0].private_key), args.rpc or sandbox.rpc_url)
    except (aiohttp.ClientError, TimeoutError, msgspec.MsgspecError, ValueError):
        raise WrongCommand(f"there is no service at {url}; start one with: make up") from None


async def _sandbox(url: str) -> _Sandbox:
    async with aiohttp.ClientSession() as session, session.get(f"{url}/sandbox") as response:
        if response.status != 200:
            raise WrongCommand("this is no sandbox: give --keystore FILE and --rpc URL of your own")
        return msgspec.json.decode(await response.read(), type=_Sandbox)


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
