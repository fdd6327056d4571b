"""Results by document and in numbers, similar sections, and pages that fit together."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kb import Kb

WORDS = ["wax", "honey", "queen", "hive", "drone"]


def text(n):
    """A document of several sections, some of the same text as in others, so that scores tie."""
    parts = [f"# Document {n}\n\nIt has {WORDS[n % 5]}.\n"]
    parts += [f"## Part\n\nThe {WORDS[i % 5]} and the {WORDS[(i * n) % 5]}.\n" for i in range(1, 5)]
    return "\n".join(parts)


FILES = {f"d{n:02}.md": text(n) for n in range(12)} | {
    "same/d01.md": text(1),
    "x.md": "# X\n\nC++ and wax.\n\n## Y\n\nwax C, c, c\n",
}


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    return Kb.ready(tmp_path_factory.mktemp("modes") / "repo", FILES)


_KB = []


@pytest.fixture(autouse=True)
def _known(kb):
    _KB[:] = [kb]


QUERIES = [
    "wax",
    "wax honey",
    '"the wax"',
    "wax -queen",
    "hive OR drone",
    "wa*",
    "wax path:d05.md",
    "C++ wax",
    "document",
    "hnoey",
    "it has",
    "path:same",
    "type:text",
    "-path:d05.md -queen",
]


def results(kb, mode, *arguments):
    done = kb.run("search", "--json", "--mode", mode, *arguments)
    assert done.code in (0, 1)
    return [(r.get("citation") or r["docid"], r["score"]) for r in json.loads(done.out)["results"]]


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=30)
@given(st.sampled_from(QUERIES), st.sampled_from(["sections", "documents"]), st.integers(1, 7))
def test_pages_put_together_are_the_whole(query, mode, size):
    kb = _KB[0]
    whole = results(kb, mode, "--limit", "200", query)
    assert whole
    assert [score for _, score in whole] == sorted((score for _, score in whole), reverse=True)
    paged = []
    for offset in range(0, len(whole) + size, size):
        page = results(kb, mode, "--limit", str(size), "--offset", str(offset), query)
        assert len(page) == max(0, min(size, len(whole) - offset))
        paged += page
    assert paged == whole


def test_documents_have_their_best_sections_inside(kb):
    data = kb.json("search", "--mode", "documents", "--limit", "50", "wax")
    assert set(data) == {
        "results", "total", "total_is_exact", "query_time_ms", "query", "warnings", "loosened", "listed", "suggestions", "answered_query",
    }  # fmt: skip
    assert data["total"] == len(data["results"]) == len({r["docid"] for r in data["results"]})
    sections = kb.json("search", "--limit", "200", "wax")["results"]
    for document in data["results"]:
        own = [s for s in sections if document["docid"] in s["docids"]]
        assert document["sections_matched"] == len(own)
        assert document["score"] == document["matching_sections"][0]["score"] == own[0]["score"]
        assert [s["kbid"] for s in document["matching_sections"]] == [s["kbid"] for s in own[:3]]
        assert all(s["citation"].startswith(document["docid"] + "#") for s in document["matching_sections"])
    out = kb.ok("search", "--mode", "documents", "--limit", "1", "wax")
    assert out.startswith("1. ")
    assert kb.run("search", "--mode", "documents", "zzz").code == 1


def placed(kb, *arguments):
    """Return (source, line) of the sections that a search shows."""
    return [(r["source"], r["line"]) for r in kb.json("search", "--limit", "500", *arguments)["results"]]


def test_filters_alone_list_what_they_choose(kb):
    every = [json.loads(row) for row in kb.ok("ls-sections", "--json").splitlines()]
    data = kb.json("search", "--limit", "500", "type:text")
    assert data["listed"]
    assert data["total_is_exact"]
    assert [(r["source"], r["line"]) for r in data["results"]] == sorted((r["source"], r["line"]) for r in data["results"])
    assert {(r["score"], r["confidence"], len(r["matched_terms"])) for r in data["results"]} == {(0.0, 0.0, 0)}
    assert data["total"] == len(data["results"]) == len({r["kbid"] + str(r["heading_path"]) for r in data["results"]})
    assert {r["kbid"] for r in data["results"]} == {row["kbid"] for row in every}
    some = placed(kb, "path:d05.md")
    assert [source for source, _ in some] == ["d05.md"] * len(some)
    assert [line for _, line in some] == sorted({row["line"] for row in every if row["source"] == "d05.md"})


@pytest.mark.parametrize(
    ("options", "query"),
    [
        (["--path", "same"], "path:same"),
        (["--type", "text"], "type:text"),
        (["--doc", "d0"], "doc:d0"),
        (["--tag", "none"], "tag:none"),
        (["--path", "d05.md", "-queen"], "path:d05.md -queen"),
        (["--path", "d05.md"], "path:d05.md ("),
    ],
)
@pytest.mark.parametrize("mode", ["sections", "documents"])
def test_options_choose_as_the_query_does(kb, options, query, mode):
    assert results(kb, mode, *options) == results(kb, mode, query)


def test_an_exclusion_leaves_out_of_a_list(kb):
    listed, queens = placed(kb, "path:d05.md"), placed(kb, "path:d05.md", "queen")
    assert queens
    assert placed(kb, "path:d05.md -queen") == [place for place in listed if place not in queens]


def test_a_list_by_document_and_in_numbers(kb):
    every = [json.loads(row) for row in kb.ok("ls-sections", "--json").splitlines()]
    data = kb.json("search", "--mode", "documents", "--limit", "500", "type:text")
    assert [r["source"] for r in data["results"]] == sorted(FILES)
    assert data["total"] == len(FILES)
    for row in data["results"]:
        lines = [s["line"] for s in row["matching_sections"]]
        assert lines == sorted(lines)
        assert row["sections_matched"] == len({(s["kbid"], *s["heading"]) for s in every if s["source"] == row["source"]})
    stats = kb.json("search", "--mode", "stats", "type:text")
    assert (stats["total_matches"], stats["top_terms"]) == (kb.json("search", "type:text")["total"], [])


def test_a_list_says_what_it_is(kb):
    done = kb.run("search", "path:same")
    assert done.code == 0
    assert "the sections that the filters choose are listed, by source and line" in done.err
    assert kb.run("search", "-q", "path:same").err == ""
    assert kb.run("search", "path:nowhere").code == 1
    assert not kb.json("search", "honey", "path:same")["listed"]
    assert "0.0000" in kb.ok("search", "--explain", "path:same")


def test_without_a_word_or_a_filter_nothing_is_listed(kb):
    assert kb.run("search").code == 129
    for query in ("", " ", '""', "()"):
        assert kb.run("search", query).code == 1
    done = kb.run("search", "--", "-wax")
    assert done.code == 1
    assert "it only excludes" in done.err


def test_stats_count_every_match(kb):
    data = kb.json("search", "--mode", "stats", "wax honey")
    assert set(data) == {
        "total_matches", "top_terms", "query_time_ms", "query", "warnings", "loosened", "listed", "suggestions", "answered_query",
    }  # fmt: skip
    sections = kb.json("search", "--limit", "200", "wax honey")["results"]
    assert data["total_matches"] == len(sections)
    for row in data["top_terms"]:
        assert row["sections_matched"] == sum(row["term"] in s["matched_terms"] for s in sections)
        assert row["frequency"] >= row["sections_matched"]
    assert [r["frequency"] for r in data["top_terms"]] == sorted((r["frequency"] for r in data["top_terms"]), reverse=True)
    assert kb.ok("search", "--mode", "stats", "wax").splitlines()[1].split() == ["frequency", "sections", "term"]
    query = "wax -queen -path:d05.md"
    assert kb.json("search", "--mode", "stats", query)["total_matches"] == len(kb.hits("--limit", "99", query)) > 0
    assert kb.run("search", "--mode", "stats", "zzz").code == 1


def test_similar_sections(kb):
    first = kb.json("search", "--limit", "1", "path:d02.md", "honey")["results"][0]
    data = kb.json("search", "--near", first["kbid"], "--limit", "50")
    assert data["near"] == first["kbid"]
    assert first["kbid"] not in [r["kbid"] for r in data["results"]]
    assert 0 < data["results"][0]["confidence"] <= 1
    assert kb.hits("--near", first["citation"]) == kb.hits("--near", first["kbid"][:12]) == kb.hits("--near", first["kbid"])
    assert kb.run("search", "--near", "d02.md").err.startswith("error: 'd02.md' is a document")
    assert kb.run("search", "--near", "zzzz").code == 1
    assert kb.run("search", "--near", first["kbid"], "word").code == 129
    assert all("d03" in c for c in kb.hits("--near", first["kbid"], "--path", "d03.md"))


def test_near_takes_what_show_takes(kb):
    """A section may be named in each of these ways, from anywhere."""
    first = kb.json("search", "--limit", "1", "path:same", "doc:same--d01.md", "part")["results"][0]
    shown = kb.json("show", first["kbid"])
    place = next(p for p in shown["places"] if p["docid"] == "same--d01.md")
    near = kb.hits("--near", place["citation"], "--limit", "5")
    last = place["line"] + 1
    names = [f"same/d01.md:{place['line']}", f"same/d01.md:{last}", f"same--d01.md:{last}",
             f"same/d01.md#{place['citation'].rpartition('#')[2]}"]  # fmt: skip
    for name in names:
        assert kb.json("show", name)["kbid"] == first["kbid"], name
        assert kb.hits("--near", name, "--limit", "5") == near, name
    assert kb.hits("--near", f"d01.md:{last}", "--limit", "5", cwd="same") == near
    assert kb.json("show", f"d01.md:{last}", cwd="same")["kbid"] == first["kbid"]
    top = kb.json("show", "d03.md#document-3")
    assert top["places"][0]["line"] == 1
    assert kb.hits("--near", "d03.md#Document 3") == kb.hits("--near", top["kbid"])


@pytest.mark.parametrize(
    "name", ["d03.md#nope", "d03.md:x", "d03.md:" + "9" * 20, "nope.md#part", "nope.md:3", "#part", ":3", "d03.md#", "d03.md:"]
)
def test_near_and_show_say_that_there_is_no_such_section(kb, name):
    for args in (["search", "--near", name], ["show", name], ["recall", name]):
        done = kb.run(*args)
        assert done.code == 1, args
        assert "error: no" in done.err


def test_near_front_matter_says_that_it_is_not_searched(tmp_path):
    kb = Kb.ready(tmp_path / "repo", {"a.md": "---\ntitle: Bees\n---\n# A\n\nbees\n", "b.md": "# B\n\nbees\n"})
    row = next(r for r in map(json.loads, kb.ok("ls-sections", "--json").splitlines()) if r["role"])
    for name in (row["citation"], row["kbid"], row["kbid"][:12]):
        done = kb.run("search", "--near", name)
        assert done.code == 129
        assert done.err.startswith(f"error: '{name}' is front matter, which is stored and shown but not searched")
        assert "title: Bees" in kb.ok("show", name)


def test_the_most_similar_section_comes_first(tmp_path):
    files = {
        "a.md": "# Swarming\n\nSwarms leave the hive in May when queens are raised.\n",
        "b.md": "# Leaving\n\nIn May a swarm leaves its hive with the old queen.\n",
        "c.md": "# Cooking\n\nBoil the jam in a pot of copper in May.\n",
        "d.md": "# Weather\n\nRain in the morning.\n",
    }
    kb = Kb.ready(tmp_path / "repo", files)
    near = kb.hits("--near", kb.hits("swarming")[0])
    assert near[0].startswith("b.md#")
    assert not any(c.startswith("d.md#") for c in near)
