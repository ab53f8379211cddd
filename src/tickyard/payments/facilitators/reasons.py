"""What facilitators say when they say no, and what of it can be believed.

A facilitator whose node loses the reply to a broadcast does not know that the transaction is on its way, and says
`transaction_failed` like one that never sent it. So only reasons are believed that the reference facilitators, Python
and TypeScript, give before they send anything, or for a transaction that their node threw back because it would revert.
Every other word, and no word at all, leaves the outcome unknown.
"""

from typing import Final

NOTHING_SENT: Final = frozenset(
    {
        # Both ways of paying: the terms.
        "unsupported_scheme",
        "invalid_exact_evm_scheme",
        "network_mismatch",
        "invalid_exact_evm_network_mismatch",
        "unsupported_payload_type",
        "asset_not_deployed_contract",
        "invalid_exact_evm_failed_to_get_network_config",
        # EIP-3009: what was signed.
        "missing_eip712_domain",
        "invalid_exact_evm_missing_eip712_domain",
        "invalid_exact_evm_payload_recipient_mismatch",
        "invalid_exact_evm_recipient_mismatch",
        "invalid_exact_evm_payload_authorization_value_mismatch",
        "invalid_exact_evm_authorization_value",
        "invalid_exact_evm_payload_authorization_valid_before",
        "invalid_exact_evm_payload_authorization_valid_after",
        "invalid_exact_evm_payload_signature",
        "invalid_exact_evm_signature",
        "invalid_exact_evm_failed_to_verify_signature",
        "invalid_exact_evm_failed_to_parse_signature",
        "invalid_exact_evm_payload_undeployed_smart_wallet",
        "eip6492_factory_not_allowed",
        "smart_wallet_deployment_failed",
        "invalid_exact_evm_insufficient_balance",
        "invalid_exact_evm_token_name_mismatch",
        "invalid_exact_evm_token_version_mismatch",
        "invalid_exact_evm_eip3009_not_supported",
        # Permit2: what was signed, and what the payer allowed and has.
        "invalid_permit2_spender",
        "invalid_permit2_recipient_mismatch",
        "invalid_permit2_payload_format",
        "permit2_deadline_expired",
        "permit2_not_yet_valid",
        "permit2_amount_mismatch",
        "permit2_token_mismatch",
        "invalid_permit2_signature",
        "permit2_allowance_required",
        "permit2_insufficient_balance",
        "balance_check_failed",
        "permit2_proxy_not_deployed",
        # Permit2: what the proxy would revert with.
        "permit2_2612_amount_mismatch",
        "invalid_permit2_amount",
        "permit2_invalid_amount",
        "invalid_permit2_destination",
        "permit2_invalid_destination",
        "invalid_permit2_owner",
        "permit2_invalid_owner",
        "permit2_payment_too_early",
    }
)

NONCE_USED: Final = {"eip3009": "invalid_exact_evm_nonce_already_used", "permit2": "permit2_invalid_nonce"}
"""What a payment is refused with whose nonce is used up, by the way it pays."""
_SAYS_USED: Final = frozenset(
    {
        *NONCE_USED.values(),
        # The reference says these too when a used nonce makes its trial run fail.
        "invalid_exact_evm_transaction_simulation_failed",
        "permit2_simulation_failed",
    }
)


def says_used(reason: str) -> bool:
    """Whether a refused verification may mean that the money has moved already."""
    return reason in _SAYS_USED
