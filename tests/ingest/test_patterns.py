import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_kb.ingest import patterns
from git_kb.ingest.patterns import compile_patterns


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("**/*.md", ["a.md", "x/a.md", "x/y/.md", "x/new\nline.md"], ["a.mdx", "md", "a.md/x"]),
        ("**/*.md", ["a.MD", "x/README.Md"], []),
        ("*.md", ["a.md"], ["x/a.md"]),
        ("kb/**", ["kb/a", "kb/x/y"], ["kb", "akb/x"]),
        ("docs/**/x.md", ["docs/x.md", "docs/a/b/x.md"], ["docsx.md", "x.md"]),
        ("a?.txt", ["ab.txt"], ["a/.txt", "a.txt"]),
        ("[ab].md", ["a.md", "b.md"], ["c.md", "ab.md"]),
        ("[!a].md", ["b.md"], ["a.md"]),
        ("**/[.md", ["[.md", "x/[.md"], ["x.md"]),
        ("a+(b).md", ["a+(b).md"], ["aab.md"]),
    ],
)
def test_patterns(pattern, yes, no):
    match = compile_patterns([pattern])
    assert [p for p in yes if not match(p)] == []
    assert [p for p in no if match(p)] == []


@pytest.mark.parametrize("pattern", ["**a**a**a**a**a**b", "*a*a*a*a*a*b", "**/**/**/**/*a*a*a*b"])
def test_many_wildcards_take_no_longer(pattern):
    match = compile_patterns([pattern])
    assert not match("a" * 250)
    assert not match("/".join(["a"] * 120) + "/" + "a" * 100)
    assert match("a" * 50 + "b")


@pytest.mark.parametrize("pattern", ["[z-a]", "[!]", "[^]]", "["])
def test_a_set_that_makes_no_sense_is_text(pattern):
    assert not compile_patterns([pattern])("x/y")


pieces = st.lists(st.sampled_from(["*", "**", "**/", "a", "b", "/", "?"]), max_size=7).map("".join)
paths = st.lists(st.sampled_from(["a", "b", "/"]), max_size=9).map("".join)


@given(pieces, paths)
def test_both_ways_of_matching_agree(pattern, path):
    by_expression = re.compile(patterns._expression(pattern), re.DOTALL | re.IGNORECASE).fullmatch(path) is not None
    assert patterns._follow(patterns._elements(pattern), path) == by_expression


def test_no_pattern_matches_nothing():
    assert not compile_patterns([])("a.md")
