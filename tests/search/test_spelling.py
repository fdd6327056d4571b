"""Did you mean."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kb import Kb

from git_kb.search.spelling import distance

FILES = {
    "a.md": "# Configuration\n\nThe configuration of hives and templates. Specialization matters to beekeepers.\n",
    "b.md": "# Templates\n\nA template for hives. The queens and their colonies.\n",
    "c.md": "# Other\n\nQuince and jam.\n",
}
letters = st.text("abc", max_size=6)


def slow_distance(a, b):
    """Optimal string alignment, as its recursion has it."""
    if not a or not b:
        return len(a) + len(b)
    best = min(slow_distance(a[1:], b) + 1, slow_distance(a, b[1:]) + 1, slow_distance(a[1:], b[1:]) + (a[0] != b[0]))
    if a[:2] == b[:2][::-1] and len(a) > 1 and len(b) > 1:
        best = min(best, slow_distance(a[2:], b[2:]) + 1)
    return best


@given(letters, letters, st.integers(0, 7))
def test_distance(a, b, most):
    assert distance(a, b, most) == min(slow_distance(a, b), most + 1)


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    return Kb.ready(tmp_path_factory.mktemp("spelling") / "repo", FILES)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("hievs", "hives"),
        ("tempalte", "template"),
        ("Configuraton", "configuration"),
        ("konfiguration", "configuration"),
        ("specialisation", "specialization"),
        ("beekeper", "beekeepers"),
        ("uqeens", "queens"),
        ("quicne", "quince"),
    ],
)
def test_the_word_that_was_meant(kb, typed, meant):
    done = kb.run("search", "--json", typed)
    data = json.loads(done.out)
    assert done.code == 0
    assert (data["suggestions"][0]["word"], data["suggestions"][0]["suggestion"]) == (typed, meant)
    assert data["suggestions"][0]["sections"] >= 1
    assert data["answered_query"] == meant
    assert data["query"] == typed
    assert [h["citation"] for h in data["results"]] == kb.hits(meant)


def test_it_is_said_plainly(kb):
    done = kb.run("search", "tempalte")
    assert done.err == "warning: no section has 'tempalte'; did you mean 'template'? These are the hits for 'template'\n"
    done = kb.run("search", "tempalte quince")
    assert done.err == "warning: no section has 'tempalte'; did you mean 'template'?\n"
    assert done.out.startswith("1. c.md:1")


@pytest.mark.parametrize("query", ["zzzzzz", "hive", "zq", "12345678", "-tempalte", "tag:tempalte hive", "蜂蜜", "x" * 60])
def test_nothing_is_suggested(kb, query):
    data = json.loads(kb.run("search", "--json", "--", query).out)
    assert (data["suggestions"], data["answered_query"]) == ([], None)


def test_what_is_gone_from_the_view_is_not_suggested(tmp_path):
    kb = Kb.ready(tmp_path / "repo", FILES)
    kb.write("c.md", "# Other\n\nJam alone.\n")
    kb.ok("ingest", "-q", "c.md")
    done = kb.run("search", "--json", "quinse")
    assert (done.code, json.loads(done.out)["suggestions"]) == (1, [])
    assert kb.json("search", "--at", "HEAD", "quinse")["answered_query"] == "quince"
