"""Snippets: one line, ranges inside it that show matches."""

from hypothesis import given
from hypothesis import strategies as st

from git_kb.search.snippet import _place, make_snippet
from git_kb.text.words import terms


@given(st.text(max_size=600), st.text(max_size=20), st.integers(20, 200))
def test_ranges_lie_inside_one_line(content, asked, width):
    snippet = make_snippet(content, terms(asked), width=width)
    assert "\n" not in snippet.text
    last = 0
    for start, end in snippet.ranges:
        assert last <= start < end <= len(snippet.text)
        last = end
    assert len(snippet.text) <= width + 2


def test_the_window_holds_the_matches():
    content = "filler words " * 50 + "the needle and the thread " + "more filler " * 50
    snippet = make_snippet(content, ["needl", "thread"], width=100)
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


def test_one_letter_is_a_word_by_itself():
    snippet = make_snippet("v-bind, vue, v and going to go", ["v", "go"])
    assert [snippet.text[a:b] for a, b in snippet.ranges] == ["v", "v", "going", "go"]


def test_wide_characters_make_a_shorter_line():
    content = "蜜蜂は花の蜜を集める。" * 60
    assert 80 < len(make_snippet(content, ["蜜を"]).text) <= 102


def test_one_long_line_of_code():
    content = "x=1;" * 5000 + "getUserName(a,b);" + "y=2;" * 5000
    snippet = make_snippet(content, terms("getUserName"))
    assert [snippet.text[a:b] for a, b in snippet.ranges] == ["getUserName"]
    assert len(snippet.text) <= 202


def test_what_stands_as_written_is_marked_whole():
    snippet = make_snippet("In C++ and C, see C++20.", ["c"], ["C++"])
    assert [snippet.text[a:b] for a, b in snippet.ranges] == ["C++", "C", "C++"]
