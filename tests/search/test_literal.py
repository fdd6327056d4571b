"""Words with symbols in them are looked for as they are written."""

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kb import Kb

from git_kb.search import literal as module
from git_kb.search.find import find
from git_kb.search.literal import find_literal, fold, scan
from git_kb.store.viewfile import current_view

FOUND = [
    ("in C++ and c++.", "C++", ["C++", "c++"]),
    ("libc++ and C+++", "C++", []),
    ("a.env .environment .env,", ".env", [".env", ".env"]),
    ("#12345 #1234", "#1234", ["#1234"]),
    ("foo->bar -> --> ->>", "->", ["->", "->"]),
    ("a == b === c", "==", ["=="]),
    ("==== ", "==", []),
    ("$HOME/bin $HOMES", "$HOME", ["$HOME"]),
    ("call foo(x), barfoo(), foo()", "foo(", ["foo(", "foo("]),
    ("go 🚀🚀", "🚀", ["🚀", "🚀"]),
    ("I ❤️ it", "❤️", ["❤"]),
    ("I ❤ it", "❤️", ["❤"]),
    ("a.enve\u0301 .env\u0301 e\u0301.env", ".env", [".env"]),
]


@pytest.mark.parametrize(("text", "literal", "found"), FOUND)
def test_where_a_literal_stands(text, literal, found):
    assert [text[a:b] for a, b in find_literal(fold(text), literal)] == found


@given(st.text(alphabet="aA+-=#. é🚀", max_size=30), st.text(alphabet="aA+-=#.é🚀", min_size=1, max_size=4))
def test_places_are_in_order_and_hold_it(text, literal):
    folded = fold(text)
    places = list(find_literal(folded, literal))
    assert places == sorted(set(places))
    assert all(folded[a:b] == fold(literal) for a, b in places)


FILES = {
    "c.md": "# Letters\n\n" + "C and c and C, the letter c. " * 4 + "\n",
    "cpp.md": "# Languages\n\nOne of many languages is C++, which came out of another one of that kind long ago.\n",
    "sharp.md": "# More languages\n\nThen there is C#, and much more could be said of it than fits in here.\n",
    "env.md": "# Settings\n\nPut it into .env or the env.\n",
    "issue.md": "# Changes\n\nFixes #1234.\n",
    "number.md": "# Counting\n\n1234 1234 1234 bees.\n",
    "ops.rs": "fn f(x: &T) -> bool { x == y }\n",
    "flag.md": "# Flags\n\nUse `--dry-run` first. 🚀 off it goes.\n",
    "run.md": "# Dry\n\nA dry run, run dry, dry run.\n",
    "at.py": "@decorator\ndef f():\n    return foo(1)\n",
    "play.md": "# Play\n\nTo be, or not to be: that is the question.\n",
    "filler.md": "# Filler\n\nIt is not to be, or to not be. The man, who is the one.\n",
    "band.md": "# Band\n\nThe Who play in the hall.\n",
    "ja.md": "# 養蜂\n\n蜜蜂は花の蜜を集める。\n",
}


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    return Kb.ready(tmp_path_factory.mktemp("literal") / "repo", FILES)


def asked(kb, *arguments):
    """Return the JSON of a search that finds something."""
    done = kb.run("search", "--json", *arguments)
    assert done.code == 0, done
    return json.loads(done.out)


FIRST = [
    ("C++", "cpp.md"),
    ("C#", "sharp.md"),
    (".env", "env.md"),
    ("#1234", "issue.md"),
    ("->", "ops.rs"),
    ("==", "ops.rs"),
    ("--dry-run", "flag.md"),
    ("🚀", "flag.md"),
    ("bees 🚀", "number.md"),
    ("zzzz 🚀", "flag.md"),
    ("@decorator", "at.py"),
    ("foo()", "at.py"),
    ("to be or not to be", "play.md"),
    ("the who", "band.md"),
    ("蜂", "ja.md"),
    ("花の蜜", "ja.md"),
    ("養", "ja.md"),
]


@pytest.mark.parametrize(("query", "source"), FIRST)
def test_the_first_hit_of_an_odd_query(kb, query, source):
    hits = asked(kb, "--", query)["results"]
    assert hits[0]["source"] == source
    scores = [hit["score"] for hit in hits]
    assert scores == sorted(scores, reverse=True)


def test_what_was_found_as_written_is_said_and_shown(kb):
    (hit,) = asked(kb, "--", "->")["results"]
    assert (hit["matched_terms"], hit["matched_fields"]) == (["->"], ["code"])
    assert "-> bool" in hit["snippet"]
    hit = asked(kb, "C++")["results"][0]
    assert hit["matched_terms"] == ["c", "C++"]
    coloured = kb.run("search", "--color", "--", "->").out
    assert "\x1b[1;31m->\x1b[m" in coloured


@pytest.mark.parametrize(("query", "source"), [("body:🚀", "flag.md"), ("code:->", "ops.rs"), ("code:== path:ops.rs", "ops.rs")])
def test_a_symbol_behind_a_field_is_looked_for_in_all_sections(kb, query, source):
    data = asked(kb, query)
    assert [hit["source"] for hit in data["results"]] == [source]
    assert "looked for in the text of all sections" in data["warnings"][0]
    assert not data["listed"]


def test_a_symbol_that_no_section_has(kb):
    done = kb.run("search", "--", "<=>")
    assert (done.code, done.out) == (1, "")


def test_a_scan_keeps_to_filters_and_modes(kb):
    assert asked(kb, "--", "-> path:ops.rs")["total"] == 1
    assert kb.run("search", "--", "-> path:c.md").code == 1
    stats = asked(kb, "--mode", "stats", "--", "->")
    assert (stats["total_matches"], stats["top_terms"]) == (1, [{"term": "->", "frequency": 1, "sections_matched": 1}])
    (document,) = asked(kb, "--mode", "documents", "--", "->")["results"]
    assert (document["docid"], document["sections_matched"]) == ("ops.rs", 1)


def test_a_literal_behind_many_better_scores_is_found(kb, monkeypatch):
    """One section is looked at; the literal stands in another."""
    monkeypatch.setattr(module, "N_VERIFIED", 1)
    assert kb.hits("C#")[0].startswith("sharp.md#")
    whole = kb.hits("--limit", "50", "C++")
    assert whole[0].startswith("cpp.md#")
    assert [c for at in range(len(whole)) for c in kb.hits("--limit", "1", "--offset", str(at), "C++")] == whole


def test_a_scan_reads_sections_whose_source_is_not_stored(kb, tmp_path):
    new = Kb.create(tmp_path / "new", {})
    new.ok("init", "-q")
    new.write("a.md", "# A\n\nx -> y\n\n## B\n\nnothing\n\n## C\n\nz -> z\n")
    new.ok("ingest", "-q", "a.md")
    assert sorted(hit["line"] for hit in asked(new, "--", "->")["results"]) == [1, 9]


def test_a_scan_ends_at_its_budget_and_says_so(kb, monkeypatch):
    monkeypatch.setattr(module, "MAX_SCANNED", 10)
    done = kb.run("search", "--", "->")
    assert done.code == 1
    assert "only a part of the sections" in done.err


@given(st.sampled_from(["->", "==", "🚀", "#", "(", "."]))
def test_a_scan_agrees_with_looking_at_each_section(symbol):
    """Of the model knowledge base that the fixture made, by its path: hypothesis takes no fixture of a smaller scope."""
    place = _PLACES[0].place()
    view, segments = current_view(place)
    found = {hit.entry_id for hit in scan(place, view, segments, [symbol], None).result.hits}
    every = find(place, view, segments, "c languages settings changes bees f flags run decorator play the band 蜜蜂", 100).found
    for f in every:
        assert (f.hit.entry_id in found) == any(find_literal(fold(f.content), symbol)), (symbol, f.content)


_PLACES = []


@pytest.fixture(autouse=True)
def _known(kb):
    _PLACES[:] = [kb]
    assert os.path.isdir(kb.top)
