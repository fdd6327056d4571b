"""What differs between two states of a knowledge base: documents, and within them sections.

`compare` is a function of manifests alone; `changed_manifests` finds those that are worth comparing. Claims of wiki pages, once
there are any, are one more list beside the sections of a `DocumentChange`.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from git_kb.model.document import Manifest, SectionRow
from git_kb.model.source import source_keys
from git_kb.repo.process import git_at
from git_kb.repo.protocol import Repository
from git_kb.store.documents import Documents
from git_kb.store.manifest import SUFFIX
from git_kb.store.root import DOCUMENTS, NoKnowledgeBase
from git_kb.store.state import StateName, open_documents

ADDED, REMOVED, CHANGED, RENAMED, MOVED = "added", "removed", "changed", "renamed", "moved"
# A document that came with at least this part of the sections of one that went is the same document, renamed; as for `ingest`.
RENAMED_SHARE = 0.5
# What may change in a document beside its sections, in the order of the manifest.
FIELDS = ("title", "type", "encoding", "chunker", "language", "tier", "tags")


class Spot(NamedTuple):
    """A section where it stands: its manifest, its row, and the first line from 1."""

    manifest: Manifest
    row: SectionRow
    line: int

    @property
    def citation(self) -> str:
        return f"{self.manifest.docid}#{self.row.chunk}"


class SectionChange(NamedTuple):
    """One section that differs. `status`: ADDED, REMOVED, CHANGED (other content), MOVED (the same content elsewhere).

    `has_moved`: it stands at another place among the sections that both documents have, or in another document.
    """

    status: str
    old: Spot | None
    new: Spot | None
    has_moved: bool = False

    @property
    def spot(self) -> Spot:
        """Where it is now; where it was, of a removed one."""
        spot = self.new or self.old
        assert spot is not None
        return spot


@dataclass(slots=True)
class DocumentChange:
    """One document that differs. `status`: ADDED, REMOVED, CHANGED, RENAMED.

    sections: those that differ, in the order of the new document, removed ones where they stood. A section that moved to another
    document is in the lists of both. similarity: part of the sections that stayed, 0 to 1. fields: (key, old value, new value).
    """

    status: str
    old: Manifest | None
    new: Manifest | None
    similarity: float = 1.0
    sections: list[SectionChange] = field(default_factory=list)
    fields: list[tuple[str, Any, Any]] = field(default_factory=list)

    @property
    def manifest(self) -> Manifest:
        """The new manifest; the old one of a removed document."""
        manifest = self.new or self.old
        assert manifest is not None
        return manifest


def difference(
    repo: Repository,
    old: StateName,
    new: StateName,
    warn: Callable[[str], None],
    note: Callable[[str], None] = lambda message: None,
    renames: bool = True,
) -> list[DocumentChange]:
    """Return what differs between two states, sorted by source. Only `new` may be the work tree.

    A state without a knowledge base, and HEAD before the first commit, is empty; `note` is told. A manifest that cannot be read
    in one of the two is left out of both. Raises NoKnowledgeBase when there is none in either, UnknownRevision.
    """
    missing: list[tuple[StateName, NoKnowledgeBase]] = []
    sides = [documents_or_none(repo, state, missing) for state in (old, new)]
    if len(missing) == len(sides):
        raise missing[-1][1]
    for state, _ in missing:
        note(f"no knowledge base in {state}: there, it counts as empty")
    names = changed_manifests(repo, old, new, *sides)
    loaded = []
    unreadable: set[str] = set()
    for side in sides:
        asked = [name for name in names if name in side.stamps]
        manifests = {m.docid: m for m in side.load(asked, warn)}
        # A damaged manifest says nothing of whether its document is there.
        unreadable.update(name for name in asked if name.removesuffix(SUFFIX) not in manifests)
        loaded.append(manifests)
    left_out = {name.removesuffix(SUFFIX) for name in unreadable}
    before, after = ([m for docid, m in side.items() if docid not in left_out] for side in loaded)
    return compare(before, after, renames)


def changed_manifests(repo: Repository, old: StateName, new: StateName, before: Documents, after: Documents) -> list[str]:
    """Return the file names of the manifests that may differ between two states, sorted."""
    if after.stored:
        both = before.stamps.keys() | after.stamps.keys()
        return sorted(name for name in both if before.stamps.get(name) != after.stamps.get(name))
    names = after.stamps.keys() - before.stamps.keys()
    if before.stamps:
        # Git knows what it need not read again, and that a sparse checkout deletes nothing.
        arguments = ["diff", "--name-only", "--no-renames", "--no-ext-diff", "-z", "--end-of-options", old.rev, "--", DOCUMENTS]
        _, out = git_at(repo.place, arguments, env={"GIT_LITERAL_PATHSPECS": "1"})
        told = {os.path.basename(os.fsdecode(path)) for path in out.split(b"\0")[:-1]}
        names |= told & (before.stamps.keys() | after.stamps.keys())
    return sorted(names)


def documents_or_none(repo: Repository, state: StateName, missing: list[tuple[StateName, NoKnowledgeBase]]) -> Documents:
    """Return the documents of a state; none before the first commit, and, noted in `missing`, where there is no knowledge base."""
    empty = Documents({}, b"", lambda names: iter(()), stored=True)
    if state.rev == "HEAD" and repo.read_ref("HEAD") is None:
        return empty
    try:
        return open_documents(repo, state)
    except NoKnowledgeBase as e:
        missing.append((state, e))
        return empty


def compare(old: Iterable[Manifest], new: Iterable[Manifest], renames: bool = True) -> list[DocumentChange]:
    """Return what differs between two sets of manifests, sorted by source; those that are equal may be left out of both."""
    before, after = ({m.docid: m for m in side} for side in (old, new))
    pairs: list[tuple[Manifest | None, Manifest | None, str, float]] = []
    gone = {docid: m for docid, m in before.items() if docid not in after}
    come = {docid: m for docid, m in after.items() if docid not in before}
    if renames:
        for was, now in _renamed(gone, come):
            pairs.append((was, now, RENAMED, _similarity(was, now)))
            del gone[was.docid], come[now.docid]
    pairs += [(m, None, REMOVED, 0.0) for m in gone.values()]
    pairs += [(None, m, ADDED, 0.0) for m in come.values()]
    for docid, now in after.items():
        if docid in before and before[docid] != now:
            pairs.append((before[docid], now, CHANGED, _similarity(before[docid], now)))
    changes = []
    for left, right, status, similarity in pairs:
        change = DocumentChange(status, left, right, similarity, _sections(left, right), _fields(left, right))
        if change.sections or change.fields or status != CHANGED:
            changes.append(change)
    _join_moves(changes)
    return sorted(changes, key=lambda change: (change.manifest.source, change.manifest.docid))


def _renamed(gone: dict[str, Manifest], come: dict[str, Manifest]) -> list[tuple[Manifest, Manifest]]:
    """Return (old, new) of documents that only changed their name: by what ingest saw, by equal sources, by shared sections."""
    left = dict(gone)
    by_source = {m.source: m for m in gone.values()}
    by_blob: dict[str, list[Manifest]] = {}
    by_kbid: dict[str, list[Manifest]] = {}
    for manifest in gone.values():
        by_blob.setdefault(manifest.blob, []).append(manifest)
        for kbid in {row.kbid for row in manifest.sections}:
            by_kbid.setdefault(kbid, []).append(manifest)

    def moved_from(now: Manifest) -> Manifest | None:
        was = by_source.get(now.moved_from)
        return was if was is not None and was.docid in left else None

    def same_blob(now: Manifest) -> Manifest | None:
        return next((m for m in by_blob.get(now.blob, ()) if m.docid in left), None)

    def shared_sections(now: Manifest) -> Manifest | None:
        shared: dict[str, int] = {}
        for kbid in {row.kbid for row in now.sections}:
            # A section that stands everywhere (a licence, say) tells nothing, and would cost much.
            for holder in by_kbid.get(kbid, ())[:100]:
                if holder.docid in left:
                    shared[holder.docid] = shared.get(holder.docid, 0) + 1
        best = min(shared, key=lambda docid: (-shared[docid], docid), default=None)
        if best is None or shared[best] < RENAMED_SHARE * max(len(now.sections), len(left[best].sections)):
            return None
        return left[best]

    found = []
    new = {docid: come[docid] for docid in sorted(come)}
    for match in (moved_from, same_blob, shared_sections):
        for docid, now in list(new.items()):
            former = match(now) if left else None
            if former is not None:
                found.append((former, now))
                del left[former.docid], new[docid]
    return found


def _similarity(old: Manifest, new: Manifest) -> float:
    if old.blob == new.blob:
        return 1.0
    counts: dict[str, int] = {}
    for row in old.sections:
        counts[row.kbid] = counts.get(row.kbid, 0) + 1
    shared = 0
    for row in new.sections:
        if counts.get(row.kbid, 0):
            counts[row.kbid] -= 1
            shared += 1
    return shared / max(len(old.sections), len(new.sections), 1)


def _fields(old: Manifest | None, new: Manifest | None) -> list[tuple[str, Any, Any]]:
    if old is None or new is None:
        return []
    fields = [(key, getattr(old, key), getattr(new, key)) for key in FIELDS if getattr(old, key) != getattr(new, key)]
    before, after = dict(old.extra), dict(new.extra)
    fields += [
        (key, before.get(key), after.get(key)) for key in dict.fromkeys((*before, *after)) if before.get(key) != after.get(key)
    ]
    return fields


def spots(manifest: Manifest | None) -> list[Spot]:
    """Return the sections of a document where they stand, in order; none for None."""
    if manifest is None:
        return []
    return [Spot(manifest, row, line) for row, (line, _, _) in zip(manifest.sections, manifest.spans(), strict=True)]


def match_rows(old: Manifest, new: Manifest) -> list[tuple[int, int]]:
    """Return (number in old, number in new) of rows that are the same section, sorted by the second.

    In this order: the same key and content; the same content; the same key; what the new row says it supersedes. Keys count from
    the source's name, so those of a renamed document are made again from its headings.
    """
    before = [row.source_key for row in old.sections]
    if old.source != new.source:
        before = source_keys(new.source, [row.heading for row in old.sections])
    rows, others = old.sections, new.sections
    left, right = dict.fromkeys(range(len(rows))), dict.fromkeys(range(len(others)))
    pairs: list[tuple[int, int]] = []

    def join(name: Callable[[int], Hashable], other: Callable[[int], Hashable]) -> None:
        waiting: dict[Hashable, deque[int]] = {}
        for i in left:
            waiting.setdefault(name(i), deque()).append(i)
        for j in list(right):
            queue = waiting.get(other(j))
            if queue:
                pairs.append((queue.popleft(), j))
                del right[j], left[pairs[-1][0]]

    join(lambda i: (before[i], rows[i].kbid), lambda j: (others[j].source_key, others[j].kbid))
    join(lambda i: rows[i].kbid, lambda j: others[j].kbid)
    join(lambda i: before[i], lambda j: others[j].source_key)
    join(lambda i: rows[i].kbid, lambda j: others[j].supersedes)
    return sorted(pairs, key=lambda pair: pair[1])


def _sections(old: Manifest | None, new: Manifest | None) -> list[SectionChange]:
    before, after = spots(old), spots(new)
    pairs = match_rows(old, new) if old is not None and new is not None else []
    in_place = set(_longest_rising([i for i, _ in pairs]))
    partner = {j: i for i, j in pairs}
    kept = {i for i, _ in pairs}
    changes: list[SectionChange] = []
    n_told = 0

    def tell_removed(end: int) -> None:
        nonlocal n_told
        changes.extend(SectionChange(REMOVED, before[i], None) for i in range(n_told, end) if i not in kept)
        n_told = max(n_told, end)

    for j, spot in enumerate(after):
        i = partner.get(j)
        if i is None:
            changes.append(SectionChange(ADDED, None, spot))
            continue
        has_moved = i not in in_place
        if not has_moved:
            tell_removed(i)
        if before[i].row.kbid != spot.row.kbid:
            changes.append(SectionChange(CHANGED, before[i], spot, has_moved))
        elif has_moved:
            changes.append(SectionChange(MOVED, before[i], spot, True))
    tell_removed(len(before))
    return changes


def _longest_rising(numbers: Sequence[int]) -> list[int]:
    """Return a longest strictly rising subsequence of distinct numbers (patience sorting, n log n)."""
    tails: list[int] = []
    tail_at: list[int] = []
    previous = [-1] * len(numbers)
    for at, number in enumerate(numbers):
        length = bisect_left(tails, number)
        previous[at] = tail_at[length - 1] if length else -1
        tails[length : length + 1] = [number]
        tail_at[length : length + 1] = [at]
    rising = []
    at = tail_at[-1] if tail_at else -1
    while at >= 0:
        rising.append(numbers[at])
        at = previous[at]
    return rising[::-1]


def _join_moves(changes: list[DocumentChange]) -> None:
    """Make one move of a section that one document lost and another one gained."""
    lost: dict[str, deque[tuple[DocumentChange, int]]] = {}
    for change in changes:
        for number, section in enumerate(change.sections):
            if section.status == REMOVED and section.old is not None:
                lost.setdefault(section.old.row.kbid, deque()).append((change, number))
    for change in changes:
        for number, section in enumerate(change.sections):
            queue = lost.get(section.spot.row.kbid) if section.status == ADDED else None
            # What one document lost and gained itself has been joined already.
            if queue:
                other, at = queue.popleft()
                move = SectionChange(MOVED, other.sections[at].old, section.new, True)
                change.sections[number] = other.sections[at] = move
