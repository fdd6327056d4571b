"""Which documents no longer say what their sources say."""

from __future__ import annotations

from collections.abc import Iterable

from git_kb.index.view import ViewDocument
from git_kb.model.source import path_of_source
from git_kb.repo.protocol import Repository
from git_kb.repo.worktree import DELETED, hash_files, list_sources
from git_kb.store.sourcestate import CHANGED, CURRENT, GONE, MAX_SOURCES, worktree_states
from git_kb.store.state import StateName


def stale_sources(repo: Repository, state: StateName, documents: Iterable[ViewDocument]) -> tuple[list[str], list[str]]:
    """Return (sources whose blob is another now, sources that are gone), in the same state as the documents.

    URLs are never either.
    """
    blobs = {d.source: d.blob for d in documents}
    paths = {path: source for source in blobs if (path := path_of_source(source)) is not None}
    if state.rev:
        now = _tree_blobs(repo, state.rev, paths)
    else:
        now = _index_blobs(repo, paths) if state.cached else _disk_blobs(repo, paths)
    stale = [s for p, s in paths.items() if now.get(p) not in (None, blobs[s])]
    gone = [s for p, s in paths.items() if now.get(p) is None]
    return sorted(stale), sorted(gone)


def source_states(repo: Repository, state: StateName, documents: Iterable[ViewDocument]) -> dict[str, str]:
    """Return source -> CURRENT, CHANGED or GONE, for the documents of a few hits, in the same state as they. URLs are left out."""
    if not state.rev and not state.cached:
        return worktree_states(repo.place, documents)
    few = {d.source: d for d in list(documents)[:MAX_SOURCES] if path_of_source(d.source) is not None}
    stale, gone = stale_sources(repo, state, few.values())
    return {**dict.fromkeys(few, CURRENT), **dict.fromkeys(stale, CHANGED), **dict.fromkeys(gone, GONE)}


def _tree_blobs(repo: Repository, rev: str, paths: Iterable[bytes]) -> dict[bytes, str]:
    tree = repo.tree_of(rev)
    return {p: entry.oid for p in paths if (entry := repo.entry_at(tree, p)) is not None}


def _index_blobs(repo: Repository, paths: Iterable[bytes]) -> dict[bytes, str]:
    wanted = set(paths)
    few = list(wanted) if len(wanted) <= MAX_SOURCES else ()
    # A path in conflict has no one blob: "" is another than the document's.
    return {file.path: file.oid or "" for file in list_sources(repo.place, few) if file.tracked and file.path in wanted}


def _disk_blobs(repo: Repository, paths: Iterable[bytes]) -> dict[bytes, str]:
    wanted = set(paths)
    now: dict[bytes, str] = {}
    changed = []
    for file in list_sources(repo.place):
        if file.path in wanted and file.state != DELETED:
            if file.changed or file.oid is None:
                changed.append(file.path)
            else:
                now[file.path] = file.oid
    refused: dict[bytes, str] = {}
    now.update(hash_files(repo.place, changed, refused))
    # Ignored files can be sources too, when they were named on the command line.
    now.update(hash_files(repo.place, wanted - now.keys() - refused.keys(), refused))
    # A file that git cannot read or clean is there: "" is another blob than the document's.
    now.update(dict.fromkeys(refused, ""))
    return now
