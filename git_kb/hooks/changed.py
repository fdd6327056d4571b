"""Which sources an operation of git has changed: what kb.autoIngest brings in again."""

from __future__ import annotations

import os

from git_kb.model.document import docid_of_path
from git_kb.repo.protocol import Repository, UnknownRevision
from git_kb.repo.trees import diff_trees
from git_kb.repo.worktree import CLEAN, list_sources
from git_kb.store.manifest import SUFFIX
from git_kb.store.root import DOCUMENTS


def changed_sources(repo: Repository, hook: str, arguments: list[str]) -> list[bytes]:
    """Return the documents' files that differ between before and now, in order. Those with changes on top of HEAD are left out:
    the manifests are to say what was committed.
    """
    directory = os.path.join(repo.place.work_tree or "", DOCUMENTS)
    before = _tree_before(repo, hook, arguments)
    if before == "":
        return []
    now = {c.path: c.new.oid for c in diff_trees(repo, before, repo.tree_of("HEAD")) if c.new is not None}
    paths = [path for path in now if os.path.lexists(os.path.join(directory, docid_of_path(path) + SUFFIX))]
    if not paths:
        return []
    return [f.path for f in list_sources(repo.place, paths) if f.state == CLEAN and f.oid == now.get(f.path)]


def _tree_before(repo: Repository, hook: str, arguments: list[str]) -> str | None:
    """Return the tree of before the operation; None for the empty tree, "" where nothing was changed, or git does not tell."""
    if hook == "post-rewrite" and arguments[:1] != ["rebase"]:
        # Of an amended commit, post-commit has seen to.
        return ""
    try:
        if hook == "post-commit":
            parents = repo.read_commit(repo.resolve("HEAD")).parents
            return repo.tree_of(parents[0]) if parents else None
        return repo.tree_of("ORIG_HEAD")
    except UnknownRevision:
        return ""
