"""Real company-facts documents with hand-checked answers, and how an answer is judged. See `filings/README.md`."""

import gzip
import json
from dataclasses import dataclass
from datetime import date
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import msgspec

from proof import MODE, SEED
from tickyard.features.research.portrait import Filer
from tickyard.features.research.study import study
from tickyard.sandbox.filings.rows import company_facts, rows_of
from tickyard.sources.filings.border import CompanyFacts, Entry, read_company, read_facts

FOLDER = Path(__file__).parents[1] / "filings"


@dataclass(frozen=True)
class Case:
    told: dict[str, Any]

    def __getitem__(self, name):
        return self.told[name]

    @property
    def ticker(self):
        return self.told["ticker"]

    @property
    def today(self):
        return date.fromisoformat(self.told["today"])

    @cached_property
    def body(self):
        return gzip.decompress((FOLDER / self.told["facts"]).read_bytes())

    @cached_property
    def submissions(self):
        if self.told["submissions"]:
            return gzip.decompress((FOLDER / self.told["submissions"]).read_bytes())
        return json.dumps({"cik": self.cik, **self.told["stub"]}).encode()

    @cached_property
    def cik(self):
        return int(json.loads(self.body)["cik"])

    @cached_property
    def filer(self):
        return Filer(read_company(self.submissions, self.cik), read_facts(self.body, self.cik), True)


@cache
def cases():
    listed = json.loads((FOLDER / "expected.json").read_text())["cases"]
    return [Case(told) for told in listed]


def companies():
    """The names of the cases that are companies; of these one in six in a quick run, others each time."""
    names = [case["id"] for case in cases() if not case.told.get("noUnderlying")]
    return names[SEED % 6 :: 6] if MODE == "quick" else names


def small(text):
    """A document of a few lines, as the sandbox's filers are written."""
    return read_facts(company_facts(1, "Example", rows_of(text)), 1)


def study_small(text, today=date(2021, 7, 24)):
    """What is chosen of it, where a company like Apple has filed it."""
    return study(next(case for case in cases() if case["id"] == "AAPL@2021").filer.company, small(text), today)


def slipped(facts, concept, accession, change, period=None):
    """The same document, with the numbers of one concept in one filing changed: what a filer's slip looks like."""

    def changed(row):
        is_meant = row.accession == accession and (period is None or (row.start, row.end) == period)
        value = change(row.value) if is_meant and row.value is not None else row.value
        return Entry(row.start, row.end, value, row.accession, row.form, row.filed)

    units = {unit: tuple(changed(row) for row in rows) for unit, rows in facts.concepts[concept].items()}
    return CompanyFacts(facts.cik, {**facts.concepts, concept: units}, facts.unread)


def in_scale(facts, accession, change):
    """The same document, with all the money of one filing in another scale."""

    def changed(row):
        is_meant = row.accession == accession and row.value is not None
        return msgspec.structs.replace(row, value=change(row.value)) if is_meant else row

    def all_of(units):
        return {unit: tuple(map(changed, rows)) if len(unit) == len("USD") else rows for unit, rows in units.items()}

    return CompanyFacts(facts.cik, {name: all_of(units) for name, units in facts.concepts.items()}, facts.unread)
