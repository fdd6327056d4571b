"""Which references stand in each section: files of them, and all files together. docs/format-references.md, "References"."""

from __future__ import annotations

import os
import posixpath
from array import array
from collections.abc import Iterable, Iterator
from itertools import accumulate
from unicodedata import normalize
from urllib.parse import unquote

from xxhash import xxh3_128_hexdigest

from git_kb.errors import NewerFormat
from git_kb.index.btree import BadTree, Tree, bulk_load
from git_kb.index.build import from_little_endian, little_endian
from git_kb.index.pagefile import DamagedSegment, OtherFeature, PageFile, encode_pagefile, place_of_id
from git_kb.index.segments import merge_groups
from git_kb.index.varint import decode_varints, encode_varints
from git_kb.model.reference import (
    ANCHOR,
    BEFORE,
    DEFINITION,
    GENERATION,
    KINDS,
    LABEL,
    MARKERS,
    NAME,
    REF,
    TARGET,
    WIKI,
    Reference,
)
from git_kb.model.section import MIN_PREFIX, RAW_SIZE, Section, decode_section, is_kbid_prefix
from git_kb.model.source import path_of_source
from git_kb.repo.lockfile import atomic_write, is_leftover

MAGIC = b"GITKBREF"
DIRECTORY = "references"
PREFIX, SUFFIX = "ref-", ".kbr"
MAX_STEM = 200
_INDEX_KEYS = ("/readme", "/index", "/_index")


def encode_references(references: Iterable[Reference]) -> bytes:
    """Return the records of one section."""
    return "\n".join([f"{r.kind} {r.start} {r.end} {r.line} {r.target}" for r in references]).encode("utf-8", "replace")


def section_records(section: Section) -> bytes:
    """Return the records of a section's references."""
    if section.mime.startswith("image/"):
        return b""
    # Here, since whoever only drops or moves such files does without the scanner.
    from git_kb.text.links import find_references

    return encode_references(find_references(section.mime, section.content.decode("utf-8", "replace")))


def object_records(kbid: str, data: bytes) -> bytes:
    """Return the records of the references in a section's object."""
    return section_records(decode_section(data, kbid, verify=False))


def decode_references(records: bytes) -> list[Reference]:
    """Return the references of one section. Raises ValueError where a record makes no sense."""
    found = []
    for line in records.decode().split("\n") if records else ():
        kind, start, end, n_lines, target = line.split(" ", 4)
        if kind not in KINDS or not target or not 0 <= int(start) <= int(end) or int(n_lines) < 0:
            raise ValueError(f"'{line[:40]}' is no reference")
        if kind == DEFINITION and "\t" not in target:
            raise ValueError("a definition without a destination")
        found.append(Reference(kind, int(start), int(end), int(n_lines), target))
    return found


def stem(name: str) -> str:
    """Return what of a file's name counts in a key: what stands before the first dot that is not its first character."""
    name = normalize("NFC", name)
    name = name[:1] + name[1:].partition(".")[0]
    return name.casefold().encode("utf-8", "replace")[:MAX_STEM].decode("utf-8", "ignore")


def path_of(destination: str) -> str:
    """Return the path of a destination or wiki link: without query and fragment, percent-decoded."""
    return unquote(destination.partition("#")[0].partition("?")[0], errors="surrogateescape")


def wiki_parts(target: str) -> tuple[str, str]:
    """Return (page, heading) of what stands in a wiki link."""
    page, _, heading = target.partition("|")[0].partition("#")
    return page.strip(), heading.strip()


def _path_key(path: str) -> str:
    last = posixpath.normpath(path).rpartition("/")[2]
    return "/" + ("" if last in ("", ".", "..") else stem(last))


def keys_of(reference: Reference) -> list[str]:
    """Return the keys under which a reference is found."""
    kind, target = reference.kind, reference.target
    if kind in (LABEL, NAME, ANCHOR):
        return []
    if kind == REF:
        return [key_of_label(target)]
    if kind in (TARGET, BEFORE):
        return [key_of_target(target)]
    if kind in MARKERS:
        keys = [":" + _cut(target.strip().partition("#")[0])]
        if is_kbid_prefix(target.strip().lower()):
            keys.append("$" + target.strip().lower()[:MIN_PREFIX])
        return keys
    if kind == WIKI:
        page = wiki_parts(target)[0]
        return [_path_key(page)] if page else []
    if kind == DEFINITION:
        return ["[" + _path_key(path_of(target.partition("\t")[2]))]
    return [] if target.startswith("#") else [_path_key(path_of(target))]


def keys_of_document(docid: str, source: str) -> list[str]:
    """Return the keys of references that can lead to a document. Those of its sections' kbids are `key_of_kbid`.

    A definition's key has a `[` before it.
    """
    raw = path_of_source(source)
    path = path_of(source) if raw is None else raw.decode("utf-8", "surrogateescape")
    keys = [":" + _cut(docid), _path_key(path)]
    if raw is None or keys[1] in _INDEX_KEYS:
        # A directory stands for its README or index.
        keys += [_path_key(posixpath.dirname(path)), "/"]
    return list(dict.fromkeys(keys))


def key_of_kbid(kbid: str) -> str:
    """Return the key of markers that can name a section."""
    return "$" + kbid[:MIN_PREFIX]


def key_of_label(label: str) -> str:
    """Return the key of `:ref:` roles that name a label."""
    return "&" + _cut(label)


def key_of_target(label: str) -> str:
    """Return the key of the targets that a label may name."""
    return "@" + _cut(label)


def _cut(docid: str) -> str:
    return docid.encode("utf-8", "replace")[:MAX_STEM].decode("utf-8", "ignore")


def encode_file(records: dict[bytes, bytes]) -> bytearray:
    """Return the bytes of a file of sections: kbid (16 bytes) -> its records."""
    kbids = sorted(records)
    lists: dict[bytes, array[int]] = {}
    for ordinal, kbid in enumerate(kbids):
        if records[kbid]:
            keys = {key for r in decode_references(records[kbid]) for key in keys_of(r)}
            for key in keys:
                lists.setdefault(key.encode("utf-8", "replace"), array("I")).append(ordinal)
    items = []
    sources = array("I")
    for name in sorted(lists):
        items.append((name, encode_varints((len(sources), len(lists[name])))))
        sources.extend(lists[name])
    areas: list[tuple[str, bytes | bytearray]] = [
        ("kbids", b"".join(kbids)),
        ("ends", little_endian(array("I", accumulate(len(records[k]) for k in kbids)))),
        ("records", b"".join([records[k] for k in kbids])),
        ("keys", bulk_load(items)),
        ("sources", little_endian(sources)),
    ]
    return encode_pagefile(MAGIC, GENERATION, areas)


class ReferenceFile:
    """One file, open. Every read may raise DamagedSegment."""

    def __init__(self, path: str, name: str = "", data: bytes | bytearray | None = None):
        """Map the file, or take `data` for its bytes. Raises FileNotFoundError, DamagedSegment, OtherFeature, NewerFormat."""
        self.name = name
        self.file = PageFile(path, MAGIC, GENERATION, data)
        try:
            size = self.file.area("kbids")[1]
            if size % RAW_SIZE or self.file.area("ends")[1] != size // 4:
                raise DamagedSegment(path, 0, "its areas do not fit each other")
            self.n_sections = size // RAW_SIZE
            at, length = self.file.area("keys")
            self._keys = Tree(lambda offset, n: self.file.read(at + offset, n), length)
            self._kbids_at = self.file.area("kbids")[0]
            self._ends_at = self.file.area("ends")[0]
        except BaseException:
            self.file.close()
            raise

    def kbids(self) -> list[bytes]:
        """Return the kbids of all sections, ascending."""
        data = bytes(self.file.read_area("kbids"))
        return [data[at : at + RAW_SIZE] for at in range(0, len(data), RAW_SIZE)]

    def kbid(self, ordinal: int) -> bytes:
        """Return one of them."""
        return bytes(self.file.read(self._kbids_at + ordinal * RAW_SIZE, RAW_SIZE))

    def records(self, kbid: bytes) -> bytes | None:
        """Return the records of a section, None when the file does not have it."""
        at = place_of_id(self.n_sections, self.kbid, kbid)
        return self._records(at) if at < self.n_sections and self.kbid(at) == kbid else None

    def all_records(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield (kbid, records) of all sections, ascending."""
        for ordinal, kbid in enumerate(self.kbids()):
            yield kbid, self._records(ordinal)

    def _records(self, ordinal: int) -> bytes:
        start = self._end(ordinal - 1) if ordinal else 0
        end = self._end(ordinal)
        base, length = self.file.area("records")
        if not start <= end <= length:
            raise DamagedSegment(self.file.path, 0, "records leave their area")
        return bytes(self.file.read(base + start, end - start))

    def _end(self, ordinal: int) -> int:
        return int.from_bytes(self.file.read(self._ends_at + 4 * ordinal, 4), "little")

    def references(self, kbid: bytes) -> list[Reference] | None:
        """Return the references of a section, None when the file does not have it."""
        records = self.records(kbid)
        try:
            return None if records is None else decode_references(records)
        except ValueError as e:
            raise DamagedSegment(self.file.path, 0, f"its records make no sense ({e})") from None

    def sections_with(self, key: str) -> list[bytes]:
        """Return the kbids of sections that have a reference of this key."""
        try:
            value = self._keys.get(key.encode("utf-8", "replace"))
            if value is None:
                return []
            first, n = decode_varints(value)
        except (BadTree, IndexError, ValueError) as e:
            raise DamagedSegment(self.file.path, 0, f"its key tree makes no sense ({e})") from None
        at, length = self.file.area("sources")
        if 4 * (first + n) > length:
            raise DamagedSegment(self.file.path, 0, "a key's sections leave their area")
        ordinals = from_little_endian(bytes(self.file.read(at + 4 * first, 4 * n)))
        if any(o >= self.n_sections for o in ordinals):
            raise DamagedSegment(self.file.path, 0, "a key names no section")
        return [self.kbid(o) for o in ordinals]

    def close(self) -> None:
        self.file.close()


class References:
    """The references of many sections, over all files."""

    def __init__(self, files: list[ReferenceFile]):
        self.files = files

    def missing(self, kbids: set[bytes]) -> set[bytes]:
        """Return those kbids that no file has."""
        missing = set(kbids)
        for file in self.files:
            missing.difference_update(file.kbids())
        return missing

    def of(self, kbid: bytes) -> list[Reference]:
        """Return the references of a section; none where it is not known."""
        for file in self.files:
            if (found := file.references(kbid)) is not None:
                return found
        return []

    def sections_with(self, key: str) -> set[bytes]:
        """Return the kbids of sections that have a reference of this key."""
        return {kbid for file in self.files for kbid in file.sections_with(key)}

    def close(self) -> None:
        for file in self.files:
            file.close()


def is_reference_name(name: str) -> bool:
    """Return whether a file of that name is one of ours."""
    return name.startswith(PREFIX) and name.endswith(SUFFIX)


def open_files(kb_dir: str) -> tuple[list[ReferenceFile], list[str]]:
    """Return (the files that can be used, in order of name; names of those that are damaged). Others' are passed over."""
    directory = os.path.join(kb_dir, DIRECTORY)
    files: list[ReferenceFile] = []
    damaged: list[str] = []
    try:
        names = sorted(filter(is_reference_name, os.listdir(directory)))
    except OSError:
        return [], []
    for name in names:
        try:
            files.append(ReferenceFile(os.path.join(directory, name), name))
        except DamagedSegment:
            damaged.append(name)
        except (FileNotFoundError, OtherFeature, NewerFormat):
            continue  # merged just now, or of another version: what it held is missing and found again
    return files, damaged


def write_references(kb_dir: str, records: dict[bytes, bytes]) -> str:
    """Store the records of some sections and return the file's name. It counts at once. It is a cache, so it is not synced."""
    data = encode_file(records)
    name = f"{PREFIX}{xxh3_128_hexdigest(data)}{SUFFIX}"
    directory = os.path.join(kb_dir, DIRECTORY)
    os.makedirs(directory, exist_ok=True)
    atomic_write(os.path.join(directory, name), data, fsync=False)
    return name


def merge_files(kb_dir: str) -> None:
    """Merge small files until sizes at least double, and delete what cannot be used. The caller holds the lock."""
    directory = os.path.join(kb_dir, DIRECTORY)
    files, _ = open_files(kb_dir)
    try:
        live = {file.name for file in files}
        for name in os.listdir(directory) if os.path.isdir(directory) else ():
            if name not in live and (is_reference_name(name) or is_leftover(name)):
                _unlink(os.path.join(directory, name))
        while group := [files[i] for i in merge_groups([file.n_sections for file in files])]:
            records: dict[bytes, bytes] = {}
            try:
                for file in group:
                    records.update(file.all_records())
                merged = write_references(kb_dir, records)
            except (DamagedSegment, ValueError):
                # Whole files are checked page by page: the bad one is among these, and all can be made again.
                merged = ""
            for file in group:
                file.close()
                files.remove(file)
                if file.name != merged:
                    _unlink(os.path.join(directory, file.name))
            if merged:
                files.append(ReferenceFile(os.path.join(directory, merged), merged))
    finally:
        for file in files:
            file.close()


def drop_files(kb_dir: str) -> None:
    """Delete all files. The caller holds the lock."""
    directory = os.path.join(kb_dir, DIRECTORY)
    for name in os.listdir(directory) if os.path.isdir(directory) else ():
        if is_reference_name(name):
            _unlink(os.path.join(directory, name))


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass  # somebody else has done it, or still has it open; the next merge tries again
