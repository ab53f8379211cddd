# pragma version 0.4.3
# SPDX-License-Identifier: Apache-2.0
"""@notice Wrapped ETH, because the router is built around one."""

event Transfer:
    sender: indexed(address)
    receiver: indexed(address)
    value: uint256

event Approval:
    owner: indexed(address)
    spender: indexed(address)
    value: uint256

name: public(constant(String[16])) = "Wrapped Ether"
symbol: public(constant(String[4])) = "WETH"
decimals: public(constant(uint8)) = 18

balanceOf: public(HashMap[address, uint256])
allowance: public(HashMap[address, HashMap[address, uint256]])


@view
@external
def totalSupply() -> uint256:
    return self.balance


@internal
def _wrap(holder: address, amount: uint256):
    self.balanceOf[holder] += amount
    log Transfer(sender=empty(address), receiver=holder, value=amount)


@payable
@external
def deposit():
    self._wrap(msg.sender, msg.value)


@payable
@external
def __default__():
    self._wrap(msg.sender, msg.value)


@external
def withdraw(amount: uint256):
    self.balanceOf[msg.sender] -= amount
    log Transfer(sender=msg.sender, receiver=empty(address), value=amount)
    raw_call(msg.sender, b"", value=amount)


@internal
def _move(sender: address, receiver: address, amount: uint256):
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
