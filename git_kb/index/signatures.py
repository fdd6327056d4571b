"""Signatures of a segment's entries, in a file beside it. docs/format-references.md, "Signatures"."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Iterator

from git_kb.errors import NewerFormat
from git_kb.index.btree import BadTree
from git_kb.index.build import little_endian
from git_kb.index.pagefile import DamagedSegment, OtherFeature, PageFile, encode_pagefile
from git_kb.index.segment import MAX_LENGTH, Segment
from git_kb.repo.lockfile import atomic_write
from git_kb.text.minhash import N_BINS, N_ROWS, set_key, signature, term_hash
from git_kb.text.words import FIELDS
from git_kb.text.words import GENERATION as TOKENS

MAGIC = b"GITKBSIG"
DIRECTORY = "signatures"
PREFIX, SUFFIX = "seg-", ".kbm"
GENERATION = TOKENS << 8 | 1


def body_terms(segment: Segment, ordinal: int) -> set[str]:
    """Return the characters of the terms of an entry's body and code."""
    chars = set(segment.token_string(ordinal).partition(FIELDS)[2])
    chars.discard(FIELDS)
    return chars


def term_chars(segment: Segment) -> Iterator[tuple[bytes, str]]:
    """Yield (term in UTF-8, its character) of all terms, in order. May raise DamagedSegment."""
    try:
        for term, value in segment.terms.scan():
            # The code point is the first varint of the value, in one byte to three.
            code = value[0]
            if code > 0x7F:
                code = code & 0x7F | value[1] << 7
                if code > 0x3FFF:
                    code = code & 0x3FFF | value[2] << 14
            yield term, chr(code)
    except (BadTree, IndexError, ValueError) as e:
        raise DamagedSegment(segment.file.path, 0, f"its term tree makes no sense ({e})") from None


def encode_signatures(segment: Segment) -> bytearray:
    """Return the bytes of the signature file of a segment. Equal for equal segments."""
    hashes = {char: term_hash(term) for term, char in term_chars(segment)}
    sets, sizes = array("Q"), array("H")
    rows = []
    nothing = (0, bytes(N_BINS))
    # Boilerplate repeats: a sixth of the entries of a reference manual have the terms of another one.
    known: dict[tuple[int, ...], tuple[int, bytes]] = {}
    for ordinal in range(segment.n_entries):
        own = tuple(sorted(map(hashes.__getitem__, body_terms(segment, ordinal)), reverse=True))
        if own not in known:
            known[own] = (set_key(own), signature(own)) if own else nothing
        key, row = known[own]
        sets.append(key)
        sizes.append(min(len(own), MAX_LENGTH))
        rows.append(row)
    bands = [b"".join([row[at : at + N_ROWS] for row in rows]) for at in range(0, N_BINS, N_ROWS)]
    areas: list[tuple[str, bytes | bytearray]] = [
        ("sets", little_endian(sets)),
        ("sizes", little_endian(sizes)),
        ("bands", b"".join(bands)),
    ]
    return encode_pagefile(MAGIC, GENERATION, areas)


class Signatures:
    """An open signature file. Every read may raise DamagedSegment."""

    def __init__(self, path: str, n_entries: int, data: bytes | bytearray | None = None):
        """Map the file, or take `data` for its bytes. Raises FileNotFoundError, DamagedSegment, OtherFeature, NewerFormat."""
        self.n_entries = n_entries
        self.file = PageFile(path, MAGIC, GENERATION, data)
        try:
            for area, size in (("sets", 8), ("sizes", 2), ("bands", N_BINS)):
                if self.file.area(area)[1] != size * n_entries:
                    raise DamagedSegment(path, 0, f"its area '{area}' has the wrong size")
        except BaseException:
            self.file.close()
            raise

    def sets(self) -> bytes:
        """Return 8 bytes an entry that stand for its set of terms; 0 for an empty one."""
        return bytes(self.file.read_area("sets"))

    def sizes(self) -> bytes:
        """Return 2 bytes an entry: how many terms it has."""
        return bytes(self.file.read_area("sizes"))

    def band(self, number: int) -> bytes:
        """Return 5 bytes an entry: what its signature has in one band."""
        at = self.file.area("bands")[0]
        width = N_ROWS * self.n_entries
        return bytes(self.file.read(at + number * width, width))

    def close(self) -> None:
        self.file.close()


def is_signature_name(name: str) -> bool:
    """Return whether a file of that name is one of ours."""
    return name.startswith(PREFIX) and name.endswith(SUFFIX)


def signature_path(kb_dir: str, segment_name: str) -> str:
    """Return where the signatures of a segment are kept."""
    return os.path.join(kb_dir, DIRECTORY, os.path.splitext(segment_name)[0] + SUFFIX)


def open_signatures(kb_dir: str, segment: Segment) -> Signatures | None:
    """Return the signatures of a segment; None when there are none that can be used."""
    try:
        return Signatures(signature_path(kb_dir, segment.name), segment.n_entries)
    except (FileNotFoundError, NotADirectoryError, DamagedSegment, OtherFeature, NewerFormat):
        return None


def write_signatures(kb_dir: str, segment: Segment) -> None:
    """Make and store the signatures of a segment. They are a cache, so they are not synced."""
    path = signature_path(kb_dir, segment.name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    atomic_write(path, encode_signatures(segment), fsync=False)


def drop_signatures(kb_dir: str, keep: Iterable[str] = ()) -> None:
    """Delete the signatures of all segments but these. The caller holds the lock."""
    directory = os.path.join(kb_dir, DIRECTORY)
    kept = {os.path.basename(signature_path(kb_dir, name)) for name in keep}
    for name in os.listdir(directory) if os.path.isdir(directory) else ():
        if is_signature_name(name) and name not in kept:
            try:
                os.unlink(os.path.join(directory, name))
            except OSError:
                continue  # gone already, or (on Windows) still open; the next time
