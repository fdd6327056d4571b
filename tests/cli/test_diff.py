"""`git kb diff`: what is compared, what is printed, and how it ends."""

import json
import os
from pathlib import Path

import pytest
from kb import GUIDE, Kb, assert_message, git

CHANGED = GUIDE.replace("syrup", "fondant") + "\n## Winter\n\nLeave them alone.\n"
ODD = 'wä"x.txt'


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Two commits: v1, and v2 with a change, a rename and a new document; the sources of both are committed with them."""
    kb = Kb.ready(tmp_path_factory.mktemp("diff") / "r")
    kb.git("tag", "v1")
    kb.write("docs/guide.md", CHANGED)
    os.rename(kb.path("notes.txt"), kb.path(ODD))
    kb.write("new.md", "# New\n\nNothing \x1b[2J of old.\n")
    kb.git("add", "-A")
    kb.ok("ingest", "-q")
    kb.commit("second")
    kb.git("tag", "v2")
    return kb


@pytest.fixture
def kb(model, tmp_path):
    return Kb.copy(Path(model.top), tmp_path / "r")


def test_the_forms(kb):
    out = kb.ok("diff", "v1..v2")
    assert out.startswith("changed docs/guide.md\n  M      9  c-")
    assert "  A     13  c-" in out
    assert "Guide > Winter\n" in out
    assert 'renamed notes.txt -> "w\\303\\244\\"x.txt" (100% of its sections stayed)\n' in out
    assert "added new.md\n" in out
    assert kb.ok("diff", "--name-status", "v1", "v2") == 'M\tdocs/guide.md\nA\tnew.md\nR100\tnotes.txt\t"w\\303\\244\\"x.txt"\n'
    assert kb.ok("diff", "--name-status", "-z", "v1", "v2") == f"M\0docs/guide.md\0A\0new.md\0R100\0notes.txt\0{ODD}\0"
    assert kb.ok("diff", "--name-only", "v1", "v2") == 'docs/guide.md\nnew.md\n"w\\303\\244\\"x.txt"\n'
    assert kb.ok("diff", "--name-status", "--no-renames", "v1", "v2").count("\n") == 4
    stat = kb.ok("diff", "--stat", "v1..v2").splitlines()
    assert [line.split("|")[1].split() for line in stat[:3]] == [["2", "+~"], ["1", "+"], ["0"]]
    assert stat[3] == " 3 documents changed, 2 sections added, 1 section changed"
    assert kb.ok("diff", "--shortstat", "v1..v2") == stat[3] + "\n"
    assert kb.ok("diff", "--shortstat", "v1..v1") == ""
    kb.git("config", "core.quotePath", "false")
    assert kb.ok("diff", "--name-only", "v1", "v2").endswith('"wä\\"x.txt"\n')


def test_json(kb):
    data = json.loads(kb.ok("diff", "--json", "v1..v2"))
    assert (data["version"], data["sections"]) == (1, {"added": 2, "removed": 0, "changed": 1, "moved": 0})
    assert data["from"] == {"state": "revision", "rev": "v1", "oid": kb.git("rev-parse", "v1")}
    changed, added, renamed = data["documents"]
    assert [s["status"] for s in changed["sections"]] == ["changed", "added"]
    old, new = changed["sections"][0]["old"], changed["sections"][0]["new"]
    assert (new["line"], new["heading"], old["source_key"]) == (9, ["Guide", "Feed the colony"], new["source_key"])
    # What is named can be shown.
    assert "fondant" in kb.ok("show", "--at", "v2", new["citation"])
    assert "syrup" in kb.ok("show", "--at", "v1", old["citation"])
    assert (added["old"], added["new"]["docid"]) == (None, "new.md")
    assert (renamed["similarity"], renamed["old"]["source"], renamed["sections"]) == (1.0, "notes.txt", [])
    assert json.loads(kb.ok("diff", "--json"))["to"] == {"state": "work tree"}
    assert json.loads(kb.ok("diff", "--json", "--cached"))["to"] == {"state": "index"}


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["v1..v2", "--", "docs"], ["docs/guide.md"]),
        (["v1..v2", "docs"], ["docs/guide.md"]),
        (["v1", "v2", "docs/guide.md"], ["docs/guide.md"]),
        (["v1", "v2", "docs--guide.md"], ["docs/guide.md"]),
        (["v1", "v2", "kb/documents/docs--guide.md.toml"], ["docs/guide.md"]),
        (["v1", "v2", "--", "notes.txt"], ['"w\\303\\244\\"x.txt"']),
        (["v1", "v2", "--", ODD], ['"w\\303\\244\\"x.txt"']),
        (["v1", "v2", "--", "nope"], []),
        (["v1", "v2", "--", "doc"], []),
        (["v1", "v2", "--"], ["docs/guide.md", "new.md", '"w\\303\\244\\"x.txt"']),
        (["v2..v1", "--"], ["docs/guide.md", "new.md", "notes.txt"]),
        (["v1..", "."], ["docs/guide.md", "new.md", '"w\\303\\244\\"x.txt"']),
        (["v1...v2", "--"], ["docs/guide.md", "new.md", '"w\\303\\244\\"x.txt"']),
        (["v2...v1", "--"], []),
        (["v1"], ["docs/guide.md", "new.md", '"w\\303\\244\\"x.txt"']),
        ([], []),
    ],
)
def test_what_is_compared(kb, arguments, names):
    assert kb.ok("diff", "--name-only", *arguments).splitlines() == names


def test_paths_count_from_here(kb):
    assert kb.ok("diff", "--name-only", "v1", "v2", "guide.md", cwd="docs") == "docs/guide.md\n"
    assert kb.ok("diff", "--name-only", "v1", "v2", "--", "../new.md", cwd="docs") == "new.md\n"
    assert kb.ok("diff", "--name-only", "v1", "v2", "--", "..", cwd="docs").count("\n") == 3


def test_exit_codes(kb):
    for option in ("--exit-code", "-q"):
        assert kb.run("diff", option, "v1", "v2").code == 1
        assert kb.run("diff", option, "v1", "v2", "--", "nope").code == 0
        assert kb.run("diff", option).code == 0
    assert kb.run("diff", "v1", "v2").code == 0
    assert kb.run("diff", "-q", "v1", "v2").out == ""
    assert_message(kb.run("diff", "nope"), 128, "ambiguous argument 'nope': unknown revision or path")
    assert_message(kb.run("diff", "nope", "--"), 128, "unknown revision 'nope'")
    kb.git("tag", "docs")
    assert_message(kb.run("diff", "docs"), 128, "ambiguous argument 'docs': both revision and filename")
    assert kb.ok("diff", "--name-only", "docs", "--", "docs") == kb.ok("diff", "--name-only", "--", "docs") == ""
    for wrong in (["v1", "v2", "v1"], ["v1..v2", "v1"], ["--cached", "v1", "v2"], ["-z"], ["--stat", "--json"]):
        assert kb.run("diff", *wrong).code == 129, wrong


def test_terminals_are_safe_and_colours_are_asked_for(kb):
    kb.write("new.md", "# \x1b[2JNew\n\nNothing.\n")
    kb.ok("ingest", "-q")
    assert "\x1b" not in kb.ok("diff", "v1")
    for form in ([], ["--stat"]):
        assert "\x1b[3" in kb.ok("diff", "--color", *form, "v1", "v2")
        kb.git("config", "color.kb", "always")
        assert "\x1b[3" in kb.ok("diff", *form, "v1", "v2")
        assert "\x1b[3" not in kb.ok("diff", *form, "v1", "v2", NO_COLOR="1")
        kb.git("config", "--unset", "color.kb")


def test_without_commits_and_without_work_tree(tmp_path, kb):
    young = Kb.create(tmp_path / "young", {})
    young.ok("init", "-q")
    young.write("a.md", "# A\n")
    young.ok("ingest", "-q")
    assert young.ok("diff", "--name-status") == "A\ta.md\n"
    assert_message(young.run("diff", "HEAD~1"), 128, "ambiguous argument")
    git("clone", "-q", "--bare", kb.top, str(tmp_path / "bare"), cwd="/")
    bare = Kb(tmp_path / "bare")
    assert bare.ok("diff", "--name-only", "v1", "v2", "--", "docs") == "docs/guide.md\n"
    assert_message(bare.run("diff", "v1"), 128, "must be run in a work tree")
    none = Kb.create(tmp_path / "none")
    assert_message(none.run("diff"), 128, "no knowledge base")


def test_color_alone_takes_no_word(kb):
    assert kb.ok("diff", "--color", "v1", "v2") == kb.ok("diff", "--color=always", "v1", "v2")
    assert kb.ok("search", "--color", "swarm") == kb.ok("search", "--color=always", "swarm")
    # By the long way too.
    assert kb.ok("search", "--color", "swarm", "--cached") == kb.ok("search", "--color=always", "swarm", "--cached")
