"""A chain of paper: every contract of the sandbox's listing, answering calls from plain figures.

It has no EVM and no blocks, so it answers at once, and it can be made to say anything: `says[to, selector]` is what a
contract answers instead (bytes, or None for a revert), for one set of arguments or for all.
"""

import time
from functools import lru_cache

from eth_abi import decode, encode

from tickyard.chain.v3.math import PoolState, swap
from tickyard.chain.v3.ticks import tick_at
from tickyard.config.pinned import MAINNET
from tickyard.sandbox.world.listing import load
from tickyard.sandbox.world.market import market_of, opening_price
from tickyard.sandbox.world.place import TICK_SPACINGS
from tickyard.sandbox.world.spot import liquidity_for, sqrt_price
from tickyard.sandbox.world.walk import mid_e6

CHAIN_ID = 4663
GAS = 100_000
BASE_FEE = 10**8
QUOTES = {"c6a5026a": 1, "bd21704a": -1}
HELD_ONE_IN = 16
USDG_BALANCE, TOKEN_BALANCE, SUPPLY = 5_000 * 10**6, 12 * 10**18, 50_000 * 10**18


def selector(data: bytes) -> str:
    return data[:4].hex()


def word(number: int) -> bytes:
    return (number % 2**256).to_bytes(32, "big")


# A service asks the same few batches again and again, and the exact codec is slow.
@lru_cache(maxsize=64)
def aggregated_calls(data: bytes) -> tuple[tuple[str, bytes], ...]:
    """Whom a multicall calls, and with what."""
    [calls] = decode(["(address,bool,bytes)[]"], data[4:])
    return tuple((to, inner) for to, _, inner in calls)


@lru_cache(maxsize=64)
def aggregated(answers: tuple[bytes | None, ...]) -> bytes:
    return encode(["(bool,bytes)[]"], [[(answer is not None, answer or b"") for answer in answers]])


@lru_cache(maxsize=4)
def opening_pools(now) -> dict[str, tuple]:
    """Each pool of the listing: its market, the root of its price, its liquidity."""
    pools = {}
    for listed in load():
        for plan in listed.pools if listed.address is not None else ():
            market = market_of(listed, plan)
            root = sqrt_price(opening_price(listed, plan, mid_e6(listed, now)), token_is_0=market.token_is_0)
            liquidity = liquidity_for(plan.depth_usd * 10**6, root, token_is_0=market.token_is_0)
            if plan.shape == "bare":
                root = liquidity = 0
            pools[market.pool] = (market, root, 0 if plan.shape == "away" else liquidity)
    return pools


_STEP_S = 20


class PaperChain:
    def __init__(self, now) -> None:
        self._time, self._set_at = int(now.timestamp()), time.monotonic()
        self.block = 1000
        self.says: dict[tuple[str, str], bytes | None] = {}
        self.tokens = {listed.address: listed for listed in load() if listed.address is not None}
        self.pools = dict(opening_pools(now))
        self.by_pair = {(market.token, market.fee): pool for pool, (market, _, _) in self.pools.items()}

    @property
    def time(self) -> int:
        """Goes on like any chain's, but in large steps: within one of them the same question has the same answer."""
        return self._time + int(time.monotonic() - self._set_at) // _STEP_S * _STEP_S

    @time.setter
    def time(self, moment: int) -> None:
        self._time, self._set_at = moment, time.monotonic()

    def rpc(self, method: str, params: list):
        """The result of one JSON-RPC call; None is a revert."""
        if method == "eth_chainId":
            return hex(CHAIN_ID)
        if method == "eth_blockNumber":
            return hex(self.block)
        if method in ("eth_getBlockByNumber", "eth_getBlockByHash"):
            return {
                "number": hex(self.block),
                "hash": "0x" + "11" * 32,
                "timestamp": hex(self.time),
                "baseFeePerGas": hex(BASE_FEE),
            }
        if method in ("eth_getBalance", "eth_maxPriorityFeePerGas", "eth_estimateGas"):
            return {"eth_getBalance": hex(10**18), "eth_maxPriorityFeePerGas": "0x0"}.get(method, hex(GAS))
        if method == "eth_getCode":
            return "0x6001"
        if len(params) > 2:
            # There is no EVM to believe an override: like a node that ignores it, it calls an account without code.
            return "0x"
        answer = self.call(params[0]["to"].lower(), bytes.fromhex(params[0]["data"][2:]))
        return None if answer is None else "0x" + answer.hex()

    def call(self, to: str, data: bytes) -> bytes | None:
        for key in ((to, data.hex()), (to, selector(data)), ("*", selector(data))):
            if key in self.says:
                return self.says[key]
        if to == MAINNET.multicall3:
            return self._multicall(data)
        if to == MAINNET.quoter:
            return self._quote(data)
        if to == MAINNET.factory:
            if selector(data) == "22afcccb":
                return word(TICK_SPACINGS[int.from_bytes(data[4:36], "big")])
            return self._get_pool(data)
        if to == MAINNET.router:
            return word(int(MAINNET.factory, 16))
        if to in self.pools:
            return self._pool(to, data)
        return self._token(to, data)

    def _multicall(self, data: bytes) -> bytes:
        if selector(data) == "0f28c97d":
            return word(self.time)
        return aggregated(tuple([self.call(to, inner) for to, inner in aggregated_calls(data)]))

    def _get_pool(self, data: bytes) -> bytes:
        token, fee = "0x" + data[16:36].hex(), int.from_bytes(data[68:100], "big")
        return word(int(self.by_pair.get((token, fee), "0x0"), 16))

    def _pool(self, to: str, data: bytes) -> bytes | None:
        market, root, liquidity = self.pools[to]
        pair = (market.token, MAINNET.usdg) if market.token_is_0 else (MAINNET.usdg, market.token)
        tick = tick_at(root) if root else 0
        answers = {
            "0dfe1681": word(int(pair[0], 16)),
            "d21220a7": word(int(pair[1], 16)),
            "ddca3f43": word(market.fee),
            "3850c7bd": b"".join(map(word, (root, tick, 0, 1, 1, 0, 1))),
            "1a686502": word(liquidity),
            "f3058399": word(0),
            "46141319": word(0),
            # The liquidity of paper goes on for ever: there are no ticks.
            "5339c296": word(0),
            "f30dba93": bytes(8 * 32),
        }
        return answers.get(selector(data))

    def _token(self, to: str, data: bytes) -> bytes | None:
        if to == MAINNET.usdg:
            held = self._held(to, data)
            answers = {"70a08231": word(USDG_BALANCE if held is None else held), "dd62ed3e": word(0)}
            return (answers | {"23b872dd": word(1), "313ce567": word(6)}).get(selector(data))
        listed = self.tokens.get(to)
        if listed is None:
            return None
        held = self._held(to, data)
        if held is None:
            # Of the people, each holds a dozen of one token in sixteen.
            held = TOKEN_BALANCE if int(to, 16) % HELD_ONE_IN == 0 else 0
        answers = {
            "70a08231": word(held),
            "dd62ed3e": word(0),
            # Nobody is blocked: nothing may move from anybody to anybody.
            "23b872dd": word(1),
            "18160ddd": word(SUPPLY),
            "a60bf13d": word(listed.multiplier_e18),
            "dc767007": word(listed.multiplier_e18),
            "97a4064f": word(0),
            "7706ba52": word(0),
            "fbac3951": word(0),
            "313ce567": word(18),
        }
        return answers.get(selector(data))

    def _held(self, token: str, data: bytes) -> int | None:
        """What a pool holds: all that its curve can give. None: it is no pool."""
        market, root, liquidity = self.pools.get("0x" + data[16:36].hex(), (None, 0, 0))
        if market is None:
            return None
        is_0 = market.token_is_0 == (token != MAINNET.usdg)
        return 0 if not root else (liquidity << 96) // root if is_0 else liquidity * root >> 96

    def _quote(self, data: bytes) -> bytes | None:
        [(token_in, token_out, amount, fee, limit)] = decode(["(address,address,uint256,uint24,uint160)"], data[4:])
        token = token_out if token_in == MAINNET.usdg else token_in
        market, root, liquidity = self.pools.get(self.by_pair.get((token, fee), ""), (None, 0, 0))
        if market is None or not root:
            return None
        state = PoolState(root, tick_at(root), liquidity, fee, TICK_SPACINGS[fee], ())
        sign = QUOTES[selector(data)]
        try:
            result = swap(
                state,
                zero_for_one=market.token_is_0 == (token_in == token),
                amount=sign * amount,
                sqrt_price_limit=limit or None,
            )
        except ValueError:
            return None
        open_leg = result.amount_out if sign > 0 else result.amount_in
        return b"".join(map(word, (open_leg, result.sqrt_price_after, result.ticks_crossed, GAS)))
