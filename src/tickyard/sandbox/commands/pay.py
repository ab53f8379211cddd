"""`tickyard pay`: one paid call from the demo wallet, with what it answered and what it cost."""

import sys
from urllib.parse import urljoin

import aiohttp
import msgspec

from tickyard.sandbox.commands.reference_payer import CannotPay, pay


async def pay_command(base_url: str, url: str, network: str | None, data: str | None) -> int:
    """Print the answer on standard output and the receipt on standard error; 0 when the call was served."""
    address = urljoin(base_url + "/", url.lstrip("/")) if "://" not in url else url
    try:
        async with aiohttp.ClientSession() as session, session.get(f"{base_url}/sandbox") as response:
            demo = (await response.json())["wallets"][0]
    except (aiohttp.ClientError, KeyError, ValueError):
        print(f"there is no sandbox at {base_url}; start one with: make up", file=sys.stderr)
        return 1
    try:
        paid = await pay(
            address,
            wallet_key=demo["privateKey"],
            network=f"eip155:{network}" if network else None,
            method="POST" if data is not None else "GET",
            body=data.encode() if data is not None else None,
        )
    except CannotPay as trouble:
        print(str(trouble), file=sys.stderr)
        return 1
    print(msgspec.json.format(paid.body, indent=2).decode())
    if paid.receipt is None:
        print(f"status {paid.status}, nothing was taken", file=sys.stderr)
        return 1
    receipt = paid.receipt
    print(f"paid by {receipt['payer']} on {receipt['network']}: {receipt['transaction']}", file=sys.stderr)
    return 0
