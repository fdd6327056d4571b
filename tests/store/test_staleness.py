"""Which documents no longer say what their sources say."""

import os

import pytest
from kb import Kb


@pytest.fixture
def kb(tmp_path):
    return Kb.ready(tmp_path / "repo")


def stale(kb, *args):
    status = kb.json("status", *args)
    return status["stale"], status["gone"]


def test_nothing_is_stale(kb):
    for args in ([], ["--cached"], ["--at", "HEAD"]):
        assert stale(kb, *args) == ([], [])


def test_changed_sources(kb):
    kb.write("notes.txt", "Something else.\n")
    assert stale(kb) == (["notes.txt"], [])
    assert stale(kb, "--at", "HEAD") == ([], [])
    kb.git("add", "-A")
    assert stale(kb) == (["notes.txt"], [])
    kb.commit()
    assert stale(kb) == stale(kb, "--at", "HEAD") == (["notes.txt"], [])
    assert "\tnotes.txt" in kb.ok("status").splitlines()
    kb.ok("ingest")
    assert stale(kb) == ([], [])


def test_vanished_sources(kb):
    os.unlink(kb.path("notes.txt"))
    assert stale(kb) == ([], ["notes.txt"])
    kb.commit()
    assert stale(kb) == stale(kb, "--at", "HEAD") == ([], ["notes.txt"])
    assert "sources gone (use 'git kb ingest --prune'):" in kb.ok("status")


def test_the_index_is_compared_with_itself(kb):
    """--cached asks about what is staged: a source changed on disk alone is none of its business."""
    kb.write("notes.txt", "Something else.\n")
    assert stale(kb, "--cached") == ([], [])
    kb.git("add", "notes.txt")
    assert stale(kb, "--cached") == (["notes.txt"], [])
    kb.git("rm", "-q", "--cached", "notes.txt")
    assert stale(kb, "--cached") == ([], ["notes.txt"])


def test_touched_and_reverted_sources_are_not_stale(kb):
    os.utime(kb.path("notes.txt"), (1, 1))
    assert stale(kb) == ([], [])
    data = kb.read("notes.txt")
    kb.write("notes.txt", "x")
    kb.write("notes.txt", data)
    assert stale(kb) == ([], [])


def test_a_forced_in_source_that_git_ignores(kb):
    kb.write("secret.txt", "Ignored later.\n")
    kb.ok("ingest", "secret.txt")
    kb.write(".gitignore", "secret.txt\n")
    assert stale(kb) == ([], [])
    kb.write("secret.txt", "Changed.\n")
    assert stale(kb) == (["secret.txt"], [])


def test_urls_are_neither(kb):
    text = kb.read("kb/documents/notes.txt.toml").decode()
    text = text.replace('docid = "notes.txt"', 'docid = "url--x"').replace(
        'source = "notes.txt"', 'source = "https://example.com/x"'
    )
    kb.write("kb/documents/url--x.toml", text)
    assert stale(kb) == ([], [])
    assert kb.json("ingest", "--prune")["pruned"] == []
