"""`tickyard explain`: the same choice from documents on disk, gzip'd or not, as JSON and as text."""

import argparse
import codecs
import gzip
import json
from datetime import date

import msgspec
import pytest

from tickyard.features.research.answer import Facts, Underlying
from tickyard.features.research.filed.periods import ANNUAL_FORMS, YEAR_DAYS
from tickyard.features.research.offline import explain_documents
from tickyard.features.research.portrait import describe
from tickyard.sources.filings.border import Broken
from tickyard.terminal.arguments import add_explain_arguments
from tickyard.terminal.explain import WrongDocument, explain_command, read_document
from yards.filings import cases

CASES = {case["id"]: case for case in cases()}


def explain(capsys, tmp_path, case, *more, is_packed=True, stub=None, ticker=None):
    """Exit code, standard output and standard error of the command on a case's documents."""
    pack = gzip.compress if is_packed else bytes
    facts, submissions = tmp_path / "facts", tmp_path / "submissions"
    facts.write_bytes(pack(case.body))
    submissions.write_bytes(pack(stub if stub is not None else case.submissions))
    parser = argparse.ArgumentParser()
    add_explain_arguments(parser)
    files = ["--facts", str(facts), "--submissions", str(submissions)]
    code = explain_command(
        parser.parse_args([case.ticker if ticker is None else ticker, *files, "--today", case.today.isoformat(), *more])
    )
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_what_is_printed_is_what_research_would_answer(capsys, tmp_path, name):
    case = CASES[name]
    code, out, _ = explain(capsys, tmp_path, case, "--mid", "100", "--json")
    answer = json.loads(out)
    assert code == 0
    assert list(answer) == ["underlying", "facts", "note", "candidates"]
    msgspec.convert(answer["facts"], Facts)
    msgspec.convert(answer["underlying"], Underlying | None)
    portrait = describe(case.ticker, case.filer, case.today)
    assert (answer["underlying"] is None) == (portrait.company is None)
    for shown, chosen in (("revenue", "revenue"), ("netIncome", "net_income"), ("sharesOutstanding", "shares")):
        fact = getattr(portrait.study, chosen) if portrait.study is not None else None
        assert (answer["facts"][shown] or {}).get("value") == (fact.value if fact is not None else None)
        winner = answer["candidates"][shown]["chosen"]
        assert (winner or {}).get("value") == (fact.value if fact is not None else None)
        assert [each["verdict"] for each in answer["candidates"][shown]["candidates"]].count("chosen") == bool(fact)
        assert all(each["reason"] for each in answer["candidates"][shown]["candidates"])
    assert [each for each in answer["facts"].values() if each is None] == [] or answer["note"]


def test_files_may_be_plain_and_a_description_may_leave_out_whose_it_is(capsys, tmp_path):
    case = CASES["MA@2021"]
    packed = explain(capsys, tmp_path, case, "--json")
    plain = explain(capsys, tmp_path, case, "--json", is_packed=False)
    nameless = explain(capsys, tmp_path, case, "--json", stub=json.dumps(case["stub"]).encode())
    assert packed == plain == nameless
    assert json.loads(packed[1])["facts"]["marketCap"] is None


def test_a_mark_before_the_first_byte_is_no_part_of_a_document(capsys, tmp_path):
    case = CASES["MA@2021"]
    plain = explain(capsys, tmp_path, case, "--json", is_packed=False)
    for is_packed in (True, False):
        marked = codecs.BOM_UTF8 + case.submissions
        assert explain(capsys, tmp_path, case, "--json", is_packed=is_packed, stub=marked) == plain


@pytest.mark.parametrize("ticker", ["", " ", "A B", "../AAPL", "A" * 17])
def test_a_ticker_that_is_none_is_refused_in_one_sentence(capsys, tmp_path, ticker):
    code, out, err = explain(capsys, tmp_path, CASES["MA@2021"], ticker=ticker)
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert "the ticker must be one such as" in err


def test_every_sentence_about_a_loser_is_true_of_it():
    for name, case in CASES.items():
        found = describe(case.ticker, case.filer, case.today).study
        if found is None:
            continue
        judged = ((found.revenue, found.candidates.revenue), (found.net_income, found.candidates.net_income))
        for chosen, candidates in judged:
            for each in candidates:
                if each.is_chosen or each.value is None:
                    continue
                days = (each.period_end - each.period_start).days + 1 if each.period_start else 0
                is_annual = days in YEAR_DAYS and each.form in ANNUAL_FORMS
                assert not (is_annual and "not of a whole year" in each.reason), (name, each)
                if chosen is not None and each.value == chosen.value:
                    assert "includes" not in each.reason, (name, each)
                    assert "available to common" not in each.reason, (name, each)


def test_the_text_names_the_winner_and_says_why_the_others_lost(capsys, tmp_path):
    code, out, _ = explain(capsys, tmp_path, CASES["MA@2021"])
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "MA  Mastercard Incorporated, CIK 0001141391"
    assert "revenue: 15301000000 USD" in lines
    assert any(line.startswith("  * us-gaap:Revenues  15301000000 USD") for line in lines)
    assert "      Not the total of the statement, which stands under Revenues." in lines


def test_the_text_says_in_words_where_the_company_is_incorporated(capsys, tmp_path):
    _, out, _ = explain(capsys, tmp_path, CASES["NVDA@2026-07-09"])
    assert out.startswith("NVDA  NVIDIA CORP, CIK 0001045810, Delaware\n")


@pytest.mark.parametrize(
    ("more", "code", "says"),
    [
        (("--today", "yesterday"), 2, "--today must be a day"),
        (("--mid", "-3"), 2, "--mid must be a price"),
        (("--facts", "no-such-file"), 2, "no-such-file cannot be read"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_sentence(capsys, tmp_path, more, code, says):
    got, out, err = explain(capsys, tmp_path, CASES["MA@2021"], *more)
    assert (got, out) == (code, "")
    assert says in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("stub", [b"", b"[]", b"{", b'{"cik": 1, "name": "Another"}', b"\xff\xfe"])
def test_documents_that_do_not_belong_together_are_refused(capsys, tmp_path, stub):
    code, out, err = explain(capsys, tmp_path, CASES["MA@2021"], stub=stub)
    assert (code, out) == (1, "")
    assert err.startswith("cannot be explained: ")


@pytest.mark.parametrize("facts", [b'{"cik":"\xff","facts":{}}', b'{"cik":"\xc3\xa9","facts":{}}', b'{"cik":null}'])
def test_facts_that_do_not_say_whose_they_are_in_plain_letters_are_refused(facts):
    with pytest.raises(Broken):
        explain_documents("AAPL", facts, b'{"name": "Example"}', date(2024, 1, 2), None)


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "packed"])
def test_a_file_that_unpacks_without_end_is_refused_before_it_is_unpacked(tmp_path, pack):
    file = tmp_path / "facts"
    file.write_bytes(pack(b" " * 100_000))
    assert len(read_document(str(file), most=100_000)) == 100_000
    with pytest.raises(WrongDocument, match="too large"):
        read_document(str(file), most=99_999)


def test_a_stream_without_end_is_no_document():
    with pytest.raises(WrongDocument, match="too large"):
        read_document("/dev/zero", most=100_000)
