"""The breaks that `make mutants` makes."""

import textwrap

import pytest

from mutants.mutations import mutations


def broken(source):
    return [(m.line, m.before, m.after) for m in mutations("x.py", textwrap.dedent(source).encode())]


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("y = a < b", ["y = a <= b"]),
        ("y = a is not b", ["y = a is b"]),
        ("y = a not in b", ["y = a in b"]),
        ("y = (a) + (b)", ["y = (a) - (b)"]),
        ("y = a < b <= c", ["y = a < b < c", "y = a <= b <= c"]),
        ("y = a and b or c", ["y = a and b and c", "y = a or b or c"]),
        ("y = not a", ["y = a"]),
        ("y = 7", ["y = (7 + 1)"]),
        ("y = True", ["y = False"]),
        ("y = 'active'", ["y = 'activeX'"]),
        ("y = min(a)", ["y = max(a)"]),
        ("y += z", ["y -= z"]),
        ("y.z = a", ["pass"]),
        ("y = a if b else c", ["y = a if not (b) else c"]),
        ("y = [a for a in b if c]", ["y = [a for a in b if not (c)]"]),
        ("keep(y)", ["pass"]),
        ("raise Refused('no such alert')", ["pass"]),
        ("ä = 'ö' if a == b else 'ü'", ["ä = 'ö' if a != b else 'ü'"]),
    ],
)
def test_a_line_is_broken_in_these_ways(line, after):
    assert broken(line) == [(1, line, each) for each in after]


@pytest.mark.parametrize(
    "source",
    [
        '"""A docstring of 1 word."""',
        "import a",
        "__all__ = ['a']",
        "def f(a: Literal['x'] = None, *, b: Annotated[int, Meta(ge=1)]) -> 'c': ...",
        "Gas = Annotated[str, Meta(examples=['1'])]",
        "log.warning('gone', 1)",
        "assert a < 3",
        "y = f'{a + 1}'",
        "y = 'written for people'",
        "y = 'a sentence ' + b",
    ],
)
def test_what_says_nothing_about_behaviour_is_left_alone(source):
    assert broken(source) == []


def test_every_mutant_differs_from_its_source_and_compiles():
    source = b"""
def f(a, b):
    if a and (
        b
    ):
        return a + 1
    for each in b:
        continue
    return None
"""
    found = mutations("x.py", source)
    assert [m.line for m in found] == sorted(m.line for m in found)
    assert {m.after for m in found} >= {"if not (a and (", "if a or (", "return None", "return a - 1", "break"}
    for mutation in found:
        assert mutation.source != source
        compile(mutation.source, "x.py", "exec")


def test_a_call_over_several_lines_is_run_by_whoever_runs_its_first():
    [mutation] = [m for m in mutations("x.py", b"y = f(\n    a,\n    b=1,\n)\n") if "1 + 1" in m.after]
    assert (mutation.line, mutation.statement) == (3, 1)
