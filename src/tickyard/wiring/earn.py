"""What the reward program needs."""

from tickyard.chain.rpc.client import Rpc
from tickyard.config.settings import Settings
from tickyard.features.earn.claims.message import EarnTerms
from tickyard.features.earn.room import EarnRoom
from tickyard.kernel.clock import Clock
from tickyard.kernel.ids import ZERO_ADDRESS, Address


def earn_terms(settings: Settings) -> EarnTerms:
    token = Address(settings.service_token.lower()) if settings.service_token else ZERO_ADDRESS
    return EarnTerms(settings.chain_id, token, settings.contracts.usdg)


def desk_of(settings: Settings) -> Address:
    return Address(settings.payout_desk.lower()) if settings.payout_desk else ZERO_ADDRESS


def open_earn(settings: Settings, clock: Clock) -> EarnRoom:
    """Without a reward program nobody comes to this room: it has no routes and no work."""
    url = settings.second_logs_url
    return EarnRoom(
        earn_terms(settings),
        settings.final_after,
        desk_of(settings),
        settings.contracts.multicall3,
        settings.service_token_first_block,
        Rpc([url], chain_id=settings.chain_id, clock=clock) if url else None,
        settings.payout_desk_first_block,
    )
