"""Making segments from entries, and one segment from several. docs/format-index.md, "Segments"."""

from __future__ import annotations

import sys
from array import array
from collections import _count_elements, defaultdict  # type: ignore[attr-defined]
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from xxhash import xxh3_64_digest

from git_kb.index.btree import bulk_load
from git_kb.index.pagefile import encode_pagefile
from git_kb.index.segment import ENTRY_SIZE, MAGIC, MAX_ENTRIES, STATS, TF_MAX, Segment
from git_kb.index.varint import encode_varints
from git_kb.text.bulk import MAX_TERMS, Vocabulary
from git_kb.text.fields import fields
from git_kb.text.words import GENERATION

# A segment is closed when it holds this much text, so that building it stays within some 200 MB.
MAX_TEXT_BYTES = 48 << 20
# Room for the terms of one more entry.
TERM_MARGIN = 100_000
LITTLE = sys.byteorder == "little"


class Entry(NamedTuple):
    """What is indexed: a section together with the heading text it stands under."""

    entry_id: bytes
    mime: str
    heading: str
    content: str


def heading_text(title: str, headings: Iterable[str]) -> str:
    """Return the heading text of a manifest row."""
    lines: list[str] = []
    for line in (title, *headings):
        if line and (not lines or lines[-1] != line):
            lines.append(line)
    return "\n".join(lines)


def entry_id(kbid_bytes: bytes, heading: str) -> bytes:
    """Return the id of the entry of a section (the kbid's 16 bytes) under a heading text: 24 bytes."""
    return kbid_bytes + xxh3_64_digest(heading.encode("utf-8", "surrogatepass"))


class SegmentBuilder:
    """Takes entries in ascending order of id, and gives the segment's bytes."""

    def __init__(self) -> None:
        self.vocabulary = Vocabulary()
        self.ids = bytearray()
        self.lengths = (array("I"), array("I"), array("I"))
        self.types = bytearray()
        self.typenames: dict[str, int] = {}
        self.tokens = bytearray()
        self.ends = array("I")
        self.text_bytes = 0
        # Per term, by code point order: ordinal << 8 | frequency.
        self.body: defaultdict[str, array[int]] = defaultdict(_numbers)
        self.heading: defaultdict[str, array[int]] = defaultdict(_numbers)
        self.code: defaultdict[str, array[int]] = defaultdict(_numbers)

    def __len__(self) -> int:
        return len(self.types)

    @property
    def full(self) -> bool:
        """Whether the segment should be closed before another entry."""
        return len(self) >= MAX_ENTRIES or self.text_bytes >= MAX_TEXT_BYTES or len(self.vocabulary.codes) > MAX_TERMS - TERM_MARGIN

    def add(self, entry: Entry) -> None:
        """Take one entry. Raises ValueError when it is out of order."""
        texts = fields(entry.mime, entry.content, entry.heading)
        encode = self.vocabulary.encode
        self.text_bytes += len(entry.content)
        self.add_tokens(entry.entry_id, entry.mime, (encode(texts[0]), encode(texts[1]), encode(texts[2])))

    def add_tokens(self, entry_id: bytes, mime: str, strings: tuple[str, str, str]) -> None:
        """Take one entry whose token strings are made."""
        if self.ids and entry_id <= self.ids[-ENTRY_SIZE:]:
            raise ValueError("entries are not in ascending order")
        base = len(self) << 8
        self.ids += entry_id
        self.types.append(self.typenames.setdefault(mime, min(len(self.typenames), 255)))
        for lengths, string in zip(self.lengths, strings, strict=True):
            lengths.append(len(string))
            self.tokens += string.encode("utf-8")
            self.ends.append(len(self.tokens))
        heading, body, code = strings
        lists = self.body
        counts: dict[str, int] = {}
        _count_elements(counts, body)
        for char, n in counts.items():
            lists[char].append(base | n if n < TF_MAX else base | TF_MAX)
        for string, sub in ((heading, self.heading), (code, self.code)):
            if not string:
                continue
            there: dict[str, int] = {}
            _count_elements(there, string)
            for char, n in there.items():
                sub[char].append(base | n if n < TF_MAX else base | TF_MAX)
                if char not in counts:
                    # Every entry with the term stands in the main list, here with a body frequency of 0.
                    counts[char] = 0
                    lists[char].append(base)

    def encode(self) -> bytearray:
        """Return the bytes of the segment file."""
        postings = bytearray()
        values: list[tuple[bytes, bytes]] = []
        empty = array("I")
        for term, char in sorted(self.vocabulary.codes.items()):
            body = self.body.get(char, empty)
            if not body:
                continue
            heading, code = self.heading.get(char, empty), self.code.get(char, empty)
            if len(postings) % 2:
                postings.append(0)
            value = encode_varints((ord(char), len(body), len(heading), len(code), len(postings)))
            values.append((term.encode("utf-8", "surrogatepass"), value))
            for numbers in (body, heading, code):
                if numbers:
                    postings += _split(numbers)
        values.sort()
        totals = [sum(lengths) for lengths in self.lengths]
        names = "\n".join(self.typenames).encode()
        areas: list[tuple[str, bytes | bytearray]] = [
            ("stats", STATS.pack(len(self), len(values), *totals)),
            ("entries", self.ids),
            ("lengths", b"".join(map(_little, self.lengths))),
            ("types", self.types),
            ("typenames", names),
            ("terms", bulk_load(values)),
            ("postings", postings),
            ("tokens", self.tokens),
            ("tokenends", _little(self.ends)),
        ]
        return encode_pagefile(MAGIC, GENERATION, areas)


def _numbers() -> array[int]:
    return array("I")


def _little(numbers: array[int]) -> bytes:
    if not LITTLE:
        numbers = numbers[:]
        numbers.byteswap()
    return numbers.tobytes()


def _split(numbers: array[int]) -> bytes:
    """Return `ordinal << 8 | frequency` numbers as all ordinals (u16), then all frequencies (u8)."""
    data = _little(numbers)
    ordinals = bytearray(2 * len(numbers))
    ordinals[0::2] = data[1::4]
    ordinals[1::2] = data[2::4]
    return bytes(ordinals) + data[0::4]


def build_segments(entries: Iterable[Entry]) -> Iterator[bytearray]:
    """Yield the bytes of as many segments as the entries need, in ascending order of id.

    The same entries give the same bytes.
    """
    builder = SegmentBuilder()
    for entry in entries:
        if builder.full:
            yield builder.encode()
            builder = SegmentBuilder()
        builder.add(entry)
    if len(builder):
        yield builder.encode()


def merge_segments(segments: list[Segment]) -> bytearray:
    """Return the bytes of one segment with the entries of all. An entry in several of them is taken once.

    Equal to building a segment of the union. Raises DamagedSegment.
    """
    builder = SegmentBuilder()
    codes = builder.vocabulary.codes
    tables = []
    for segment in segments:
        tables.append({code_point: term for term, code_point, _ in segment.all_terms()})
    order = sorted((segment.entry_id(o), s, o) for s, segment in enumerate(segments) for o in range(segment.n_entries))
    maps: list[dict[int, str]] = [{} for _ in segments]
    last = b""
    for id_, s, ordinal in order:
        if id_ == last:
            continue
        last = id_
        segment, table, known = segments[s], tables[s], maps[s]
        strings = []
        for field in range(3):
            string = segment.token_string(ordinal, field)
            # dict.fromkeys keeps the order of first use, in which code points are given.
            for char in dict.fromkeys(map(ord, string)):
                if char not in known:
                    term = table[char]
                    if term not in codes:
                        codes[term] = chr(_next(codes))
                    known[char] = codes[term]
            strings.append(string.translate(known))
        builder.add_tokens(id_, segment.mime(ordinal), (strings[0], strings[1], strings[2]))
    return builder.encode()


def _next(codes: dict[str, str]) -> int:
    from git_kb.text.bulk import code_point

    return code_point(len(codes) + 1)
