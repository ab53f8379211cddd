"""Opening a sealed pool to claims: only when the payout account can pay all of it, and the gas."""

from dataclasses import dataclass

from sqlalchemy import and_, func, insert, select, update

from tickyard.chain.blocks import header
from tickyard.chain.quantity import quantity
from tickyard.chain.rpc.trouble import RpcError
from tickyard.features.earn.desk import GAS_LIMIT, EarnDeps, max_fee
from tickyard.features.earn.rules import is_in_window
from tickyard.features.earn.tables import earn_close, earn_epoch, earn_gate, earn_payer, earn_payout
from tickyard.features.earn.token import balance
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.observe.log import log
from tickyard.store.engine import Transaction


@dataclass(frozen=True, slots=True)
class Needed:
    payer: Address
    usdg_raw: int
    wallets: int


async def open_claims(deps: EarnDeps, epoch: int) -> str:
    """Open the claims of a sealed epoch. What happened: opened, not solvent, no payer, outside the window."""
    async with deps.store.read() as tx:
        needed = await _needed(tx, deps.earn.terms.chain_id, epoch)
    if needed is None:
        log.error("claims stay closed: no payout agent has ever run", epoch=epoch)
        return "no payer"
    if not await _is_solvent(deps, needed):
        log.error("claims stay closed: the payout account cannot pay the pool", epoch=epoch, usdg_raw=needed.usdg_raw)
        return "not solvent"
    async with deps.store.begin() as tx:
        now = await deps.store.now(tx)
        if not is_in_window(epoch, now):
            return "outside the window"
        opened = await tx.execute(
            update(earn_epoch)
            .where(earn_epoch.c.id == epoch, earn_epoch.c.state == "sealed")
            .values(state="open", opened_at=now)
        )
        if opened.rowcount != 1:
            return "somebody was faster"
        await tx.execute(insert(earn_gate), {"epoch": epoch})
    return "opened"


async def _needed(tx: Transaction, chain_id: int, epoch: int) -> Needed | None:
    """The whole pool, and what earlier claims have not been paid yet."""
    row = (await tx.execute(select(earn_epoch).where(earn_epoch.c.id == epoch))).one()
    payer = (await tx.execute(select(earn_payer).where(earn_payer.c.chain_id == chain_id))).one_or_none()
    if payer is None:
        return None
    paid = and_(
        earn_payout.c.epoch == earn_close.c.epoch,
        earn_payout.c.address == earn_close.c.address,
        earn_payout.c.attempt == earn_close.c.attempt,
        earn_payout.c.state == "confirmed",
    )
    on_their_way = await tx.execute(
        select(func.sum(earn_close.c.amount_raw))
        .join(earn_payout, paid, isouter=True)
        .where(earn_close.c.returned_to.is_(None), earn_payout.c.nonce.is_(None))
    )
    owed = int(on_their_way.scalar_one() or 0)
    return Needed(Address(payer.address), row.pool_raw + owed, row.eligible_wallets)


async def _is_solvent(deps: EarnDeps, needed: Needed) -> bool:
    head = await header(deps.rpc, "latest")
    held = await balance(deps.rpc, deps.earn.terms.usdg, needed.payer)
    try:
        gas_wei = quantity(await deps.rpc.call("eth_getBalance", [needed.payer, "latest"]))
    except RpcError as error:
        raise UpstreamDown("the chain node refused to show a balance") from error
    # Twice the present fee, as the window lasts an hour; and what the chain wants to see on the account at the last.
    gas_fees = needed.wallets * head.base_fee * 2 + max_fee(head.base_fee)
    return held >= needed.usdg_raw and gas_wei >= GAS_LIMIT * gas_fees
