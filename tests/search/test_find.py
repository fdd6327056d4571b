"""From a query to hits with their place, content and snippet."""

import json
import os

import pytest
from kb import Kb, forget_source

from git_kb.search.find import Filters, find
from git_kb.store.viewfile import current_view

FILES = {
    "a.md": "# Alpha\n\nThe queen bee.\n\n## Shared\n\nWax and honey.\n",
    "b.md": "# Beta\n\nThe drone.\n\n## Shared\n\nWax and honey.\n",
    "copy/a.md": "# Alpha\n\nThe queen bee.\n\n## Shared\n\nWax and honey.\n",
    "code/c.py": 'def wax():\n    """Return the wax."""\n    return 1\n',
    "code2/d.txt": "Wax again.\n",
}


@pytest.fixture
def kb(tmp_path):
    kb = Kb.create(tmp_path / "repo", FILES)
    kb.ok("init", "-q")
    kb.ok("ingest", "-q")
    kb.ok("ingest", "-q", "b.md", "--tag", "beta", "--tag", "x")
    return kb


def look(kb, text, *args, **named):
    opened = current_view(kb.place())
    assert opened is not None
    return find(kb.place(), *opened, text, *args, **named)


def test_one_hit_for_a_section_that_stands_in_two_documents(kb):
    found = look(kb, "queen").found
    assert [(f.document.docid, f.also) for f in found] == [("a.md", ["copy--a.md"])]
    assert found[0].citation == kb.ok("ls-sections", "--format", "{citation}", "a.md").splitlines()[0]


def test_the_same_text_under_other_headings_is_another_hit(kb):
    found = look(kb, "honey").found
    assert {f.row.heading for f in found} == {("Alpha", "Shared"), ("Beta", "Shared")}
    assert len({f.kbid for f in found}) == 1


def test_content_and_snippet_are_those_of_the_section(kb):
    (found,) = look(kb, "drone").found
    assert found.content == kb.ok("cat-section", "-p", found.kbid)
    assert "drone" in found.snippet.text
    assert [found.snippet.text[a:b] for a, b in found.snippet.ranges] == ["drone"]
    assert 0 < found.confidence <= 1


def test_paging_agrees_with_the_whole(kb):
    whole = [f.citation for f in look(kb, "wax", 100).found]
    assert len(whole) == 4
    for size in (1, 2, 3):
        paged = [f.citation for at in range(0, len(whole) + size, size) for f in look(kb, "wax", size, at).found]
        assert paged == whole
    assert look(kb, "wax", 1).total >= 1
    assert look(kb, "wax", 1, 1000).found == []


FILTERS = [
    (Filters(), {"a.md", "b.md", "code--c.py", "code2--d.txt"}),
    (Filters(tags=("beta",)), {"b.md"}),
    (Filters(tags=("beta", "x")), {"b.md"}),
    (Filters(tags=("beta", "y")), set()),
    (Filters(path="code"), {"code--c.py"}),
    (Filters(path="code/"), {"code--c.py"}),
    (Filters(path="code/c.py"), {"code--c.py"}),
    (Filters(path="copy"), {"copy--a.md"}),
    (Filters(path="nope"), set()),
    (Filters(docid="code"), {"code--c.py", "code2--d.txt"}),
    (Filters(type="text/plain"), {"code2--d.txt"}),
    (Filters(type="text/markdown", path="b.md"), {"b.md"}),
    (Filters(type="image/"), set()),
    (Filters(conditions=[("path", "code", True), ("type", "text/plain", False)]), {"code2--d.txt"}),
]


@pytest.mark.parametrize(("filters", "docids"), FILTERS, ids=range(len(FILTERS)))
def test_filters(kb, filters, docids):
    """A filter shows a hit in a document that passes, also when an earlier document has the same section."""
    assert {f.document.docid for f in look(kb, "wax", 100, filters=filters or None).found} == docids


def test_hits_without_their_section_are_still_hits(kb):
    """The pool is gone, the index is not: the text is the source's. When that is gone too: no snippet, and no failure."""
    kb.git("update-ref", "-d", "refs/kb/sections")
    (found,) = look(kb, "drone").found
    assert found.content == "# Beta\n\nThe drone."
    forget_source(kb, "b.md")
    (found,) = look(kb, "drone").found
    assert (found.content, found.snippet) == (None, None)
    done = kb.run("search", "drone")
    assert done.code == 0
    assert done.out.startswith("1. b.md:1  Beta (changed since ingest)\n")
    assert json.loads(kb.ok("search", "--json", "drone"))["results"][0]["snippet"] is None


def test_phrases_exclusions_and_beginnings(kb):
    assert {f.document.docid for f in look(kb, '"wax again"').found} == {"code2--d.txt"}
    loosened = look(kb, '"again wax"')
    assert loosened.loosened
    assert {f.document.docid for f in loosened.found} == {f.document.docid for f in look(kb, "again wax").found}
    assert look(kb, '"again zzz"').loosened
    assert not look(kb, '"zzz yyy"').loosened
    assert {f.document.docid for f in look(kb, "wax -honey").found} == {"code--c.py", "code2--d.txt"}
    assert {f.document.docid for f in look(kb, "dron*").found} == {"b.md"}


def test_filters_in_the_query(kb):
    def found(query):
        return {f.document.docid for f in look(kb, query).found}

    every = found("wax drone again honey")
    assert found("wax drone again honey path:code") == {d for d in every if d.startswith("code--")}
    assert found("wax drone again honey -path:code") == {d for d in every if not d.startswith("code--")}
    assert found("wax drone again honey type:text/plain") == {"code2--d.txt"}
    assert found("wax drone again honey tag:beta") == {"b.md"}
    assert found("tag:beta") == set()
    assert kb.run("search", "(wax").err.startswith("warning: in the query: '(' is never closed\n")
    assert json.loads(kb.ok("search", "--json", "(wax"))["warnings"]
    done = kb.run("search", '"again wax"')
    assert (done.code, done.err) == (0, "warning: nothing holds all that the query requires; these hold some of its words\n")


def test_a_source_that_stands_is_shown_before_one_that_is_gone(tmp_path):
    kb = Kb.ready(tmp_path / "repo", {"a.md": "# Same\n\nThe quince.\n", "b.md": "# Same\n\nThe quince.\n"})
    assert kb.ok("search", "quince").startswith("1. a.md:1")
    os.unlink(kb.path("a.md"))
    done = kb.ok("search", "quince")
    assert done.startswith("1. b.md:1  Same\n")
    assert "also in 1 more" in done


def test_damaged_manifests_are_told_each_time(kb):
    kb.write("kb/documents/b.md.toml", b"\0\xff")
    for command in (["search", "drone"], ["search", "drone"], ["query", "drone"], ["status"], ["search", "--cached", "zzz"]):
        err = kb.run(*command).err
        assert ("manifest 'b.md.toml' is damaged" in err) == ("--cached" not in command), command


def test_behind_the_last_hit(kb):
    done = kb.run("search", "--offset", "50", "wax")
    assert done.code == 1
    assert done.err.startswith("no more hits in ")
    assert "more hits" not in kb.run("search", "--limit", "50", "w*").err


@pytest.mark.parametrize("language", ["", "de"])
def test_a_word_is_found_by_any_of_its_beginnings(tmp_path, language):
    """Whatever stemming leaves of it; behind a field, in stats and beside a demand too."""
    word = {"": "categorically", "de": "verkäuflichkeiten"}[language]
    front = f"---\nlang: {language}\n---\n\n" if language else ""
    kb = Kb.create(tmp_path / "repo", {"a.md": f"{front}# The {word}\n\nNothing else.\n", "b.md": "# Other\n\nText.\n"})
    kb.ok("init", "-q")
    kb.ok("ingest", "-q")
    for length in (*range(3, 7), len(word)):
        start = word[:length] + "*"
        for query in (start, f"heading:{start}", f'{start} "nothing else"', f"other -{start}"):
            assert [row["source"] for row in kb.json("search", query)["results"]] == (["b.md"] if "-" in query else ["a.md"]), query
        assert kb.json("search", "--mode", "stats", start)["total_matches"] == 1
