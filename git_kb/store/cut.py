"""One source to section rows and section objects.

Pure apart from the CPU it takes, so it runs in worker processes.
"""

from __future__ import annotations

import os
import zlib
from dataclasses import dataclass, replace
from hashlib import sha1, sha256

from git_kb.model.chunk import Chunk, ChunkedSource
from git_kb.model.document import SectionRow
from git_kb.model.section import Section, canonical_text, chunk_ids, content_hash, encode_section, section_id
from git_kb.model.source import source_keys, source_of_path
from git_kb.store.collector import paused_collector
from git_kb.store.manifest import one_line, parse_rows, render_rows
from git_kb.text.chunk import Unusable, chunk_source

# Level 1: sections are small, and higher levels buy 3 % for twice the time.
DEFLATE_LEVEL = 1


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in bytes: where a section part closes, and what none may pass. detect: look for the language of the prose, too."""

    target: int
    ceiling: int
    detect: bool = False


@dataclass(frozen=True, slots=True)
class Cut:
    """One source, cut. `rows` lack `supersedes`. `objects`: kbid -> section object."""

    source: ChunkedSource
    rows: tuple[SectionRow, ...]
    objects: dict[str, bytes]

    @property
    def rows_text(self) -> str:
        return render_rows(self.rows)

    @property
    def n_sections(self) -> int:
        return len(self.rows)

    @property
    def n_bytes(self) -> int:
        return sum(row.n_bytes for row in self.rows)


@dataclass(frozen=True, slots=True)
class PackedCut:
    """A Cut as a worker sends it: rows as text, which is mostly all that is wanted of them and quicker on the way.

    `n_bytes`: of the source. `objects` are ready for a pack: kbid -> (oid, size in bytes, deflated).
    """

    source: ChunkedSource
    rows_text: str
    n_sections: int
    n_bytes: int
    objects: dict[str, tuple[str, int, bytes]]

    @property
    def rows(self) -> tuple[SectionRow, ...]:
        rows = parse_rows(self.rows_text)
        assert rows is not None, "our own text is canonical"
        return rows


def cut_source(path: bytes, data: bytes, limits: Limits) -> Cut:
    """Cut one source. `path` is its repository path. Raises text.chunk.Unusable with the reason."""
    name = path.decode("utf-8", "replace")
    source = chunk_source(name, data, target=limits.target, ceiling=limits.ceiling, detect=limits.detect)
    pieces = _visible(source.chunks)
    if not pieces:
        raise Unusable(os.fsdecode(path), "it is empty")
    headings = [tuple(one_line(h) for h in chunk.heading) for chunk, _ in pieces]
    sections = [Section(chunk.type or source.type, text.encode()) for chunk, text in pieces]
    objects = {}
    kbids = []
    for section in sections:
        encoded = encode_section(section)
        kbids.append(section_id(encoded))
        objects[kbids[-1]] = encoded
    chunks = chunk_ids(content_hash(s.content) for s in sections)
    keys = source_keys(source_of_path(path), headings)
    rows = tuple(
        SectionRow(
            kbid=kbid,
            chunk=chunk_id,
            source_key=key,
            n_lines=chunk.n_lines,
            n_bytes=chunk.end - chunk.start,
            heading=heading,
            type=chunk.type,
            role=chunk.role,
            part=chunk.part,
        )
        for kbid, chunk_id, key, heading, (chunk, _) in zip(kbids, chunks, keys, headings, pieces, strict=True)
    )
    return Cut(replace(source, chunks=()), rows, objects)


def _visible(chunks: tuple[Chunk, ...]) -> list[tuple[Chunk, str]]:
    """Return (chunk, canonical text).

    a chunk of which nothing is left is given to the one before it (the first: to the next).
    """
    pieces: list[tuple[Chunk, str]] = []
    start, n_lines = 0, 0
    for chunk in chunks:
        text = canonical_text(chunk.text)
        if text:
            if start != chunk.start or n_lines:
                chunk = replace(chunk, start=start, line=chunk.line - n_lines, n_lines=chunk.n_lines + n_lines)
            pieces.append((chunk, text))
            n_lines = 0
        elif pieces:
            before, before_text = pieces[-1]
            pieces[-1] = (replace(before, end=chunk.end, n_lines=before.n_lines + chunk.n_lines), before_text)
        else:
            n_lines += chunk.n_lines
            continue
        start = chunk.end
    return pieces


def pack_cut(path: bytes, data: bytes, limits: Limits, object_format: str) -> PackedCut:
    """Cut one source and make its objects ready for a pack."""
    cut = cut_source(path, data, limits)
    hasher = sha256 if object_format == "sha256" else sha1
    packed = {}
    for kbid, encoded in cut.objects.items():
        oid = hasher(b"blob %d\0" % len(encoded) + encoded).hexdigest()
        packed[kbid] = (oid, len(encoded), zlib.compress(encoded, DEFLATE_LEVEL))
    return PackedCut(cut.source, cut.rows_text, cut.n_sections, cut.n_bytes, packed)


def pack_cuts(jobs: list[tuple[bytes, bytes]], limits: Limits, object_format: str) -> list[PackedCut | str]:
    """Cut a batch in a worker process. A source that cannot be used gives its reason instead."""
    results: list[PackedCut | str] = []
    with paused_collector():
        for path, data in jobs:
            try:
                results.append(pack_cut(path, data, limits, object_format))
            except Unusable as e:
                results.append(e.reason)
    return results
