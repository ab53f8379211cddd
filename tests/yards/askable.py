"""A chain that is asked without a socket between: each method is a call of the yard's own chain."""

from tickyard.chain.rpc.client import Head
from tickyard.chain.rpc.trouble import RpcError, TooManyLogs
from yards import rpcnode
from yards.facilitator import Chain


class Askable:
    """What payments ask of an Rpc. `asked` has every call, and a method in `refused` gets that for an answer."""

    def __init__(self, chain: Chain):
        self.chain, self.clock = chain, chain.clock
        self.asked = []
        self.refused = {}
        self.batches = 0

    async def batch(self, calls, **_how):
        self.batches += 1
        return [self._answer(method, params) for method, params in calls]

    async def call(self, method, params, **_how):
        answer = self._answer(method, params)
        if isinstance(answer, RpcError):
            raise answer
        return answer

    async def eth_call(self, to, data, block="latest", **_how):
        return bytes.fromhex((await self.call("eth_call", [{"to": to, "data": "0x" + data.hex()}, block]))[2:])

    async def head(self, **_how):
        block = await self.call("eth_getBlockByNumber", ["latest", False])
        return Head(int(block["number"], 16), block["hash"], int(block["timestamp"], 16))

    def _answer(self, method, params):
        self.asked.append((method, params))
        if method in self.refused:
            answer = self.refused[method]
            answer = answer(params) if callable(answer) else answer
            if answer is not ...:
                return answer
        try:
            return self.chain.node.results[method](params)
        except rpcnode.Refused as no:
            code, reason = no.args
            return (TooManyLogs if "range" in reason else RpcError)(code, reason)
