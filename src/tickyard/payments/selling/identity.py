"""Whether a payer really signed. Ordinary signatures are recovered here; those of contract wallets a chain judges."""

import asyncio
from collections import OrderedDict
from collections.abc import Collection, Mapping
from itertools import compress
from typing import Final

from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.payments.offer.sign_in import SignedIn
from tickyard.payments.proof.chain import ChainProof
from tickyard.payments.signed.authorization import Payment
from tickyard.payments.signed.signature import ORDINARY_BYTES, not_signed, recover

_ACCOUNTS_KEPT: Final = 4096


class PayerIdentity:
    def __init__(self, chains: Mapping[str, ChainProof]) -> None:
        self._chains = chains
        self._contracts: OrderedDict[tuple[str, Address], None] = OrderedDict()
        """Payers that turned out to be contracts. What is none today may be one tomorrow, so only these are kept."""

    async def check(self, payment: Payment, *, is_seen: bool) -> None:
        """Raises BadPayment when nobody can have signed for the payer. `is_seen`: their own key did.

        An account with code may have an owner whose ordinary signature it accepts: that is left to the facilitator, and
        so is whatever is no ordinary signature.
        """
        if is_seen or len(payment.signature) != ORDINARY_BYTES:
            return
        if not await self._may_be_contract(payment.key.network, payment.key.payer):
            raise not_signed(payment)

    async def accepts(self, payment: Payment) -> bool:
        """Whether the payer is a contract that takes the payment's signature for its own. This asks somebody else's
        code. UpstreamDown when the chain does not answer."""
        return await self._chains[payment.key.network].accepts(payment.key.payer, payment.digest, payment.signature)

    def ordinary_networks_of(self, signed_in: SignedIn) -> Collection[str]:
        """Where the message speaks for its address if the address's own key signed: everywhere, or nowhere."""
        return self._chains if is_ordinary(signed_in) else ()

    async def contract_networks_of(self, signed_in: SignedIn) -> Collection[str]:
        """Where it does if the address is a contract: it may be another's on each network, so each is asked, whichever
        the message names. Standard clients name the first that we offer, and have paid on any. This asks the chains,
        and somebody else's code. UpstreamDown when one of them does not answer."""
        told = await asyncio.gather(*(self.takes(signed_in, network) for network in self._chains))
        return list(compress(self._chains, told))

    async def takes(self, signed_in: SignedIn, network: str) -> bool:
        """Whether the address is a contract there that takes the signature for its own. UpstreamDown when the chain
        does not answer: a no would have them pay again."""
        who, age_s = signed_in.address, signed_in.age_s
        return await self._chains[network].accepts(who, signed_in.digest, signed_in.signature, age_s=age_s)

    async def _may_be_contract(self, network: str, account: Address) -> bool:
        try:
            return await self._is_contract(network, account)
        except UpstreamDown:
            # Not known: the facilitator will know.
            return True

    async def _is_contract(self, network: str, account: Address) -> bool:
        if (network, account) in self._contracts:
            self._contracts.move_to_end((network, account))
            return True
        if not await self._chains[network].has_code(account):
            return False
        self._contracts[network, account] = None
        if len(self._contracts) > _ACCOUNTS_KEPT:
            self._contracts.popitem(last=False)
        return True


def is_ordinary(signed_in: SignedIn) -> bool:
    """Whether the address's own key signed."""
    is_sized = len(signed_in.signature) == ORDINARY_BYTES
    return is_sized and recover(signed_in.digest, signed_in.signature) == signed_in.address
