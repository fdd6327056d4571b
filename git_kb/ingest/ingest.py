"""Sources to sections and manifests.

Order: sections into the pool, then the manifests that name them, batch by batch. Every batch is complete in
itself, so an ingest that is killed leaves a knowledge base that is whole, and the next run does the rest.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from git_kb.ingest.select import Selection, Source
from git_kb.model.document import ENGLISH, SECTION_FILES, STDIN, Manifest, SectionRow, docid_of_path
from git_kb.model.source import source_keys, source_of_path
from git_kb.repo.lockfile import atomic_write, remove_leftovers
from git_kb.repo.protocol import Repository
from git_kb.repo.worktree import read_sources
from git_kb.store.config import Config
from git_kb.store.cut import Cut, Limits, PackedCut, cut_source, pack_cuts
from git_kb.store.manifest import SUFFIX, one_line, render_head, render_manifest
from git_kb.store.pool import Pool, PoolWriter
from git_kb.store.root import DOCUMENTS
from git_kb.store.workers import in_workers
from git_kb.text.chunk import Unusable

# A batch is published when this much section content has come together: 32 MB keeps memory flat and loses
# little to a kill.
BATCH_BYTES = 32 << 20
# Sources a worker gets at once: enough to be worth the way, few enough to bound memory.
LOT_SOURCES, LOT_BYTES = 64, 1 << 20
# Below this many sources, starting workers costs more than it saves (about 0.1 s each).
MIN_PARALLEL = 200
# A new source that shares at least this part of its sections with a vanished one is taken for the same
# document, moved.
MOVED_SHARE = 0.5
MAX_TRAILERS = 50


@dataclass(slots=True)
class Options:
    """What the user asked of an ingest. `force`: sections that are in the pool are checked too, and mended."""

    jobs: int = 1
    dry_run: bool = False
    prune: bool = False
    force: bool = False
    tags: tuple[str, ...] = ()
    tier: str = ""
    title: str = ""


@dataclass(slots=True)
class Summary:
    """What an ingest did.

    Paths are repository paths; `skipped` has (path, reason), `moved` (old source, new source).
    """

    new: list[bytes] = field(default_factory=list)
    changed: list[bytes] = field(default_factory=list)
    n_unchanged: int = 0
    skipped: list[tuple[bytes, str]] = field(default_factory=list)
    moved: list[tuple[str, str]] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    pruned: list[str] = field(default_factory=list)
    warnings: list[tuple[bytes, str]] = field(default_factory=list)
    n_sections: int = 0
    n_sections_new: int = 0
    n_bytes: int = 0
    # The sections that the pool did not have, by kbid.
    new_sections: set[str] = field(default_factory=set)


Progress = Callable[[str, int, int], None]
Beat = Callable[[], None]


def ingest(
    repo: Repository,
    selection: Selection,
    config: Config,
    options: Options,
    progress: Progress = lambda stage, done, total: None,
    beat: Beat = lambda: None,
) -> Summary:
    """Bring the manifests and the pool up to date with the selected sources.

    The caller holds the writer's lock; `beat` keeps it fresh. With `dry_run` nothing is written.
    """
    summary = Summary(n_unchanged=selection.n_unchanged, skipped=list(selection.skipped))
    writer = _Writer(repo, options, summary, beat)
    if not options.dry_run:
        for directory in (DOCUMENTS, STDIN, SECTION_FILES):
            remove_leftovers(os.path.join(repo.place.work_tree or "", directory))
    gone = _Gone(selection.gone)
    try:
        for done, (source, cut) in enumerate(_cuts(repo, selection.work, config, options)):
            progress("ingest", done, len(selection.work))
            if isinstance(cut, str):
                summary.skipped.append((source.path, cut))
                continue
            old, moved_from = source.old, ""
            if old is None and not source.damaged and (match := gone.match(source, cut)) is not None:
                old, moved_from = match, match.source
            writer.add(source, cut, document_head(source, cut, old, moved_from, options, config.language), old)
        writer.finish(gone)
    except BaseException:
        writer.abort()
        raise
    progress("ingest", len(selection.work), len(selection.work))
    return summary


def _cuts(repo: Repository, work: list[Source], config: Config, options: Options) -> Iterator[tuple[Source, Cut | PackedCut | str]]:
    """Yield each source, cut, in order; the reason instead where it cannot be used or read."""
    limits = Limits(config.chunk_target, config.chunk_ceiling, config.detect_language)
    unreadable: list[tuple[Source, str]] = []
    by_path = {source.path: source for source in work}
    read = read_sources(repo.place, [s.file for s in work], lambda error: unreadable.append((by_path[error.path], error.why)))
    # The blob that is read is the one that counts, should a file have changed since it was selected.
    sources = ((replace(by_path[file.path], file=file, blob=file.oid or ""), data) for file, data in read)
    if options.jobs > 1 and len(work) >= MIN_PARALLEL:
        yield from _parallel(sources, limits, repo.place.object_format, options.jobs)
    else:
        for source, data in sources:
            try:
                yield source, cut_source(source.path, data, limits)
            except Unusable as e:
                yield source, e.reason
    yield from unreadable


def _parallel(
    sources: Iterable[tuple[Source, bytes]], limits: Limits, object_format: str, jobs: int
) -> Iterator[tuple[Source, PackedCut | str]]:
    calls = ((lot, ([(s.path, data) for s, data in lot], limits, object_format)) for lot in _lots(sources))
    for lot, cuts in in_workers(pack_cuts, calls, jobs):
        yield from zip((source for source, _ in lot), cuts, strict=True)


def _lots(sources: Iterable[tuple[Source, bytes]]) -> Iterator[list[tuple[Source, bytes]]]:
    lot: list[tuple[Source, bytes]] = []
    size = 0
    for source, data in sources:
        lot.append((source, data))
        size += len(data)
        if len(lot) >= LOT_SOURCES or size >= LOT_BYTES:
            yield lot
            lot, size = [], 0
    if lot:
        yield lot


def document_head(
    source: Source, cut: Cut | PackedCut, old: Manifest | None, moved_from: str, options: Options, default_language: str
) -> Manifest:
    """Return the new manifest without its sections: what the source says, and what only the old manifest knows."""
    language = cut.source.language or default_language
    title = options.title or cut.source.title
    if not title and old is not None and not moved_from:
        title = old.title
    path_name = os.fsdecode(source.path).rpartition("/")[2]
    return Manifest(
        docid=docid_of_path(source.path),
        title=one_line(title or path_name) or "untitled",
        source=source_of_path(source.path),
        blob=source.blob,
        type=cut.source.type,
        sections=(),
        moved_from=moved_from or (old.moved_from if old else ""),
        encoding=cut.source.encoding,
        chunker=cut.source.chunker,
        language="" if language == ENGLISH else language,
        tier=options.tier or (old.tier if old else ""),
        tags=tuple(sorted({*cut.source.tags, *options.tags, *(old.tags if old else ())})),
        extra=old.extra if old else (),
    )


def superseding(rows: tuple[SectionRow, ...], old: Manifest, source: str) -> tuple[SectionRow, ...]:
    """Return rows with `supersedes`: what the old manifest had under the same source_key, when it said something else."""
    keys = source_keys(source, [row.heading for row in old.sections])
    before = dict(zip(keys, old.sections, strict=True))
    result = []
    for row in rows:
        was = before.get(row.source_key)
        if was is not None:
            row = row._replace(supersedes=was.supersedes if was.kbid == row.kbid else was.kbid, extra=was.extra)
        result.append(row)
    return tuple(result)


class _Gone:
    """Manifests whose source has vanished: candidates for a move, reported otherwise."""

    def __init__(self, manifests: list[Manifest]):
        self.left = {m.docid: m for m in manifests}
        self._by_kbid: dict[str, list[str]] = {}
        for manifest in manifests:
            for row in manifest.sections:
                self._by_kbid.setdefault(row.kbid, []).append(manifest.docid)

    def match(self, source: Source, cut: Cut | PackedCut) -> Manifest | None:
        """Return and take the vanished document that this new one continues, if there is one."""
        if not self.left:
            return None
        rows = cut.rows
        shared: dict[str, int] = {}
        for kbid in {row.kbid for row in rows}:
            for docid in self._by_kbid.get(kbid, ()):
                if docid in self.left:
                    shared[docid] = shared.get(docid, 0) + 1
        if not shared:
            return None
        best = min(shared, key=lambda d: (-shared[d], d))
        if self.left[best].blob != source.blob and shared[best] < MOVED_SHARE * max(len(rows), len(self.left[best].sections)):
            return None
        return self.left.pop(best)


class _Writer:
    """Publishes batches: sections first, then manifests."""

    def __init__(self, repo: Repository, options: Options, summary: Summary, beat: Beat):
        self.options, self.summary, self.beat = options, summary, beat
        self.pool = Pool(repo)
        self.writer = PoolWriter(self.pool)
        self.directory = os.path.join(repo.place.work_tree or "", DOCUMENTS)
        # Of each document: docid, source, text, and the manifest of before its move that goes.
        self._ready: list[tuple[str, str, bytes, Manifest | None]] = []
        self._size = 0

    def add(self, source: Source, cut: Cut | PackedCut, head: Manifest, old: Manifest | None) -> None:
        """Take one document. `head`: its new manifest, which gets its sections here."""
        summary = self.summary
        for warning in cut.source.warnings:
            summary.warnings.append((source.path, warning))
        summary.n_sections += cut.n_sections
        summary.n_bytes += cut.n_bytes
        moved = None
        changed = True
        if old is None or source.damaged:
            text = render_head(head) + cut.rows_text
            (summary.changed if source.damaged else summary.new).append(source.path)
        else:
            manifest = replace(head, sections=superseding(cut.rows, old, head.source))
            text = render_manifest(manifest)
            changed = old != manifest
            if old.source != head.source:
                moved = old
                summary.moved.append((old.source, head.source))
            elif changed:
                summary.changed.append(source.path)
            else:
                summary.n_unchanged += 1
        for kbid, stored in cut.objects.items():
            if self.options.dry_run:
                if kbid not in self.pool:
                    summary.new_sections.add(kbid)
            elif not self.writer.has(kbid, verify=self.options.force):
                summary.new_sections.add(kbid)
                if isinstance(stored, bytes):
                    self.writer.add(kbid, stored)
                else:
                    self.writer.add_deflated(kbid, *stored)
        if changed:
            self._ready.append((head.docid, head.source, text.encode(), moved))
        self._size += cut.n_bytes
        if self._size >= BATCH_BYTES:
            self.publish()

    def publish(self) -> None:
        """Make the batch visible."""
        if self.options.dry_run:
            self._ready.clear()
            self._size = 0
            return
        self.beat()
        if len(self.writer):
            self.summary.n_sections_new += self.writer.commit(self._message())
        if self._ready:
            os.makedirs(self.directory, exist_ok=True)
        for n, (docid, _source, text, moved) in enumerate(self._ready):
            if n % 1000 == 999:
                self.beat()
            write_manifest(self.directory, docid, text)
            if moved is not None:
                remove_manifest(self.directory, moved)
        self._ready.clear()
        self._size = 0

    def finish(self, gone: _Gone) -> None:
        self.publish()
        if self.options.dry_run:
            self.summary.n_sections_new = len(self.summary.new_sections)
        for manifest in gone.left.values():
            if self.options.prune:
                self.summary.pruned.append(manifest.source)
                if not self.options.dry_run:
                    remove_manifest(self.directory, manifest)
            else:
                self.summary.gone.append(manifest.source)

    def abort(self) -> None:
        self.writer.abort()

    def _message(self) -> str:
        n_sources, n_sections = len(self._ready), len(self.writer)
        subject = f"ingest {n_sources} source{'s' * (n_sources != 1)}, {n_sections} new section{'s' * (n_sections != 1)}"
        named = [f"Kb-Source: {source}" for _, source, _, _ in self._ready[:MAX_TRAILERS]]
        return "\n".join([subject, "", "Kb-Operation: ingest", *named]) + "\n"


def write_manifest(directory: str, docid: str, text: bytes) -> None:
    """Write one manifest over its old version at once."""
    atomic_write(os.path.join(directory, docid + SUFFIX), text, fsync=False)


def remove_manifest(directory: str, manifest: Manifest) -> None:
    try:
        os.unlink(os.path.join(directory, manifest.docid + SUFFIX))
    except FileNotFoundError:
        pass
