"""`tickyard pay`: one paid call from the demo wallet, with what it answered and what it cost."""

import sys
from pathlib import Path
from typing import Final
from urllib.parse import urljoin, urlsplit

import aiohttp
import msgspec

from tickyard.client.routes import Request
from tickyard.config.web_address import is_web_address
from tickyard.payments.refusal import NOTHING_TAKEN
from tickyard.sandbox.commands.reference_payer import CannotPay, PaidAnswer, pay_once

KEPT: Final = Path(".run/payments.json")
"""What was paid and not answered yet. A second try of the same command presents it again."""


async def pay_command(base_url: str, url: str, network: str | None, data: str | None) -> int:
    """Print the answer on standard output and the receipt on standard error; 0 when the call was served."""
    address = urljoin(base_url + "/", url.lstrip("/")) if "://" not in url else url
    # Its beginning: what follows is for the service to judge.
    if not is_web_address("/".join(address.split("/")[:3])):
        print("neither a path such as /v1/x402/research/AAPL nor an address of a service", file=sys.stderr)
        return 2
    parts = urlsplit(address)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    try:
        async with aiohttp.ClientSession() as session, session.get(f"{base_url}/sandbox") as response:
            demo = (await response.json())["wallets"][0]
    except (aiohttp.ClientError, KeyError, ValueError):
        print(f"there is no sandbox at {base_url}; start one with: make up", file=sys.stderr)
        return 1
    try:
        paid = await pay_once(
            f"{parts.scheme}://{parts.netloc}",
            Request("POST" if data is not None else "GET", path, data.encode() if data is not None else None),
            wallet_key=demo["privateKey"],
            network=f"eip155:{network}" if network else None,
            file=KEPT,
            show=_show,
            tell=lambda said: print(said, file=sys.stderr),
        )
    except CannotPay as trouble:
        print(str(trouble), file=sys.stderr)
        return 1
    if _is_bought(paid):
        return 0
    _print(paid)
    print(f"status {paid.status}, {_outcome(paid)}", file=sys.stderr)
    return 1


def _outcome(paid: PaidAnswer) -> str:
    if not paid.is_uncertain:
        return "nothing was taken"
    known = "its outcome is not known"
    if paid.is_untaken:
        known = NOTHING_TAKEN + ("" if paid.is_all_untaken else ", but an earlier one may have been")
    return f"{known}: run the same command again"


def _show(paid: PaidAnswer) -> None:
    """What was paid for is shown before it is forgotten that it was."""
    if _is_bought(paid):
        _print(paid)
        receipt = paid.receipt or {}
        print(f"paid by {receipt['payer']} on {receipt['network']}: {receipt['transaction']}", file=sys.stderr)


def _is_bought(paid: PaidAnswer) -> bool:
    return paid.receipt is not None and bool(paid.receipt.get("success"))


def _print(paid: PaidAnswer) -> None:
    print(_shown(paid.body), flush=True)


def _shown(body: bytes) -> str:
    """An answer for people to read. What is no JSON is a proxy's, and shown as it came."""
    try:
        return msgspec.json.format(body, indent=2).decode()
    except (msgspec.DecodeError, UnicodeDecodeError):
        return body.decode(errors="replace")
