"""Company facts: the few concepts we need out of a document of megabytes, as plain values.

A document that is not what it claims to be is `Broken`. One bad entry in a good document is left out and
counted; an entry whose period is readable but whose number is not stays, with the value None, so that an older
figure is never taken for the newest.
"""

import re
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

WANTED: dict[str, tuple[str, ...]] = {
    "dei": ("EntityCommonStockSharesOutstanding",),
    "us-gaap": (
        "Revenues",
        "RevenueFromContractWithCustomerExcludingAssessedTax",
        "RevenueFromContractWithCustomerIncludingAssessedTax",
        "SalesRevenueNet",
        "RevenuesNetOfInterestExpense",
        "PremiumsEarnedNet",
        "InterestIncomeExpenseNet",
        "OperatingLeaseLeaseIncome",
        "NetIncomeLoss",
        "ProfitLoss",
        "NetIncomeLossAvailableToCommonStockholdersBasic",
        "CommonStockSharesOutstanding",
        "WeightedAverageNumberOfSharesOutstandingBasic",
    ),
    "ifrs-full": (
        "Revenue",
        "RevenueFromContractsWithCustomers",
        "ProfitLossAttributableToOwnersOfParent",
        "ProfitLoss",
        "NumberOfSharesOutstanding",
        "WeightedAverageShares",
    ),
}
"""The concepts we decode. A document holds hundreds more, and they cost no more than being skipped."""

_ACCESSION = re.compile(r"[0-9]{10}-[0-9]{2}-[0-9]{6}")
_FORM = re.compile(r"[A-Z0-9][A-Z0-9/ -]{0,19}")
_UNIT = re.compile(r"[A-Za-z][A-Za-z0-9_./-]{0,39}")
_NUMBER = re.compile(rb"-?[0-9]{1,24}(\.[0-9]{1,24})?([eE][+-]?[0-9]{1,2})?")
# No company's figure in any currency comes near: what is larger is a slip of scale, not a number.
_VALUE_MAX = 10**18
_FIRST_YEAR, _LAST_YEAR = 1980, 2200
_ENTRIES_MAX = 20_000

T = TypeVar("T")


class Broken(ValueError):
    """A filings document that cannot be read as what it should be."""


class Entry(Struct, frozen=True, array_like=True):
    """One reported number. `start` is None for a moment; `value` is None when the number could not be read."""

    start: date | None
    end: date
    value: int | Decimal | None
    accession: str
    form: str
    filed: date


class CompanyFacts(Struct, frozen=True):
    """The wanted concepts of one filer: concept ("us-gaap:Revenues") to unit to entries. Survives JSON both ways."""

    cik: int
    concepts: dict[str, dict[str, tuple[Entry, ...]]]
    unread: int = 0
    """Entries of wanted concepts that were left out because they could not be placed."""

    def units(self, concept: str) -> dict[str, tuple[Entry, ...]]:
        return self.concepts.get(concept, {})


class _Document(Struct):
    cik: str | int
    facts: Raw


class _Concept(Struct):
    units: dict[str, Raw]


class _Fact(Struct):
    # `fy`, `fp` and `frame` are left out on purpose: they describe the filing, not the fact.
    end: date
    val: Raw
    accn: str
    form: str
    filed: date
    start: date | None = None


_decode_document = msgspec.json.Decoder(_Document).decode
_decode_concept = msgspec.json.Decoder(_Concept).decode
_decode_fact = msgspec.json.Decoder(_Fact).decode
_decode_facts = msgspec.json.Decoder(list[_Fact]).decode
_decode_raws = msgspec.json.Decoder(list[Raw]).decode


def _shape(name: str, fields: tuple[str, ...]) -> msgspec.json.Decoder[Any]:
    """A decoder that keeps these fields undecoded and skips all others. Wire names are no Python names."""
    places = {f"f{place}": field for place, field in enumerate(fields)}
    shape = msgspec.defstruct(name, [(place, Raw, Raw(b"")) for place in places], rename=places)
    return msgspec.json.Decoder(shape)


_TAXONOMIES = _shape("_Taxonomies", tuple(WANTED))
_CONCEPTS = {taxonomy: _shape("_Concepts", tags) for taxonomy, tags in WANTED.items()}


def read_facts(body: bytes, cik: int) -> CompanyFacts:
    """`companyfacts/CIK##########.json` of this filer: the wanted concepts, everything else skipped undecoded."""
    document = attempt(_decode_document, body)
    if document is None or read_cik(document.cik) != cik:
        raise Broken("the company facts are not those of this filer")
    taxonomies = attempt(_TAXONOMIES.decode, document.facts)
    if taxonomies is None:
        raise Broken("the company facts have no taxonomies")
    concepts: dict[str, dict[str, tuple[Entry, ...]]] = {}
    unread = 0
    for taxonomy, part in zip(WANTED, msgspec.structs.astuple(taxonomies), strict=True):
        if not part:
            continue
        tags = attempt(_CONCEPTS[taxonomy].decode, part)
        if tags is None:
            unread += 1
            continue
        for tag, raw in zip(WANTED[taxonomy], msgspec.structs.astuple(tags), strict=True):
            if raw:
                units, lost = _read_units(raw)
                concepts[f"{taxonomy}:{tag}"] = units
                unread += lost
    return CompanyFacts(cik, concepts, unread)


def _read_units(raw: Raw) -> tuple[dict[str, tuple[Entry, ...]], int]:
    concept = attempt(_decode_concept, raw)
    if concept is None:
        return {}, 1
    units: dict[str, tuple[Entry, ...]] = {}
    lost = 0
    for unit, rows in concept.units.items():
        facts = attempt(_decode_facts, rows)
        if facts is None:
            raws = attempt(_decode_raws, rows) or [Raw(b"")]
            facts = [fact for fact in (attempt(_decode_fact, each) for each in raws) if fact is not None]
            lost += len(raws) - len(facts)
        if not _UNIT.fullmatch(unit) or len(facts) > _ENTRIES_MAX:
            lost += len(facts)
            continue
        entries = tuple(_entry(fact) for fact in facts if _is_placed(fact))
        lost += len(facts) - len(entries)
        units[unit] = entries
    return units, lost


def _is_placed(fact: _Fact) -> bool:
    return (
        _FIRST_YEAR <= fact.end.year <= _LAST_YEAR
        and (fact.start is None or (fact.start.year >= _FIRST_YEAR and fact.start <= fact.end))
        and _ACCESSION.fullmatch(fact.accn) is not None
        and _FORM.fullmatch(fact.form) is not None
    )


def _entry(fact: _Fact) -> Entry:
    return Entry(fact.start, fact.end, read_number(bytes(fact.val)), fact.accn, fact.form, fact.filed)


def read_number(raw: bytes) -> int | Decimal | None:
    """A JSON number, exact: an int where it is whole. None for anything else and for what no company could report."""
    if _NUMBER.fullmatch(raw) is None:
        return None
    if raw.isdigit() or raw[1:].isdigit():
        whole = int(raw)
        return whole if abs(whole) < _VALUE_MAX else None
    exact = Decimal(raw.decode())
    if abs(exact) >= _VALUE_MAX:
        return None
    return int(exact) if exact == exact.to_integral_value() else exact


def read_cik(value: str | int) -> int | None:
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 10 else None


def attempt(decode: Callable[[Any], T], raw: bytes | Raw) -> T | None:
    """What a decoder makes of it, None when it refuses. Nesting deeper than the decoder goes is a refusal too."""
    try:
        return decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
