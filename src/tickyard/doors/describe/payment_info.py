"""What a paid call costs, as descriptions and directories say it."""

from typing import Any

from tickyard.kernel.operation import Operation
from tickyard.kernel.units import UsdgAmount, ratio_text


def price_text(price: UsdgAmount) -> str:
    """Dollars without trailing zeros: 0.01."""
    return ratio_text(price, 10**6, 6)


def payment_info(row: Operation) -> dict[str, Any]:
    """`x-payment-info` of the paid twin of an operation, as directories read it."""
    assert row.price is not None, f"{row.name} has no price"
    return {
        "price": {"mode": "fixed", "currency": "USD", "amount": price_text(row.price)},
        "protocols": [{"x402": {}}],
    }
