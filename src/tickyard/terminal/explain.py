"""`tickyard explain`: how the figures of a filer are chosen, from documents on disk and without any network."""

import argparse
import codecs
import gzip
import io
import re
import sys
import zlib
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Final

import msgspec

from tickyard.features.research.company.places import place_name
from tickyard.features.research.explanation import ExplainedFact
from tickyard.features.research.offline import Explained, explain_documents
from tickyard.kernel.units import Price
from tickyard.sources.filings.border import Broken
from tickyard.terminal.ascii import print_json

_GZIP: Final = b"\x1f\x8b"
_MOST: Final = 256 * 1024 * 1024
"""Bytes. The largest document of a real filer has a tenth of it; what unpacks to more is no document."""
_TICKER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,15}")


class WrongDocument(Exception):
    """A file or a word that cannot be used. One sentence."""


def explain_command(args: argparse.Namespace) -> int:
    """0: explained, 1: the documents make no sense, 2: what was typed does."""
    try:
        ticker, today, mid = _ticker(args.ticker), _day(args.today), _price(args.mid)
        facts, submissions = read_document(args.facts), read_document(args.submissions)
    except WrongDocument as wrong:
        print(wrong, file=sys.stderr)
        return 2
    try:
        explained = explain_documents(ticker, facts, submissions, today, mid)
    except Broken as broken:
        print(f"cannot be explained: {broken}", file=sys.stderr)
        return 1
    if args.json:
        print_json(explained)
    else:
        print("\n".join(_lines(ticker, explained)))
    return 0


def read_document(name: str, most: int = _MOST) -> bytes:
    """The bytes of a file, unpacked when it is gzip'd."""
    try:
        with Path(name).open("rb") as file:
            body = file.read(most + 1)
        if body.startswith(_GZIP):
            with gzip.open(io.BytesIO(body)) as packed:
                body = packed.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise WrongDocument(f"{name} cannot be read") from error
    if len(body) > most:
        raise WrongDocument(f"{name} is too large for a filings document")
    # Some editors put a mark before the first byte, which is no part of the document.
    return body.removeprefix(codecs.BOM_UTF8)


def _ticker(text: str) -> str:
    if _TICKER.fullmatch(text) is None:
        raise WrongDocument("the ticker must be one such as AAPL or BRK.B")
    return text


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise WrongDocument("--today must be a day such as 2026-09-16") from error


def _price(text: str | None) -> Price | None:
    if text is None:
        return None
    price = Price.parse(text)
    if price is None:
        raise WrongDocument("--mid must be a price such as 101.25")
    return price


def _lines(ticker: str, explained: Explained) -> Iterator[str]:
    company = explained.underlying
    if company is None:
        yield f"{ticker.upper()}  no company"
    else:
        place = place_name(company.state_of_incorporation, None)
        yield f"{ticker.upper()}  {company.company_name}, CIK {company.cik}" + (f", {place}" if place else "")
    found = explained.candidates
    for name, fact in (
        ("revenue", found.revenue),
        ("netIncome", found.net_income),
        ("sharesOutstanding", found.shares_outstanding),
        ("marketCap", found.market_cap),
    ):
        yield from _fact(name, fact)
    if explained.note:
        yield ""
        yield explained.note


def _fact(name: str, fact: ExplainedFact) -> Iterator[str]:
    yield ""
    yield f"{name}: {_amount(fact.chosen.value)} {fact.chosen.unit}" if fact.chosen else f"{name}: unknown"
    for each in fact.candidates:
        mark = "*" if each.verdict == "chosen" else " "
        period = f"{each.period_start or ''}..{each.period_end}"
        yield f"  {mark} {each.concept}  {_amount(each.value)} {each.unit}  {period}  {each.form} {each.accession}"
        yield f"      {each.reason}"


def _amount(value: object) -> str:
    return msgspec.json.encode(value).decode() if value is not None else "-"
