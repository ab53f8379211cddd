# pragma version 0.4.3
# SPDX-License-Identifier: Apache-2.0
"""
@notice Spends exact Permit2 payments. A payer signs for this contract as the spender and names the receiver in
        the witness, so whoever sends the transaction can move the signed amount to that receiver and nowhere else.
"""

struct TokenPermissions:
    token: address
    amount: uint256

struct PermitTransferFrom:
    permitted: TokenPermissions
    nonce: uint256
    deadline: uint256

struct TransferDetails:
    to: address
    requestedAmount: uint256

struct Witness:
    to: address
    validAfter: uint256

interface Permit2:
    def permitWitnessTransferFrom(
        permit: PermitTransferFrom,
        details: TransferDetails,
        owner: address,
        witness: bytes32,
        witness_type: String[128],
        signature: Bytes[4096],
    ): nonpayable

PERMIT2: constant(address) = 0x000000000022D473030F116dDEE9F6B43aC78BA3
WITNESS_TYPE: constant(bytes32) = keccak256("Witness(address to,uint256 validAfter)")
# What Permit2 puts behind its own type to hash the whole: the types in the order of their names.
WITNESS_TEXT: constant(String[128]) = "Witness witness)TokenPermissions(address token,uint256 amount)Witness(address to,uint256 validAfter)"


@external
def settle(permit: PermitTransferFrom, owner: address, witness: Witness, signature: Bytes[4096]):
    """@notice Permit2 itself checks the signature, the deadline and the nonce, and reverts in its own words."""
    if permit.permitted.amount == 0:
        raw_revert(method_id("InvalidAmount()"))
    if owner == empty(address):
        raw_revert(method_id("InvalidOwner()"))
    if witness.to == empty(address):
        raw_revert(method_id("InvalidDestination()"))
    if block.timestamp < witness.validAfter:
        raw_revert(method_id("PaymentTooEarly()"))
    extcall Permit2(PERMIT2).permitWitnessTransferFrom(
        permit,
        TransferDetails(to=witness.to, requestedAmount=permit.permitted.amount),
        owner,
        keccak256(abi_encode(WITNESS_TYPE, witness.to, witness.validAfter)),
        WITNESS_TEXT,
        signature,
    )
