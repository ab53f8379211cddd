"""`tickyard claim`: one wallet of the sandbox claims its share of the newest epoch."""

import sys

import aiohttp

from tickyard.sandbox.commands.claimant import CannotClaim, claim
from tickyard.terminal.ascii import print_json


async def claim_command(base_url: str, name: str) -> int:
    """Print what the service answered; 0 when the share is on its way."""
    try:
        async with aiohttp.ClientSession() as session, session.get(f"{base_url}/sandbox") as response:
            wallets = {each["name"]: each["privateKey"] for each in (await response.json())["wallets"]}
    except (aiohttp.ClientError, KeyError, ValueError):
        print(f"there is no sandbox at {base_url}; start one with: make up", file=sys.stderr)
        return 1
    if name not in wallets:
        print(f"no wallet has this name; there are {', '.join(wallets)}", file=sys.stderr)
        return 1
    try:
        answered = await claim(base_url, wallet_key=wallets[name])
    except CannotClaim as trouble:
        print(str(trouble), file=sys.stderr)
        return 1
    print_json(answered.body)
    return 0 if answered.is_paid else 1
