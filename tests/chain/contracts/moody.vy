# pragma version 0.4.3
# SPDX-License-Identifier: Apache-2.0
"""@notice A dollar with moods: what it does with a transfer depends on who gets it. For tests of the desk."""

struct Line:
    account: address
    amount: uint256

interface Desk:
    def pay(epoch: uint256, lines: DynArray[Line, 100]): nonpayable

balanceOf: public(HashMap[address, uint256])
allowance: public(HashMap[address, HashMap[address, uint256]])
# 0 as it should, 1 reverts, 2 says no, 3 says nothing, 4 says seven, 5 burns all gas, 6 calls the desk back
mood: public(HashMap[address, uint256])
calls: public(uint256)


@external
def setUp(account: address, mood: uint256, balance: uint256):
    self.mood[account] = mood
    self.balanceOf[account] = balance


@external
def approve(spender: address, amount: uint256):
    self.allowance[msg.sender][spender] = amount


@external
def payAs(desk: address, epoch: uint256, lines: DynArray[Line, 100]):
    """@notice The token itself is the desk's payer: the worst that a callback could be."""
    self.balanceOf[self] = 2**127
    self.allowance[self][desk] = max_value(uint256)
    extcall Desk(desk).pay(epoch, lines)


@raw_return
@external
def transferFrom(sender: address, receiver: address, amount: uint256) -> Bytes[32]:
    mood: uint256 = self.mood[receiver]
    self.calls += 1
    assert mood != 1, "not today"
    if mood == 2:
        return abi_encode(False)
    if mood == 5:
        for i: uint256 in range(1_000_000):
            self.calls += 1
    if mood == 6:
        lines: DynArray[Line, 1] = [Line(account=receiver, amount=amount)]
        again: Bytes[228] = abi_encode(
            convert(20260101, uint256), lines, method_id=method_id("pay(uint256,(address,uint256)[])")
        )
        done: bool = raw_call(msg.sender, again, revert_on_failure=False)
    self.allowance[sender][msg.sender] -= amount
    self.balanceOf[sender] -= amount
    self.balanceOf[receiver] += amount
    if mood == 3:
        return b""
    return abi_encode(True)
