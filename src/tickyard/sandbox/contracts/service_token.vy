# pragma version 0.4.3
# SPDX-License-Identifier: Apache-2.0
"""@notice The service token, whose holders share the day's revenue: a plain ERC-20 with 18 decimals."""

event Transfer:
    sender: indexed(address)
    receiver: indexed(address)
    value: uint256

event Approval:
    owner: indexed(address)
    spender: indexed(address)
    value: uint256

name: public(constant(String[8])) = "Tickyard"
symbol: public(constant(String[4])) = "TICK"
decimals: public(constant(uint8)) = 18

admin: public(address)
totalSupply: public(uint256)
balanceOf: public(HashMap[address, uint256])
allowance: public(HashMap[address, HashMap[address, uint256]])


@external
def initialise():
    """@notice Once; the caller becomes the admin, who alone may mint."""
    assert self.admin == empty(address), "already initialised"
    self.admin = msg.sender


@internal
def _move(sender: address, receiver: address, amount: uint256):
    assert receiver != empty(address)
    self.balanceOf[sender] -= amount
    self.balanceOf[receiver] += amount
    log Transfer(sender=sender, receiver=receiver, value=amount)


@external
def transfer(receiver: address, amount: uint256) -> bool:
    self._move(msg.sender, receiver, amount)
    return True


@external
def transferFrom(sender: address, receiver: address, amount: uint256) -> bool:
    allowed: uint256 = self.allowance[sender][msg.sender]
    if allowed != max_value(uint256):
        self.allowance[sender][msg.sender] = allowed - amount
    self._move(sender, receiver, amount)
    return True


@external
def approve(spender: address, amount: uint256) -> bool:
    self.allowance[msg.sender][spender] = amount
    log Approval(owner=msg.sender, spender=spender, value=amount)
    return True


@external
def mint(receiver: address, amount: uint256):
    assert msg.sender == self.admin, "not the admin"
    self.totalSupply += amount
    self.balanceOf[receiver] += amount
    log Transfer(sender=empty(address), receiver=receiver, value=amount)
