"""What is quoted is what is executed, to the base unit; what is refused cannot be filled."""

from decimal import Decimal

import pytest
from eth_abi import decode, encode
from eth_utils import keccak

from tickyard.sandbox.world.market import read_spots
from tickyard.sandbox.world.place import QUOTER, ROUTER, TICK_SPACINGS, USDG

pytestmark = pytest.mark.node

RICH_USDG, RICH_TOKEN = 10**36, 10**48
LOWEST, HIGHEST = 4295128740, 1461446703485210103287273052203988822378723970341

QUOTE = {
    "exactIn": "quoteExactInputSingle((address,address,uint256,uint24,uint160))",
    "exactOut": "quoteExactOutputSingle((address,address,uint256,uint24,uint160))",
}
SWAP = {
    "exactIn": "exactInputSingle((address,address,uint24,address,uint256,uint256,uint160))",
    "exactOut": "exactOutputSingle((address,address,uint24,address,uint256,uint256,uint160))",
}


def calldata(signature, *values):
    """Encoded by somebody else's codec."""
    types = signature.partition("(")[2][:-1]
    return "0x" + (keccak(text=signature)[:4] + encode([types], [values])).hex()


class Draw:
    """One random trade: every shape of pool, every size from dust to beyond what is there."""

    def __init__(self, service, rng, index):
        live = [pool for pool in service.yard.world.pools if pool.is_live]
        # Tiers and token orders come up equally often, although most pools share one of them.
        wanted = (
            list(TICK_SPACINGS)[index % len(TICK_SPACINGS)],
            index % (2 * len(TICK_SPACINGS)) < len(TICK_SPACINGS),
        )
        pool = rng.choice([pool for pool in live if (pool.fee, pool.token_is_0) == wanted])
        self.symbol, self.token = pool.symbol, pool.token
        self.side = rng.choice(["buy", "sell"])
        self.denom = rng.choice(["usd", "token"])
        # Beyond the liquidity a quote runs through every empty word, which the node remembers: a few suffice.
        self.kind = "beyond" if index % 25 == 24 else rng.choices(["dust", "usual", "deep"], [15, 55, 30])[0]
        self.share = rng.random()
        self.fixed = 0

    def size(self, spots):
        """Choose the amount once the pools can be seen."""
        spot = max(spots, key=lambda each: each.depth_e6)
        depth = max(spot.depth_e6, 10**6)
        low, high = {
            "dust": (1, 10**4),
            "usual": (10**4, depth),
            "deep": (depth, 12 * depth),
            "beyond": (10**6 * depth, 10**9 * depth),
        }[self.kind]
        usdg = int(low * (high / low) ** self.share)
        if self.denom == "token":
            per_token = spot.price
            self.fixed = max(1, usdg * 10**12 * per_token.den // per_token.num)
            if self.kind == "dust" and self.share < 0.5:
                self.fixed = 1 + int(self.share * 2000)
        else:
            self.fixed = usdg
        return self

    @property
    def mode(self):
        return "exactIn" if (self.side == "buy") == (self.denom == "usd") else "exactOut"

    @property
    def amount(self):
        """The amount as a caller writes it."""
        return format(Decimal(self.fixed).scaleb(-6 if self.denom == "usd" else -18), "f")

    @property
    def tokens(self):
        return (USDG, self.token) if self.side == "buy" else (self.token, USDG)

    def limit(self, spot):
        """Sixteen times the price in the direction of the trade: where a pool counts as dry."""
        goes_down = spot.market.token_is_0 == (self.side == "sell")
        return max(spot.sqrt_x96 // 4, LOWEST) if goes_down else min(spot.sqrt_x96 * 4, HIGHEST)

    def offers(self, yard, spots):
        """The complete fills of all tiers, asked of the quoter directly: {fee: the open leg}."""
        offers = {}
        for spot in spots:
            limit = self.limit(spot)
            data = calldata(QUOTE[self.mode], *self.tokens, self.fixed, spot.market.fee, limit)
            result = yard.rpc("eth_call", {"to": QUOTER, "data": data}, "latest")
            amount, after, _, _ = decode(["uint256", "uint160", "uint32", "uint256"], bytes.fromhex(result[2:]))
            # Dust that buys nothing is no offer.
            if after != limit and amount:
                offers[spot.market.fee] = amount
        return offers

    def execute(self, wallet, fee, limit=0):
        """(paid, received), base units."""
        bound = 0 if self.mode == "exactIn" else 2**256 - 1
        data = calldata(SWAP[self.mode], *self.tokens, fee, wallet.address, self.fixed, bound, limit)
        receipt = wallet.send(ROUTER, data)
        token_in, token_out = self.tokens
        return -wallet.moved(receipt, token_in), wallet.moved(receipt, token_out)

    def __repr__(self):
        return f"{self.kind}: {self.side} {self.amount} {self.denom} of {self.symbol}"


@pytest.mark.timeout(900)
def test_what_is_quoted_is_executed_to_the_base_unit(service, wallet, proof):
    yard = service.yard
    draws = [Draw(service, proof.rng("quote", i), i) for i in range(proof.count(500))]
    markets = {draw.token: [pool for pool in yard.world.pools if pool.token == draw.token] for draw in draws}
    wallet.fund((USDG, RICH_USDG), *[(token, RICH_TOKEN) for token in markets])
    for token in (USDG, *markets):
        wallet.approve(token, 2**256 - 1)
    seen = {"filled": 0, "refused": 0}
    for draw in draws:
        spots = [spot for spot in yard.run(read_spots(yard.node, markets[draw.token])) if spot.is_usable]
        draw.size(spots)
        answer = service.get("/v1/quote", symbol=draw.symbol, side=draw.side, amount=draw.amount, denom=draw.denom)
        with yard.undone():
            offers = draw.offers(yard, spots)
            if answer.status == 422:
                seen["refused"] += 1
                check_refusal(draw, wallet, spots, offers, answer)
            else:
                seen["filled"] += 1
                check_fill(draw, wallet, offers, answer)
    assert seen["filled"] > len(draws) * 3 // 4
    assert seen["refused"], "no pool ran dry"


def check_fill(draw, wallet, offers, answer):
    assert answer.status == 200, (draw, answer.body)
    quote = answer.json()
    best = max(offers.values()) if draw.mode == "exactIn" else min(offers.values())
    assert offers[quote["feeTier"]] == best, draw
    usdg, token = Decimal(quote["usdAmount"]).scaleb(6), Decimal(quote["tokenAmount"]).scaleb(18)
    assert (quote["mode"], quote["side"]) == (draw.mode, draw.side)
    quoted = (usdg, token) if draw.side == "buy" else (token, usdg)
    assert draw.execute(wallet, quote["feeTier"]) == quoted, draw
    assert draw.fixed == (usdg if draw.denom == "usd" else token), draw


def check_refusal(draw, wallet, spots, offers, answer):
    assert answer.error["code"] == "no_liquidity"
    assert not offers, draw
    deepest = max(spots, key=lambda spot: spot.depth_e6)
    paid, received = draw.execute(wallet, deepest.market.fee, draw.limit(deepest))
    is_cut_short = (paid if draw.mode == "exactIn" else received) < draw.fixed
    assert is_cut_short or received == 0, draw
