"""Claiming a reward from the command line: read the message, sign it with a wallet's key, send the claim."""

from dataclasses import dataclass
from typing import Any, Final

import aiohttp
import msgspec

# Longer than the service waits for the payout's hash.
_WAIT_S: Final = 30


class CannotClaim(Exception):
    """One sentence for the terminal."""


@dataclass(frozen=True, slots=True)
class Answered:
    status: int
    body: dict[str, Any]

    @property
    def is_paid(self) -> bool:
        return self.status == 200


async def claim(base_url: str, *, wallet_key: str) -> Answered:
    """Claim the newest epoch for one wallet: the claim's answer, or the Error object that came instead."""
    from eth_account import Account

    account = Account.from_key(wallet_key)
    timeout = aiohttp.ClientTimeout(total=_WAIT_S)
    try:
        async with aiohttp.ClientSession(base_url, timeout=timeout, trust_env=False) as http:
            status = await _read(await http.get(f"/v1/earn/status/{account.address}"))
            if status.status != 200:
                return status
            epoch = status.body["epoch"]
            content = {
                "address": account.address,
                "epoch": epoch["id"],
                "signature": sign(wallet_key, epoch["message"]),
            }
            return await _read(await http.post("/v1/earn/claim", json=content))
    except (aiohttp.ClientError, TimeoutError) as error:
        raise CannotClaim(f"the service did not answer ({type(error).__name__})") from None
    except (msgspec.DecodeError, KeyError, TypeError):
        raise CannotClaim("the service sent an answer that is none of its own") from None


def sign(wallet_key: str, message: str) -> str:
    """personal_sign, as any wallet does it."""
    from eth_account import Account
    from eth_account.messages import encode_defunct

    return "0x" + bytes(Account.from_key(wallet_key).sign_message(encode_defunct(text=message)).signature).hex()


async def _read(response: aiohttp.ClientResponse) -> Answered:
    body = msgspec.json.decode(await response.read())
    if not isinstance(body, dict):
        raise TypeError
    return Answered(response.status, body)
