"""What happened to the knowledge base, and when sections came in."""

import json

import pytest
from kb import GUIDE, Kb

from git_kb.store.history import kb_operations, pool_dates


def at(second):
    return {"GIT_COMMITTER_DATE": f"{1700000000 + second} +0000", "GIT_AUTHOR_DATE": f"{1700000000 + second} +0000"}


@pytest.fixture
def kb(tmp_path):
    """Two ingests and three commits, a minute apart, one commit not about the knowledge base."""
    kb = Kb.create(tmp_path / "repo")
    kb.ok("init", "-q")
    kb.ok("ingest", "-q", **at(0))
    kb.git("add", "-A")
    kb.git("commit", "-q", "-m", "first", **at(60))
    kb.write("README", "not ours")
    kb.git("add", "-A")
    kb.git("commit", "-q", "-m", "no business of ours", **at(120))
    kb.write("docs/guide.md", GUIDE.replace("syrup", "fondant"))
    kb.ok("ingest", "-q", **at(180))
    kb.git("add", "-A")
    kb.git("commit", "-q", "-m", "second", **at(240))
    return kb


def subjects(kb, *args):
    with kb.repo() as repo:
        return [(o.where, o.subject) for o in kb_operations(repo, *args)]


def test_both_streams_newest_first(kb):
    assert subjects(kb, "HEAD") == [
        ("branch", "second"),
        ("pool", "ingest 1 source, 1 new section"),
        ("branch", "first"),
        ("pool", "ingest 3 sources, 6 new sections"),
    ]
    with kb.repo() as repo:
        times = [o.when_s for o in kb_operations(repo, "HEAD")]
    assert times == [1700000240, 1700000180, 1700000060, 1700000000]


def test_restrictions(kb):
    assert subjects(kb, "HEAD~1") == [
        ("pool", "ingest 1 source, 1 new section"),
        ("branch", "first"),
        ("pool", "ingest 3 sources, 6 new sections"),
    ]
    assert subjects(kb, "HEAD", None, "docs/guide.md") == [
        ("pool", "ingest 1 source, 1 new section"),
        ("pool", "ingest 3 sources, 6 new sections"),
    ]
    assert subjects(kb, "HEAD", "kb/documents/notes.txt.toml") == [("branch", "first")]
    assert subjects(kb, "HEAD", "kb/documents/notes.txt.toml", "notes.txt") == [
        ("branch", "first"),
        ("pool", "ingest 3 sources, 6 new sections"),
    ]
    assert subjects(kb, "HEAD", None, "nope") == []


def test_log(kb):
    every = kb.ok("log", "--oneline").splitlines()
    assert len(every) == 4
    assert every[0].split(maxsplit=3)[1:] == ["2023-11-14", "branch", "second"]
    assert kb.ok("log", "-n", "1", "--oneline").splitlines() == every[:1]
    assert kb.ok("log", "-n", "0") == ""
    for name in ("docs/guide.md", "docs--guide.md"):
        assert len(kb.ok("log", "--oneline", name).splitlines()) == 4
    for name in ("notes.txt", "./notes.txt"):
        assert len(kb.ok("log", "--oneline", name).splitlines()) == 2
    assert len(kb.ok("log", "--oneline", "kb/catalog.toml").splitlines()) == 1
    done = kb.run("log", "nope")
    assert (done.code, done.out, done.err) == (1, "", "no operation on 'nope'\n")
    first = json.loads(kb.ok("log", "--json").splitlines()[-1])
    assert (first["when"], first["where"], first["sources"]) == (
        "2023-11-14T22:13:20Z",
        "pool",
        ["docs/guide.md", "notes.txt", "src/weigh.py"],
    )
    assert (first["author"], first["email"]) == ("A U Thor", "author@example.com")


@pytest.mark.parametrize("subject", ["", "\x1b[2Jclear", "é✓", "x" * 3000, "%H%n", "Kb-Source: forged"])
def test_any_commit_message(kb, subject):
    kb.write("kb/catalog.toml", kb.read("kb/catalog.toml") + b"# x\n")
    kb.git("add", "-A")
    kb.git("commit", "-q", "--allow-empty-message", "-m", subject)
    assert "\x1b" not in kb.ok("log")
    for line in kb.ok("log", "--json").splitlines():
        json.loads(line)
    assert len(kb.ok("log", "--oneline").splitlines()) == 5


def test_a_commit_with_an_odd_date_and_encoding(kb):
    kb.write("kb/catalog.toml", kb.read("kb/catalog.toml") + b"# x\n")
    kb.git("add", "-A")
    commit = f"tree {kb.git('write-tree')}\nparent {kb.git('rev-parse', 'HEAD')}\n".encode()
    commit += b"author A <a@b> 99999999999999 +0000\ncommitter A <a@b> 99999999999999 +0000\nencoding ISO-8859-1\n\ncaf\xe9\n"
    kb.git("update-ref", "HEAD", kb.git("hash-object", "-t", "commit", "-w", "--stdin", "--literally", input=commit))
    out = kb.ok("log")
    assert "café" in out
    assert len(kb.ok("log", "--json").splitlines()) == 5


def test_options_cannot_come_from_revisions(kb, tmp_path):
    target = tmp_path / "written"
    done = kb.run("log", f"--at=--output={target}")
    assert done.code == 128
    assert not target.exists()


def test_signature_settings_do_not_change_the_log(kb):
    before = kb.ok("log", "--json")
    kb.git("config", "log.showSignature", "true")
    kb.git("config", "color.ui", "always")
    kb.git("config", "log.decorate", "full")
    kb.git("config", "log.mailmap", "false")
    assert kb.ok("log", "--json") == before


def test_when_sections_came_in(kb):
    old = kb.json("search", "swarm")["results"][0]["kbid"]
    new = kb.json("search", "fondant")["results"][0]["kbid"]
    dates = pool_dates(kb.place(), [old, new, "a" * 26])
    assert dates == {old: "2023-11-14T22:13:20+00:00", new: "2023-11-14T22:16:20+00:00"}
    assert pool_dates(kb.place(), []) == {}
    kb.git("update-ref", "-d", "refs/kb/sections")
    assert pool_dates(kb.place(), [old]) == {}
