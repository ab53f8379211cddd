"""The operations of the group 'payments'. Written by `python -m tickyard.clientgen`."""

from typing import cast

from tickyard.client.answers.payments import SettledPayment
from tickyard.client.routes import AsyncGroup, Group, Param, Route

ROUTES: dict[str, Route] = {
    "get_payment": Route(
        "GET", "/v1/payments/{transaction}", SettledPayment, params=(Param("transaction", str, is_required=True),)
    ),
}


class AsyncPaymentsGroup(AsyncGroup):
    async def get_payment(self, *, transaction: str) -> SettledPayment:
        """Look up one settled payment by the transaction hash of its receipt."""
        return cast(SettledPayment, await self._call(ROUTES["get_payment"], {"transaction": transaction}))


class PaymentsGroup(Group):
    def get_payment(self, *, transaction: str) -> SettledPayment:
        """Look up one settled payment by the transaction hash of its receipt."""
        return cast(SettledPayment, self._call(ROUTES["get_payment"], {"transaction": transaction}))
