"""Shapes of the answers in the group 'payments'. Written by `python -m tickyard.clientgen`."""

from typing import Literal

from tickyard.client.routes import Answer


class SettledPayment(Answer):
    transaction: str
    network: str
    asset: str
    amount_usd: str
    payer: str
    route: str
    settled_at: str
    status: Literal["confirmed", "settled"]
