# pragma version 0.4.3
# SPDX-License-Identifier: Apache-2.0
"""
@notice A stock token: ERC-20 with 18 decimals, a display-only multiplier (ERC-8056), EIP-2612
        permits, a blocklist and a pause. Raw balances never move when the multiplier does.
"""

event Transfer:
    sender: indexed(address)
    receiver: indexed(address)
    value: uint256

event Approval:
    owner: indexed(address)
    spender: indexed(address)
    value: uint256

event TransferWithScaledUI:
    sender: indexed(address)
    receiver: indexed(address)
    value: uint256
    uiValue: uint256

event UIMultiplierUpdated:
    oldMultiplier: uint256
    newMultiplier: uint256
    effectiveAt: uint256

ONE: constant(uint256) = 10**18
decimals: public(constant(uint8)) = 18
DOMAIN_TYPE: constant(bytes32) = keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)")
PERMIT_TYPE: constant(bytes32) = keccak256("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)")
# Half the curve's order: of the two signatures for one message only the lower is valid.
HALF_ORDER: constant(uint256) = 57896044618658097711785492504343953926418782139537452191302581570759080747168

name: public(String[64])
symbol: public(String[16])
uid: public(bytes32)
admin: public(address)
minter: public(address)
totalSupply: public(uint256)
balanceOf: public(HashMap[address, uint256])
allowance: public(HashMap[address, HashMap[address, uint256]])
nonces: public(HashMap[address, uint256])
isBlocked: public(HashMap[address, bool])
paused: public(bool)
oraclePaused: public(bool)
newUIMultiplier: public(uint256)
effectiveAt: public(uint256)
past_multiplier: uint256


@external
def initialise(name: String[64], symbol: String[16], uid: bytes32, multiplier: uint256, minter: address, supply: uint256):
    """@notice Once per token; the caller becomes its admin and gets the first supply."""
    assert self.admin == empty(address), "already initialised"
    self.admin = msg.sender
    self.minter = minter
    self.name = name
    self.symbol = symbol
    self.uid = uid
    self.past_multiplier = multiplier
    self.newUIMultiplier = multiplier
    if supply > 0:
        self._mint(msg.sender, supply)


# --- ERC-8056: the multiplier is a view of time, so it flips between two blocks without a transaction


@view
@internal
def _multiplier() -> uint256:
    if block.timestamp >= self.effectiveAt:
        return self.newUIMultiplier
    return self.past_multiplier


@view
@external
def uiMultiplier() -> uint256:
    return self._multiplier()


@view
@external
def balanceOfUI(account: address) -> uint256:
    return self.balanceOf[account] * self._multiplier() // ONE


@view
@external
def totalSupplyUI() -> uint256:
    return self.totalSupply * self._multiplier() // ONE


@external
def setUIMultiplier(multiplier: uint256, effective_at: uint256):
    """@notice Schedule a change; a later schedule replaces an earlier one that has not come."""
    self._only_admin()
    assert multiplier > 0 and effective_at >= block.timestamp
    current: uint256 = self._multiplier()
    self.past_multiplier = current
    self.newUIMultiplier = multiplier
    self.effectiveAt = effective_at
    log UIMultiplierUpdated(oldMultiplier=current, newMultiplier=multiplier, effectiveAt=effective_at)


# --- ERC-20


@internal
def _move(sender: address, receiver: address, amount: uint256):
    assert not self.paused, "paused"
    assert not (self.isBlocked[sender] or self.isBlocked[receiver]), "blocked"
    assert receiver != empty(address)
    self.balanceOf[sender] -= amount
    self.balanceOf[receiver] += amount
    self._tell(sender, receiver, amount)


@internal
def _tell(sender: address, receiver: address, amount: uint256):
    log Transfer(sender=sender, receiver=receiver, value=amount)
    log TransferWithScaledUI(sender=sender, receiver=receiver, value=amount, uiValue=amount * self._multiplier() // ONE)


@internal
def _approve(owner: address, spender: address, amount: uint256):
    assert not (self.isBlocked[owner] or self.isBlocked[spender]), "blocked"
    self.allowance[owner][spender] = amount
    log Approval(owner=owner, spender=spender, value=amount)


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
    self._approve(msg.sender, spender, amount)
    return True


# --- EIP-2612


@view
@internal
def _domain() -> bytes32:
    return keccak256(abi_encode(DOMAIN_TYPE, keccak256(self.name), keccak256("1"), chain.id, self))


@view
@external
def DOMAIN_SEPARATOR() -> bytes32:
    return self._domain()


@external
def permit(owner: address, spender: address, amount: uint256, deadline: uint256, v: uint8, r: bytes32, s: bytes32):
    assert block.timestamp <= deadline, "permit expired"
    assert convert(s, uint256) <= HALF_ORDER, "bad signature"
    content: bytes32 = keccak256(abi_encode(PERMIT_TYPE, owner, spender, amount, self.nonces[owner], deadline))
    signer: address = ecrecover(keccak256(concat(x"1901", self._domain(), content)), v, r, s)
    assert signer != empty(address) and signer == owner, "bad signature"
    self.nonces[owner] += 1
    self._approve(owner, spender, amount)


# --- the issuer's powers


@view
@internal
def _only_admin():
    assert msg.sender == self.admin, "not the admin"


@internal
def _mint(receiver: address, amount: uint256):
    self.totalSupply += amount
    self.balanceOf[receiver] += amount
    self._tell(empty(address), receiver, amount)


@external
def mint(receiver: address, amount: uint256):
    # The desk pays pools by minting: to it a pause means no trading, while the issuer may still mint.
    assert msg.sender == self.admin or (msg.sender == self.minter and not self.paused), "not a minter now"
    self._mint(receiver, amount)


@external
def adminBurn(holder: address, amount: uint256):
    self._only_admin()
    self.balanceOf[holder] -= amount
    self.totalSupply -= amount
    self._tell(holder, empty(address), amount)


@external
def setPaused(is_paused: bool):
    self._only_admin()
    self.paused = is_paused


@external
def setOraclePaused(is_paused: bool):
    self._only_admin()
    self.oraclePaused = is_paused


@external
def setBlocked(account: address, is_blocked: bool):
    self._only_admin()
    self.isBlocked[account] = is_blocked
