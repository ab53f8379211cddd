"""Who pays: a wallet that signs both ways of paying, and the header that carries it."""

import base64
import json
import secrets

from eth_account import Account
from eth_account.messages import encode_defunct

from tickyard.config import pinned

EIP3009_TYPES = {
    "TransferWithAuthorization": [
        {"name": name, "type": kind}
        for name, kind in (
            ("from", "address"), ("to", "address"), ("value", "uint256"),
            ("validAfter", "uint256"), ("validBefore", "uint256"), ("nonce", "bytes32"),
        )
    ]
}  # fmt: skip
PERMIT2_TYPES = {
    "PermitWitnessTransferFrom": [
        {"name": "permitted", "type": "TokenPermissions"},
        {"name": "spender", "type": "address"},
        {"name": "nonce", "type": "uint256"},
        {"name": "deadline", "type": "uint256"},
        {"name": "witness", "type": "Witness"},
    ],
    "TokenPermissions": [{"name": "token", "type": "address"}, {"name": "amount", "type": "uint256"}],
    "Witness": [{"name": "to", "type": "address"}, {"name": "validAfter", "type": "uint256"}],
}


class Wallet:
    """Signs with a library that is not ours."""

    def __init__(self, seed=None):
        self.account = Account.from_key(seed or secrets.token_bytes(32))
        self.address = self.account.address

    def pay(self, entry, now, *, nonce=None, valid_s=300, valid_after=0, **changes):
        """The inner payload for one entry of `accepts`; `changes` overwrite what is signed."""
        sign = self._permit2 if "assetTransferMethod" in entry["extra"] else self._eip3009
        return sign(entry, nonce, now + valid_s, valid_after, changes)

    def _eip3009(self, entry, nonce, before, after, changes):
        nonce = "0x" + secrets.token_hex(32) if nonce is None else f"0x{nonce:064x}"
        signed = {"from": self.address, "to": entry["payTo"], "value": entry["amount"], "validAfter": str(after)}
        signed |= {"validBefore": str(before), "nonce": nonce} | changes
        domain = {"name": "USD Coin", "version": "2", "chainId": 8453, "verifyingContract": entry["asset"]}
        message = {**signed, **{name: int(signed[name]) for name in ("value", "validAfter", "validBefore")}}
        message["nonce"] = bytes.fromhex(nonce[2:])
        made = self.account.sign_typed_data(domain, EIP3009_TYPES, message)
        return {"signature": "0x" + made.signature.hex().removeprefix("0x"), "authorization": signed}

    def _permit2(self, entry, nonce, before, after, changes):
        nonce = secrets.randbits(256) if nonce is None else nonce
        signed = {
            "from": self.address,
            "permitted": {"token": entry["asset"], "amount": entry["amount"]},
            "spender": entry["extra"]["spender"],
            "nonce": str(nonce),
            "deadline": str(before),
            "witness": {"to": entry["payTo"], "validAfter": str(after)},
        } | changes
        domain = {"name": "Permit2", "chainId": 4663, "verifyingContract": pinned.MAINNET.permit2}
        message = {
            "permitted": {"token": signed["permitted"]["token"], "amount": int(signed["permitted"]["amount"])},
            "spender": signed["spender"],
            "nonce": int(signed["nonce"]),
            "deadline": int(signed["deadline"]),
            "witness": {"to": signed["witness"]["to"], "validAfter": int(signed["witness"]["validAfter"])},
        }
        made = self.account.sign_typed_data(domain, PERMIT2_TYPES, message)
        return {"signature": "0x" + made.signature.hex().removeprefix("0x"), "permit2Authorization": signed}


def envelope(entry, inner, **more):
    return {"x402Version": 2, "accepted": entry, "payload": inner, **more}


def as_header(value, name="payment-signature"):
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return (name, base64.b64encode(raw).decode())


def sign_in(offer, wallet, network, address=None):
    """What a standard client makes of the challenge, with a library that is not ours."""
    info = offer["info"]
    shown = address or wallet.address
    assert {"chainId": network, "type": "eip191"} in offer["supportedChains"]
    text = (
        f"{info['domain']} wants you to sign in with your Ethereum account:\n{shown}\n\n{info['statement']}\n\n"
        f"URI: {info['uri']}\nVersion: {info['version']}\nChain ID: {network[7:]}\nNonce: {info['nonce']}\n"
        f"Issued At: {info['issuedAt']}"
    )
    signed = Account.sign_message(encode_defunct(text=text), wallet.account.key)
    proof = {**info, "address": shown, "chainId": network, "type": "eip191"}
    return as_header({**proof, "signature": "0x" + signed.signature.hex().removeprefix("0x")}, "sign-in-with-x")


def decoded(header):
    """What a header of ours carries."""
    return json.loads(base64.b64decode(header[1]))
