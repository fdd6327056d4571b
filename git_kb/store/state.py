"""Opening a knowledge base: its root, its configuration, its documents, in one of the states it can be read in."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from git_kb.errors import KbError, NewerFormat
from git_kb.repo.discover import NeedsWorkTree, Place
from git_kb.repo.process import git_at
from git_kb.repo.protocol import DIRECTORY, EXECUTABLE, FILE, Repository, UnknownRevision
from git_kb.repo.regular import read_regular
from git_kb.store.catalog import DamagedCatalog, check_catalog
from git_kb.store.config import BadConfig, Config, parse_config
from git_kb.store.create import check_checked_out, check_no_links
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
    """Return the state that the options mean. Where there is no work tree, HEAD stands in for it. Raises UnknownRevision for ""."""
    if rev == "":
        raise UnknownRevision(rev, "the name is empty")
    if not rev and not cached and place.work_tree is None:
        return StateName("HEAD")
    return StateName(rev or "", cached)


def open_documents(repo: Repository, state: StateName, on_bad_catalog: Callable[[KbError], None] | None = None) -> Documents:
    """Return the documents of a state. Raises NoKnowledgeBase, UnknownRevision.

    A catalog that is damaged or of a later format goes to `on_bad_catalog`, or raises DamagedCatalog or NewerFormat.
    """
    try:
        check_catalog(_read_catalog(repo, state))
    except (DamagedCatalog, NewerFormat) as e:
        if on_bad_catalog is None:
            raise
        on_bad_catalog(e)
    if state.rev:
        return tree_documents(repo, documents_tree(repo, state.rev))
    return index_documents(repo) if state.cached else worktree_documents(repo.place)


def _read_catalog(repo: Repository, state: StateName) -> bytes:
    if state.rev:
        return repo.read_blob(_catalog_in(repo, state.rev))
    if not state.cached:
        return _worktree_catalog(repo.place)
    _, out = git_at(repo.place, ["ls-files", "-s", "-z", "--", CATALOG])
    for row in out.split(b"\0")[:-1]:
        oid, stage = row.partition(b"\t")[0].split()[1:]
        if stage != b"0":
            raise DamagedCatalog("it has a merge conflict")
        return repo.read_blob(oid.decode())
    raise NoKnowledgeBase(str(state), stored=True)


def documents_tree(repo: Repository, rev: str) -> str | None:
    """Return the tree id of `kb/documents` at a revision, None when it has no documents.

    Raises NoKnowledgeBase, UnknownRevision.
    """
    _catalog_in(repo, rev)
    entry = repo.entry_at(repo.tree_of(rev), DOCUMENTS.encode())
    return entry.oid if entry and entry.mode == DIRECTORY else None


def _catalog_in(repo: Repository, rev: str) -> str:
    """Return the blob id of the catalog at a revision. Raises NoKnowledgeBase, UnknownRevision."""
    if rev == "HEAD" and repo.read_ref("HEAD") is None:
        raise UnknownRevision(rev, "there is no commit yet")
    entry = repo.entry_at(repo.tree_of(rev), CATALOG.encode())
    if entry is None:
        raise NoKnowledgeBase(f"'{rev}'", stored=True)
    if entry.mode not in (FILE, EXECUTABLE):
        raise DamagedCatalog("it is not a regular file")
    return entry.oid


def check_root(place: Place) -> None:
    """Raise NoKnowledgeBase when the work tree has none (NotCheckedOut: the index has), NeedsWorkTree when there is no work tree.

    Raises DamagedCatalog and NewerFormat where it has one that cannot be used.
    """
    check_catalog(_worktree_catalog(place))


def _worktree_catalog(place: Place) -> bytes:
    if place.work_tree is None:
        raise NeedsWorkTree(place.git_dir)
    check_no_links(place)
    path = os.path.join(place.work_tree, CATALOG)
    if not os.path.isfile(path):
        check_checked_out(place)
        raise NoKnowledgeBase(f"'{place.work_tree}'")
    try:
        return read_regular(path)
    except OSError as e:
        raise DamagedCatalog(f"it cannot be read: {e.strerror or e}") from None


def state_config(repo: Repository, state: StateName) -> Config:
    """Return the configuration of a state; the defaults where it has none. Raises BadConfig, UnknownRevision."""
    data = state_file(repo, state, CONFIG)
    return Config() if data is None else parse_config(data)


def state_file(repo: Repository, state: StateName, path: str) -> bytes | None:
    """Return the bytes of a tracked file of ours in a state, None without it. Raises BadConfig for what is no regular file."""
    if state.rev:
        entry = repo.entry_at(repo.tree_of(state.rev), path.encode())
        if entry is None:
            return None
        if entry.mode not in (FILE, EXECUTABLE):
            raise BadConfig("", "cannot be read: not a regular file")
        return repo.read_blob(entry.oid)
    if state.cached:
        _, out = git_at(repo.place, ["ls-files", "-s", "-z", "--", path])
        for row in out.split(b"\0")[:-1]:
            mode, oid, stage = row.partition(b"\t")[0].split()
            if stage != b"0":
                raise BadConfig("", "has a merge conflict")
            if mode not in (b"100644", b"100755"):
                raise BadConfig("", "cannot be read: not a regular file")
            return repo.read_blob(oid.decode())
        return None
    try:
        return read_regular(os.path.join(repo.place.work_tree or "", path))
    except FileNotFoundError:
        return None
    except OSError as e:
        raise BadConfig.unreadable(e) from None


def worktree_config(place: Place) -> Config:
    """Return the configuration in the work tree; the defaults when there is no file. Raises BadConfig."""
    try:
        data = read_regular(os.path.join(place.work_tree or "", CONFIG))
    except FileNotFoundError:
        return Config()
    except OSError as e:
        raise BadConfig.unreadable(e) from None
    return parse_config(data)
