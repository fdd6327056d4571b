"""The quick answer to "is the cached view current?"."""

import os

import pytest
from kb import Kb

from git_kb.repo.discover import discover
from git_kb.store.documents import worktree_documents
from git_kb.store.viewfile import Indexed, current_view, worktree_view_name


@pytest.fixture
def kb(tmp_path):
    return Kb.ready(tmp_path / "repo")


def is_current(kb, tree=None):
    opened = current_view(kb.place(), tree)
    if opened is None:
        return False
    view, segments = opened
    assert view.fits(segments)
    view.close()
    segments.close()
    return True


def test_names(kb, tmp_path):
    kb.git("worktree", "add", "-q", str(tmp_path / "linked"))
    main, linked = kb.place(), discover(str(tmp_path / "linked"))
    names = [worktree_view_name(p, cached) for p in (main, linked) for cached in (False, True)]
    assert names == ["worktree.kbv", "index.kbv", "worktree-linked.kbv", "index-linked.kbv"]


def test_after_an_ingest_it_is(kb):
    assert is_current(kb)


@pytest.mark.parametrize("change", ["new", "touched", "removed", "segments", "no view", "damaged", "no segment"])
def test_after_a_change_it_is_not(kb, change):
    path = kb.path("kb/documents/notes.txt.toml")
    if change == "new":
        kb.write("kb/documents/n.toml", "x")
    elif change == "touched":
        os.utime(path, (1, 1))
    elif change == "removed":
        os.unlink(path)
    elif change == "segments":
        kb.write(".git/kb/current", "")
    elif change == "no view":
        os.unlink(kb.path(".git/kb/views/worktree.kbv"))
    elif change == "damaged":
        kb.write(".git/kb/views/worktree.kbv", kb.read(".git/kb/views/worktree.kbv")[:-1])
    else:
        os.unlink(kb.path(f".git/kb/{next(iter(kb.segments()))}"))
    assert not is_current(kb)
    assert kb.run("search", "syrup").code == 0
    # The new one is damaged, which the long way tells each time.
    assert is_current(kb) == (change != "new")


def test_of_a_tree(kb):
    tree = kb.git("rev-parse", "HEAD:kb/documents")
    assert not is_current(kb, tree)
    kb.ok("search", "--at", "HEAD", "hive")
    assert is_current(kb, tree)


@pytest.mark.parametrize("many", [0, 500])
def test_what_is_indexed_is_the_same_looked_up_or_read_whole(kb, monkeypatch, many):
    monkeypatch.setattr(Indexed, "MANY", many)
    kb.write("fm.md", "---\ntitle: T\n---\n")
    kb.write("long.md", "# A\n\nOne.\n\n# B\n\nTwo.\n")
    kb.ok("ingest", "-q")
    indexed = Indexed(kb.place())
    documents = worktree_documents(kb.place())
    for name, stamp in documents.stamps.items():
        found = indexed.get(name)
        assert found is not None
        manifest = next(documents.load([name], pytest.fail))
        searched = [row for row in manifest.sections if not row.role]
        assert found == (stamp, sum(row.n_bytes for row in manifest.sections) if searched else 0)
    for name in ("", "a", "docs--guide.md.tom", "zz.toml"):
        assert indexed.get(name) is None
    indexed.close()
    assert indexed.get("long.md.toml") is None


@pytest.mark.parametrize("harm", ["gone", "cut", "zeros"])
def test_what_is_indexed_of_a_damaged_view_is_nothing(kb, harm):
    path = kb.path(".git/kb/views/worktree.kbv")
    data = kb.read(".git/kb/views/worktree.kbv")
    if harm == "gone":
        os.unlink(path)
    else:
        kb.write(".git/kb/views/worktree.kbv", data[:-1] if harm == "cut" else data[:4096] + bytes(len(data) - 4096))
    assert Indexed(kb.place()).get("docs--guide.md.toml") is None
