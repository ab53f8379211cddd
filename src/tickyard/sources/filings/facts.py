"""Company facts: the few concepts we need out of a document of megabytes, as plain values.

A document that is not what it claims to be is `Broken`. One bad entry in a good document is left out and
counted; an entry whose period is readable but whose number is not stays, with the value None, so that an older
figure is never taken for the newest.
"""

import re
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

from tickyard.sources.filings.concepts import WANTED

_ACCESSION = re.compile(r"[0-9]{10}-[0-9]{2}-[0-9]{6}").fullmatch
_FORM = re.compile(r"(?=.*[A-Z])[A-Z0-9][A-Z0-9/ -]{0,19}").fullmatch
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


class _Placed(Struct):
    # `fy`, `fp` and `frame` are left out on purpose: they describe the filing, not the fact.
    end: date
    accn: str
    form: str
    filed: date


class _Whole(_Placed):
    val: int
    start: date | None = None


class _Fact(_Placed):
    val: Raw
    start: date | None = None


_decode_document = msgspec.json.Decoder(_Document).decode
_decode_concept = msgspec.json.Decoder(_Concept).decode
_decode_fact = msgspec.json.Decoder(_Fact).decode
_decode_wholes = msgspec.json.Decoder(list[_Whole]).decode
_decode_raws = msgspec.json.Decoder(list[Raw]).decode


def _shape(name: str, fields: dict[str, Any]) -> type[Struct]:
    """A shape that keeps these fields and skips all others. Wire names are no Python names."""
    places = {f"f{place}": field for place, field in enumerate(fields)}
    members = [(place, fields[field], Raw(b"")) for place, field in places.items()]
    return msgspec.defstruct(name, members, rename=places)


_CONCEPTS = {taxonomy: _shape("_Concepts", dict.fromkeys(tags, Raw)) for taxonomy, tags in WANTED.items()}
_decode_taxonomies = msgspec.json.Decoder(_shape("_Taxonomies", dict.fromkeys(WANTED, Raw))).decode
_decode_concepts = {taxonomy: msgspec.json.Decoder(shape).decode for taxonomy, shape in _CONCEPTS.items()}
_decode_whole_document = msgspec.json.Decoder(
    msgspec.defstruct("_WholeDocument", [("cik", str | int), ("facts", _shape("_Taxonomies", dict(_CONCEPTS)))])
).decode


def read_facts(body: bytes, cik: int) -> CompanyFacts:
    """`companyfacts/CIK##########.json` of this filer: the wanted concepts, everything else skipped undecoded."""
    concepts: dict[str, dict[str, tuple[Entry, ...]]] = {}
    raws, unread = _find_concepts(body, cik)
    for concept, raw in raws.items():
        concepts[concept], lost = _read_units(raw)
        unread += lost
    return CompanyFacts(cik, concepts, unread)


def _find_concepts(body: bytes, cik: int) -> tuple[dict[str, Raw], int]:
    """The wanted concepts, undecoded, and how many taxonomies could not be looked into."""
    # One pass over the document is most of the cost, so a good one is taken apart in one.
    document: Any = attempt(_decode_whole_document, body)
    if document is not None:
        taxonomies = dict(zip(WANTED, msgspec.structs.astuple(document.facts), strict=True))
    else:
        document = attempt(_decode_document, body)
        found = attempt(_decode_taxonomies, document.facts) if document is not None else None
        if found is None:
            raise Broken("the company facts have no taxonomies")
        parts = zip(WANTED, msgspec.structs.astuple(found), strict=True)
        taxonomies = {name: part and attempt(_decode_concepts[name], part) for name, part in parts}
    if read_cik(document.cik) != cik:
        raise Broken("the company facts are those of another filer")
    raws = {
        f"{taxonomy}:{tag}": raw
        for taxonomy, tags in taxonomies.items()
        if tags
        for tag, raw in zip(WANTED[taxonomy], msgspec.structs.astuple(tags), strict=True)
        if raw
    }
    return raws, sum(tags is None for tags in taxonomies.values())


def _read_units(raw: Raw) -> tuple[dict[str, tuple[Entry, ...]], int]:
    concept = attempt(_decode_concept, raw)
    if concept is None:
        return {}, 1
    units: dict[str, tuple[Entry, ...]] = {}
    lost = 0
    for unit, rows in concept.units.items():
        facts, unplaced = _read_rows(rows)
        if not _UNIT.fullmatch(unit) or len(facts) > _ENTRIES_MAX:
            lost += len(facts) + unplaced
            continue
        entries = tuple(
            Entry(fact.start, fact.end, _value(fact.val), fact.accn, fact.form, fact.filed)
            for fact in facts
            if _is_placed(fact)
        )
        lost += len(facts) - len(entries) + unplaced
        units[unit] = entries
    return units, lost


def _read_rows(rows: Raw) -> tuple[Sequence[_Whole | _Fact], int]:
    """The rows of one unit, and how many had no readable place. Whole numbers throughout is the common case."""
    wholes = attempt(_decode_wholes, rows)
    if wholes is not None:
        return wholes, 0
    raws = attempt(_decode_raws, rows)
    if raws is None:
        return [], 1
    facts = [fact for fact in (attempt(_decode_fact, each) for each in raws) if fact is not None]
    return facts, len(raws) - len(facts)


def _is_placed(fact: _Whole | _Fact) -> bool:
    start, end = fact.start, fact.end
    return (
        _FIRST_YEAR <= end.year <= _LAST_YEAR
        and (start is None or (start.year >= _FIRST_YEAR and start <= end))
        and _ACCESSION(fact.accn) is not None
        and _FORM(fact.form) is not None
    )


def _value(raw: int | Raw) -> int | Decimal | None:
    if isinstance(raw, int):
        return raw if -_VALUE_MAX < raw < _VALUE_MAX else None
    return read_number(bytes(raw))


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
