"""Integrity: configuration, pool, manifests, index, and that they fit together. `git kb fsck`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from git_kb.errors import KbError, NewerFormat
from git_kb.index import references, signatures
from git_kb.index.pagefile import DamagedSegment, OtherFeature, PageFile
from git_kb.index.references import ReferenceFile
from git_kb.index.segment import Segment
from git_kb.index.segments import DIRECTORY, read_current
from git_kb.index.signatures import Signatures, signature_path
from git_kb.index.view import VIEWS, View, is_view_name
from git_kb.model.document import Manifest
from git_kb.model.section import DamagedSection, decode_section
from git_kb.model.source import source_keys
from git_kb.repo.protocol import Repository
from git_kb.store import datefile
from git_kb.store.config import BadConfig
from git_kb.store.documents import decode_manifest
from git_kb.store.manifest import DamagedManifest, parse_manifest
from git_kb.store.mend import oddities
from git_kb.store.pool import Pool
from git_kb.store.root import CATALOG, CONFIG
from git_kb.store.state import StateName, open_documents, worktree_config


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault.

    kind: damaged_catalog, damaged_config, checksum_mismatch, orphan_document, damaged_manifest, wrong_tiling, wrong_key,
    damaged_segment, damaged_view, damaged_references, damaged_signatures, damaged_dates,
    odd_entry, odd_file.
    """

    kind: str
    entity: str
    detail: str


@dataclass(slots=True)
class Counts:
    """How much was looked at. caches: files of views, references, signatures and dates."""

    sections: int = 0
    documents: int = 0
    segments: int = 0
    caches: int = 0


def check(repo: Repository, state: StateName, counts: Counts) -> Iterator[Finding]:
    """Yield what is wrong in the pool, in the documents of one state, and in the index. Fills `counts`."""
    pool = Pool(repo)
    yield from _check_pool(repo, pool, counts)
    yield from _check_config(repo, state)
    yield from _check_documents(repo, state, pool, counts)
    yield from _check_segments(repo.place.kb_dir, counts)
    yield from _check_caches(repo.place.kb_dir, counts)


def _check_pool(repo: Repository, pool: Pool, counts: Counts) -> Iterator[Finding]:
    kbids = list(pool.kbids())
    for path in pool.odd_entries():
        yield Finding("odd_entry", os.fsdecode(path), "the pool has an entry that is no section")
    for kbid, kind, data in pool.read_objects(kbids):
        counts.sections += 1
        if kind != "blob":
            yield Finding("checksum_mismatch", kbid, f"the object is {kind}")
            continue
        try:
            decode_section(data, kbid)
        except DamagedSection as e:
            yield Finding("checksum_mismatch", kbid, e.why)


def _check_config(repo: Repository, state: StateName) -> Iterator[Finding]:
    """Yield what is wrong with the configuration, which is that of the work tree alone."""
    if state.rev or state.cached:
        return
    try:
        worktree_config(repo.place)
    except BadConfig as e:
        yield Finding("damaged_config", CONFIG, str(e))


def _check_documents(repo: Repository, state: StateName, pool: Pool, counts: Counts) -> Iterator[Finding]:
    bad: list[KbError] = []
    documents = open_documents(repo, state, bad.append)
    for error in bad:
        yield Finding("damaged_catalog", CATALOG, str(error))
    for name, data in documents.read(list(documents.stamps)):
        counts.documents += 1
        try:
            manifest = parse_manifest(decode_manifest(data, name), name)
        except (DamagedManifest, KbError) as e:
            yield Finding("damaged_manifest", name, str(e))
            continue
        yield from check_manifest(repo, pool, manifest)


def check_manifest(repo: Repository, pool: Pool, manifest: Manifest) -> Iterator[Finding]:
    """Yield what is wrong with one manifest that can be read."""
    missing = [row.kbid for row in manifest.sections if row.kbid not in pool]
    if missing:
        detail = f"{len(missing)} of {len(manifest.sections)} sections are not in the pool, first {missing[0]}"
        yield Finding("orphan_document", manifest.docid, detail)
    if len(manifest.blob) == repo.place.oid_hex_length and repo.has_object(manifest.blob):
        size = len(repo.read_blob(manifest.blob))
        tiled = sum(row.n_bytes for row in manifest.sections)
        if size != tiled:
            yield Finding("wrong_tiling", manifest.docid, f"its sections cover {tiled} bytes of a source of {size}")
    keys = source_keys(manifest.source, [row.heading for row in manifest.sections])
    if keys != [row.source_key for row in manifest.sections]:
        yield Finding("wrong_key", manifest.docid, "a source_key does not follow from source and headings")


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
