"""How pools are found, doubted and forgotten: a factory and pools that a test writes down."""

import asyncio
from types import SimpleNamespace

import pytest
from eth_abi import decode, encode

from tickyard.config.pinned import MAINNET
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.market.swaps.pools import Pool, PoolBook

LOW, HIGH = Address("0x" + "1" * 40), Address("0x" + "9" * 40)
assert int(LOW, 16) < int(MAINNET.usdg, 16) < int(HIGH, 16)
SPACINGS = {500: 10, 3000: 60}
ROOT = 2**96
MIN_ROOT, MAX_ROOT = 4295128739, 1461446703485210103287273052203988822378723970342


def address(number):
    return Address(f"0x{number:040x}")


class Chain:
    """A reader whose factory and pools say what is written here."""

    def __init__(self):
        self.made = {(LOW, 500): address(1), (LOW, 3000): address(2), (HIGH, 500): address(3)}
        self.roots = dict.fromkeys(self.made.values(), ROOT)
        self.liars, self.failing, self.gone = set(), set(), set()
        self.asked = []

    async def read(self, calls):
        self.asked.append([to for to, _ in calls])
        return SimpleNamespace(results=[self._told(*call) for call in calls])

    def _told(self, to, data):
        name = data[:4].hex()
        if (to, name) in self.failing:
            return None
        if name == "1698ee82":
            token, usdg, fee = decode(["address", "address", "uint24"], data[4:])
            assert (to, usdg) == (MAINNET.factory, MAINNET.usdg)
            return encode(["address"], [self.made.get((token, fee), "0x" + "0" * 40)])
        if name == "22afcccb":
            return encode(["int24"], [SPACINGS[decode(["uint24"], data[4:])[0]]])
        if to in self.gone:
            return b""
        token, fee = next(key for key, pool in self.made.items() if pool == to)
        pair = (token, MAINNET.usdg) if token == LOW else (MAINNET.usdg, token)
        answers = {
            "0dfe1681": encode(["address"], [pair[0]]),
            "d21220a7": encode(["address"], [pair[1]]),
            "ddca3f43": encode(["uint24"], [fee]),
            "3850c7bd": encode(
                ["uint160", "int24", "uint16", "uint16", "uint16", "uint8", "bool"],
                [self.roots[to], 0, 0, 1, 1, 0, True],
            ),
            "1a686502": encode(["uint128"], [5]),
        }
        lie = {"0dfe1681": encode(["address"], [address(7)]), "ddca3f43": encode(["uint24"], [100])}
        lie["d21220a7"] = lie["0dfe1681"]
        return lie[name] if (to, name) in self.liars else answers[name]


class Clock:
    def __init__(self):
        self.slept = []

    async def sleep(self, seconds):
        self.slept.append(seconds)
        await asyncio.Event().wait()


def opened(chain=None, fees=(500, 3000)):
    chain = chain or Chain()
    return chain, PoolBook(chain, MAINNET, fees, Clock())


def discover(book, *tokens):
    asyncio.run(book.discover(tokens or (LOW, HIGH)))


def state(root=ROOT, liquidity=5):
    types = ["uint160", "int24", "uint16", "uint16", "uint16", "uint8", "bool"]
    return encode(types, [root, 0, 0, 1, 1, 0, True]), encode(["uint128"], [liquidity])


def test_the_pools_of_a_token_are_those_that_the_factory_names_the_cheapest_first():
    chain, book = opened(fees=(3000, 500))
    assert (list(book.every()), book.discovered.is_set()) == ([], False)
    discover(book)
    assert book.of(LOW) == (
        Pool(address(1), LOW, 500, token_is_0=True, spacing=10),
        Pool(address(2), LOW, 3000, token_is_0=True, spacing=60),
    )
    assert book.of(HIGH) == (Pool(address(3), HIGH, 500, token_is_0=False, spacing=10),)
    assert book.of(address(99)) == ()
    assert len(list(book.every())) == 3
    assert book.discovered.is_set()
    assert [book.last_sqrt_price(pool) for pool in book.every()] == [ROOT] * 3
    # What is known and has a price is not asked for again.
    chain.asked.clear()
    discover(book)
    assert chain.asked == [[MAINNET.factory] * 3], "the one pool that there is not, and the spacings"


@pytest.mark.parametrize("getter", ["0dfe1681", "d21220a7", "ddca3f43"])
def test_a_pool_that_contradicts_the_factory_is_not_used(getter):
    chain, book = opened()
    chain.liars = {(address(1), getter)}
    discover(book)
    assert [pool.address for pool in book.of(LOW)] == [address(2)]


@pytest.mark.parametrize("getter", ["0dfe1681", "d21220a7", "ddca3f43", "3850c7bd", "1a686502"])
def test_a_pool_that_cannot_be_read_is_the_nodes_failure(getter):
    chain, book = opened()
    chain.failing = {(address(1), getter)}
    with pytest.raises(UpstreamDown):
        discover(book)
    assert not book.discovered.is_set()


def test_who_wants_to_know_hears_of_new_pools_before_anybody_else():
    chain, book = opened()
    heard = []

    async def hear(pools):
        heard.append([pool.address for pool in pools])
        assert list(book.every()) == [] or len(heard) > 1

    book.on_found = hear
    discover(book)
    discover(book)
    assert heard == [[address(1), address(2), address(3)]]
    chain.made[HIGH, 3000] = address(4)
    chain.roots[address(4)] = 0
    discover(book)
    # One without a price is looked at until it has one.
    discover(book)
    assert heard[1:] == [[address(4)], [address(4)]]
    chain.roots[address(4)] = ROOT
    discover(book)
    discover(book)
    assert len(heard) == 4


@pytest.mark.parametrize(
    ("root", "is_price"), [(MIN_ROOT - 1, False), (MIN_ROOT, True), (MAX_ROOT - 1, True), (MAX_ROOT, False)]
)
def test_a_price_is_one_that_a_pool_can_have(root, is_price):
    _, book = opened()
    discover(book)
    pool = book.of(LOW)[0]
    if is_price:
        assert book.read_state(pool, *state(root)).sqrt_price_x96 == root
        assert book.last_sqrt_price(pool) == root
    else:
        with pytest.raises(UpstreamDown, match="no pool can have"):
            book.read_state(pool, *state(root))


def test_the_same_bytes_are_the_same_state_and_others_are_read():
    _, book = opened()
    discover(book)
    pool = book.of(LOW)[0]
    first = book.read_state(pool, *state())
    assert book.read_state(pool, *state()) is first
    assert book.read_state(pool, *state(liquidity=6)).liquidity == 6
    assert book.read_state(pool, *state(ROOT + 1, 6)).sqrt_price_x96 == ROOT + 1


def test_a_pool_that_is_gone_with_its_block_is_forgotten_and_found_again():
    chain, book = opened()
    discover(book)
    pool = book.of(LOW)[0]
    was = chain.made.pop((LOW, 500))
    with pytest.raises(UpstreamDown, match="does not know"):
        book.read_state(pool, b"", b"")
    assert book._has_news.is_set(), "that is looked into soon"
    discover(book)
    assert [each.address for each in book.of(LOW)] == [address(2)]
    assert (book.last_sqrt_price(pool), book._lost, book._told.keys()) == (None, set(), {address(2), address(3)})
    chain.made[LOW, 500] = was
    discover(book)
    assert len(book.of(LOW)) == 2


def test_a_pool_that_lost_its_price_and_says_who_it_is_has_none():
    chain, book = opened()
    discover(book)
    pool = book.of(LOW)[0]
    with pytest.raises(UpstreamDown, match="contradicts"):
        book.read_state(pool, *state(0, 0))
    book._has_news.clear()
    with pytest.raises(UpstreamDown, match="contradicts"):
        book.read_state(pool, *state(0, 0))
    assert not book._has_news.is_set(), "once is enough"
    # The node may have lied: then it has its price, and is in doubt no more.
    discover(book)
    assert (book.last_sqrt_price(pool), book._lost) == (ROOT, set())
    with pytest.raises(UpstreamDown):
        book.read_state(pool, *state(0, 0))
    chain.roots[pool.address] = 0
    discover(book)
    assert (book.last_sqrt_price(pool), book._lost, len(book.of(LOW))) == (None, set(), 2)
    assert not book.read_state(pool, *state(0, 0)).is_usable


def test_a_known_pool_that_says_nothing_is_doubted_and_keeps_no_other_from_joining():
    chain, book = opened()
    chain.roots[address(1)] = 0
    discover(book)
    chain.gone = {address(1)}
    chain.made[HIGH, 3000] = address(4)
    chain.roots[address(4)] = ROOT
    discover(book)
    assert (book._lost, len(book.of(HIGH)), len(book.of(LOW))) == ({address(1)}, 2, 2)
    fresh_chain, fresh = opened()
    fresh_chain.gone = {address(1)}
    with pytest.raises(UpstreamDown):
        discover(fresh)


def test_new_pools_are_looked_for_every_four_minutes_sooner_after_a_failure_and_at_once_when_told():
    chain, book = opened()
    looked = []

    async def until(count):
        while len(looked) < count or len(book._clock.slept) < count:
            await asyncio.wait({asyncio.ensure_future(asyncio.Event().wait())}, timeout=0.001)

    def tokens():
        looked.append(1)
        return (LOW,)

    async def scenario():
        chain.failing = {(MAINNET.factory, "1698ee82")}
        keeping = asyncio.ensure_future(book.keep_fresh(tokens))
        await until(1)
        chain.failing = set()
        book.look_soon()
        await until(2)
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)

    asyncio.run(scenario())
    assert book._clock.slept == [5, 240]
    assert len(book.of(LOW)) == 2
