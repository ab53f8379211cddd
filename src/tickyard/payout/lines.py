"""What an event of the desk in a final block does to the line that it is about."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, Update, select, update

from tickyard.features.earn.books.desk import DeskEvent
from tickyard.features.earn.tables import earn_line
from tickyard.observe import metrics
from tickyard.observe.log import log
from tickyard.payout.foreign import add_foreign, what_is_wrong
from tickyard.payout.ledger import count, nonces_of
from tickyard.store.engine import Transaction


@dataclass(slots=True)
class Ended:
    confirmed: int = 0
    failed: int = 0
    again: int = 0


@dataclass(frozen=True, slots=True)
class _Ended:
    """A line that an earlier event of the same read has ended."""

    state: str
    amount_raw: int
    attempt: int = 0
    payer: str | None = None
    nonce: int | None = None


async def end_some(
    tx: Transaction,
    epoch: int,
    events: Sequence[DeskEvent],
    short: set[tuple[int, str]],
    early: set[DeskEvent],
    now: datetime,
    ended: Ended,
) -> list[str]:
    """End lines of one epoch. What must not be, for a person."""
    lines = await _newest_lines(tx, epoch, {event.account for event in events})
    nonces = await nonces_of(tx, {event.tx for event in events})
    wrong = []
    paid_raw = failed_raw = failed = other_raw = 0
    for event in events:
        line = lines.get(event.account)
        if event.word == "paid":
            if line is None or line.state in ("failed", "refused"):
                attempt = None if line is None else line.attempt
                wrong += await add_foreign(tx, event, attempt, now, is_early=event in early)
            elif line.state == "confirmed":
                if isinstance(line, _Ended) or (line.hash, line.amount_raw) == (event.tx, event.amount):
                    continue
                # What the desk of the day says is the day's, whoever had paid this account before: another desk,
                # replaced since, or a branch of the chain that is gone.
                await _end(tx, line, "confirmed", event, now)
                if (more_raw := event.amount - line.amount_raw) != 0:
                    await tx.execute(_this(line).values(amount_raw=event.amount, reason=None))
                    wrong += await what_is_wrong(tx, event)
                    paid_raw, other_raw = paid_raw + more_raw, other_raw + more_raw
                continue
            else:
                if line.amount_raw != event.amount:
                    # What is gone is gone: the books tell what the chain did, and a person is called.
                    wrong.append(
                        f"the desk paid {event.account} {event.amount} for epoch {epoch}, not {line.amount_raw}"
                    )
                    await tx.execute(_this(line).values(amount_raw=event.amount))
                    other_raw += event.amount - line.amount_raw
                await _end(tx, line, "confirmed", event, now)
                paid_raw += event.amount
            lines[event.account] = _Ended("confirmed", event.amount)
            ended.confirmed += 1
            metrics.payouts.labels("confirmed").inc()
        elif line is None or line.state != "sent" or nonces.get(event.tx) != (line.payer, line.nonce):
            # Of a transaction that was not ours, or of a line that has ended: it says nothing new.
            continue
        elif event.word == "skipped":
            log.warning("a line was paid before, by an event that was not shown", epoch=epoch, address=event.account)
            await _end(tx, line, "confirmed", event, now)
            paid_raw += line.amount_raw
            ended.confirmed += 1
            lines[event.account] = _Ended("confirmed", event.amount)
        elif (event.block, event.account) in short:
            log.warning("the account could not pay, a payout goes again", epoch=epoch, address=event.account)
            await tx.execute(_this(line).values(state="due"))
            ended.again += 1
        else:
            log.warning("a payout failed for good", epoch=epoch, address=event.account, hash=event.tx)
            await _end(tx, line, "failed", event, now)
            failed, failed_raw = failed + 1, failed_raw + line.amount_raw
            ended.failed += 1
            lines[event.account] = _Ended("failed", event.amount)
            metrics.payouts.labels("failed").inc()
    await count(tx, epoch, wallets=-failed, live_raw=other_raw - failed_raw, paid_raw=paid_raw)
    return wrong


async def _newest_lines(tx: Transaction, epoch: int, accounts: Iterable[str]) -> dict[str, Any]:
    found = await tx.execute(
        select(earn_line)
        .where(earn_line.c.epoch == epoch, earn_line.c.address.in_(sorted(accounts)))
        .order_by(earn_line.c.attempt)
    )
    return {row.address: row for row in found}


async def _end(tx: Transaction, line: Row[Any], state: str, event: DeskEvent, now: datetime) -> None:
    await tx.execute(_this(line).values(state=state, hash=event.tx, block_number=event.block, ended_at=now))


def _this(line: Row[Any]) -> Update:
    return update(earn_line).where(
        earn_line.c.epoch == line.epoch, earn_line.c.address == line.address, earn_line.c.attempt == line.attempt
    )
