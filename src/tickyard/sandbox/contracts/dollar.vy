# pragma version 0.4.3
# SPDX-License-Identifier: Apache-2.0
"""
@notice A dollar with 6 decimals: USDG on one chain, USDC on the other. EIP-2612 permits and EIP-3009
        authorizations, freezing and pausing. The signing name and version are set once.
"""

event Transfer:
    sender: indexed(address)
    receiver: indexed(address)
    value: uint256

event Approval:
    owner: indexed(address)
    spender: indexed(address)
    value: uint256

event AuthorizationUsed:
    authorizer: indexed(address)
    nonce: indexed(bytes32)

event AuthorizationCanceled:
    authorizer: indexed(address)
    nonce: indexed(bytes32)

decimals: public(constant(uint8)) = 6
DOMAIN_TYPE: constant(bytes32) = keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)")
PERMIT_TYPE: constant(bytes32) = keccak256("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)")
TRANSFER_TYPE: constant(bytes32) = keccak256("TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)")
CANCEL_TYPE: constant(bytes32) = keccak256("CancelAuthorization(address authorizer,bytes32 nonce)")
# Half the curve's order: of the two signatures for one message only the lower is valid.
HALF_ORDER: constant(uint256) = 57896044618658097711785492504343953926418782139537452191302581570759080747168

name: public(String[32])
symbol: public(String[8])
admin: public(address)
minter: public(address)
totalSupply: public(uint256)
balanceOf: public(HashMap[address, uint256])
allowance: public(HashMap[address, HashMap[address, uint256]])
nonces: public(HashMap[address, uint256])
authorizationState: public(HashMap[address, HashMap[bytes32, bool]])
isFrozen: public(HashMap[address, bool])
paused: public(bool)
signing_version: String[4]
shows_version: bool


@external
def initialise(name: String[32], symbol: String[8], signing_version: String[4], shows_version: bool, minter: address):
    """@notice Once; the caller becomes the admin."""
    assert self.admin == empty(address), "already initialised"
    self.admin = msg.sender
    self.minter = minter
    self.name = name
    self.symbol = symbol
    self.signing_version = signing_version
    self.shows_version = shows_version


@view
@external
def version() -> String[4]:
    # USDG signs with version "1" and yet has no such getter: clients must know it.
    assert self.shows_version
    return self.signing_version


# --- ERC-20


@internal
def _move(sender: address, receiver: address, amount: uint256):
    assert not self.paused, "paused"
    assert not (self.isFrozen[sender] or self.isFrozen[receiver]), "frozen"
    assert receiver != empty(address)
    self.balanceOf[sender] -= amount
    self.balanceOf[receiver] += amount
    log Transfer(sender=sender, receiver=receiver, value=amount)


@internal
def _approve(owner: address, spender: address, amount: uint256):
    assert not self.paused, "paused"
    assert not (self.isFrozen[owner] or self.isFrozen[spender]), "frozen"
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


# --- signatures


@view
@internal
def _domain() -> bytes32:
    return keccak256(abi_encode(DOMAIN_TYPE, keccak256(self.name), keccak256(self.signing_version), chain.id, self))


@view
@internal
def _check(signer: address, content: bytes32, v: uint8, r: bytes32, s: bytes32):
    assert convert(s, uint256) <= HALF_ORDER, "bad signature"
    found: address = ecrecover(keccak256(concat(x"1901", self._domain(), content)), v, r, s)
    assert found != empty(address) and found == signer, "bad signature"


@view
@external
def DOMAIN_SEPARATOR() -> bytes32:
    return self._domain()


@external
def permit(owner: address, spender: address, amount: uint256, deadline: uint256, v: uint8, r: bytes32, s: bytes32):
    assert block.timestamp <= deadline, "permit expired"
    self._check(owner, keccak256(abi_encode(PERMIT_TYPE, owner, spender, amount, self.nonces[owner], deadline)), v, r, s)
    self.nonces[owner] += 1
    self._approve(owner, spender, amount)


@internal
def _authorized(sender: address, receiver: address, amount: uint256, valid_after: uint256, valid_before: uint256, nonce: bytes32, v: uint8, r: bytes32, s: bytes32):
    assert block.timestamp > valid_after, "authorization is not yet valid"
    assert block.timestamp < valid_before, "authorization is expired"
    assert not self.authorizationState[sender][nonce], "authorization is used or canceled"
    content: bytes32 = keccak256(abi_encode(TRANSFER_TYPE, sender, receiver, amount, valid_after, valid_before, nonce))
    self._check(sender, content, v, r, s)
    self.authorizationState[sender][nonce] = True
    log AuthorizationUsed(authorizer=sender, nonce=nonce)
    self._move(sender, receiver, amount)


@external
def transferWithAuthorization(sender: address, receiver: address, amount: uint256, valid_after: uint256, valid_before: uint256, nonce: bytes32, v: uint8, r: bytes32, s: bytes32):
    self._authorized(sender, receiver, amount, valid_after, valid_before, nonce, v, r, s)


# Vyper knows no overloading. The form with signature bytes (selector 0xcf092995) comes in through
# the default function, which finds its arguments at the places the ABI gives them.
@external
def __default__():
    assert slice(msg.data, 0, 4) == x"cf092995" and len(msg.data) >= 325, "no such function"
    where: uint256 = convert(slice(msg.data, 196, 32), uint256)
    assert where == 224, "no such function"
    assert convert(slice(msg.data, 228, 32), uint256) == 65, "bad signature"
    self._authorized(
        convert(convert(slice(msg.data, 4, 32), uint256), address),
        convert(convert(slice(msg.data, 36, 32), uint256), address),
        convert(slice(msg.data, 68, 32), uint256),
        convert(slice(msg.data, 100, 32), uint256),
        convert(slice(msg.data, 132, 32), uint256),
        convert(slice(msg.data, 164, 32), bytes32),
        convert(slice(msg.data, 324, 1), uint8),
        convert(slice(msg.data, 260, 32), bytes32),
        convert(slice(msg.data, 292, 32), bytes32),
    )


@external
def cancelAuthorization(authorizer: address, nonce: bytes32, v: uint8, r: bytes32, s: bytes32):
    assert not self.authorizationState[authorizer][nonce], "authorization is used or canceled"
    self._check(authorizer, keccak256(abi_encode(CANCEL_TYPE, authorizer, nonce)), v, r, s)
    self.authorizationState[authorizer][nonce] = True
    log AuthorizationCanceled(authorizer=authorizer, nonce=nonce)


# --- the issuer's powers


@view
@internal
def _only_admin():
    assert msg.sender == self.admin, "not the admin"


@external
def mint(receiver: address, amount: uint256):
    assert msg.sender == self.admin or msg.sender == self.minter, "not a minter"
    self.totalSupply += amount
    self.balanceOf[receiver] += amount
    log Transfer(sender=empty(address), receiver=receiver, value=amount)


@external
def freeze(account: address):
    self._only_admin()
    self.isFrozen[account] = True


@external
def unfreeze(account: address):
    self._only_admin()
    self.isFrozen[account] = False


@external
def pause():
    self._only_admin()
    self.paused = True


@external
def unpause():
    self._only_admin()
    self.paused = False
