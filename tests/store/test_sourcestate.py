"""Marks on hits: is the source still what was ingested?"""

import json
import os

import pytest
from kb import CORPUS, Kb

from git_kb.repo import spawn
from git_kb.repo.open import open_repository
from git_kb.store import sourcestate
from git_kb.store.sourcestate import worktree_states
from git_kb.store.staleness import source_states, stale_sources
from git_kb.store.state import StateName
from git_kb.store.viewfile import current_view


@pytest.fixture
def kb(tmp_path):
    return Kb.ready(tmp_path / "repo")


def documents(kb):
    view, segments = current_view(kb.place())
    found = list(view.documents())
    view.close()
    segments.close()
    return found


def states(kb, docs=None):
    return worktree_states(kb.place(), documents(kb) if docs is None else docs)


def agrees_with_status(kb):
    """The quick way must say what the long way says."""
    docs = documents(kb)
    repo = open_repository(kb.place())
    try:
        stale, gone = stale_sources(repo, StateName(), docs)
        for name in (StateName(), StateName(cached=True), StateName(rev="HEAD")):
            long_stale, long_gone = stale_sources(repo, name, docs)
            found = source_states(repo, name, docs)
            assert sorted(s for s, state in found.items() if state == "changed") == long_stale
            assert sorted(s for s, state in found.items() if state == "gone") == long_gone
    finally:
        repo.close()
    found = states(kb, docs)
    assert sorted(s for s, state in found.items() if state == "changed") == stale
    assert sorted(s for s, state in found.items() if state == "gone") == gone
    return found


def test_current(kb, monkeypatch):
    """A clean work tree costs no git process."""
    place, docs = kb.place(), documents(kb)
    monkeypatch.setattr(spawn, "run_git", None)
    keep = {}
    assert worktree_states(place, docs, keep) == dict.fromkeys(CORPUS, "current")
    assert keep == {name: text.encode() for name, text in CORPUS.items()}


def test_changed_and_gone(kb):
    kb.write("notes.txt", "Something else.\n")
    os.unlink(kb.path("src/weigh.py"))
    assert agrees_with_status(kb) == {"docs/guide.md": "current", "notes.txt": "changed", "src/weigh.py": "gone"}
    kb.commit()
    assert agrees_with_status(kb)["src/weigh.py"] == "gone"


def test_touched_and_reverted(kb):
    data = kb.read("notes.txt")
    kb.write("notes.txt", "x")
    kb.write("notes.txt", data)
    os.utime(kb.path("notes.txt"), (1, 1))
    assert set(agrees_with_status(kb).values()) == {"current"}


def test_a_source_in_another_form_on_disk(tmp_path):
    kb = Kb.create(tmp_path / "repo", {".gitattributes": "*.txt text eol=crlf\n", "a.txt": "one\r\ntwo\r\n", "b.txt": "b\r\n"})
    kb.ok("init")
    kb.ok("ingest")
    assert kb.read("a.txt") == b"one\r\ntwo\r\n"
    assert agrees_with_status(kb) == {"a.txt": "current", "b.txt": "current"}
    kb.write("a.txt", "one\r\nTWO\r\n")
    assert agrees_with_status(kb) == {"a.txt": "changed", "b.txt": "current"}


def test_a_sparse_checkout_has_lost_nothing(kb):
    kb.git("update-index", "--skip-worktree", "notes.txt")
    os.unlink(kb.path("notes.txt"))
    kb.git("update-index", "--assume-unchanged", "docs/guide.md")
    kb.write("docs/guide.md", "# Something else\n")
    assert set(agrees_with_status(kb).values()) == {"current"}


@pytest.mark.parametrize("what", ["directory", "link", "link to itself", "linked directory", "fifo"])
def test_what_took_the_place_of_a_file(kb, what, tmp_path):
    source = "src/weigh.py"
    os.rename(kb.path(source), tmp_path / "weigh.py")
    if what == "directory":
        os.mkdir(kb.path(source))
    elif what == "link":
        os.symlink(tmp_path / "weigh.py", kb.path(source))
    elif what == "link to itself":
        os.symlink("weigh.py", kb.path(source))
    elif what == "fifo":
        os.mkfifo(kb.path(source))
    else:
        os.rmdir(kb.path("src"))
        os.symlink(tmp_path, kb.path("src"))
    found = agrees_with_status(kb)
    assert found[source] == ("changed" if what.startswith("link") and what != "linked directory" else "gone")


@pytest.mark.parametrize("source", ["../outside.md", "/etc/hostname", "https://example.com/x", ".git/config", "a\0b"])
def test_sources_that_are_no_files_of_ours_are_not_looked_at(kb, source, tmp_path):
    (tmp_path / "outside.md").write_text("x")
    document = documents(kb)[0]
    document.source = source
    assert states(kb, [document]) == {}


def test_names_with_odd_characters(tmp_path):
    names = ["-n.txt", "a\nb.txt", 'q"q.txt', ":(top)x.txt", "*.txt", "ü.txt"]
    kb = Kb.ready(tmp_path / "repo", dict.fromkeys(names, "A hive.\n"))
    assert set(agrees_with_status(kb).values()) == {"current"}
    for name in names:
        kb.write(name, "Another hive.\n")
    assert agrees_with_status(kb) == dict.fromkeys(names, "changed")


def test_little_is_looked_at(kb, monkeypatch):
    monkeypatch.setattr(sourcestate, "MAX_BYTES", 250)
    assert len(states(kb)) < len(CORPUS)
    monkeypatch.setattr(sourcestate, "MAX_BYTES", 1 << 20)
    monkeypatch.setattr(sourcestate, "MAX_SOURCES", 1)
    assert len(states(kb)) == 1


def test_a_bare_repository_has_none(kb, tmp_path):
    kb.git("clone", "-q", "--bare", kb.top, str(tmp_path / "bare.git"))
    docs = documents(kb)
    bare = Kb(tmp_path / "bare.git")
    assert states(bare, docs) == {}
    assert '"source_state": "current"' in bare.ok("search", "--json", "swarm")


def test_sha256(tmp_path):
    kb = Kb.ready(tmp_path / "repo", object_format="sha256")
    assert set(states(kb).values()) == {"current"}
    kb.write("notes.txt", "Something else.\n")
    assert states(kb)["notes.txt"] == "changed"


def test_hits_are_marked(kb):
    def marks(*args):
        hits = json.loads(kb.run("search", "--json", *args).out)["results"]
        return {h["source"]: h["source_state"] for h in hits}

    for query in (["swarm"], ["-q", "swarm"]):  # the short way and the long one
        assert "ingest)" not in kb.ok("search", *query)
    kb.write("notes.txt", "Something else.\n")
    for query in (["swarm"], ["-q", "swarm"]):
        assert kb.ok("search", *query).splitlines()[0].endswith("(changed since ingest)")
    assert marks("swarm") == {"notes.txt": "changed"}
    assert marks("swarm", "--at", "HEAD") == marks("swarm", "--cached") == {"notes.txt": "current"}
    out = kb.ok("query", "swarm")
    assert "(notes.txt:1) (changed since ingest)\n" in out
    assert kb.json("query", "swarm")["sources"][0]["source_state"] == "changed"
    kb.git("add", "notes.txt")
    assert marks("swarm", "--cached") == {"notes.txt": "changed"}
    os.unlink(kb.path("notes.txt"))
    for query in (["swarm"], ["-q", "swarm"]):
        assert kb.ok("search", *query).splitlines()[0].endswith("(source gone)")
    assert "(source gone)" in kb.ok("query", "swarm")
    assert marks("swarm") == {"notes.txt": "gone"}
    kb.git("commit", "-q", "-am", "gone")
    assert marks("swarm", "--at", "HEAD") == {"notes.txt": "gone"}
    assert marks("swarm", "--at", "HEAD~1") == {"notes.txt": "current"}
