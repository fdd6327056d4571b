"""What the ranking is made of, and where its numbers come from, as the command line shows it."""

import json
import re

import pytest
from kb import Kb, assert_message

QUERY = ["syrup", "spring"]


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    return Kb.ready(tmp_path_factory.mktemp("ranking") / "repo")


def test_explain_adds_up_to_the_score(kb):
    out = kb.ok("search", "--explain", *QUERY)
    assert max(map(len, re.findall(r"^ {3}[\\d ].* = .*|^ {5}.*", out, re.MULTILINE))) <= 100
    for hit in kb.json("search", "--explain", *QUERY)["results"]:
        e = hit["explain"]
        parts = [
            *(t["contribution"] for t in e["terms"]),
            *(t["zone"] for t in e["terms"]),
            *(p["contribution"] for p in e["pairs"]),
        ]
        assert sum(parts) == pytest.approx(hit["score"], abs=1e-6)
        assert f"   {e['score']:.4f} = words {e['words']:.4f} + headings {e['zones']:.4f} + nearness {e['proximity']:.4f}" in out
        assert hit["confidence"] == pytest.approx(e["score"] / e["best_possible"], abs=1e-4)
    assert "explain" not in kb.json("search", *QUERY)["results"][0]


def test_the_configuration_ranks(tmp_path):
    kb = Kb.ready(tmp_path / "repo")
    plain = kb.ok("search", *QUERY)
    data = json.loads(kb.read("kb.config.json"))
    kb.write("kb.config.json", json.dumps({**data, "ranking": {"k1": 5, "b": {"body": 0.1}}}))
    agreed = kb.ok("search", *QUERY)
    assert agreed != plain
    # The short way and the long one, and the same numbers from the command line.
    assert agreed == kb.ok("search", "--offset", "0", *QUERY)
    kb.write("kb.config.json", json.dumps(data))
    assert kb.ok("search", "--weights", "k1=5,b.body=0.1", *QUERY) == agreed
    assert kb.ok("search", "--weights", "zone=0,proximity=0", *QUERY) != plain
    kb.write("kb.config.json", json.dumps({**data, "ranking": {"k1": "high"}}))
    done = kb.run("search", *QUERY)
    assert (done.code, done.out) == (0, plain)
    assert "ranking.k1 is not a number" in done.err


@pytest.mark.parametrize("query", ["C++ compiler", "->", "C++"])
def test_the_parts_add_up_where_a_word_is_looked_for_as_written(tmp_path, query):
    kb = Kb.create(tmp_path / "repo", {"a.md": "# C++\n\nA compiler for C++.\n", "b.md": "# C\n\nA C compiler, p->x.\n"})
    kb.ok("init", "-q")
    kb.ok("ingest", "-q")
    hits = kb.json("search", "--explain", query)["results"]
    assert hits
    for hit in hits:
        e = hit["explain"]
        assert e["words"] + e["zones"] + e["proximity"] + e["bonus"] == pytest.approx(e["score"])
        assert e["score"] <= e["best_possible"] + 1e-9
    text = kb.ok("search", "--explain", query)
    assert "as written" in text
    assert all(len(line) <= 100 for line in text.splitlines() if line.startswith("     "))


def test_only_sections_are_explained(kb):
    """A mode without scores of its own says so."""
    for mode in ("documents", "stats"):
        assert_message(kb.run("search", "--explain", "--mode", mode, "syrup"), 129, "--explain goes with --mode sections")


def test_any_number_that_is_allowed_ranks(kb):
    """Also those that leave nothing of the formula."""
    for weights in (
        "k1=0",
        "k1=0,b=0",
        "b=1",
        "heading=0,body=0,code=0",
        "k1=1e6",
        "proximity=0,zone=0",
        "k1=0,proximity=1,zone=1",
    ):
        assert kb.run("search", "--weights", weights, *QUERY).code in (0, 1)
