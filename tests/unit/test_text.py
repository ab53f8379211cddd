"""What a stranger's text may not carry into our answers."""

import pytest

from tickyard.sources.text import clean, clean_tree


@pytest.mark.parametrize(
    ("dirty", "shown"),
    [
        ("Salesforce", "Salesforce"),
        ("  Café Müller é  ", "Café Müller é"),
        ("a\x00b\x1bc\x7fd\x85e\nf", "abcdef"),
        ("safe\u202egnp.exe", "safegnp.exe"),
        ("\u2066iso\u2069late\u200e\u200f\u061c", "isolate"),
        ("ze\u200bro\u200c\u200d\u2060\ufeffwidth\u00ad", "zerowidth"),
        ("line\u2028para\u2029", "linepara"),
        ("tag\U000e0041\U000e007f", "tag"),
        ("half\ud800pair", "halfpair"),
        ("\u3164", ""),
    ],
)
def test_only_what_can_be_seen_stays(dirty, shown):
    assert clean(dirty, 100) == shown


def test_a_text_is_cut_to_its_length_and_ends_without_a_blank():
    assert clean("abcdef", 3) == "abc"
    assert clean("ab cdef", 3) == "ab"
    assert len(clean("x" * 1_000_000, 120)) == 120


def test_every_text_in_a_tree_is_cleaned_keys_included():
    assert clean_tree({"k\u200b": ["a\x00", 1, None, True, {"z": "\u202eb"}]}, 10) == {
        "k": ["a", 1, None, True, {"z": "b"}]
    }


@pytest.mark.parametrize("value", [1.5, {"a": 0.1}, [[[[[[["deep"]]]]]]]])
def test_a_tree_with_a_binary_fraction_or_too_many_floors_is_refused(value):
    with pytest.raises(ValueError, match="upstream value"):
        clean_tree(value, 10)
