"""Sections made again from their sources, where the pool lacks them or has them damaged. What comes out has the name asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from git_kb.errors import Damaged
from git_kb.model.section import DamagedSection, Section, decode_section
from git_kb.model.source import path_of_source
from git_kb.repo.protocol import Repository
from git_kb.repo.worktree import FILE, UNTRACKED, SourceFile, read_sources
from git_kb.store.config import BadConfig, Config
from git_kb.store.cut import Limits, cut_source
from git_kb.store.pool import Pool, UnknownSection
from git_kb.store.state import worktree_config
from git_kb.text.chunk import Unusable

# Where sections stand: a document's source, the blob it was cut from, and their kbids.
Origin = tuple[str, str, set[str]]


def cut_again(repo: Repository, origins: Iterable[Origin]) -> Iterator[dict[str, bytes]]:
    """Yield kbid -> section object of those wanted sections that can be made, a source at a time.

    The source's bytes come from the object database, or from the work tree where the file still has them. Nothing is written.
    """
    limits = likely_limits(repo)
    not_stored: list[tuple[bytes, str, set[str]]] = []
    for source, blob, wanted in origins:
        path = path_of_source(source)
        if path is None or not wanted:
            continue
        if (data := _stored(repo, blob)) is not None:
            yield _cut(path, data, wanted, limits)
        else:
            not_stored.append((path, blob, wanted))
    if not_stored and repo.place.work_tree is not None:
        yield from _cut_from_disk(repo, not_stored, limits)


def read_or_cut(pool: Pool, kbid: str, origins: Iterable[tuple[str, str]]) -> Section:
    """Return a section from the pool, or from one of the documents (source, blob) that have it.

    Raises UnknownSection, DamagedSection as the pool does when neither gives it.
    """
    try:
        return pool.read(kbid)
    except (UnknownSection, DamagedSection):
        for objects in cut_again(pool.repo, ((source, blob, {kbid}) for source, blob in origins)):
            if kbid in objects:
                return decode_section(objects[kbid], kbid)
        raise


def likely_limits(repo: Repository) -> list[Limits]:
    """Return the chunk sizes that manifests may have been cut with: the configuration's, then the defaults."""
    tried = [Config()]
    if repo.place.work_tree is not None:
        try:
            tried.insert(0, worktree_config(repo.place))
        except BadConfig:
            pass  # whoever needs the configuration itself says so
    return list(dict.fromkeys(Limits(c.chunk_target, c.chunk_ceiling) for c in tried))


def _stored(repo: Repository, blob: str) -> bytes | None:
    try:
        return repo.read_blob(blob) if repo.has_object(blob) else None
    except Damaged:
        return None


def _cut_from_disk(
    repo: Repository, not_stored: list[tuple[bytes, str, set[str]]], limits: list[Limits]
) -> Iterator[dict[str, bytes]]:
    files = [SourceFile(path, FILE, None, tracked=False, state=UNTRACKED, changed=True) for path, _, _ in not_stored]
    asked = {(path, blob): wanted for path, blob, wanted in not_stored}
    merged = "0" * repo.place.oid_hex_length
    for file, data in read_sources(repo.place, files, lambda error: None):
        # Rows of a merge belong to no one blob; most of them are in the source that git merged.
        wanted = asked.get((file.path, file.oid or ""), set()) | asked.get((file.path, merged), set())
        if wanted:
            yield _cut(file.path, data, wanted, limits)


def _cut(path: bytes, data: bytes, wanted: set[str], limits: list[Limits]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for sizes in limits:
        try:
            objects = cut_source(path, data, sizes).objects
        except Unusable:
            break
        found.update((kbid, objects[kbid]) for kbid in wanted & objects.keys())
        if len(found) == len(wanted):
            break
    return found
