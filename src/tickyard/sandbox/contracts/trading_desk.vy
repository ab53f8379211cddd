# pragma version 0.4.3
# SPDX-License-Identifier: Apache-2.0
"""
@notice The maker's desk: opens v3 pools, adds positions and trades a pool to a price. It may mint every
        token of the sandbox, so it pays a pool by minting to it and needs neither balances nor approvals.
"""

struct Position:
    below: int24  # in tick spacings from the current tick; negative is lower
    above: int24
    liquidity: uint128

struct Spot:
    sqrt_price: uint160
    liquidity: uint128

interface Factory:
    def createPool(a: address, b: address, fee: uint24) -> address: nonpayable

interface Pool:
    def initialize(sqrt_price: uint160): nonpayable
    def mint(owner: address, lower: int24, upper: int24, liquidity: uint128, data: Bytes[32]) -> (uint256, uint256): nonpayable
    def slot0() -> (uint160, int24, uint16, uint16, uint16, uint8, bool): view
    def liquidity() -> uint128: view
    def tickSpacing() -> int24: view
    def token0() -> address: view
    def token1() -> address: view

interface Mintable:
    def mint(receiver: address, amount: uint256): nonpayable

# More than any pool here can take, and far from what would overflow the pool's arithmetic.
WITHOUT_END: constant(int256) = 2**127
TICK_MAX: constant(int24) = 887272

owner: public(address)
# The pool that may call back, for the length of one of our calls only.
payee: transient(address)


@external
def initialise():
    assert self.owner == empty(address), "already initialised"
    self.owner = msg.sender


@external
def open(factory: address, token: address, dollar: address, fee: uint24, sqrt_price: uint160, positions: DynArray[Position, 8]) -> address:
    """@notice Create a pool; a price of 0 leaves it uninitialised."""
    assert msg.sender == self.owner
    pool: address = extcall Factory(factory).createPool(token, dollar, fee)
    if sqrt_price > 0:
        extcall Pool(pool).initialize(sqrt_price)
        self._add(pool, positions)
    return pool


@external
def add(pool: address, positions: DynArray[Position, 8]):
    assert msg.sender == self.owner
    self._add(pool, positions)


@internal
def _add(pool: address, positions: DynArray[Position, 8]):
    self.payee = pool
    spacing: int24 = staticcall Pool(pool).tickSpacing()
    tick: int24 = (staticcall Pool(pool).slot0())[1]
    # Division rounds toward zero; any aligned tick near the price is a fine middle.
    middle: int24 = tick // spacing
    furthest: int24 = TICK_MAX // spacing
    for position: Position in positions:
        lower: int24 = max(middle + position.below, -furthest) * spacing
        upper: int24 = min(middle + position.above, furthest) * spacing
        extcall Pool(pool).mint(self, lower, upper, position.liquidity, b"")
    self.payee = empty(address)


@external
def trade(pools: DynArray[address, 64], limits: DynArray[uint160, 64]):
    """
    @notice Swap in each pool until its price is the limit. A pool that cannot trade (its token is paused,
            its price is there already) does not stop the others.
    """
    assert msg.sender == self.owner and len(pools) == len(limits)
    for i: uint256 in range(len(pools), bound=64):
        price: uint160 = (staticcall Pool(pools[i]).slot0())[0]
        if price != limits[i]:
            self.payee = pools[i]
            swap: Bytes[260] = abi_encode(
                self, limits[i] < price, WITHOUT_END, limits[i], b"", method_id=method_id("swap(address,bool,int256,uint160,bytes)")
            )
            done: bool = raw_call(pools[i], swap, revert_on_failure=False)
    self.payee = empty(address)


@external
def uniswapV3MintCallback(amount0: uint256, amount1: uint256, data: Bytes[32]):
    self._pay(amount0, amount1)


@external
def uniswapV3SwapCallback(delta0: int256, delta1: int256, data: Bytes[32]):
    self._pay(convert(max(delta0, 0), uint256), convert(max(delta1, 0), uint256))


@internal
def _pay(amount0: uint256, amount1: uint256):
    assert msg.sender == self.payee, "not now"
    if amount0 > 0:
        extcall Mintable(staticcall Pool(msg.sender).token0()).mint(msg.sender, amount0)
    if amount1 > 0:
        extcall Mintable(staticcall Pool(msg.sender).token1()).mint(msg.sender, amount1)


@view
@external
def look(pools: DynArray[address, 64]) -> DynArray[Spot, 64]:
    """@notice Price and in-range liquidity of many pools at one block."""
    spots: DynArray[Spot, 64] = []
    for pool: address in pools:
        spots.append(Spot(sqrt_price=(staticcall Pool(pool).slot0())[0], liquidity=staticcall Pool(pool).liquidity()))
    return spots
