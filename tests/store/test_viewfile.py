"""The quick answer to "is the cached view current?"."""

import os

import pytest
from kb import Kb

from git_kb.repo.discover import discover
from git_kb.store.viewfile import current_view, worktree_view_name


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
