"""What the reward program needs."""

from tickyard.config.settings import Settings
from tickyard.features.earn.desk import EarnDesk
from tickyard.features.earn.message import EarnTerms
from tickyard.kernel.ids import ZERO_ADDRESS, Address


def earn_terms(settings: Settings) -> EarnTerms:
    token = Address(settings.service_token.lower()) if settings.service_token else ZERO_ADDRESS
    return EarnTerms(settings.chain_id, token, settings.contracts.usdg)


def open_earn(settings: Settings) -> EarnDesk:
    """Without a reward program nobody comes to this desk: it has no routes and no work."""
    return EarnDesk(earn_terms(settings), settings.final_after, settings.service_token_first_block)
