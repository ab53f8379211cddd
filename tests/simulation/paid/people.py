"""Who calls: buyers that do as the documents say, buyers that start over, and thieves that read the chain."""

import base64
import json

from coincurve import PrivateKey

from tickyard.chain.address import checksum
from tickyard.chain.keccak import keccak256
from tickyard.client.caller import Caller, RawReply
from tickyard.client.errors import TickyardError
from tickyard.client.payer import Payer
from tickyard.client.routes import Request


def word(value):
    return value.to_bytes(32, "big") if isinstance(value, int) else bytes.fromhex(value[2:]).rjust(32, b"\0")


class Wallet:
    """Signs both ways of paying, with arithmetic of its own."""

    def __init__(self, seed):
        self.key = PrivateKey(keccak256(seed.encode()))
        self.address = "0x" + keccak256(self.key.public_key.format(compressed=False)[1:])[12:].hex()

    def sign(self, digest):
        made = self.key.sign_recoverable(digest, hasher=None)
        return "0x" + (made[:64] + bytes([made[64] + 27])).hex()

    def pay(self, offer, nonce, before):
        amount, asset, to = int(offer["amount"]), offer["asset"].lower(), offer["payTo"].lower()
        if "assetTransferMethod" in offer["extra"]:
            return self._permit2(offer, nonce, before, amount, asset, to)
        fields = [
            _type(
                "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
            )
        ]
        fields += [word(self.address), word(to), word(amount), word(0), word(before), word(nonce)]
        domain = [_type("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)")]
        domain += [keccak256(b"USD Coin"), keccak256(b"2"), word(8453), word(asset)]
        signed = {"from": self.address, "to": to, "value": str(amount), "validAfter": "0", "validBefore": str(before)}
        return {
            "signature": self.sign(_digest(domain, fields)),
            "authorization": {**signed, "nonce": f"0x{nonce:064x}"},
        }

    def _permit2(self, offer, nonce, before, amount, asset, to):
        spender = offer["extra"]["spender"].lower()
        token, witness = "TokenPermissions(address token,uint256 amount)", "Witness(address to,uint256 validAfter)"
        kind = f"PermitWitnessTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline,Witness witness){token}{witness}"
        fields = [
            _type(kind),
            keccak256(_type(token) + word(asset) + word(amount)),
            word(spender),
            word(nonce),
            word(before),
        ]
        fields.append(keccak256(_type(witness) + word(to) + word(0)))
        domain = [_type("EIP712Domain(string name,uint256 chainId,address verifyingContract)"), keccak256(b"Permit2")]
        domain += [word(4663), word("0x000000000022d473030f116ddee9f6b43ac78ba3")]
        signed = {"from": self.address, "permitted": {"token": asset, "amount": str(amount)}, "spender": spender}
        signed |= {"nonce": str(nonce), "deadline": str(before), "witness": {"to": to, "validAfter": "0"}}
        return {"signature": self.sign(_digest(domain, fields)), "permit2Authorization": signed}


def _type(text):
    return keccak256(text.encode())


def _digest(domain, fields):
    return keccak256(b"\x19\x01" + keccak256(b"".join(domain)) + keccak256(b"".join(fields)))


def encoded(value):
    return base64.b64encode(json.dumps(value, separators=(",", ":")).encode()).decode()


class SimulatedPayer(Payer):
    """The real payer; only the library that signs is another, because that one knows wall time alone."""

    def __init__(self, world, wallet, network, file):
        super().__init__("0x" + "11" * 32, limit_usd="1000", network=network, clock=world.clock, file=file)
        self._world, self._wallet = world, wallet

    async def _make(self, _challenge, offers, _ahead_s):
        world, offer = self._world, offers[0]
        nonce = world.rng.getrandbits(256)
        inner = self._wallet.pay(offer, nonce, world.clock.seconds() + offer["maxTimeoutSeconds"])
        name = f"{world.rng.getrandbits(128):032x}"
        world.truth.signed(self._wallet.address, offer["network"], nonce, int(offer["amount"]))
        extensions = {"payment-identifier": {"info": {"required": False, "id": name}}}
        return {
            "PAYMENT-SIGNATURE": encoded(
                {"x402Version": 2, "accepted": offer, "payload": inner, "extensions": extensions}
            )
        }


class SimulatedCaller(Caller):
    """The real client; only its socket leads into the world."""

    def __init__(self, world, payer, address, patience_s):
        super().__init__("https://api.example", payer=payer, clock=world.clock)
        self._world, self._address, self._patience_s = world, address, patience_s
        self._rng = world.rng
        self.was_answered = False

    async def _send(self, request, headers):
        status, answered, body = await self._world.ask(
            request.method, request.path, headers, self._address(), self._patience_s
        )
        self.was_answered |= status == 200
        return RawReply(status, answered, body)


class Buyer:
    """Buys now and then. `is_patient`: repeats until it has its answer, as the documents say; others start over."""

    def __init__(self, world, number, *, is_patient, folder):
        self.world, self.number, self.is_patient = world, number, is_patient
        self.wallet = Wallet(f"buyer {number}")
        self.network = world.rng.choice(sorted(world.chains))
        self.file = folder / f"buyer-{number}.json"
        self.home = f"203.0.113.{number}"

    def _address(self):
        # A phone that changes networks.
        return self.home if self.world.rng.random() < 0.7 else f"192.0.2.{self.world.rng.randrange(256)}"

    def _caller(self):
        patience_s = self.world.rng.choice((2.0, 12.0, 90.0))
        return SimulatedCaller(
            self.world, SimulatedPayer(self.world, self.wallet, self.network, self.file), self._address, patience_s
        )

    async def live(self):
        world = self.world
        for purchase in range(world.rng.randint(1, 3)):
            await world.clock.sleep(world.rng.uniform(0, 200))
            path = f"/v1/x402/item/{world.rng.choice(('AAPL', 'MSFT', 'KO'))}?q={self.number}x{purchase}"
            await self._buy(path)

    async def _buy(self, path):
        world = self.world
        request = Request("GET", path, None)
        world.truth.wants(self.wallet.address, path, is_patient=self.is_patient)
        for attempt in range(60):
            # Each try is a new program that remembers only its file.
            caller = self._caller()
            try:
                reply = await caller.fetch(request, is_repeatable=True)
            except TickyardError:
                reply = None
            if reply is not None and reply.status == 200:
                return
            if caller.was_answered:
                world.truth.violations.append(f"the client did not take its answer: {path}")
            if not self.is_patient and attempt >= world.rng.randint(0, 2):
                # Starts over: signs anew and forgets what it signed before.
                self.file.unlink(missing_ok=True)
                if world.rng.random() < 0.5:
                    return
            await world.clock.sleep(world.rng.uniform(1, 25))


class PlainBuyer(Buyer):
    """A standard client and the sentences of the documents: after a 502 the same payment again, after a 402 a new one.
    It gives its payments no name, and stays at home."""

    async def _buy(self, path):
        world = self.world
        world.truth.wants(self.wallet.address, path, is_patient=not world.has_liar)
        header = None
        for _ in range(60):
            try:
                status, answered, _ = await world.ask(
                    "GET", path, header or {}, self.home, world.rng.choice((5.0, 90.0))
                )
            except OSError:
                status = 0
            if status == 200:
                return
            if status == 402:
                challenge = json.loads(base64.b64decode(answered["payment-required"]))
                header = self._sign(next(each for each in challenge["accepts"] if each["network"] == self.network))
            else:
                await world.clock.sleep(world.rng.uniform(1, 15))

    def _sign(self, offer):
        world, nonce = self.world, self.world.rng.getrandbits(256)
        inner = self.wallet.pay(offer, nonce, world.clock.seconds() + offer["maxTimeoutSeconds"])
        world.truth.signed(self.wallet.address, self.network, nonce, int(offer["amount"]))
        return {"PAYMENT-SIGNATURE": encoded({"x402Version": 2, "accepted": offer, "payload": inner})}


class StockBuyer(PlainBuyer):
    """A standard client that keeps no payment: it asks, signs in, and pays when that opens nothing. From anywhere."""

    async def _buy(self, path):
        world = self.world
        world.truth.wants(self.wallet.address, path, is_patient=not world.has_liar)
        for _ in range(60):
            if await self._round(path) == 200:
                return
            await world.clock.sleep(world.rng.uniform(1, 15))

    async def _round(self, path):
        world, address, patience_s = self.world, self._address(), self.world.rng.choice((5.0, 90.0))
        try:
            status, answered, _ = await world.ask("GET", path, {}, address, patience_s)
            challenge = json.loads(base64.b64decode(answered["payment-required"]))
            header = {"SIGN-IN-WITH-X": self._sign_in(challenge["extensions"]["sign-in-with-x"]["info"])}
            status, answered, body = await world.ask("GET", path, header, address, patience_s)
            if status == 200:
                world.truth.signed_in.setdefault((self.wallet.address, path), set()).add(body)
            if status != 402:
                return status
            offer = next(each for each in challenge["accepts"] if each["network"] == self.network)
            return (await world.ask("GET", path, self._sign(offer), address, patience_s))[0]
        except OSError:
            return 0

    def _sign_in(self, info):
        text = f"{info['domain']} wants you to sign in with your Ethereum account:\n{checksum(self.wallet.address)}\n\n"
        text += f"{info['statement']}\n\nURI: {info['uri']}\nVersion: 1\nChain ID: {self.network[7:]}\n"
        text += f"Nonce: {info['nonce']}\nIssued At: {info['issuedAt']}"
        digest = keccak256(f"\x19Ethereum Signed Message:\n{len(text)}".encode() + text.encode())
        proof = {"address": self.wallet.address, "chainId": self.network, "type": "eip191"}
        return encoded({**info, **proof, "signature": self.wallet.sign(digest)})


class Thief:
    """Reads pools and blocks, and presents what it finds there."""

    def __init__(self, world):
        self.world = world

    async def live(self):
        world = self.world
        while True:
            await world.clock.sleep(world.rng.uniform(1, 15))
            for chain in world.chains.values():
                for each in [each for each in chain.pool if each.kind == "pay"]:
                    if world.rng.random() < world.faults.front_run:
                        chain.copy(each, is_hidden=world.rng.random() < 0.5)
            seen = [each for chain in world.chains.values() for each in chain.seen.values() if each.calldata]
            if seen:
                await self._steal(world.rng.choice(seen[-6:]))

    async def _steal(self, each):
        world = self.world
        inner = json.loads(json.dumps(each.calldata))
        if world.rng.random() < 0.3:
            inner["signature"] = world.rng.choice(("0x" + "00" * 66, "0x" + "00" * 65, "0x01"))
        (name,) = (name for name in inner if name != "signature")
        if world.rng.random() < 0.2:
            # An old authorization made young, or the other way round.
            inner[name]["deadline" if "deadline" in inner[name] else "validBefore"] = str(world.clock.seconds() + 200)
        network = "eip155:8453" if name == "authorization" else "eip155:4663"
        whole = {"x402Version": 2, "accepted": world.offer(network), "payload": inner}
        if world.rng.random() < 0.3:
            name = f"{world.rng.getrandbits(128):032x}"
            whole["extensions"] = {"payment-identifier": {"info": {"required": False, "id": name}}}
        headers = {"PAYMENT-SIGNATURE": encoded(whole)}
        wanted = world.truth.paths.get(each.payer) or ["/v1/x402/item/AAPL?q=thief"]
        path = world.rng.choice([*wanted, "/v1/x402/item/AAPL?q=thief"])
        try:
            status, _, body = await world.ask("GET", path, headers, "198.51.100.66", 30.0)
        except OSError:
            return
        if status == 200:
            world.truth.violations.append(f"a thief got the answer of {each.payer}: {body!r}")
