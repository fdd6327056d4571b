"""Bringing view and segments up to date with one state of the knowledge base.

Views and segments are caches. This module makes what is missing, from the manifests and the pool, and from
the sources where the pool lacks a section. It takes the lock only to publish segments; when another process
has it, the answer comes from what is there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TypeVar

from git_kb.index.build import Entry, build_segments, context_of, entry_id
from git_kb.index.pagefile import DamagedSegment, OtherFeature
from git_kb.index.references import drop_files
from git_kb.index.segment import MAX_ENTRIES, Segment
from git_kb.index.segments import DIRECTORY, Segments, merge_and_publish, publish, read_current, write_segment
from git_kb.index.signatures import drop_signatures
from git_kb.index.view import (
    VIEWS,
    View,
    ViewDocument,
    ViewPart,
    ViewRow,
    encode_documents,
    encode_view,
    is_view_name,
    join_parts,
    write_view,
)
from git_kb.model.document import FRONT_MATTER, Manifest
from git_kb.model.section import decode_section, kbid_bytes, kbid_of_entry
from git_kb.repo.discover import Place
from git_kb.repo.lockfile import CannotWrite, Locked
from git_kb.repo.objects import object_id
from git_kb.repo.pack import CannotWritePack
from git_kb.repo.protocol import RefLocked, RefRefused, Repository
from git_kb.repo.regular import InTheWay
from git_kb.store.again import Origin, cut_again
from git_kb.store.collector import paused_collector
from git_kb.store.datefile import drop_dates
from git_kb.store.documents import Documents, some_documents
from git_kb.store.manifest import SUFFIX
from git_kb.store.mend import mend, oddities
from git_kb.store.pool import Pool, PoolWriter
from git_kb.store.root import POOL_REF
from git_kb.store.state import StateName, open_documents
from git_kb.store.viewfile import worktree_view_name
from git_kb.store.workers import in_workers

T = TypeVar("T")
MAX_VIEWS = 20
# Views that are looked at for documents to take over: a look takes 20 ms for 10,000.
MAX_CANDIDATES = 4
MIN_SLICED = 40_000
# Below this many manifests, starting workers to read them costs more than it saves; above, a worker gets so many at once.
MIN_PARALLEL = 3_000
LOT_DOCUMENTS = 1_000
# What a repository raises that we may not write to, or not just now.
NOT_STORED = (CannotWrite, CannotWritePack, InTheWay, RefLocked, RefRefused, OSError)


class Hooks:
    """What freshness needs of the outside.

    warn, note: for the user. lock: gives the writer's lock, to be entered. jobs: worker processes for much
    work.
    """

    __slots__ = ("jobs", "lock", "note", "progress", "warn")

    def __init__(
        self,
        warn: Callable[[str], None],
        note: Callable[[str], None],
        lock: Callable[[], AbstractContextManager[object]],
        progress: Callable[[str, int, int], None] = lambda stage, done, total: None,
        jobs: int = 1,
    ):
        self.warn, self.note, self.lock, self.progress, self.jobs = warn, note, lock, progress, jobs


def fresh_view(repo: Repository, state: StateName, hooks: Hooks, rebuild: bool = False) -> tuple[View, Segments]:
    """Return the view of a state and the segments it fits, with everything indexed that can be.

    `rebuild` drops all segments first. Raises NoKnowledgeBase, UnknownRevision.
    """
    kb_dir = repo.place.kb_dir
    documents = open_documents(repo, state)
    try:
        mend(kb_dir, hooks.warn)
    except InTheWay as e:
        hooks.warn(str(e))
    path = view_path(repo, state, documents)
    old = _open_view(path)
    if rebuild:
        with hooks.lock():
            _drop_all(kb_dir)
        old = None
    if old is None:
        old = _nearest_view(kb_dir, documents)
    segments = Segments.open(kb_dir)
    for name, error in segments.damaged:
        if not isinstance(error, OtherFeature):
            hooks.warn(f"segment '{name}' cannot be used ({error}); what it held is indexed again")
    if old is None or old.key != documents.key or not old.fits(segments) or old.n_missing or segments.damaged:
        with paused_collector():
            segments, old = _bring_up_to_date(repo, documents, old, segments, hooks, path)
    for message in old.skipped:
        hooks.warn(message)
    return old, segments


def with_fresh_view(repo: Repository, state: StateName, hooks: Hooks, use: Callable[[View, Segments], T]) -> T:
    """Return `use(view, segments)` over what `fresh_view` gives.

    Pages are checked when they are first read, so a damaged one shows only now: then the file it is in is
    dropped and made again, and `use` is called once more. Raises DamagedSegment where it cannot be dropped.
    """
    try:
        return use(*fresh_view(repo, state, hooks))
    except DamagedSegment as e:
        hooks.warn(f"{e}; it is made again")
        try:
            drop_damaged(repo.place.kb_dir, hooks)
        except (CannotWrite, InTheWay, Locked, OSError):
            raise e from None
    return use(*fresh_view(repo, state, hooks))


def drop_damaged(kb_dir: str, hooks: Hooks) -> None:
    """Check each page of each segment and view, and drop the files that fail. Raises Locked, CannotWrite, OSError."""
    with hooks.lock():
        sound = []
        for name in read_current(kb_dir):
            try:
                segment = Segment(os.path.join(kb_dir, DIRECTORY, name), name)
            except (FileNotFoundError, DamagedSegment, OtherFeature):
                continue
            try:
                segment.verify()
                sound.append((name, segment.n_entries))
            except DamagedSegment:
                continue
            finally:
                segment.close()
        publish(kb_dir, sound)
        views = os.path.join(kb_dir, VIEWS)
        for name in _view_names(views):
            path = os.path.join(views, name)
            view = _open_view(path)
            try:
                if view is not None:
                    view.file.verify()
                    continue
            except DamagedSegment:
                pass
            finally:
                if view is not None:
                    view.close()
            os.unlink(path)


def read_view(repo: Repository, state: StateName, hooks: Hooks) -> tuple[View, Segments]:
    """Return the view of a state as it is, with nothing indexed or stored.

    `n_missing` says what a search would have to do.
    """
    documents = open_documents(repo, state)
    path = view_path(repo, state, documents)
    for odd, what in oddities(repo.place.kb_dir):
        hooks.warn(f"'{odd}' is {what}; the next search moves it aside")
    segments = Segments.open(repo.place.kb_dir)
    old = _open_view(path)
    if old is None or old.key != documents.key or not old.fits(segments):
        skipped: list[str] = []
        part = join_parts(_parts(repo, documents, old or _nearest_view(repo.place.kb_dir, documents), hooks, {}, skipped))
        old = View.over(path, encode_view(documents.key, part, segments, skipped))
    for message in old.skipped:
        hooks.warn(message)
    return old, segments


def view_path(repo: Repository, state: StateName, documents: Documents) -> str:
    """Return where the view of a state is kept."""
    views = os.path.join(repo.place.kb_dir, VIEWS)
    if state.rev:
        return os.path.join(views, documents.key.decode().replace(" ", "-") + ".kbv")
    return os.path.join(views, worktree_view_name(repo.place, state.cached))


def _open_view(path: str) -> View | None:
    try:
        return View(path)
    except (OSError, DamagedSegment, OtherFeature):
        return None


def _nearest_view(kb_dir: str, documents: Documents) -> View | None:
    """Return the view, of the few last written, that has the most documents in common with a state; None when none has any."""
    directory = os.path.join(kb_dir, VIEWS)
    ages = []
    for name in _view_names(directory):
        try:
            ages.append((os.stat(os.path.join(directory, name)).st_mtime, name))
        except OSError:
            continue
    best, n_best = None, 0
    for _, name in sorted(ages)[-MAX_CANDIDATES:]:
        view = _open_view(os.path.join(directory, name))
        n_common = len(_unchanged(documents, view)) if view is not None else 0
        if n_common > n_best:
            best, n_best = view, n_common
    return best


def _unchanged(documents: Documents, view: View) -> dict[str, int]:
    """Return name -> number in a view of the documents that stand in a state as the view has them."""
    stamps = documents.stamps
    try:
        if not documents.stored:
            return view.unchanged(stamps)
        return {name: n for n, (name, _, oid) in enumerate(view.stamps()) if name in stamps and stamps[name].hex() == oid}
    except DamagedSegment:
        return {}


def _view_names(directory: str) -> list[str]:
    """Return the file names of the views in a directory, sorted. Whatever else is there is not ours."""
    try:
        return sorted(filter(is_view_name, os.listdir(directory)))
    except OSError:
        return []


def _drop_all(kb_dir: str) -> None:
    publish(kb_dir, [])
    drop_files(kb_dir)
    drop_signatures(kb_dir)
    drop_dates(kb_dir)
    views = os.path.join(kb_dir, VIEWS)
    for name in _view_names(views):
        os.unlink(os.path.join(views, name))


def _bring_up_to_date(
    repo: Repository, documents: Documents, old: View | None, segments: Segments, hooks: Hooks, path: str
) -> tuple[Segments, View]:
    """Return (segments, view) for the documents, making and storing what is missing."""
    headings: dict[bytes, str] = {}
    skipped: list[str] = []
    if old is None or old.key != documents.key:
        part = join_parts(_parts(repo, documents, old, hooks, headings, skipped))
    else:
        part, skipped = old.part(0, old.n_documents), old.skipped
    # Of what the old view had, nothing was missing from its segments.
    known = old is not None and not old.n_missing and old.fits(segments)
    missing = segments.missing(part.new_entry_ids() if known else part.entry_ids())
    extra: list[Segment] = []
    if missing:
        if not missing <= headings.keys():
            headings = headings_of_view(View.over(path, encode_view(documents.key, part, segments)))
        headings = {id_: headings[id_] for id_ in missing}
        segments, extra = _index(repo, headings, segments, documents, hooks)
    del headings
    shown = Segments(segments.kb_dir, [*segments.segments, *extra], [])
    data = encode_view(documents.key, part, shown, skipped, old)
    if extra:
        return shown, View.over(path, data)
    try:
        write_view(path, data)
        _limit_views(os.path.dirname(path), keep=os.path.basename(path))
        return shown, View(path)
    except (CannotWrite, OSError):
        return shown, View.over(path, data)


def _parts(
    repo: Repository, documents: Documents, old: View | None, hooks: Hooks, headings: dict[bytes, str], skipped: list[str]
) -> Iterator[ViewPart]:
    """Yield the view of the documents in parts: unchanged ones from the old view, others from their manifests.

    Notes the heading text of each entry that was not in the old view, and messages about manifests that cannot be used.
    """
    unchanged = _unchanged(documents, old) if old is not None else {}
    names = list(documents.stamps)
    if not unchanged and hooks.jobs > 1 and len(names) >= MIN_PARALLEL:
        yield from _parts_of_workers(repo, documents, hooks, headings, skipped)
        return
    at = 0
    while at < len(names):
        start, first = at, unchanged.get(names[at])
        while at < len(names) and unchanged.get(names[at]) == (None if first is None else first + at - start):
            at += 1
        if first is None or old is None:
            yield encode_documents(_view_documents(repo, documents, names[start:at], headings, skipped.append))
        else:
            yield old.part(first, first + at - start)


def _parts_of_workers(
    repo: Repository, documents: Documents, hooks: Hooks, headings: dict[bytes, str], skipped: list[str]
) -> Iterator[ViewPart]:
    """`_parts` of documents that are all new, by worker processes."""
    place, names = repo.place.plain(), list(documents.stamps)
    lots = (names[at : at + LOT_DOCUMENTS] for at in range(0, len(names), LOT_DOCUMENTS))
    calls = ((0, (place, {name: documents.stamps[name] for name in lot}, documents.stored)) for lot in lots)
    for _, (part, some, messages) in in_workers(_encode_lot, calls, hooks.jobs):
        headings.update(some)
        skipped += messages
        yield part


def _encode_lot(place: Place, stamps: dict[str, bytes], stored: bool) -> tuple[ViewPart, dict[bytes, str], list[str]]:
    """Return the part that some new documents make, in a worker process; and what `_parts` notes."""
    from git_kb.repo.open import open_repository

    headings: dict[bytes, str] = {}
    skipped: list[str] = []
    with open_repository(place) as repo, paused_collector():
        documents = some_documents(repo, stamps, stored)
        part = encode_documents(_view_documents(repo, documents, list(stamps), headings, skipped.append))
        return part, headings, skipped


def _view_documents(
    repo: Repository, documents: Documents, names: list[str], headings: dict[bytes, str], skip: Callable[[str], None]
) -> Iterator[tuple[ViewDocument, list[ViewRow]]]:
    """Yield documents with their rows, from their manifests. Notes the heading text of each entry.

    skip: takes a message about a manifest that cannot be used.
    """
    for manifest, data in documents.load_with_bytes(names, skip):
        stamp = documents.stamps[manifest.docid + SUFFIX]
        oid = stamp.hex() if documents.stored else object_id("blob", data, repo.place.object_format)
        yield _view_document(manifest, stamp, oid, headings)


def _view_document(manifest: Manifest, stamp: bytes, oid: str, headings: dict[bytes, str]) -> tuple[ViewDocument, list[ViewRow]]:
    document = ViewDocument(
        name=manifest.docid + SUFFIX,
        stamp=stamp,
        docid=manifest.docid,
        title=manifest.title,
        source=manifest.source,
        type=manifest.type,
        tier=manifest.tier,
        blob=manifest.blob,
        tags=manifest.tags,
        oid=oid,
        language=manifest.language,
    )
    rows = []
    for row, (line, start, end) in zip(manifest.sections, manifest.spans(), strict=True):
        if row.role == FRONT_MATTER:
            continue
        text = context_of(manifest.title, row.heading, manifest.language)
        id_ = entry_id(kbid_bytes(row.kbid), text)
        headings[id_] = text
        rows.append(ViewRow(id_, 0, line, start, end, row.part, row.chunk, row.type, row.heading))
    return document, rows


def headings_of_view(view: View) -> dict[bytes, str]:
    """Return entry id -> heading text of all entries of a view."""
    found = {}
    for document in view.documents():
        for number in document.rows:
            row = view.row(number)
            found[row.entry_id] = context_of(document.title, row.heading, document.language)
    return found


def _index(
    repo: Repository, headings: dict[bytes, str], segments: Segments, documents: Documents, hooks: Hooks
) -> tuple[Segments, list[Segment]]:
    """Index entries. Returns (segments as published, further ones in memory where nothing may be written)."""
    kb_dir = repo.place.kb_dir
    hooks.note(f"indexing {len(headings)} section{'s' * (len(headings) != 1)}")
    try:
        with hooks.lock() as lock:
            pool = Pool(repo)
            # Another process may have indexed some of it while we waited.
            names = read_current(kb_dir)
            segments.close()
            segments = Segments.open(kb_dir)
            missing = segments.missing(headings)
            names = segments.names
            beat = getattr(lock, "refresh", lambda: None)
            written, lost = build_missing(pool, {i: headings[i] for i in missing}, hooks.jobs, beat, hooks)
            names += written
            # The pool does not know them, or the object is gone, damaged, or another one.
            if lost and _make_again(repo, pool, set(map(kbid_of_entry, lost)), documents, hooks):
                written, lost = build_missing(pool, {i: headings[i] for i in lost}, hooks.jobs, beat, hooks)
                names += written
            _warn_of_lost(len(lost), hooks)
            merge_and_publish(kb_dir, names, beat)
            segments.close()
            return Segments.open(kb_dir), []
    except Locked as e:
        hooks.warn(f"{e}; {len(headings)} section{'s are' if len(headings) > 1 else ' is'} not searched yet")
        return segments, []
    except NOT_STORED as e:
        hooks.warn(f"the index cannot be stored ({e}); it is made in memory for this command alone")
        return segments, _index_in_memory(Pool(repo), headings, documents, hooks)


def _index_in_memory(pool: Pool, headings: dict[bytes, str], documents: Documents, hooks: Hooks) -> list[Segment]:
    """Return segments of these entries: of what the pool has, then of what can be made from the sources."""
    lost: list[bytes] = []
    extra = [Segment.over(data) for data in build_segments(read_entries(pool, headings, lost, lambda done: None))]
    if lost:
        kbids = set(map(kbid_of_entry, lost))
        origins = ((m.source, m.blob, {r.kbid for r in m.sections} & kbids) for m in documents.load_all(lambda message: None))
        made = {kbid: data for objects in cut_again(pool.repo, origins) for kbid, data in objects.items()}
        some = [
            Entry(id_, section.mime, headings[id_], section.content.decode("utf-8", "replace"))
            for id_ in sorted(lost)
            if (data := made.get(kbid_of_entry(id_))) is not None and (section := decode_section(data, kbid_of_entry(id_)))
        ]
        extra += [Segment.over(data) for data in build_segments(some)]
        _warn_of_lost(len(lost) - len(some), hooks)
    return extra


def slices(n: int) -> list[range]:
    """Return how `n` entries, sorted by id, are cut into segments: from `n` alone, so that all machines agree.

    Below 40,000 one piece; above, an even number of equal ones, so that two processes share the work.
    """
    n_slices = 1 if n < MIN_SLICED else 2 * -(-n // (2 * MAX_ENTRIES))
    size = -(-n // n_slices) if n else 0
    return [range(at, min(at + size, n)) for at in range(0, n, size or 1)]


def build_missing(
    pool: Pool, headings: dict[bytes, str], jobs: int, beat: Callable[[], None], hooks: Hooks
) -> tuple[list[str], list[bytes]]:
    """Write segments for these entries. Returns (their names, for the caller to publish; entries whose section cannot be had)."""
    ids = sorted(headings)
    pieces = slices(len(ids))
    lost: list[bytes] = []
    names: list[str] = []
    if jobs < 2 or len(pieces) < 2:
        for piece in pieces:
            some = {id_: headings[id_] for id_ in ids[piece.start : piece.stop]}

            def progress(done: int, at: int = piece.start) -> None:
                hooks.progress("index", at + done, len(ids))

            written, lacking = _write_segments(pool, some, progress)
            names += written
            lost += lacking
            beat()
    else:
        place = pool.repo.place.plain()
        calls = ((n, (place, {id_: headings[id_] for id_ in ids[piece.start : piece.stop]})) for n, piece in enumerate(pieces, 1))
        hooks.progress("index", 0, len(ids))
        for done, (written, lacking) in in_workers(_write_slice, calls, min(jobs, len(pieces)), beat):
            hooks.progress("index", len(ids) * done // len(pieces), len(ids))
            names += written
            lost += lacking
    hooks.progress("index", len(ids), len(ids))
    return names, lost


def _warn_of_lost(n_lost: int, hooks: Hooks) -> None:
    if n_lost:
        hooks.warn(
            f"{n_lost} section{'s are' if n_lost > 1 else ' is'} missing from the pool; 'git kb ingest -f', or fetch {POOL_REF}"
        )


def _write_slice(place: Place, headings: dict[bytes, str]) -> tuple[list[str], list[bytes]]:
    """`_write_segments` in a worker process."""
    from git_kb.repo.open import open_repository

    with open_repository(place) as repo, paused_collector():
        return _write_segments(Pool(repo), headings, lambda done: None)


def _write_segments(pool: Pool, headings: dict[bytes, str], progress: Callable[[int], None]) -> tuple[list[str], list[bytes]]:
    """Write segments for some entries. Returns (their names, entries whose section the pool lacks)."""
    lost: list[bytes] = []
    entries = read_entries(pool, headings, lost, progress)
    return [write_segment(pool.repo.place.kb_dir, data) for data in build_segments(entries)], lost


def read_entries(pool: Pool, headings: dict[bytes, str], lost: list[bytes], progress: Callable[[int], None]) -> Iterator[Entry]:
    """Yield entries in ascending order of id, content from the pool. Those of sections that the pool lacks go to `lost`."""
    ids = sorted(headings)
    sections = pool.read_many(kbid_of_entry(id_) for id_ in ids)
    for done, (id_, (_kbid, section)) in enumerate(zip(ids, sections, strict=True)):
        if done % 1000 == 0:
            progress(done)
        if section is None:
            lost.append(id_)
        else:
            yield Entry(id_, section.mime, headings[id_], section.content.decode("utf-8", "replace"))


def _make_again(repo: Repository, pool: Pool, lost: set[str], documents: Documents, hooks: Hooks) -> int:
    """Put sections back into the pool from their sources, and return how many. Those found are taken from `lost`."""
    if not lost:
        return 0
    writer = PoolWriter(pool)

    def origins() -> Iterator[Origin]:
        for m in documents.load_all(lambda message: None):
            # What is stored but not searched, front matter, comes along, also of documents that have nothing else.
            if wanted := {row.kbid for row in m.sections if row.kbid in lost or not writer.has(row.kbid)}:
                yield m.source, m.blob, wanted

    n_found = 0
    for objects in cut_again(repo, origins()):
        for kbid, data in objects.items():
            writer.add(kbid, data)
        lost -= objects.keys()
        n_found += len(objects)
    if n_found:
        hooks.note(f"made {n_found} section{'s' * (n_found != 1)} again from their sources")
        writer.commit(f"make {n_found} section{'s' * (n_found != 1)} again\n\nKb-Operation: index\n")
    return n_found


def _limit_views(directory: str, keep: str) -> None:
    """Delete the views longest unused, beyond MAX_VIEWS."""
    ages = []
    for name in _view_names(directory):
        try:
            ages.append((os.stat(os.path.join(directory, name)).st_mtime, name))
        except FileNotFoundError:
            continue
    for _, name in sorted(ages)[:-MAX_VIEWS]:
        if name != keep:
            try:
                os.unlink(os.path.join(directory, name))
            except FileNotFoundError:
                continue
