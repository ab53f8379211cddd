# pragma version 0.4.3
# SPDX-License-Identifier: Apache-2.0
"""
@notice The desk that pays the daily rewards: it makes a payout unique, whoever sends it and however often.
        It holds no funds: it moves the payer's own tokens, as far as the payer has approved. Nothing of it can be
        upgraded. The owner, a cold key, may name another payer and pause it; nothing else.
"""

event Opened:
    epoch: indexed(uint256)
    books: bytes32
    pool: uint256

event Paid:
    epoch: indexed(uint256)
    account: indexed(address)
    amount: uint256

event Skipped:
    epoch: indexed(uint256)
    account: indexed(address)
    amount: uint256

event Failed:
    epoch: indexed(uint256)
    account: indexed(address)
    amount: uint256

event PayerChanged:
    payer: indexed(address)

event PauseChanged:
    paused: bool

struct Line:
    account: address
    amount: uint256

MOST: constant(uint256) = 100
# What one transfer may use. With less than this and some to spare left the whole call reverts: running out of gas
# must never look like a transfer that was refused.
TRANSFER_GAS: constant(uint256) = 150_000
SPARE_GAS: constant(uint256) = 60_000

TOKEN: immutable(address)
OWNER: immutable(address)

payer: public(address)
paused: public(bool)
# The SHA-256 of an epoch's books; zero: not open.
books: public(HashMap[uint256, bytes32])
pool: public(HashMap[uint256, uint256])
spent: public(HashMap[uint256, uint256])
# What an account was paid in an epoch; zero: nothing.
paid: public(HashMap[uint256, HashMap[address, uint256]])


@deploy
def __init__(token: address, owner: address, payer: address):
    assert token.is_contract and owner != empty(address) and payer != empty(address)
    TOKEN = token
    OWNER = owner
    self.payer = payer
    log PayerChanged(payer=payer)


@view
@external
def token() -> address:
    return TOKEN


@view
@external
def owner() -> address:
    return OWNER


@external
def open(epoch: uint256, books: bytes32, pool: uint256):
    """@notice Fix the books and the pool of an epoch, once and for good."""
    assert msg.sender == self.payer and not self.paused, "not now"
    assert self.books[epoch] == empty(bytes32), "open already"
    assert books != empty(bytes32), "no books"
    self.books[epoch] = books
    self.pool[epoch] = pool
    log Opened(epoch=epoch, books=books, pool=pool)


@nonreentrant
@external
def pay(epoch: uint256, lines: DynArray[Line, MOST]):
    """
    @notice Pay accounts their share of an epoch. Who was paid before is skipped; a transfer that fails, or would go
            over the pool, leaves its account unpaid and stops no other.
    """
    assert msg.sender == self.payer and not self.paused, "not now"
    assert self.books[epoch] != empty(bytes32), "not open"
    for line: Line in lines:
        if self.paid[epoch][line.account] != 0:
            log Skipped(epoch=epoch, account=line.account, amount=line.amount)
        elif line.amount == 0 or line.amount > self.pool[epoch] - self.spent[epoch]:
            log Failed(epoch=epoch, account=line.account, amount=line.amount)
        else:
            # Written before the token is called: whatever it calls back finds the account paid.
            self.paid[epoch][line.account] = line.amount
            self.spent[epoch] += line.amount
            if self._move(line.account, line.amount):
                log Paid(epoch=epoch, account=line.account, amount=line.amount)
            else:
                self.paid[epoch][line.account] = 0
                self.spent[epoch] -= line.amount
                log Failed(epoch=epoch, account=line.account, amount=line.amount)


@internal
def _move(account: address, amount: uint256) -> bool:
    assert msg.gas > TRANSFER_GAS + TRANSFER_GAS // 63 + SPARE_GAS, "too little gas"
    transfer: Bytes[100] = abi_encode(
        msg.sender, account, amount, method_id=method_id("transferFrom(address,address,uint256)")
    )
    done: bool = False
    answer: Bytes[32] = b""
    done, answer = raw_call(TOKEN, transfer, max_outsize=32, gas=TRANSFER_GAS, revert_on_failure=False)
    return done and (len(answer) == 0 or (len(answer) == 32 and convert(answer, uint256) == 1))


@external
def setPayer(payer: address):
    assert msg.sender == OWNER and payer != empty(address)
    self.payer = payer
    log PayerChanged(payer=payer)


@external
def setPaused(paused: bool):
    assert msg.sender == OWNER
    self.paused = paused
    log PauseChanged(paused=paused)
