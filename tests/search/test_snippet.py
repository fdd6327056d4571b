"""Snippets: one line, ranges inside it that show matches."""

from hypothesis import given
from hypothesis import strategies as st

from git_kb.search.snippet import _place, make_snippet
from git_kb.text.words import terms


@given(st.text(max_size=600), st.text(max_size=20), st.integers(20, 200))
def test_ranges_lie_inside_one_line(content, asked, width):
    snippet = make_snippet(content, terms(asked), width)
    assert "\n" not in snippet.text
    last = 0
    for start, end in snippet.ranges:
        assert last <= start < end <= len(snippet.text)
        last = end
    assert len(snippet.text) <= width + 2


def test_the_window_holds_the_matches():
    content = "filler words " * 50 + "the needle and the thread " + "more filler " * 50
    snippet = make_snippet(content, ["needl", "thread"], 100)
    assert [snippet.text[a:b] for a, b in snippet.ranges] == ["needle", "thread"]
    assert snippet.text.startswith("…")
    assert snippet.text.endswith("…")


def test_an_identifier_and_pairs_are_shown():
    snippet = make_snippet("重跑 getUserName 測試", [*terms("getUserName"), *terms("重跑")])
    assert [snippet.text[a:b] for a, b in snippet.ranges] == ["重跑", "getUserName"]


@given(st.text("ab \n\t", max_size=40))
def test_a_place_is_where_the_character_stands_on_one_line(piece):
    line = " ".join(piece.split())
    for at, char in enumerate(piece):
        if not char.isspace():
            assert line[_place(piece, at)] == char
            assert line[: _place(piece, at)].count(char) == piece[:at].count(char)
