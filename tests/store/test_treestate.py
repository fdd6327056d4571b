"""Revisions and their sources for the short way of search."""

import pytest
from kb import Kb

from git_kb.index.view import ViewDocument
from git_kb.store.sourcestate import CHANGED, CURRENT, GONE
from git_kb.store.staleness import source_states
from git_kb.store.state import StateName, documents_tree
from git_kb.store.treestate import resolve_trees, tree_states

NAMES = ["a.md", "with blank.md", "missing", "d/missing", "tab\tname.md", "\u00e9.md", "-dash.md"]


@pytest.fixture
def kb(tmp_path):
    kb = Kb.create(tmp_path / "repo", {name: f"# T\n\n{name}\n" for name in NAMES})
    kb.ok("init", "-q")
    kb.ok("ingest", "-q")
    kb.commit("one")
    kb.git("tag", "v1")
    kb.write("a.md", "# Other\n")
    kb.git("rm", "-q", "-f", "missing")
    kb.commit("two")
    return kb


@pytest.mark.parametrize("rev", ["HEAD", "HEAD~1", "v1", "main", "v1^{commit}", "HEAD^{tree}"])
def test_states_are_those_of_the_long_way(kb, rev):
    with kb.repo() as repo:
        trees = resolve_trees(kb.place(), rev)
        assert trees == (documents_tree(repo, rev), repo.tree_of(rev))
        blobs = dict(zip(NAMES, kb.git("rev-parse", *(f"v1:{n}" for n in NAMES)).split(), strict=True))
        documents = [ViewDocument("", b"", "", "", n, "", "", blobs[n], ()) for n in NAMES]
        documents.append(ViewDocument("", b"", "", "", "d", "", "", "0" * 40, ()))
        keep = {}
        states = tree_states(kb.place(), trees[1], documents, keep)
        assert states == source_states(repo, StateName(rev), documents)
        assert keep == {n: b"# T\n\n%s\n" % n.encode() for n in NAMES if states[n] == CURRENT}
        assert states["d"] == CHANGED
        assert states["missing"] == (CURRENT if "v1" in rev or "~" in rev else GONE)


@pytest.mark.parametrize(
    "rev", ["", "nope", "HEAD~9", "HEAD:a.md", "--help", "a\nHEAD", "HEAD missing", "v1 tree 1", "\udcff", "HEAD\0"]
)
def test_what_is_no_revision_is_left_to_the_long_way(kb, rev):
    assert resolve_trees(kb.place(), rev) is None


def test_a_revision_without_documents_is_left_to_the_long_way(tmp_path):
    kb = Kb.create(tmp_path / "repo")
    assert resolve_trees(kb.place(), "HEAD") is None
