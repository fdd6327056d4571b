"""Making segments from entries, and one segment from several. docs/format-index.md, "Segments"."""

from __future__ import annotations

import sys
from array import array
from collections import _count_elements, defaultdict  # type: ignore[attr-defined]
from collections.abc import Iterable, Iterator
from struct import Struct
from typing import NamedTuple

from xxhash import xxh3_64_digest

from git_kb.index.btree import bulk_load
from git_kb.index.pagefile import encode_pagefile
from git_kb.index.segment import ENTRY_SIZE, MAGIC, MAX_ENTRIES, STATS, TF_MAX, Segment
from git_kb.index.varint import encode_varints
from git_kb.text.bulk import MAX_TERMS, Vocabulary, code_point
from git_kb.text.fields import fields
from git_kb.text.words import GENERATION

# A segment is closed when it holds this much text, so that building it stays within some 200 MB.
MAX_TEXT_BYTES = 48 << 20
# Room for the terms of one more entry.
TERM_MARGIN = 100_000
# Entries are cut into terms, then counted, by so many at a time: each step then finds its tables in the processor's cache.
BATCH = 250
# A posting list of one entry.
ONE = Struct("<HB")
LITTLE = sys.byteorder == "little"
UTF_32 = "utf-32-le" if LITTLE else "utf-32-be"


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
        # Entries without token strings, and the most terms that they can add.
        self.uncut: list[Entry] = []
        self.most_terms = 0
        # Token strings that are not in the posting lists yet.
        self.uncounted: list[tuple[str, str, str]] = []
        # Per term, by code point: ordinal << 8 | frequency.
        self.body: list[array[int]] = []
        self.heading: defaultdict[int, array[int]] = defaultdict(_numbers)
        self.code: defaultdict[int, array[int]] = defaultdict(_numbers)

    def __len__(self) -> int:
        return len(self.types)

    @property
    def full(self) -> bool:
        """Whether the segment should be closed before another entry."""
        if len(self) >= MAX_ENTRIES or self.text_bytes >= MAX_TEXT_BYTES:
            return True
        if len(self.vocabulary.codes) + self.most_terms > MAX_TERMS - TERM_MARGIN:
            self._cut()
        return len(self.vocabulary.codes) > MAX_TERMS - TERM_MARGIN

    def add(self, entry: Entry) -> None:
        """Take one entry. Raises ValueError when it is out of order."""
        self._name(entry.entry_id, entry.mime)
        self.text_bytes += len(entry.content)
        for text in (entry.content, entry.heading):
            # A character gives two terms at most; NFKC makes up to 18 characters of one.
            self.most_terms += len(text) * (2 if text.isascii() else 36)
        self.uncut.append(entry)
        if len(self.uncut) == BATCH:
            self._cut()

    def add_tokens(self, entry_id: bytes, mime: str, strings: tuple[str, str, str]) -> None:
        """Take one entry whose token strings are made. Raises ValueError when it is out of order."""
        self._cut()
        self._name(entry_id, mime)
        self._keep(strings)

    def _name(self, entry_id: bytes, mime: str) -> None:
        if self.ids and entry_id <= self.ids[-ENTRY_SIZE:]:
            raise ValueError("entries are not in ascending order")
        self.ids += entry_id
        self.types.append(self.typenames.setdefault(mime, min(len(self.typenames), 255)))

    def _cut(self) -> None:
        """Make the token strings of the entries that came since the last time."""
        texts = [fields(e.mime, e.content, e.heading) for e in self.uncut]
        self.uncut.clear()
        self.most_terms = 0
        encode = self.vocabulary.encode
        for strings in [(encode(heading), encode(body), encode(code)) for heading, body, code in texts]:
            self._keep(strings)

    def _keep(self, strings: tuple[str, str, str]) -> None:
        for lengths, string in zip(self.lengths, strings, strict=True):
            lengths.append(len(string))
            self.tokens += string.encode("utf-8")
            self.ends.append(len(self.tokens))
        self.uncounted.append(strings)
        if len(self.uncounted) >= BATCH:
            self._invert()

    def _invert(self) -> None:
        """Put the terms of the entries that came since the last time into the posting lists."""
        lists = self.body
        lists += [array("I") for _ in range(len(lists), code_point(len(self.vocabulary.codes)) + 1)]
        first = len(self.ends) // 3 - len(self.uncounted)
        for ordinal, (heading, body, code) in enumerate(self.uncounted, first):
            base = ordinal << 8
            counts: dict[int, int] = {}
            _count_elements(counts, array("I", body.encode(UTF_32)))
            for char, n in counts.items():
                lists[char].append(base | n if n < TF_MAX else base | TF_MAX)
            for string, sub in ((heading, self.heading), (code, self.code)):
                if not string:
                    continue
                there: dict[int, int] = {}
                _count_elements(there, array("I", string.encode(UTF_32)))
                for char, n in there.items():
                    sub[char].append(base | n if n < TF_MAX else base | TF_MAX)
                    if char not in counts:
                        # Every entry with the term stands in the main list, here with a body frequency of 0.
                        counts[char] = 0
                        lists[char].append(base)
        self.uncounted.clear()

    def encode(self) -> bytearray:
        """Return the bytes of the segment file."""
        self._cut()
        self._invert()
        postings = bytearray()
        values: list[tuple[bytes, bytes]] = []
        empty = array("I")
        codes = self.vocabulary.codes
        for term in sorted(codes):
            char = ord(codes[term])
            body = self.body[char]
            if not body:
                continue
            heading, code = self.heading.get(char, empty), self.code.get(char, empty)
            if len(postings) % 2:
                postings.append(0)
            value = encode_varints((char, len(body), len(heading), len(code), len(postings)))
            values.append((term.encode("utf-8", "surrogatepass"), value))
            for numbers in (body, heading, code):
                if len(numbers) == 1:
                    number = numbers[0]
                    postings += ONE.pack(number >> 8, number & 0xFF)
                elif numbers:
                    postings += _split(numbers)
        totals = [sum(lengths) for lengths in self.lengths]
        names = "\n".join(self.typenames).encode()
        areas: list[tuple[str, bytes | bytearray]] = [
            ("stats", STATS.pack(len(self), len(values), *totals)),
            ("entries", self.ids),
            ("lengths", b"".join(map(little_endian, self.lengths))),
            ("types", self.types),
            ("typenames", names),
            ("terms", bulk_load(values)),
            ("postings", postings),
            ("tokens", self.tokens),
            ("tokenends", little_endian(self.ends)),
        ]
        return encode_pagefile(MAGIC, GENERATION, areas)


def _numbers() -> array[int]:
    return array("I")


def little_endian(numbers: array[int]) -> bytes:
    """Return the numbers' bytes as the files have them, whatever the machine's order."""
    if not LITTLE:
        numbers = numbers[:]
        numbers.byteswap()
    return numbers.tobytes()


def _split(numbers: array[int]) -> bytearray:
    """Return `ordinal << 8 | frequency` numbers as all ordinals (u16), then all frequencies (u8)."""
    data = little_endian(numbers)
    n = 2 * len(numbers)
    out = bytearray(n)
    out[0::2] = data[1::4]
    out[1::2] = data[2::4]
    out += data[0::4]
    return out


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
                        codes[term] = chr(code_point(len(codes) + 1))
                    known[char] = codes[term]
            strings.append(string.translate(known))
        builder.add_tokens(id_, segment.mime(ordinal), (strings[0], strings[1], strings[2]))
    return builder.encode()
