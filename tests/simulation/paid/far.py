"""The far ends as one process sees them: facilitators that lose words or lie, and nodes that lag and leave things out."""

import msgspec

from tickyard.chain.rpc.client import Rpc
from tickyard.chain.rpc.trouble import Trouble
from tickyard.kernel.errors import UpstreamDown
from tickyard.payments.facilitators.facilitator import Facilitator, _Trouble


class FarFacilitator:
    """One for each network, for all processes. It remembers nothing."""

    def __init__(self, chain, clock, rng, faults):
        self.chain, self.clock, self.rng, self.faults = chain, clock, rng, faults

    async def answer(self, call, request):
        asked = msgspec.json.decode(request)
        inner = asked["paymentPayload"]["payload"]
        payer, nonce, amount, deadline = parts(inner)
        if self._chance("down"):
            raise _Trouble("unreachable")
        await self.clock.sleep(self.rng.uniform(0.05, 1))
        if call == "verify":
            return self._verify(inner, payer, nonce, deadline)
        if self._chance("lost_before"):
            raise _Trouble("timeout")
        if self._chance("honest_no"):
            return no("invalid_exact_evm_insufficient_balance")
        if self.chain.is_used(payer, nonce):
            return no("invalid_exact_evm_nonce_already_used" if self.chain.is_eip3009 else "permit2_invalid_nonce")
        made = self.chain.send("pay", payer, nonce, amount, deadline, inner)
        if self._chance("twice"):
            self.chain.send("pay", payer, nonce, amount, deadline, inner)
        if self._chance("lost_during"):
            # The reference's own words for a broadcast whose reply got lost.
            return no("transaction_failed")
        if self._chance("silent_no"):
            return {"success": False, "transaction": "", "network": ""}
        if self._chance("lying_no"):
            return no("invalid_exact_evm_payload_signature")
        if self._chance("pending"):
            return no("settlement_pending", made.hash)
        for _ in range(60):
            if made.block is not None:
                break
            await self.clock.sleep(0.5)
        if self._chance("lost_after"):
            raise _Trouble("timeout")
        if made.block is None:
            return no("settlement_pending", made.hash)
        if not made.has_worked:
            return no("transaction_failed", made.hash)
        if self._chance("wrong_hash"):
            return yes("0x" + self.rng.randbytes(32).hex(), self.chain.network)
        return yes(made.hash, self.chain.network)

    def _verify(self, inner, payer, nonce, deadline):
        if self._chance("lying_verify") or len(inner["signature"]) != 132 or deadline < int(self.clock.timestamp()) + 6:
            return {"isValid": False, "invalidReason": "invalid_exact_evm_payload_signature", "payer": payer}
        # The reference looks at the nonces of EIP-3009 and not at those of Permit2.
        if self.chain.is_eip3009 and self.chain.is_used(payer, nonce):
            return {"isValid": False, "invalidReason": "invalid_exact_evm_nonce_already_used", "payer": payer}
        return {"isValid": True, "payer": payer}

    def _chance(self, name):
        return self.rng.random() < getattr(self.faults, name)


def parts(inner):
    if "authorization" in inner:
        signed = inner["authorization"]
        return signed["from"].lower(), int(signed["nonce"], 16), int(signed["value"]), int(signed["validBefore"])
    signed = inner["permit2Authorization"]
    return signed["from"].lower(), int(signed["nonce"]), int(signed["permitted"]["amount"]), int(signed["deadline"])


def yes(transaction, network):
    return {"success": True, "transaction": transaction, "network": network}


def no(reason, transaction=""):
    return {"success": False, "errorReason": reason, "transaction": transaction, "network": ""}


class NearFacilitator(Facilitator):
    """The real client, with the facilitator in memory at the other end."""

    def __init__(self, far, clock, process):
        super().__init__(far.chain.network, "http://simulated", clock)
        self._far, self._process = far, process

    async def _post(self, call, request):
        await self._process.point()
        answer = await self._far.answer(call, request)
        await self._process.point()
        return answer


class View:
    """One node at one moment."""

    def __init__(self, head, log_range):
        self.head, self.log_range = head, log_range


class _Wire:
    endpoints = ()

    def __init__(self, chain, clock, process):
        self._chain, self._clock, self._process = chain, clock, process

    def deadline(self):
        return self._clock.monotonic() + 5

    def seek_newer(self, _than_s):
        """Which node answers is up to chance here."""

    async def ask(self, _method, body, read, _deadline=None, **_how):
        process = self._process
        await process.point()
        if process.chance("lost_request"):
            raise UpstreamDown("the chain node did not answer")
        head = len(self._chain.blocks) - 1
        lag = process.rng.randint(1, 8) if process.chance("lag") else 0
        view = View(max(min(400, head), head - lag), 3 if process.chance("cut_logs") else 10**9)
        answer = self._chain.handle(body, view)
        await process.point()
        try:
            return read(answer)
        except Trouble:
            raise UpstreamDown("the chain node did not answer") from None


class NearRpc(Rpc):
    def __init__(self, chain, clock, process):
        super().__init__(["http://simulated"], chain_id=int(chain.network[7:]), clock=clock)
        self._nodes = _Wire(chain, clock, process)
