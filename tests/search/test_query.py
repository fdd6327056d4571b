"""Any string is a query."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_kb.search.query import parse_query


@given(st.one_of(st.text(), st.text(alphabet='a"-* (“”\t日')))
def test_any_string_is_a_query(text):
    query = parse_query(text)
    assert all(n > 0 for n in query.weights.values())
    assert all(len(p) > 1 and set(p) <= set(query.weights) for p in query.phrases)


@pytest.mark.parametrize(
    ("text", "weights", "phrases", "excluded", "prefixes"),
    [
        ("red red wine", {"red": 2, "wine": 1}, [], [], []),
        ('"red wine"', {"red": 1, "wine": 1}, [["red", "wine"]], [], []),
        ("“red wine”", {"red": 1, "wine": 1}, [["red", "wine"]], [], []),
        ('"red', {"red": 1}, [], [], []),
        ("wine -red", {"wine": 1}, [], ["red"], []),
        ("well-known", {"well": 1, "known": 1}, [], [], []),
        ("--dry-run", {"dri": 1, "run": 1}, [], [], []),
        ("- red", {"red": 1}, [], [], []),
        ("Conf*", {}, [], [], ["conf"]),
        ("*", {}, [], [], []),
        ("日本語", {"日本": 1, "本語": 1}, [], [], []),
        ("", {}, [], [], []),
    ],
)
def test_queries(text, weights, phrases, excluded, prefixes):
    query = parse_query(text)
    assert (query.weights, query.phrases, query.excluded, query.prefixes) == (weights, phrases, excluded, prefixes)
