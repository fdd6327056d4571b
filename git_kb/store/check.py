"""Integrity: configuration, pool, manifests, references, index, and that they fit together. `git kb fsck`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from git_kb.errors import Damaged, KbError, NewerFormat
from git_kb.index import references, signatures
from git_kb.index.pagefile import DamagedSegment, OtherFeature, PageFile
from git_kb.index.references import ReferenceFile
from git_kb.index.segment import Segment
from git_kb.index.segments import DIRECTORY, read_current
from git_kb.index.signatures import Signatures, signature_path
from git_kb.index.view import VIEWS, View, is_view_name
from git_kb.model.document import Manifest
from git_kb.model.section import DamagedSection, cut_section, decode_section
from git_kb.model.source import source_keys
from git_kb.repo.protocol import Repository
from git_kb.store import datefile
from git_kb.store.again import cut_again
from git_kb.store.config import BadConfig
from git_kb.store.documents import decode_manifest
from git_kb.store.manifest import DamagedManifest, parse_manifest
from git_kb.store.markers import Marked, check_markers, markers_in
from git_kb.store.mend import oddities
from git_kb.store.pool import Pool
from git_kb.store.reachable import all_manifests, named_sections
from git_kb.store.root import CATALOG, CONFIG
from git_kb.store.state import StateName, open_documents, state_config

WARNINGS = ("divergent_content", "orphan_section")


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault.

    kind: damaged_catalog, damaged_config, checksum_mismatch, orphan_document, damaged_manifest, damaged_source, wrong_tiling,
    wrong_range, wrong_key, broken_reference, type_mismatch, circular_reference, divergent_content, orphan_section,
    damaged_segment, damaged_view, damaged_references, damaged_signatures, damaged_dates,
    odd_entry, odd_file.
    """

    kind: str
    entity: str
    detail: str

    @property
    def is_warning(self) -> bool:
        """Whether the store is sound all the same, as with what git calls dangling."""
        return self.kind in WARNINGS


@dataclass(slots=True)
class Counts:
    """How much was looked at. references: content markers. caches: files of views, references, signatures and dates."""

    sections: int = 0
    documents: int = 0
    references: int = 0
    segments: int = 0
    caches: int = 0


def check(repo: Repository, state: StateName, counts: Counts) -> Iterator[Finding]:
    """Yield what is wrong in the pool, in the documents of one state, and in the index. Fills `counts`."""
    pool = Pool(repo)
    marked = Marked()
    yield from _check_pool(repo, pool, marked, counts)
    yield from _check_config(repo, state)
    yield from _check_documents(repo, state, pool, marked, counts)
    counts.references = marked.n_markers
    for kind, kbid, detail in check_markers(marked, pool.kbids()):
        yield Finding(kind, kbid, detail)
    yield from _check_segments(repo.place.kb_dir, counts)
    yield from _check_caches(repo.place.kb_dir, counts)


def orphan_sections(repo: Repository, state: StateName) -> Iterator[Finding]:
    """Yield the sections of the pool that no manifest names: of this state, of any work tree, index, branch, tag, stash or reflog.

    Raises GitFailed where history cannot be walked.
    """
    left = set(Pool(repo).kbids())
    documents = open_documents(repo, state, lambda error: None)
    for _, data in documents.read(list(documents.stamps)):
        left -= named_sections(data)
    if left:
        for _, data in all_manifests(repo):
            left -= named_sections(data)
    for kbid in sorted(left):
        yield Finding("orphan_section", kbid, "no document names it, of any branch, tag, stash, reflog, index or work tree")


def missing_sections(repo: Repository, state: StateName) -> set[str]:
    """Return the kbids that documents of a state name and the pool lacks."""
    pool = Pool(repo)
    documents = open_documents(repo, state, lambda error: None)
    manifests = documents.load_all(lambda message: None)
    return {row.kbid for manifest in manifests for row in manifest.sections if row.kbid not in pool}


def _check_pool(repo: Repository, pool: Pool, marked: Marked, counts: Counts) -> Iterator[Finding]:
    """Yield what is wrong with the pool, and note the markers in its sections."""
    kbids = list(pool.kbids())
    for path in pool.odd_entries():
        yield Finding("odd_entry", os.fsdecode(path), "the pool has an entry that is no section")
    for kbid, kind, data in pool.read_objects(kbids):
        counts.sections += 1
        if kind != "blob":
            yield Finding("checksum_mismatch", kbid, f"the object is {kind}")
            continue
        try:
            section = decode_section(data, kbid)
        except DamagedSection as e:
            yield Finding("checksum_mismatch", kbid, e.why)
            continue
        if found := markers_in(section.mime, section.content):
            marked.markers[kbid] = found


def _check_config(repo: Repository, state: StateName) -> Iterator[Finding]:
    """Yield what is wrong with the configuration of a state."""
    try:
        state_config(repo, state)
    except BadConfig as e:
        yield Finding("damaged_config", CONFIG, str(e))


def _check_documents(repo: Repository, state: StateName, pool: Pool, marked: Marked, counts: Counts) -> Iterator[Finding]:
    """Yield what is wrong with the documents of a state, and note what they hold."""
    bad: list[KbError] = []
    documents = open_documents(repo, state, bad.append)
    for error in bad:
        yield Finding("damaged_catalog", CATALOG, str(error))
    same_key: dict[str, dict[str, str]] = {}
    for name, data in documents.read(list(documents.stamps)):
        counts.documents += 1
        try:
            manifest = parse_manifest(decode_manifest(data, name), name)
        except (DamagedManifest, KbError) as e:
            yield Finding("damaged_manifest", name, str(e))
            continue
        marked.add(manifest)
        yield from check_manifest(repo, pool, manifest)
        for row in manifest.sections:
            same_key.setdefault(row.source_key, {}).setdefault(row.kbid, manifest.docid)
    for key in sorted(key for key, kbids in same_key.items() if len(kbids) > 1):
        said = ", ".join(f"{kbid} in {docid}" for kbid, docid in sorted(same_key[key].items()))
        yield Finding("divergent_content", key, f"sections of one origin say different things: {said}")


def check_manifest(repo: Repository, pool: Pool, manifest: Manifest) -> Iterator[Finding]:
    """Yield what is wrong with one manifest that can be read."""
    missing = [row.kbid for row in manifest.sections if row.kbid not in pool]
    if missing:
        detail = f"{len(missing)} of {len(manifest.sections)} sections are not in the pool, first {missing[0]}"
        yield Finding("orphan_document", manifest.docid, detail)
    yield from _check_ranges(repo, manifest)
    keys = source_keys(manifest.source, [row.heading for row in manifest.sections])
    if keys != [row.source_key for row in manifest.sections]:
        yield Finding("wrong_key", manifest.docid, "a source_key does not follow from source and headings")


def _check_ranges(repo: Repository, manifest: Manifest) -> Iterator[Finding]:
    """Yield where a manifest and its source, if that is at hand, do not fit together."""
    if len(manifest.blob) != repo.place.oid_hex_length or not repo.has_object(manifest.blob):
        return
    try:
        source = repo.read_blob(manifest.blob)
    except Damaged as e:
        yield Finding("damaged_source", manifest.docid, f"its source '{manifest.source}' cannot be read: {e}")
        return
    tiled = sum(row.n_bytes for row in manifest.sections)
    if len(source) != tiled:
        yield Finding("wrong_tiling", manifest.docid, f"its sections cover {tiled} bytes of a source of {len(source)}")
        return
    others = [
        (row, start, end)
        for row, (_, start, end) in zip(manifest.sections, manifest.spans(), strict=True)
        if cut_section(source, start, end, manifest.row_type(row), row.kbid) is None
    ]
    # In other encodings, and in pictures that are text (SVG), a section is what cutting makes of it.
    inexact = {row.kbid for row, _, _ in others if manifest.row_type(row).startswith("image/") or not _is_utf8(source)}
    if inexact:
        made = {kbid for objects in cut_again(repo, [(manifest.source, manifest.blob, inexact)]) for kbid in objects}
        others = [other for other in others if other[0].kbid not in made]
    for row, start, end in others:
        yield Finding("wrong_range", manifest.docid, f"what its source has at bytes {start} to {end} is not section {row.kbid}")


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _check_segments(kb_dir: str, counts: Counts) -> Iterator[Finding]:
    for path, what in oddities(kb_dir):
        yield Finding("odd_file", path, f"it is {what}; the next search moves it aside")
    for name in read_current(kb_dir):
        counts.segments += 1
        try:
            segment = Segment(os.path.join(kb_dir, DIRECTORY, name), name)
            try:
                segment.verify()
            finally:
                segment.close()
        except FileNotFoundError:
            yield Finding("damaged_segment", name, "the file is missing")
        except (DamagedSegment, OtherFeature) as e:
            yield Finding("damaged_segment", name, str(e))


def _check_caches(kb_dir: str, counts: Counts) -> Iterator[Finding]:
    """Yield what is wrong in the pages of views, references, signatures and dates. Readers pass over what another version made."""
    sizes = {}
    for name in read_current(kb_dir):
        try:
            segment = Segment(os.path.join(kb_dir, DIRECTORY, name), name)
        except (FileNotFoundError, DamagedSegment, OtherFeature):
            continue
        sizes[os.path.basename(signature_path(kb_dir, name))] = segment.n_entries
        segment.close()
    kinds: tuple[tuple[str, str, Callable[[str], bool], Callable[[str, str], PageFile]], ...] = (
        ("damaged_view", VIEWS, is_view_name, lambda path, _: View(path).file),
        ("damaged_references", references.DIRECTORY, references.is_reference_name, lambda path, _: ReferenceFile(path).file),
        (
            "damaged_signatures",
            signatures.DIRECTORY,
            signatures.is_signature_name,
            lambda path, name: (
                Signatures(path, sizes[name]).file if name in sizes else PageFile(path, signatures.MAGIC, signatures.GENERATION)
            ),
        ),
        (
            "damaged_dates",
            datefile.DIRECTORY,
            datefile.is_date_name,
            lambda path, _: PageFile(path, datefile.MAGIC, datefile.GENERATION),
        ),
    )
    for finding, directory, is_ours, open_file in kinds:
        for name in sorted(filter(is_ours, _names(os.path.join(kb_dir, directory)))):
            path = os.path.join(kb_dir, directory, name)
            if not os.path.isfile(path) or not os.access(path, os.R_OK):
                continue  # gone since, or odd, which has been said
            counts.caches += 1
            try:
                file = open_file(path, name)
                try:
                    file.verify()
                finally:
                    file.close()
            except DamagedSegment as e:
                yield Finding(finding, name, str(e))
            except (FileNotFoundError, OtherFeature, NewerFormat):
                continue


def _names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []
