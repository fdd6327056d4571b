"""Opening a knowledge base: its root, its configuration, its documents, in one of the states it can be read in."""

from __future__ import annotations

import os
from dataclasses import dataclass

from git_kb.repo.discover import NeedsWorkTree, Place
from git_kb.repo.protocol import DIRECTORY, Repository, UnknownRevision
from git_kb.repo.regular import read_regular
from git_kb.store.config import BadConfig, Config, parse_config
from git_kb.store.create import check_no_links
from git_kb.store.documents import Documents, index_documents, tree_documents, worktree_documents
from git_kb.store.root import CATALOG, CONFIG, DOCUMENTS, NoKnowledgeBase


@dataclass(frozen=True, slots=True)
class StateName:
    """Which state is meant: `rev` for a commit or tree, `cached` for the index, neither for the work tree."""

    rev: str = ""
    cached: bool = False

    def __str__(self) -> str:
        return f"'{self.rev}'" if self.rev else "the index" if self.cached else "the work tree"


def default_state(place: Place, rev: str | None, cached: bool) -> StateName:
    """Return the state that the options mean. Where there is no work tree, HEAD stands in for it."""
    if not rev and not cached and place.work_tree is None:
        return StateName("HEAD")
    return StateName(rev or "", cached)


def open_documents(repo: Repository, state: StateName) -> Documents:
    """Return the documents of a state. Raises NoKnowledgeBase, UnknownRevision."""
    place = repo.place
    if state.rev:
        return tree_documents(repo, documents_tree(repo, state.rev))
    if state.cached:
        return index_documents(repo)
    check_root(place)
    return worktree_documents(place)


def documents_tree(repo: Repository, rev: str) -> str | None:
    """Return the tree id of `kb/documents` at a revision, None when it has no documents.

    Raises NoKnowledgeBase, UnknownRevision.
    """
    if rev == "HEAD" and repo.read_ref("HEAD") is None:
        raise UnknownRevision(rev, "there is no commit yet")
    tree = repo.tree_of(rev)
    if repo.entry_at(tree, CATALOG.encode()) is None:
        raise NoKnowledgeBase(f"'{rev}'", stored=True)
    entry = repo.entry_at(tree, DOCUMENTS.encode())
    return entry.oid if entry and entry.mode == DIRECTORY else None


def check_root(place: Place) -> None:
    """Raise NoKnowledgeBase when the work tree has none, NeedsWorkTree when there is no work tree."""
    if place.work_tree is None:
        raise NeedsWorkTree(place.git_dir)
    check_no_links(place)
    if not os.path.isfile(os.path.join(place.work_tree, CATALOG)):
        raise NoKnowledgeBase(f"'{place.work_tree}'")


def worktree_config(place: Place) -> Config:
    """Return the configuration in the work tree; the defaults when there is no file. Raises BadConfig."""
    path = os.path.join(place.work_tree or "", CONFIG)
    if os.path.islink(path):
        return Config()
    try:
        data = read_regular(path)
    except FileNotFoundError:
        return Config()
    except OSError as e:
        raise BadConfig("", f"cannot be read: {e.strerror or e}") from None
    return parse_config(data)
