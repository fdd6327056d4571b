"""What the ranking is made of, and where its numbers come from, as the command line shows it."""

import json
import re

import pytest
from kb import Kb

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
