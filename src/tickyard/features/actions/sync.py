"""Keeping the archive and the multipliers up to date."""

from typing import Protocol

from tickyard.features.actions.archive import Synced, archive
from tickyard.kernel.errors import UpstreamDown
from tickyard.market.market import Market
from tickyard.observe.log import log
from tickyard.sources.issuer.api import Issuer, IssuerAction
from tickyard.store.engine import Store


class ActionsDeps(Protocol):
    @property
    def market(self) -> Market: ...
    @property
    def store(self) -> Store: ...
    @property
    def issuer(self) -> Issuer: ...


async def sync_actions(deps: ActionsDeps) -> Synced:
    """Read the issuer's list into the archive. UpstreamDown when the issuer does not answer: try again later."""
    actions = [action for action in await deps.issuer.corporate_actions() if _is_its_own(deps, action)]
    async with deps.store.begin() as tx:
        synced = await archive(tx, actions, await deps.store.now(tx))
    if synced.touched:
        log.info("corporate actions archived", new=synced.new, changed=synced.changed)
        await _refresh_registry(deps, synced.touched)
    return synced


def _is_its_own(deps: ActionsDeps, action: IssuerAction) -> bool:
    """Not one of a token that we know by another name: the archive is for ever, and nobody can tell whose it is."""
    owner = deps.market.registry.symbol_of(action.asset_id)
    if owner is None or owner == action.symbol:
        return True
    log.error("the issuer tells an action under another name, it is not archived", symbol=action.symbol, token=owner)
    return False


async def _refresh_registry(deps: ActionsDeps, touched: frozenset[str]) -> None:
    """An action of a listed token moves its multiplier: look at once, not at the next round."""
    registry = deps.market.registry
    try:
        if touched & {asset.symbol for asset in registry.all()}:
            await registry.refresh()
    except UpstreamDown as failure:
        # The multipliers were read from the chain all the same, and the next round is never far.
        log.warning("registry not refreshed after a corporate action", reason=failure.message)
