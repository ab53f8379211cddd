"""An order says what is wrong with it before anything is asked or signed."""

import pytest

from tickyard.client import Order
from tickyard.client.errors import TradeRefused


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"amount": 25}, "amount must be a string"),
        ({"amount": 0.5}, "amount must be a string"),
        ({"amount": None}, "amount must be a string"),
        ({"symbol": 7}, "symbol must be a string"),
        ({"limit": 0.01}, "limit must be a string"),
        ({"token": b"0x"}, "token must be a string"),
        ({"slippage_bps": "50"}, "slippage_bps must be an integer"),
    ],
)
def test_a_number_where_a_text_belongs_is_called_that(changes, said):
    with pytest.raises(TradeRefused, match=said):
        Order(**{"symbol": "AAPL", "side": "buy", "amount": "25", **changes})


def test_what_may_be_left_out_is():
    assert Order("AAPL", "buy", "25").fixed == 25_000_000
