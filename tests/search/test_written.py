"""What is demanded or excluded as it is written: what is found is what a look at every text finds."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kb import Kb, forget_source

from git_kb.search import literal, written
from git_kb.search.find import find
from git_kb.search.literal import find_literal, fold
from git_kb.search.query import FIELDS, parse_query
from git_kb.store.viewfile import current_view
from git_kb.text.fields import fields

PIECES = [
    "C++",
    "c",
    "C",
    "C#",
    "->",
    "foo()",
    "foo(x)",
    "fooBar()",
    "foobar(",
    ".env",
    "env",
    "a.env",
    "#12",
    "$HOME",
    "home",
    "cats",
]
FILES = {
    "letters.md": "# Letters\n\ncats and c and C\n\n## In C++ there\n\ncats write little\n\n## Below\n\ncats: C++ and c++.\n",
    "code.md": "# Code\n\ncats call\n\n```\nx->y = foo(x); C++\n```\n\n## More\n\ncats -> dogs and .env\n\n```\nenv = c\n```\n",
    "names.md": "# Names of cats\n\nfooBar() and foobar(1)\n\n## Env\n\ncats in .env and env, $HOME or home\n\n## Number\n\ncats #12 and #123, 12\n",
    "lang.md": "---\nlang: de\n---\n# Katzen\n\ncats schreiben C++ und foo()\n\n## C# dort\n\ncats und É++ und 🚀\n",
    "x.py": "def cats(c):\n    return c -> c\n",
    "plain.txt": "cats use foo()\nbar once, and a::b or\n\ncats std::vector here, std vector there\n",
    "cpp.txt": "cats of an old C++ title\n",
}
ATOMS = [
    "C++", "c++", ".env", "#12", "$HOME", "@name", "🚀", '"->"', "->", "foo()", "fooBar()", '"foo() bar"', "std::vector", "é++", "É++",
    '"C++ and c++"', "C#", '"=="', "x->y", "c", "cats",
]  # fmt: skip


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    made = Kb.ready(tmp_path_factory.mktemp("written") / "repo", FILES)
    _STATE[:] = [made.place(), *current_view(made.place())]
    return made


# Hypothesis takes no fixture of a smaller scope.
_STATE = []


@pytest.fixture(autouse=True)
def _made(kb):
    assert _STATE


def asked(kb, *arguments):
    return json.loads(kb.run("search", "--json", "--limit", "100", *arguments).out)


def texts(view):
    """Return id -> (type, content, heading text) of all entries, the content from the files as they are."""
    found = {}
    for number in range(view.n_rows):
        row = view.row(number)
        document = view.document(row.doc)
        content = FILES[document.source].encode()[row.start : row.end].decode()
        found[row.entry_id] = (row.type or document.type, content, "\n".join([document.title, *row.heading]))
    return found


def stands(text, wanted):
    return any(find_literal(fold(" ".join(text.split()) if " " in wanted else text), wanted))


def holds(entry, one):
    mime, content, heading = entry
    parts = (heading, content) if one.field is None else (fields(mime, content, heading)[one.field],)
    return any(stands(part, one.literal) for part in parts)


items = st.builds(
    "{}{}{}".format, st.sampled_from(["", "-"]), st.sampled_from(["", *(f"{f}:" for f in FIELDS)]), st.sampled_from(ATOMS)
)


@pytest.mark.parametrize("n_read", [0, 10_000])
@settings(deadline=None)
@given(st.lists(items, min_size=1, max_size=3))
def test_hits_are_those_of_a_look_at_every_text(n_read, parts):
    place, view, segments = _STATE
    query = parse_query(" ".join(["cats", *parts]), view.rules)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(written, "MAX_READ", n_read)
        answer = find(place, view, segments, query.text, 100)
        without = find(place, view, segments, "cats", 100)
    found = {f.hit.entry_id for f in answer.found}
    entries = texts(view)
    fitting = {id_ for id_, entry in entries.items() if all(holds(entry, one) != one.negative for one in query.written)}
    assert answer.total == len(found)
    if not answer.loosened:
        assert found <= fitting
        rest = [p for p in parts if parse_query(p, view.rules).written == []]
        if not rest:
            cats = {f.hit.entry_id for f in without.found}
            assert found >= fitting & cats
    elif any(not one.negative for one in query.written):
        assert not any(holds(entries[id_], one) for id_ in found for one in query.written if one.negative)


@given(st.text(alphabet='cC+->.#$@🚀é"( )Oheading:R', max_size=20))
@settings(deadline=None)
def test_any_string_finds_what_it_allows(text):
    place, view, segments = _STATE
    answer = find(place, view, segments, text, 100)
    query = parse_query(text, view.rules)
    entries = texts(view)
    if not answer.loosened:
        assert all(holds(entries[f.hit.entry_id], one) != one.negative for f in answer.found for one in query.written)


EXACT = [
    ("cats -C++", "letters.md:1"),
    ("cats -heading:C++", "letters.md:1 letters.md:9"),
    ("cats heading:C++", "letters.md:5"),
    ("heading:C++", "letters.md:5"),
    ("code:C++", "code.md:1"),
    ("body:C++", "letters.md:9"),
    ("code:-> path:code.md", "code.md:1"),
    ("body:-> path:code.md", "code.md:9"),
    ('cats path:code.md -"->"', ""),
    ("cats -.env path:code.md", "code.md:1"),
    ("path:letters.md -C++", "letters.md:1"),
    ("path:letters.md heading:C++ -beasts", "letters.md:5"),
    ("code:-> nothere path:code.md", "code.md:1"),
]


@pytest.mark.parametrize(("query", "places"), EXACT)
def test_all_modes_keep_to_what_is_written(kb, query, places):
    places = places.split()
    narrowed = query if "path:" in query else f"{query} -path:names.md -path:lang.md -path:plain.txt -path:cpp.txt -path:x.py"
    narrowed += "" if "path:" in query or "code" in query else " -path:code.md"
    data = asked(kb, "--", narrowed)
    assert sorted(f"{hit['source']}:{hit['line']}" for hit in data["results"]) == places
    assert (data["total"], data["loosened"]) == (len(places), False)
    grouped = asked(kb, "--mode", "documents", "--", narrowed)
    assert sum(d["sections_matched"] for d in grouped["results"]) == len(places)
    assert asked(kb, "--mode", "stats", "--", narrowed)["total_matches"] == len(places)
    whole = kb.hits("--limit", "50", "--", narrowed) if places else []
    assert [c for at in range(len(whole)) for c in kb.hits("--limit", "1", "--offset", str(at), "--", narrowed)] == whole


def test_explained_scores_add_up(kb):
    plain = {hit["kbid"]: hit["score"] for hit in asked(kb, "cats")["results"]}
    for hit in asked(kb, "--explain", "cats -C++")["results"]:
        assert hit["score"] == plain[hit["kbid"]]


def test_a_demand_that_nothing_fulfils_is_loosened(kb):
    data = asked(kb, "--", "heading:->")
    assert data["loosened"]
    assert data["total"]
    data = asked(kb, "--", "cats heading:.env -C++")
    assert data["loosened"]
    assert not any("C++" in hit["content"] for hit in data["results"] if "content" in hit)


def test_what_only_excludes_finds_nothing(kb):
    done = kb.run("search", "--", "-C++ -.env")
    assert done.code == 1
    assert "only excludes" in done.err


@pytest.mark.parametrize("query", ["cats code:->", "cats -🚀", "-C++ cats"])
def test_a_look_that_ends_at_its_budget_says_so(kb, monkeypatch, query):
    monkeypatch.setattr(literal, "MAX_SCANNED", 10)
    monkeypatch.setattr(written, "MAX_READ", 0)
    assert "only a part of the sections" in kb.run("search", "--", query).err


ENCODED = {
    "utf-8": "# Page\n\nCafé daily =~= C++ and Foo.BAR() there.\n",
    "latin-1": "# Page\n\nCafé daily =~= C++ and Foo.BAR() there.\n",
    "utf-16": "# Page\n\nCafé daily =~= C++ and Foo.BAR() there.\n",
    "utf-8-sig": "# Page\n\nİstanbul daily =~= C++ and Foo.BAR() there.\n",
    "gb18030": "# Page\n\n蜂蜜 daily =~= C++ and Foo.BAR() there. 蜂蜜和蜂巢在这里，蜂王也在这里。\n",
}


@pytest.mark.parametrize("max_read", [4000, -1])
@pytest.mark.parametrize("stored", [True, False])
def test_sources_of_any_encoding_are_looked_through(tmp_path, monkeypatch, max_read, stored):
    """However many candidates there are, and whether git has the sources or not."""
    monkeypatch.setattr(written, "MAX_READ", max_read)
    files = {f"{encoding}.txt": text.encode(encoding) for encoding, text in ENCODED.items()}
    kb = Kb.create(tmp_path / "r", {**files, "other.txt": "# Other\n\nNothing of it, daily: C and Foo bar.\n"})
    kb.ok("init", "-q")
    kb.ok("ingest", "-q")
    if not stored:
        for name in (*files, "other.txt"):
            forget_source(kb, name)
    for query in ("=~=", "daily body:C++", "daily body:foo.bar(", "daily -Nothing body:=~="):
        found = {row["source"] for row in kb.json("search", "--limit", "20", query)["results"]}
        assert found == set(files), query
    for query in ("daily -C++", "daily -foo.bar(", 'daily -"=~="'):
        found = {row["source"] for row in kb.json("search", "--limit", "20", query)["results"]}
        assert found == {"other.txt"}, query
