"""Who may receive what a swap gives: nobody from whom it does not come back."""

import msgspec
import pytest

from tickyard.config.pinned import MAINNET
from tickyard.features.trades.bounds import check_recipient
from tickyard.kernel.errors import BadRequest
from tickyard.kernel.ids import Address

TOKEN, POOL, OTHER_POOL, WALLET = (Address("0x" + digit * 40) for digit in "abcd")
PINNED = [getattr(MAINNET, field.name) for field in msgspec.structs.fields(type(MAINNET))]


def check(recipient):
    check_recipient(Address(recipient), TOKEN, [POOL, OTHER_POOL], MAINNET)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_an_address_that_means_something_else_to_the_router_is_refused(number):
    with pytest.raises(BadRequest, match="means something else to the router"):
        check(f"0x{number:040x}")


@pytest.mark.parametrize("contract", [TOKEN, POOL, OTHER_POOL, *PINNED])
def test_a_contract_of_the_trade_is_refused(contract):
    with pytest.raises(BadRequest, match="nothing comes back"):
        check(contract)


@pytest.mark.parametrize("wallet", [WALLET, f"0x{3:040x}", f"0x{16:040x}", f"0x{'1' + '0' * 39}"])
def test_any_other_address_is_a_wallet(wallet):
    check(wallet)
