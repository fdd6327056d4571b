"""One state of a knowledge base as a directory: writer and reader. docs/format-export.md."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256

from git_kb.errors import Damaged, KbError, NewerFormat
from git_kb.model.document import Manifest
from git_kb.model.section import DamagedSection, decode_section
from git_kb.model.source import path_of_source
from git_kb.repo.lockfile import CannotWrite, is_leftover, sync_directory
from git_kb.repo.objects import object_id
from git_kb.repo.protocol import Repository
from git_kb.repo.regular import open_regular
from git_kb.repo.worktree import FILE, UNTRACKED, SourceFile, read_sources
from git_kb.store.again import cut_again
from git_kb.store.catalog import DamagedCatalog, check_catalog
from git_kb.store.documents import decode_manifest
from git_kb.store.manifest import MAX_TEXT, DamagedManifest, parse_manifest
from git_kb.store.pool import Pool
from git_kb.store.root import CATALOG, CONFIG
from git_kb.store.state import StateName, open_documents, state_file

FORMAT = 1
HEAD, SUMS = "export.toml", "SHA256SUMS"
# What a reader takes at most, in bytes; nothing of ours comes near these.
MAX_HEAD, MAX_SUMS, MAX_SECTION, MAX_SOURCE = 16 << 10, 256 << 20, 64 << 20, 1 << 30
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")
_KBID = r"[a-z2-7]{26}"
_PATHS = re.compile(
    rf"(?P<own>{re.escape(HEAD)}|catalog\.toml|kb\.config\.json)|documents/(?P<document>[^/\x00-\x1f\x7f]{{1,255}}\.toml)"
    rf"|sections/[a-z2-7]{{2}}/(?P<section>{_KBID})\.sec|sources/[0-9a-f]{{2}}/(?P<source>[0-9a-f]{{40}}|[0-9a-f]{{64}})"
)
_HEAD = re.compile(r'format = ([0-9]{1,9})\nobject_format = "(sha1|sha256)"\n')


class DamagedExport(Damaged):
    """An export cannot be used. `path` is its directory or bundle, `why` what is wrong."""

    hint = "nothing was written; export it again"

    def __init__(self, path: str, why: str):
        self.path, self.why = path, why
        super().__init__(f"the export '{path}' is damaged: {why}")


class InPlace(KbError):
    """Something is where the export shall go."""

    hint = "choose another name, or move it away"

    def __init__(self, path: str):
        self.path = path
        super().__init__(f"'{path}' is there already")


class LostSections(Damaged):
    """Sections that manifests name can be had from neither the pool nor the sources. `kbids` names them."""

    hint = "'git kb fsck' lists them; fetch refs/kb/sections from where they are"

    def __init__(self, kbids: list[str]):
        self.kbids = kbids
        n = len(kbids)
        super().__init__(f"{n} section{'s' * (n != 1)} can be had from neither pool nor source, first {kbids[0]}")


@dataclass(slots=True)
class Written:
    """What an export holds. without_source: sources (as manifests name them) that were not at hand."""

    n_documents: int = 0
    n_sections: int = 0
    n_sources: int = 0
    without_source: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A state to be brought back. documents: file name -> bytes. read_*: bytes by kbid or blob id, None for what it lacks.

    config: None where there is none.
    """

    path: str
    object_format: str
    documents: dict[str, bytes]
    config: bytes | None
    read_section: Callable[[str], bytes | None]
    read_source: Callable[[str], bytes | None]

    def manifests(self) -> Iterator[Manifest]:
        """Yield the manifests, sorted by file name. Raises DamagedExport, NewerFormat."""
        for name in sorted(self.documents):
            try:
                yield parse_manifest(decode_manifest(self.documents[name], name), name)
            except DamagedManifest as e:
                raise DamagedExport(self.path, str(e)) from None


def write_snapshot(
    repo: Repository, state: StateName, path: str, sources: bool = True, progress: Callable[[str, int, int], None] | None = None
) -> Written:
    """Write a state into the new directory `path`. Raises InPlace, LostSections, DamagedManifest, CannotWrite."""
    if os.path.lexists(path):
        raise InPlace(path)
    directory, name = os.path.split(os.path.abspath(path))
    temporary = os.path.join(directory, f".{name[:100]}.{secrets.token_hex(6)}.tmp")
    try:
        os.mkdir(temporary)
        try:
            written = _write(_Writer(temporary), repo, state, sources, progress or (lambda stage, done, total: None))
            # A directory that came into being meanwhile is not replaced, unless it is empty.
            os.rename(temporary, path)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        sync_directory(directory)
    except OSError as e:
        raise CannotWrite(path, e) from None
    return written


class _Writer:
    """Files below a directory, and their sums."""

    def __init__(self, top: str):
        self.top = top
        self.sums: dict[str, str] = {}

    def write(self, path: str, data: bytes) -> None:
        full = os.path.join(self.top, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "xb") as file:
            file.write(data)
        self.sums[path] = sha256(data).hexdigest()

    def finish(self) -> None:
        lines = [f"{digest}  {path}\n" for path, digest in sorted(self.sums.items())]
        with open(os.path.join(self.top, SUMS), "xb") as file:
            file.write("".join(lines).encode("utf-8", "surrogateescape"))
            file.flush()
            os.fsync(file.fileno())


def _write(
    writer: _Writer, repo: Repository, state: StateName, with_sources: bool, progress: Callable[[str, int, int], None]
) -> Written:
    documents = open_documents(repo, state)
    written = Written()
    origins: dict[str, list[tuple[str, str]]] = {}
    blobs: dict[str, str] = {}
    for name, data in documents.read(list(documents.stamps)):
        manifest = parse_manifest(decode_manifest(data, name), name)
        writer.write(f"documents/{name}", data)
        written.n_documents += 1
        blobs.setdefault(manifest.blob, manifest.source)
        for row in manifest.sections:
            origins.setdefault(row.kbid, []).append((manifest.source, manifest.blob))
    writer.write(HEAD, f'format = {FORMAT}\nobject_format = "{repo.place.object_format}"\n'.encode())
    for ours, path in ((CATALOG, "catalog.toml"), (CONFIG, CONFIG)):
        if (own := state_file(repo, state, ours)) is not None:
            writer.write(path, own)
    for kbid, data in _sections(repo, origins, progress):
        writer.write(f"sections/{kbid[:2]}/{kbid}.sec", data)
        written.n_sections += 1
    for blob, data in _sources(repo, blobs) if with_sources else ():
        writer.write(f"sources/{blob[:2]}/{blob}", data)
        written.n_sources += 1
        del blobs[blob]
    written.without_source = sorted(blobs.values()) if with_sources else []
    writer.finish()
    return written


def _sections(
    repo: Repository, origins: dict[str, list[tuple[str, str]]], progress: Callable[[str, int, int], None]
) -> Iterator[tuple[str, bytes]]:
    """Yield (kbid, object) of each section, from the pool or else made again. Raises LostSections at the end."""
    lost: list[str] = []
    for done, (kbid, kind, data) in enumerate(Pool(repo).read_objects(sorted(origins))):
        if done % 1000 == 0:
            progress("export", done, len(origins))
        try:
            if kind != "blob":
                raise DamagedSection(kbid, kind)
            decode_section(data, kbid)
        except DamagedSection:
            lost.append(kbid)
            continue
        yield kbid, data
    wanted: dict[tuple[str, str], set[str]] = {}
    for kbid in lost:
        for origin in origins[kbid]:
            wanted.setdefault(origin, set()).add(kbid)
    left = set(lost)
    for objects in cut_again(repo, ((source, blob, kbids) for (source, blob), kbids in wanted.items())):
        for kbid in sorted(objects.keys() & left):
            left.discard(kbid)
            yield kbid, objects[kbid]
    progress("export", len(origins), len(origins))
    if left:
        raise LostSections(sorted(left))


def _sources(repo: Repository, blobs: dict[str, str]) -> Iterator[tuple[str, bytes]]:
    """Yield (blob id, bytes) of the sources that git has, or that the work tree still has as they were."""
    not_stored: dict[bytes, str] = {}
    for blob in sorted(blobs):
        if len(blob) == repo.place.oid_hex_length and repo.has_object(blob):
            yield blob, repo.read_blob(blob)
        elif (path := path_of_source(blobs[blob])) is not None:
            not_stored[path] = blob
    if not_stored and repo.place.work_tree is not None:
        files = [SourceFile(path, FILE, None, tracked=False, state=UNTRACKED, changed=True) for path in sorted(not_stored)]
        for file, data in read_sources(repo.place, files, lambda error: None):
            if file.oid == not_stored[file.path]:
                yield file.oid, data


def is_snapshot(path: str) -> bool:
    """Return whether a directory looks like an export."""
    return os.path.isfile(os.path.join(path, HEAD)) and os.path.isfile(os.path.join(path, SUMS))


def read_snapshot(path: str) -> Snapshot:
    """Return an export. Sections and sources are read, and checked, when they are asked for.

    Raises DamagedExport, NewerFormat.
    """
    sums = _read_sums(path)
    files = _Files(path, sums)
    head = files.read(HEAD, MAX_HEAD)
    match = _HEAD.match(head.decode("utf-8", "replace"))
    if not match:
        raise DamagedExport(path, f"'{HEAD}' is not what an export has")
    if int(match[1]) != FORMAT:
        raise NewerFormat(os.path.join(path, HEAD), int(match[1]))
    try:
        check_catalog(files.read("catalog.toml", MAX_HEAD))
    except DamagedCatalog as e:
        raise DamagedExport(path, f"'catalog.toml': {e.why}") from None
    object_format = match[2]
    documents = {}
    sections: dict[str, str] = {}
    sources: dict[str, str] = {}
    for name in sums:
        kinds = _PATHS.fullmatch(name)
        assert kinds is not None, "the list has been checked"
        if kinds["document"]:
            if is_leftover(kinds["document"]):
                raise DamagedExport(path, f"'{name}' is no name of a manifest")
            documents[kinds["document"]] = files.read(name, MAX_TEXT)
        elif kinds["section"]:
            sections[kinds["section"]] = name
        elif kinds["source"]:
            sources[kinds["source"]] = name

    def read_section(kbid: str) -> bytes | None:
        if kbid not in sections:
            return None
        data = files.read(sections[kbid], MAX_SECTION)
        try:
            decode_section(data, kbid)
        except DamagedSection as e:
            raise DamagedExport(path, str(e)) from None
        return data

    def read_source(blob: str) -> bytes | None:
        if blob not in sources:
            return None
        data = files.read(sources[blob], MAX_SOURCE)
        if object_id("blob", data, object_format) != blob:
            raise DamagedExport(path, f"the hash of '{sources[blob]}' is not its name")
        return data

    config = files.read(CONFIG, MAX_SECTION) if CONFIG in sums else None
    return Snapshot(path, object_format, documents, config, read_section, read_source)


def _read_sums(path: str) -> dict[str, str]:
    sums: dict[str, str] = {}
    text = _Files(path, {}).read(SUMS, MAX_SUMS).decode("utf-8", "surrogateescape")
    for n, line in enumerate(text.split("\n")[:-1] if text.endswith("\n") else [text], 1):
        match = _LINE.fullmatch(line)
        if not match or not _PATHS.fullmatch(match[2]) or match[2] in sums:
            raise DamagedExport(path, f"line {n} of '{SUMS}' names no file of an export")
        sums[match[2]] = match[1]
    return sums


class _Files:
    """Files of an export, none of them behind a link, each with the sum that the list says."""

    def __init__(self, top: str, sums: dict[str, str]):
        self.top, self.sums = top, sums
        self._real: set[str] = set()

    def read(self, path: str, limit: int) -> bytes:
        if path != SUMS and path not in self.sums:
            raise DamagedExport(self.top, f"'{path}' is missing")
        full = os.path.join(self.top, path)
        try:
            for n in range(1, path.count("/") + 1):
                self._check_directory("/".join(path.split("/")[:n]))
            with open(open_regular(full), "rb") as file:
                if os.fstat(file.fileno()).st_size > limit:
                    raise DamagedExport(self.top, f"'{path}' is larger than {limit} bytes")
                data = file.read(limit + 1)
        except OSError as e:
            raise DamagedExport(self.top, f"'{path}' cannot be read: {(e.strerror or str(e)).lower()}") from None
        if path != SUMS and sha256(data).hexdigest() != self.sums[path]:
            raise DamagedExport(self.top, f"'{path}' is not what '{SUMS}' says")
        return data

    def _check_directory(self, path: str) -> None:
        if path not in self._real:
            if os.path.islink(os.path.join(self.top, path)):
                raise DamagedExport(self.top, f"'{path}' is a symbolic link")
            self._real.add(path)
