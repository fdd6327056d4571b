"""Which documents no longer say what their sources say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from git_kb.errors import Damaged
from git_kb.index.view import ViewDocument
from git_kb.model.document import FRONT_MATTER
from git_kb.model.source import path_of_source
from git_kb.repo.protocol import FILE, Repository
from git_kb.repo.worktree import DELETED, UNTRACKED, SourceFile, hash_files, list_sources, read_sources
from git_kb.store.again import likely_limits
from git_kb.store.cut import Limits, cut_source
from git_kb.store.manifest import SUFFIX, read_origin
from git_kb.store.sourcestate import CHANGED, CURRENT, GONE, MAX_SOURCES, worktree_states
from git_kb.store.state import StateName, open_documents
from git_kb.text.chunk import Unusable


def stale_sources(repo: Repository, state: StateName, documents: Iterable[ViewDocument]) -> tuple[list[str], list[str]]:
    """Return (sources whose blob is another now, sources that are gone), in the same state as the documents.

    URLs are never either.
    """
    blobs = {d.source: d.blob for d in documents}
    paths = {path: source for source in blobs if (path := path_of_source(source)) is not None}
    now = _blobs_now(repo, state, paths)
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


def lost_headings(repo: Repository, state: StateName, warn: Callable[[str], None]) -> dict[str, list[str]]:
    """Return source -> headings of its sections that it has no more, for the documents of a state; all of a source that is gone.

    A source that cannot be cut any more has none. Raises NoKnowledgeBase, UnknownRevision.
    """
    documents = open_documents(repo, state)
    # Most documents are as their sources are, so only the heads of their manifests are looked at.
    origins = {name: origin for name, data in documents.read(list(documents.stamps)) if (origin := read_origin(data)) is not None}
    unread = list(documents.load((name for name in documents.stamps if name not in origins), warn))
    origins.update((m.docid + SUFFIX, (m.source, m.blob)) for m in unread)
    paths = {path: name for name, (source, _) in origins.items() if (path := path_of_source(source)) is not None}
    now = _blobs_now(repo, state, paths)
    other = {name: path for path, name in paths.items() if now.get(path) != origins[name][1]}
    manifests = {other[m.docid + SUFFIX]: m for m in documents.load(other, lambda message: None)}
    found: dict[str, list[str]] = {}
    for path, data in _read_now(repo, state, {path: oid for path in manifests if (oid := now.get(path)) is not None}):
        here = _headings_of(path, data, likely_limits(repo))
        rows = manifests[path].sections
        found[manifests[path].source] = [row.heading[-1] for row in rows if row.heading and row.heading[-1] not in here]
    for path, manifest in manifests.items():
        if now.get(path) is None:
            rows = tuple(row for row in manifest.sections if row.role != FRONT_MATTER)
            found[manifest.source] = [row.heading[-1] if row.heading else "" for row in rows]
    return {source: headings for source, headings in sorted(found.items()) if headings}


def _blobs_now(repo: Repository, state: StateName, paths: Iterable[bytes]) -> dict[bytes, str]:
    if state.rev:
        return _tree_blobs(repo, state.rev, paths)
    return _index_blobs(repo, paths) if state.cached else _disk_blobs(repo, paths)


def _read_now(repo: Repository, state: StateName, changed: dict[bytes, str]) -> Iterator[tuple[bytes, bytes]]:
    """Yield (path, bytes) of files that a state has; those that cannot be read are passed over."""
    if state.rev or state.cached:
        for path, oid in changed.items():
            try:
                yield path, repo.read_blob(oid)
            except Damaged:
                continue
        return
    files = [SourceFile(path, FILE, None, tracked=False, state=UNTRACKED, changed=True) for path in changed]
    for file, data in read_sources(repo.place, files, lambda error: None):
        yield file.path, data


def _headings_of(path: bytes, data: bytes, limits: list[Limits]) -> set[str]:
    try:
        return {heading for row in cut_source(path, data, limits[0]).rows for heading in row.heading}
    except Unusable:
        return set()


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
