"""Sending a build with one's own key: exactly what was ordered, each step once, whatever the node does in between."""

import asyncio
import json

import aiohttp
import msgspec
import pytest
from aiohttp import web
from eth_account import Account

from tickyard.client import NodeUnreachable, Order, TradeRefused, TradeUnsettled, Unreachable
from tickyard.client.answers.shared import TradeBuild
from tickyard.client.sending import TradeDone, send_trade
from tickyard.sandbox.node.abi import call_data
from tickyard.sandbox.standins.process import open_port
from tickyard.sandbox.world.place import ROUTER, USDG

pytestmark = pytest.mark.node

SIGNER = Account.from_key("0x" + "5e" * 32)
ORDER = Order("AAPL", "buy", "25")


class Front:
    """Stands before the real node. `edit(method, params, answer)` may change an answer, or raise to hang up."""

    def __init__(self, behind):
        self.behind = behind
        self.sent = []

    def edit(self, _method, _params, answer):
        return answer

    def add_to(self, app):
        app.router.add_post("/", self.pass_on)

    async def pass_on(self, request):
        asked = json.loads(await request.read())
        if asked["method"] == "eth_sendRawTransaction":
            self.sent.append(asked["params"][0])
        async with aiohttp.ClientSession() as session, session.post(self.behind, json=asked) as answer:
            told = await answer.json()
        edited = self.edit(asked["method"], asked["params"], told)
        return web.Response(status=503) if edited is None else web.json_response({**edited, "id": asked["id"]})


class Desk:
    def __init__(self, service):
        self.service, self.yard = service, service.yard
        self.token = service.yard.world.tokens["AAPL"]

    def holds(self, token):
        return self.yard.read(token, "balanceOf(address)", SIGNER.address.lower())[0]

    def build(self, order=ORDER, **changes):
        body = {
            "symbol": order.symbol,
            "side": order.side,
            "amount": order.amount,
            "denom": order.denom,
            "slippageBps": order.slippage_bps,
            "recipient": SIGNER.address,
            **changes,
        }
        answer = self.service.build(**body)
        assert answer.status == 200, answer.body
        return msgspec.json.decode(answer.body, type=TradeBuild)

    def send(self, build, *, edit=None, order=ORDER, sent=(), wait_s=20):
        async def run():
            front = Front(self.yard.node.url)
            front.edit = edit or front.edit
            runner, port = await open_port([front])
            try:
                done = await send_trade(
                    build, SIGNER, order=order, rpc_url=f"http://127.0.0.1:{port}/", sent=sent, wait_s=wait_s
                )
            finally:
                await runner.cleanup()
                self.sent = front.sent
            return done

        return self.yard.run(run())

    def nonce(self):
        return int(self.yard.rpc("eth_getTransactionCount", SIGNER.address, "latest"), 16)


@pytest.fixture
def desk(service, wallet):
    desk = Desk(service)
    desk.yard.rpc("hardhat_setBalance", SIGNER.address, hex(10**20))
    signer = type(wallet)(wallet.yard, SIGNER.address.lower())
    signer.fund((USDG, 10**9), (desk.token, 10**20))
    return desk


@pytest.mark.parametrize(
    "order",
    [ORDER, Order("AAPL", "sell", "25"), Order("AAPL", "buy", "0.1", "token"), Order("AAPL", "sell", "0.1", "token")],
    ids=lambda order: f"{order.side} {order.denom}",
)
def test_a_trade_is_sent_in_order_and_what_moved_is_told(desk, order):
    token_in, token_out = (USDG, desk.token) if order.side == "buy" else (desk.token, USDG)
    before = desk.holds(token_in), desk.holds(token_out)
    done = desk.send(desk.build(order), order=order)
    assert len(done.receipts) == 2
    assert (before[0] - desk.holds(token_in), desk.holds(token_out) - before[1]) == (done.paid, done.received)
    assert order.fixed == (done.paid if order.is_exact_in else done.received)
    assert len(desk.sent) == 2


def changed_swap(build, at, word):
    """The build with one word of its inner swap replaced."""
    data = build.steps[-1].data
    start = 2 + 8 + 64 * 5 + 8 + 64 * at
    step = msgspec.structs.replace(build.steps[-1], data=data[:start] + word.rjust(64, "0") + data[start + 64 :])
    return msgspec.structs.replace(build, steps=[*build.steps[:-1], step])


def changed_approval(build, **changes):
    return msgspec.structs.replace(build, steps=[msgspec.structs.replace(build.steps[0], **changes), build.steps[-1]])


THIEF = "0x" + "66" * 20
LIES = {
    "another recipient": lambda build: changed_swap(build, 3, THIEF[2:]),
    "more": lambda build: changed_swap(build, 4, f"{26 * 10**6:x}"),
    "no bound": lambda build: changed_swap(build, 5, "0"),
    "a looser bound": lambda build: changed_swap(build, 5, "1"),
    "another token": lambda build: changed_swap(build, 1, USDG[2:]),
    "a price limit": lambda build: changed_swap(build, 6, "1"),
    "an endless approval": lambda build: changed_approval(
        build, data=call_data("approve(address,uint256)", ROUTER, 2**256 - 1)
    ),
    "a thief's approval": lambda build: changed_approval(
        build, data=call_data("approve(address,uint256)", THIEF, 25 * 10**6)
    ),
    "an approval elsewhere": lambda build: changed_approval(build, to=THIEF),
    "a value": lambda build: changed_approval(build, value="1"),
    "a third step": lambda build: msgspec.structs.replace(build, steps=[build.steps[0], *build.steps]),
    "no steps": lambda build: msgspec.structs.replace(build, steps=[]),
    "another router": lambda build: msgspec.structs.replace(
        build, steps=[build.steps[0], msgspec.structs.replace(build.steps[1], to=THIEF)]
    ),
    "another symbol": lambda build: msgspec.structs.replace(build, symbol="MSFT"),
    "another chain": lambda build: msgspec.structs.replace(build, chain_id=1),
    "another deadline": lambda build: msgspec.structs.replace(build, deadline=build.deadline + 1),
    "no hex": lambda build: changed_approval(build, data="0xzz"),
    "bytes at the end": lambda build: changed_approval(build, data=build.steps[0].data + "00"),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_a_build_that_says_something_else_is_never_signed(desk, lie):
    nonce = desk.nonce()
    with pytest.raises(TradeRefused):
        desk.send(lie(desk.build()))
    assert (desk.sent, desk.nonce()) == ([], nonce)


@pytest.mark.parametrize(
    "order",
    [
        Order("AAPL", "buy", "24"),
        Order("AAPL", "sell", "25"),
        Order("AAPL", "buy", "25", "token"),
        Order("AAPL", "buy", "25", slippage_bps=49),
        Order("AAPL", "buy", "25", token=THIEF),
        Order("AAPL", "buy", "25", limit="1"),
        Order("AAPL", "buy", "nothing"),
    ],
)
def test_an_honest_build_of_another_order_is_never_signed(desk, order):
    with pytest.raises(TradeRefused):
        desk.send(desk.build(), order=order)
    assert desk.sent == []


@pytest.mark.parametrize("words", [("BUY", "25", "usd"), ("buy", "25", "USD"), ("buy", "25", "usd", 5001)])
def test_an_order_in_words_that_are_not_known_is_none(words):
    """Else "BUY" would be checked as a sale, and one that a service lies about would be signed."""
    with pytest.raises(TradeRefused):
        Order("AAPL", *words)


def test_a_lost_answer_costs_nothing_and_sends_nothing_new(desk):
    """The node takes the bytes and hangs up: they are sent again, the same ones, and count once."""
    lost = []

    def edit(method, _params, answer):
        if method == "eth_sendRawTransaction" and len(lost) < 3:
            lost.append(answer)
            return None
        return answer

    before, nonce = desk.holds(USDG), desk.nonce()
    done = desk.send(desk.build(), edit=edit)
    assert lost
    assert (before - desk.holds(USDG), desk.nonce() - nonce) == (done.paid, 2) == (25 * 10**6, 2)
    assert len(set(desk.sent)) == 2


def test_what_is_not_known_in_time_can_be_continued_and_is_never_sent_twice(desk):
    """No receipt comes: the trade is unsettled, although it was mined. Going on finds it instead of doing it again."""
    build, before, nonce = desk.build(), desk.holds(USDG), desk.nonce()

    def edit(method, _params, answer):
        return {**answer, "result": None} if method == "eth_getTransactionReceipt" else answer

    with pytest.raises(TradeUnsettled) as first:
        desk.send(build, edit=edit, wait_s=1)
    assert len(set(desk.sent)) == 1
    assert desk.nonce() == nonce + 1
    with pytest.raises(TradeUnsettled) as caught:
        desk.send(build, edit=edit, wait_s=1, sent=first.value.sent)
    assert (desk.nonce(), len(caught.value.sent)) == (nonce + 1, 1)
    done = desk.send(build, sent=caught.value.sent)
    assert (before - desk.holds(USDG), desk.nonce()) == (done.paid, nonce + 2)
    again = desk.send(build, sent=[*caught.value.sent, *sent_after(desk, caught)])
    assert (again.paid, desk.nonce()) == (done.paid, nonce + 2)


HOLES = {
    "no logs": None,
    "a log that is nothing": [None],
    "a log that is text": ["x"],
    "a log of nobody": [{"address": None, "topics": [], "data": "0x"}],
    "a log without topics": [{"address": USDG, "data": "0x"}],
}


@pytest.mark.parametrize("logs", HOLES.values(), ids=HOLES)
def test_a_receipt_with_holes_leaves_open_what_moved(desk, logs):
    """The step is mined: neither a traceback nor a trade of nothing may be told of it."""
    build, nonce = desk.build(), desk.nonce()

    def edit(method, _params, answer):
        if method != "eth_getTransactionReceipt" or not answer.get("result"):
            return answer
        return {**answer, "result": {**answer["result"], "logs": logs}}

    with pytest.raises(TradeUnsettled) as open_end:
        desk.send(build, edit=edit)
    assert (desk.nonce(), len(open_end.value.sent)) == (nonce + 1, 1)
    assert desk.send(build, sent=open_end.value.sent).paid == 25 * 10**6


def test_steps_of_another_build_are_not_taken_for_this_trade(desk):
    """The approval of a lost try was mined, so a new build is the swap alone: the old step is not that swap."""

    def edit(method, _params, answer):
        return {**answer, "result": None} if method == "eth_getTransactionReceipt" else answer

    with pytest.raises(TradeUnsettled) as first:
        desk.send(desk.build(), edit=edit, wait_s=1)
    anew, nonce = desk.build(), desk.nonce()
    assert len(anew.steps) == 1
    with pytest.raises(TradeRefused, match=first.value.sent[0].hash):
        desk.send(anew, sent=first.value.sent)
    assert (desk.sent, desk.nonce()) == ([], nonce)


def sent_after(desk, caught):
    """The swap that was signed in the last try, read from what went over the wire."""
    kind = type(caught.value.sent[0])
    raw = desk.sent[-1]
    known = desk.yard.rpc("eth_getTransactionByHash", "0x" + hash_of(raw))
    return [kind(int(known["nonce"], 16), known["hash"], raw)]


def hash_of(raw):
    from tickyard.chain.keccak import keccak256

    return keccak256(bytes.fromhex(raw[2:])).hex()


def test_a_nonce_that_somebody_else_has_used_ends_the_step(desk):
    """The same key signs elsewhere at the same moment: our bytes are void, and that is said, not retried for ever."""
    desk.send(desk.build())
    used = desk.nonce()

    def stale(method, _params, answer):
        if method == "eth_getTransactionCount" and not stale.told:
            return {**answer, "result": hex(used - 1)}
        if method == "eth_sendRawTransaction":
            stale.told = True
        return answer

    stale.told = False
    with pytest.raises(TradeUnsettled, match="by another transaction it seems"):
        desk.send(desk.build(), edit=stale)
    assert desk.nonce() == used


def test_a_node_that_is_behind_is_waited_for_between_two_steps(desk):
    """Behind a balancer the next answer may come from a node without the approval's block: its nonce is known here."""
    before, nonce, told = desk.holds(USDG), desk.nonce(), []

    def behind(method, _params, answer):
        if method == "eth_getTransactionCount" and len(told) < 6:
            told.append(answer["result"])
            return {**answer, "result": hex(nonce)}
        return answer

    done = desk.send(desk.build(), edit=behind)
    assert len(told) == 6
    assert (before - desk.holds(USDG), desk.nonce() - nonce, len(set(desk.sent))) == (done.paid, 2, 2)


def test_a_node_that_stays_behind_gets_no_second_step_and_the_trade_can_be_continued(desk):
    build, nonce = desk.build(), desk.nonce()

    def behind(method, _params, answer):
        return {**answer, "result": hex(nonce)} if method == "eth_getTransactionCount" else answer

    with pytest.raises(TradeUnsettled, match="behind") as caught:
        desk.send(build, edit=behind, wait_s=1)
    assert (len(set(desk.sent)), len(caught.value.sent), desk.nonce()) == (1, 1, nonce + 1)
    desk.send(build, sent=caught.value.sent)
    assert desk.nonce() == nonce + 2


def test_the_same_order_from_two_programs_at_once_is_one_trade_and_told_as_one(desk, wallet):
    desk.yard.rpc("hardhat_impersonateAccount", SIGNER.address)
    type(wallet)(wallet.yard, SIGNER.address.lower()).approve(USDG, 25 * 10**6)
    build, nonce = desk.build(), desk.nonce()
    assert len(build.steps) == 1
    both = asyncio.Barrier(2)

    class Meeting(Front):
        def edit(self, method, _params, answer):
            # So large that the two limits are never equal by chance.
            return {**answer, "result": hex(10**7)} if method == "eth_estimateGas" else answer

        async def pass_on(self, request):
            answer = await super().pass_on(request)
            if b"eth_getBalance" in await request.read():
                # The last that is asked before the signing: neither has sent anything when the other signs.
                await both.wait()
            return answer

    async def run():
        runner, port = await open_port([front := Meeting(desk.yard.node.url)])
        url = f"http://127.0.0.1:{port}/"
        try:
            sendings = [send_trade(build, SIGNER, order=ORDER, rpc_url=url, wait_s=20) for _ in "ab"]
            return front, await asyncio.gather(*sendings, return_exceptions=True)
        finally:
            await runner.cleanup()

    front, ends = desk.yard.run(run())
    assert len(set(front.sent)) == 2
    assert desk.nonce() == nonce + 1
    (done,) = [end for end in ends if isinstance(end, TradeDone)]
    (other,) = [end for end in ends if isinstance(end, TradeUnsettled)]
    assert (done.paid, len(other.sent)) == (25 * 10**6, 1)
    assert "its nonce is used, by another transaction" in str(other)


def test_a_step_that_would_fail_is_not_sent(desk):
    with pytest.raises(TradeRefused, match=r"would fail, .* A token contract refused the transfer"):
        desk.send(desk.build(order=Order("AAPL", "buy", "5000")), order=Order("AAPL", "buy", "5000"))
    # The approval is good by itself; the swap, which is not, was never signed.
    assert len(desk.sent) == 1


def test_who_cannot_pay_for_the_gas_signs_nothing(desk):
    def emptied(method, _params, answer):
        return {**answer, "result": "0x1"} if method == "eth_getBalance" else answer

    nonce = desk.nonce()
    with pytest.raises(TradeRefused, match=r"Insufficient gas money.*It holds 1 wei"):
        desk.send(desk.build(), edit=emptied)
    assert (desk.sent, desk.nonce()) == ([], nonce)


@pytest.mark.parametrize(
    ("method", "result"),
    [
        ("eth_maxPriorityFeePerGas", hex(10**18)),
        ("eth_maxPriorityFeePerGas", hex(10**12)),
        ("eth_estimateGas", hex(10**9)),
    ],
)
def test_a_node_that_wants_all_the_money_gets_none(desk, method, result):
    def edit(asked, _params, answer):
        return {"jsonrpc": "2.0", "result": result} if asked == method else answer

    with pytest.raises(TradeRefused, match="a fee of up to"):
        desk.send(desk.build(), edit=edit)
    assert desk.sent == []


def test_a_node_of_another_chain_or_none_is_not_used(desk):
    def edit(method, _params, answer):
        return {"jsonrpc": "2.0", "result": "0x1"} if method == "eth_chainId" else answer

    with pytest.raises(Unreachable):
        desk.send(desk.build(), edit=edit)
    assert desk.sent == []
    with pytest.raises(NodeUnreachable, match="nothing was signed"):
        asyncio.run(send_trade(desk.build(), SIGNER, order=ORDER, rpc_url="http://127.0.0.1:1/", wait_s=1))
