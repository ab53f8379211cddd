"""Corporate actions as callers see them."""

import re
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from tickyard.deps import Deps
from tickyard.kernel.errors import BadRequest
from tickyard.kernel.operation import Kept
from tickyard.kernel.wire import Answer, Ask, Moment, SymbolField, Ticker, iso
from tickyard.store import actions
from tickyard.store.actions import NO_DATE, STATUS_PREFIX, Archived

_REUSE_S: Final = 60
_STATUS: Final = re.compile(r"[A-Za-z][A-Za-z_]{0,79}")

Day = Annotated[str, Meta(examples=["2026-09-10"], extra_json_schema={"format": "date"})]


def read_status(text: str) -> str:
    """A status in its short or its full form, in any letter case."""
    if not _STATUS.fullmatch(text):
        raise BadRequest("status must be letters and underscores")
    status = text.upper()
    return status if status.startswith(STATUS_PREFIX) else STATUS_PREFIX + status


class ActionsAsk(Ask):
    symbol: SymbolField | None = None
    status: (
        Annotated[
            str,
            Meta(
                examples=["COMPLETED"],
                description="COMPLETED or IN_PROGRESS, say; the full CORPORATE_ACTION_STATUS_COMPLETED works too.",
                pattern="^[A-Za-z][A-Za-z_]{0,79}$",
                extra={"says": "a status such as COMPLETED", "read": read_status},
            ),
        ]
        | None
    ) = None


class CorporateAction(Answer):
    id: Annotated[str, Meta(examples=["ca_0d6be69b264717f2dd33652e"], description="Ours, and stable.")]
    symbol: Ticker
    type: Annotated[str, Meta(examples=["CORPORATE_ACTION_TYPE_CASH_DIVIDEND"])]
    status: Annotated[str, Meta(examples=["CORPORATE_ACTION_STATUS_COMPLETED"])]
    process_date: Day | None
    details: Annotated[
        dict[str, Any],
        Meta(examples=[{"cashDividend": {"underlyingSymbol": "AAPL", "rate": "0.26"}}], description="The issuer's."),
    ]
    first_seen_at: Moment
    updated_at: Moment


class CorporateActions(Answer):
    corp_actions: list[CorporateAction]
    count: Annotated[int, Meta(examples=[1])]
    as_of: Annotated[Moment, Meta(description="When the issuer's list was last read; null: never yet.")] | None


async def list_corporate_actions(deps: Deps, ask: ActionsAsk) -> Kept[CorporateActions]:
    """List splits, dividends, mergers and the like, which change multipliers: every action ever seen, also after the
    issuer has dropped it. Those without a date come first, then the newest. The date is the business day before
    the multiplier moves; the token's contract, not this list, says what the multiplier is.

    Freshness: every action ever seen is kept; new ones appear within minutes of the issuer's list.
    """
    async with deps.store.read() as tx:
        found = await actions.archived(tx, ask.symbol, ask.status)
        as_of = await actions.last_sync(tx)
    if ask.symbol is not None and not found:
        # An asset may have left the list and its actions not; unknown is what neither has heard of.
        deps.market.registry.find(ask.symbol)
    records = [_record(action) for action in found]
    answer = CorporateActions(corp_actions=records, count=len(records), as_of=iso(as_of) if as_of is not None else None)
    return Kept(answer, _REUSE_S)


def _record(action: Archived) -> CorporateAction:
    return CorporateAction(
        id=action.id,
        symbol=action.symbol,
        type=action.type,
        status=action.status,
        process_date=action.process_date if action.process_date != NO_DATE else None,
        details=msgspec.json.decode(action.details),
        first_seen_at=iso(action.first_seen_at),
        updated_at=iso(action.updated_at),
    )
