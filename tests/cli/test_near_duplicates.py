"""The near-duplicates that `git kb ingest` tells, on real repositories."""

import json
import os

import pytest
from kb import Kb
from odd import put_in_the_way

from git_kb.cli import ingest


@pytest.fixture
def kb(tmp_path):
    return Kb.ready(tmp_path / "repo")


def near(kb, *args):
    return json.loads(kb.run("ingest", "--json", *args).out)


TEXT = "Bees leave the hive in May when the colony has grown too large for it and the weather is warm and dry enough."


def test_near_duplicates_are_told_of_what_is_new(kb):
    kb.write("docs/swarm.md", f"# Swarms\n\n{TEXT}\n")
    first = near(kb)
    assert (first["near_duplicates"], first["near_duplicates_total"]) == ([], 0)
    kb.write("docs/other.md", f"# Leaving\n\n{TEXT.replace('May', 'June')}\n")
    (pair,) = near(kb)["near_duplicates"]
    assert (pair["source"], pair["line"], pair["of"]["source"]) == ("docs/swarm.md", 1, "docs/other.md")
    assert 0.85 <= pair["similarity"] < 1
    assert pair["kbid"] in kb.ok("ls-sections")
    assert near(kb, "-f")["near_duplicates"] == []


def test_near_duplicates_in_words(kb):
    kb.write("docs/swarm.md", f"# Swarms\n\n{TEXT}\n")
    kb.write("docs/other.md", f"# Leaving\n\n{TEXT.replace('May', 'June')}\n")
    done = kb.run("ingest")
    assert "near-duplicates: 1 pair of sections; 'git kb ingest --near-duplicates --verbose' names all there are\n" in done.err
    assert "docs/other.md:1 Leaving" in done.err
    assert kb.run("ingest", "-q").err == ""


def test_the_command_that_is_named_names_all_pairs(kb):
    for month in ("May", "June", "July"):
        kb.write(f"docs/{month}.md", f"# In {month}\n\n{TEXT.replace('May', month)}\n")
    done = kb.run("ingest")
    assert "near-duplicates: 3 pairs of sections; 'git kb ingest --near-duplicates --verbose' names all there are\n" in done.err
    done = kb.run("ingest", "--near-duplicates", "--verbose")
    assert sum("  ~  " in line for line in done.err.splitlines()) == 3


def test_the_same_section_elsewhere_is_none(kb):
    kb.write("docs/swarm.md", f"# Swarms\n\n{TEXT}\n")
    kb.write("docs/copy.md", f"# Swarms\n\n{TEXT}\n")
    assert near(kb)["near_duplicates"] == []


def test_near_duplicates_are_not_looked_for_without_an_index(kb):
    kb.write("docs/swarm.md", f"# Swarms\n\n{TEXT}\n")
    for option in ("--no-index", "--no-near-duplicates", "--dry-run"):
        assert near(kb, option)["near_duplicates"] is None, option


def test_of_very_many_new_sections_they_are_not_looked_for_but_all_can_be_asked_for(kb, monkeypatch):
    monkeypatch.setattr(ingest, "MANY_NEW", 1)
    kb.write("docs/swarm.md", f"# Swarms\n\n{TEXT}\n")
    kb.write("docs/other.md", f"# Leaving\n\n{TEXT.replace('May', 'June')}\n")
    done = kb.run("ingest")
    assert "near-duplicates of 2 new sections are not looked for" in done.err
    assert near(kb)["near_duplicates"] == []
    assert near(kb, "--near-duplicates")["near_duplicates_total"] == 1


def test_an_older_version_of_a_section_is_none(kb):
    kb.write("docs/swarm.md", f"# Swarms\n\n{TEXT}\n")
    kb.ok("ingest", "-q")
    kb.write("docs/swarm.md", f"# Swarms\n\n{TEXT.replace('May', 'June')}\n")
    assert near(kb)["near_duplicates"] == []


def signatures(kb):
    return sorted(path for path in kb.kb_files() if path.startswith("signatures/"))


DAMAGE = {
    "cut": lambda data: data[:5000],
    "empty": lambda data: b"",
    "flipped": lambda data: data[:4200] + bytes([data[4200] ^ 255]) + data[4201:],
    "newer": lambda data: data[:8] + b"\xff\0\0\0" + data[12:],
}


@pytest.mark.parametrize("how", DAMAGE)
def test_damaged_files_are_made_again(kb, how):
    kb.write("docs/swarm.md", f"# Swarms\n\n{TEXT}\n")
    kb.ok("ingest", "-q")
    assert signatures(kb)
    for path in signatures(kb):
        kb.write(f".git/kb/{path}", DAMAGE[how](kb.read(f".git/kb/{path}")))
    kb.write("docs/other.md", f"# Leaving\n\n{TEXT.replace('May', 'June')}\n")
    assert near(kb)["near_duplicates_total"] == 1
    assert {os.path.splitext(os.path.basename(p))[0] for p in signatures(kb)} == {
        os.path.splitext(os.path.basename(p))[0] for p in kb.segments()
    }


@pytest.mark.parametrize("odd", ["file", "pipe below", "directory below"])
def test_what_is_in_the_way_is_moved_aside(kb, odd):
    put_in_the_way(kb, "signatures", "seg-00.kbm", odd)
    kb.write("docs/swarm.md", f"# Swarms\n\n{TEXT}\n")
    kb.write("docs/other.md", f"# Leaving\n\n{TEXT.replace('May', 'June')}\n")
    done = kb.run("ingest", "--json")
    assert "it is now" in done.err
    assert json.loads(done.out)["near_duplicates_total"] == 1


def test_rebuilding_drops_the_cache(kb):
    kb.write("docs/swarm.md", f"# Swarms\n\n{TEXT}\n")
    kb.ok("ingest", "-q")
    assert signatures(kb)
    kb.ok("index", "-q", "--rebuild")
    assert not signatures(kb)
