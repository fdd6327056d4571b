"""Making segments from entries, and one segment from several. docs/format-index.md, "Segments"."""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections import Counter, _count_elements, deque  # type: ignore[attr-defined]
from collections.abc import Iterable, Iterator
from itertools import accumulate, repeat
from typing import NamedTuple

from xxhash import xxh3_64_digest

from git_kb.index.btree import bulk_load
from git_kb.index.pagefile import encode_pagefile
from git_kb.index.segment import (
    BODY,
    CODE,
    DENSE,
    ENTRY_SIZE,
    HEADING,
    MAGIC,
    MAX_ENTRIES,
    MAX_LENGTH,
    REFERENCE_B,
    REFERENCE_K1,
    REFERENCE_WEIGHTS,
    REFERENCE_ZONE,
    SHORT,
    STATS,
    Segment,
    layout_of,
    n_blocks,
)
from git_kb.index.varint import encode_varints
from git_kb.text.bulk import MAX_TERMS, Vocabulary, code_point
from git_kb.text.fields import fields
from git_kb.text.languages import rules_of
from git_kb.text.words import FIELDS, GENERATION

# A segment is closed when it holds this much text, so that building it stays within some 200 MB.
MAX_TEXT_BYTES = 48 << 20
# Room for the terms of one more entry.
TERM_MARGIN = 100_000
# Entries are cut into terms by so many at a time.
BATCH = 250
# The terms of so many entries get their code points by frequency. Entry ids are hashes, so these are a random sample.
N_RANKED = 250
LITTLE = sys.byteorder == "little"


class Entry(NamedTuple):
    """What is indexed: a section in its context."""

    entry_id: bytes
    mime: str
    context: str
    content: str

    @property
    def rules(self) -> str:
        """The rules by which its terms are made."""
        return split_context(self.context)[0]

    @property
    def heading(self) -> str:
        """The heading text."""
        return split_context(self.context)[1]


def context_of(title: str, headings: Iterable[str], language: str = "") -> str:
    """Return the context of a manifest row: its heading text, after the rules of its language and a NUL where these are not "".

    docs/format-index.md, "What is indexed".
    """
    lines: list[str] = []
    for line in (title, *headings):
        if line and (not lines or lines[-1] != line):
            lines.append(line)
    text = "\n".join(lines).replace("\0", " ")
    rules = rules_of(language) if language else ""
    return f"{rules}\0{text}" if rules else text


def split_context(context: str) -> tuple[str, str]:
    """Return (rules, heading text) of a context."""
    rules, nul, heading = context.partition("\0")
    return (rules, heading) if nul else ("", context)


def entry_id(kbid_bytes: bytes, context: str) -> bytes:
    """Return the id of the entry of a section (the kbid's 16 bytes) in a context: 24 bytes."""
    return kbid_bytes + xxh3_64_digest(context.encode("utf-8", "surrogatepass"))


class SegmentBuilder:
    """Takes entries in ascending order of id, and gives the segment's bytes."""

    def __init__(self) -> None:
        self.vocabulary = Vocabulary()
        self.ids = bytearray()
        self.types = bytearray()
        self.typenames: dict[str, int] = {}
        self.strings: list[str] = []
        self.text_bytes = 0
        # Entries without token strings, and the most terms that they can add.
        self.uncut: list[Entry] = []
        self.most_terms = 0
        # Old code point -> new character, since codes were ranked; empty before.
        self.moved: dict[int, str] = {}

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
        for text in (entry.content, entry.context):
            # A character gives two terms at most; NFKC makes up to 18 characters of one.
            self.most_terms += len(text) * (2 if text.isascii() else 36)
        self.uncut.append(entry)
        if len(self.uncut) == BATCH:
            self._cut()

    def add_tokens(self, entry_id: bytes, mime: str, string: str) -> None:
        """Take one entry whose token string is made. Raises ValueError when it is out of order.

        May set `moved`: the codes given so far have changed.
        """
        self._name(entry_id, mime)
        self.strings.append(string)
        if len(self.strings) == N_RANKED:
            self._rank_codes()

    def _name(self, entry_id: bytes, mime: str) -> None:
        if self.ids and entry_id <= self.ids[-ENTRY_SIZE:]:
            raise ValueError("entries are not in ascending order")
        self.ids += entry_id
        self.types.append(self.typenames.setdefault(mime, min(len(self.typenames), 255)))

    def _cut(self) -> None:
        """Make the token strings of the entries that came since the last time."""
        texts = [fields(e.mime, e.content, e.heading) for e in self.uncut]
        self.strings += self.vocabulary.encode(texts, [e.rules for e in self.uncut])
        self.uncut.clear()
        self.most_terms = 0
        if len(self.strings) >= N_RANKED and not self.moved:
            self._rank_codes()

    def _rank_codes(self) -> None:
        """Give the terms of the first entries their codes by descending frequency: short ones to frequent terms."""
        counts = Counter("".join(self.strings[:N_RANKED]))
        del counts[FIELDS]
        # Codes were given in order of first use, which decides between equal frequencies.
        ranked = sorted(counts, key=lambda char: (-counts[char], char))
        self.moved = {ord(char): chr(code_point(n)) for n, char in enumerate(ranked, 1)}
        self.vocabulary.permute(self.moved)
        self.strings = [string.translate(self.moved) for string in self.strings]

    def encode(self) -> bytearray:
        """Return the bytes of the segment file."""
        self._cut()
        if not self.moved:
            self._rank_codes()
        lengths, longest, totals = self._lengths()
        terms, postings = self._invert(totals)
        encoded = [string.encode("utf-8") for string in self.strings]
        areas: list[tuple[str, bytes | bytearray]] = [
            ("stats", STATS.pack(len(self), len(terms), *totals, *longest)),
            ("entries", self.ids),
            ("lengths", b"".join(map(little_endian, lengths))),
            ("types", self.types),
            ("typenames", "\n".join(self.typenames).encode()),
            ("terms", bulk_load(terms)),
            ("postings", postings),
            ("tokens", b"".join(encoded)),
            ("tokenends", little_endian(array("I", accumulate(map(len, encoded))))),
        ]
        return encode_pagefile(MAGIC, GENERATION, areas)

    def _lengths(self) -> tuple[list[array[int]], list[int], list[int]]:
        """Return per field the tokens of each entry, the most in one, and their sum."""
        exact = (array("I"), array("I"), array("I"))
        for string in self.strings:
            heading = string.find(FIELDS)
            body = string.find(FIELDS, heading + 1) - heading - 1
            for column, length in zip(exact, (heading, body, len(string) - heading - body - 2), strict=True):
                column.append(length)
        capped = [array("H", map(min, column, repeat(MAX_LENGTH))) for column in exact]
        return capped, [max(column, default=0) for column in exact], [sum(column) for column in exact]

    def _invert(self, totals: list[int]) -> tuple[list[tuple[bytes, bytes]], bytearray]:
        """Return (term tree items in order, posting lists)."""
        lists = self._postings(totals)
        codes = self.vocabulary.codes
        terms = [term for term in sorted(codes) if lists[codes[term]]]
        numbers = array("I")
        for term in terms:
            numbers.extend(lists[codes[term]])
        data = little_endian(numbers)
        ordinals = bytearray(2 * len(numbers))
        ordinals[0::2], ordinals[1::2] = data[1::4], data[2::4]
        columns = Columns(bytes(ordinals), data[1::4], data[0::4])
        del data, numbers
        items: list[tuple[bytes, bytes]] = []
        postings = bytearray()
        start = 0
        for term in terms:
            char = codes[term]
            n = len(lists[char])
            if n == 1:
                value = encode_varints((ord(char), 1, lists[char][0] >> 8, columns.impacts[start]))
            else:
                if len(postings) % 2:
                    postings.append(0)
                value = encode_varints((ord(char), n, len(postings), max(columns.impacts[start : start + n])))
                postings += columns.encode(start, start + n, len(self))
            items.append((term.encode("utf-8", "surrogatepass"), value))
            start += n
        return items, postings

    def _postings(self, totals: list[int]) -> dict[str, array[int]]:
        """Return per character the postings of its term, as `ordinal << 8 | impact`, ascending."""
        lists = {char: array("I") for char in self.vocabulary.codes.values()}
        n = max(len(self), 1)
        impacts = [
            _Impacts(w, b, total / n, field == HEADING)
            for field, (w, b, total) in enumerate(zip(REFERENCE_WEIGHTS, REFERENCE_B, totals, strict=True))
        ]
        append = array.append
        base = 0
        for string in self.strings:
            texts = string.split(FIELDS)
            counts: list[dict[str, int]] = [{}, {}, {}]
            for there, text in zip(counts, texts, strict=True):
                if text:
                    _count_elements(there, text)
            heading, body, code = counts
            shared = (heading.keys() & body.keys()) if heading else set()
            if code:
                shared |= code.keys() & body.keys()
                if heading:
                    shared |= code.keys() & heading.keys()
            if shared:
                norms = [known.norm(len(text)) for known, text in zip(impacts, texts, strict=True)]
                for char in shared:
                    raised = char in heading
                    x = heading.pop(char, 0) / norms[HEADING] + body.pop(char, 0) / norms[BODY] + code.pop(char, 0) / norms[CODE]
                    lists[char].append(base | quantise(x, raised))
            # Terms that stand in one field alone, which are most of them: a pass in C for each field.
            for there, known, text in zip(counts, impacts, texts, strict=True):
                if there:
                    numbers = map(base.__or__, map(known[len(text)].__getitem__, there.values()))
                    deque(map(append, map(lists.__getitem__, there), numbers), 0)
            base += 1 << 8
        return lists


class _Impacts(dict[int, "_Table"]):
    """Length of a field -> frequency -> impact of a term that only this field has. `mean`: tokens in an average one."""

    def __init__(self, weight: float, b: float, mean: float, raised: bool):
        super().__init__()
        self.raised = raised
        self.c0, self.c1 = (1 - b) / weight, b / (mean or 1.0) / weight

    def norm(self, length: int) -> float:
        return self.c0 + self.c1 * length

    def __missing__(self, length: int) -> _Table:
        table = self[length] = _Table(self.norm(length), self.raised)
        return table


class _Table(dict[int, int]):
    def __init__(self, norm: float, raised: bool):
        super().__init__()
        self.norm, self.raised = norm, raised

    def __missing__(self, tf: int) -> int:
        impact = self[tf] = quantise(tf / self.norm, self.raised)
        return impact


def quantise(x: float, raised: bool) -> int:
    """Return the impact for x, the sum of weighted and normalised frequencies. docs/format-index.md, "Segments".

    raised: the term is in the heading.
    """
    y = x / (REFERENCE_K1 + x)
    return min(255, int(255 * (y if raised else y / (1 + REFERENCE_ZONE))) + 1)


class Columns(NamedTuple):
    """Postings of all terms, one after the other: ordinals (u16), their low bytes, impacts."""

    ordinals: bytes
    lows: bytes
    impacts: bytes

    def encode(self, start: int, stop: int, n_entries: int) -> bytes:
        """Return the posting list of the postings from `start` to `stop`."""
        df = stop - start
        layout = layout_of(df, n_entries)
        if layout == SHORT:
            return self.ordinals[2 * start : 2 * stop] + self.impacts[start:stop]
        if layout == DENSE:
            dense = bytearray(n_entries)
            for ordinal, impact in zip(
                memoryview(self.ordinals)[2 * start : 2 * stop].cast("H"), self.impacts[start:stop], strict=True
            ):
                dense[ordinal] = impact
            return bytes(dense)
        highs = self.ordinals[2 * start + 1 : 2 * stop : 2]
        table = array("H", [bisect_left(highs, block) for block in range(n_blocks(n_entries))])
        table.append(df)
        return little_endian(table) + self.lows[start:stop] + self.impacts[start:stop]


def little_endian(numbers: array[int]) -> bytes:
    """Return the numbers' bytes as the files have them, whatever the machine's order."""
    if not LITTLE:
        numbers = numbers[:]
        numbers.byteswap()
    return numbers.tobytes()


def from_little_endian(data: bytes | bytearray, typecode: str = "I") -> array[int]:
    """Return the numbers that some bytes of a file are; typecode: as `array` has it, u32 by default."""
    numbers: array[int] = array(typecode)
    numbers.frombytes(data)
    if not LITTLE:
        numbers.byteswap()
    return numbers


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
    maps: list[dict[int, str]] = [{ord(FIELDS): FIELDS} for _ in segments]
    last = b""
    for id_, s, ordinal in order:
        if id_ == last:
            continue
        last = id_
        segment, table, known = segments[s], tables[s], maps[s]
        string = segment.token_string(ordinal)
        # dict.fromkeys keeps the order of first use, in which code points are given.
        for char in dict.fromkeys(map(ord, string)):
            if char not in known:
                term = table[char]
                if term not in codes:
                    codes[term] = chr(code_point(len(codes) + 1))
                known[char] = codes[term]
        ranked = bool(builder.moved)
        builder.add_tokens(id_, segment.mime(ordinal), string.translate(known))
        if builder.moved and not ranked:
            for known in maps:
                for char, to in known.items():
                    known[char] = to.translate(builder.moved)
    return builder.encode()
