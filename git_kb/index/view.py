"""Views: which entries are live in one state of the knowledge base, and where each stands.
docs/format-index.md, "Views".

Reading is on the search path.
"""

from __future__ import annotations

import os
from struct import Struct

from git_kb.index.pagefile import DamagedSegment, PageFile, encode_pagefile, place_of_id
from git_kb.index.segment import ENTRY_SIZE
from git_kb.text.words import GENERATION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from git_kb.index.segment import Segment
    from git_kb.index.segments import Segments

MAGIC = b"GITKBVIW"
VIEWS = "views"
SUFFIX = ".kbv"
#   entry id, document, first line, byte offset, byte length, strings offset, strings length, part, reserved
ROW = Struct("<24sIIQIIIHH")
#   strings offset, strings length, first row, rows, language
DOCUMENT = Struct("<IIII4s")
LANGUAGE_SIZE = 4
#   live entries, rows, documents, entries missing from all segments, tokens in heading, body, code of live
# entries
STATS = Struct("<IIIIQQQ")
assert ROW.size == 56


class ViewRow:
    """A section where it stands in a document. start, end: byte range in the source. line: 1-based first line."""

    __slots__ = ("chunk", "doc", "end", "entry_id", "heading", "line", "part", "start", "type")

    def __init__(
        self,
        entry_id: bytes,
        doc: int,
        line: int,
        start: int,
        end: int,
        part: int,
        chunk: str,
        type: str,
        heading: tuple[str, ...],
    ):
        self.entry_id, self.doc, self.line, self.start, self.end, self.part = entry_id, doc, line, start, end, part
        self.chunk, self.type, self.heading = chunk, type, heading


class ViewDocument:
    """A document. `stamp`: what told its manifest from an older one; `oid`: the blob id of its manifest, as it was read;

    `rows`: range of row numbers; `language`: a code, "" for English.
    """

    __slots__ = ("blob", "docid", "language", "name", "oid", "rows", "source", "stamp", "tags", "tier", "title", "type")

    def __init__(
        self,
        name: str,
        stamp: bytes,
        docid: str,
        title: str,
        source: str,
        type: str,
        tier: str,
        blob: str,
        tags: tuple[str, ...],
        rows: range = range(0),
        oid: str = "",
        language: str = "",
    ):
        self.name, self.stamp, self.oid, self.docid, self.title, self.source = name, stamp, oid, docid, title, source
        self.type, self.tier, self.blob, self.tags, self.rows, self.language = type, tier, blob, tags, rows, language


class View:
    """An open view. Every read may raise DamagedSegment."""

    __slots__ = (
        "_documents",
        "_masks",
        "_order",
        "_row_at",
        "_strings",
        "file",
        "key",
        "languages",
        "n_documents",
        "n_live",
        "n_missing",
        "n_rows",
        "segment_names",
        "skipped",
        "tokens",
    )

    def __init__(self, path: str, data: bytes | bytearray | None = None):
        """Map the file, or take `data` for its bytes.

        Raises FileNotFoundError, DamagedSegment, OtherFeature, NewerFormat.
        """
        self.file = PageFile(path, MAGIC, GENERATION, data)
        try:
            self.key = bytes(self.file.read_area("key"))
            stats = self.file.read_area("stats")
            if len(stats) != STATS.size:
                raise DamagedSegment(path, 0, "its statistics are cut")
            self.n_live, self.n_rows, self.n_documents, self.n_missing, *tokens = STATS.unpack(stats)
            self.tokens = tuple(tokens)
            sizes = (("rows", self.n_rows * ROW.size), ("order", 4 * self.n_rows), ("documents", self.n_documents * DOCUMENT.size))
            for area, size in sizes:
                if self.file.area(area)[1] != size:
                    raise DamagedSegment(path, 0, f"its area '{area}' has the wrong size")
            self._row_at = self.file.area("rows")[0]
            self._order: memoryview | None = None
            self._documents = self.file.area("documents")[0]
            self._strings = self.file.area("strings")
            skipped = str(self.file.read_area("skipped"), "utf-8", "surrogatepass")
            # What to say of the manifests that cannot be used.
            self.skipped = skipped.split("\0") if skipped else []
            self.languages = self._read_languages()
            self.segment_names, self._masks = self._read_masks()
        except BaseException:
            self.file.close()
            raise

    @classmethod
    def over(cls, path: str, data: bytes | bytearray) -> View:
        """Return the view of bytes in memory; `path` is where it would be stored."""
        return cls(path, data)

    def _read_languages(self) -> dict[str, int]:
        """Return language -> number of documents in it; "" is English. Empty for a view of English alone."""
        listed = bytes(self.file.read_area("languages")).decode("ascii", "replace") if self.file.area("languages")[1] else ""
        found = {}
        for line in listed.splitlines():
            language, _, n = line.partition(" ")
            if not n.isdecimal() or not n.isascii():
                raise DamagedSegment(self.file.path, 0, "a language has no count")
            found[language] = int(n)
        return found

    @property
    def rules(self) -> list[str]:
        """The rules that the terms of its documents are made by (`languages.rules_of`), sorted; [""] for English alone."""
        if not self.languages:
            return [""]
        from git_kb.text.languages import rules_of

        return sorted(set(map(rules_of, self.languages)))

    def _read_masks(self) -> tuple[list[str], dict[str, tuple[int, int]]]:
        """Return segment names, and per segment (offset, length) of its mask.

        a length of 0 means that all entries are live.
        """
        names = []
        masks = {}
        base, length = self.file.area("masks")
        for line in bytes(self.file.read_area("masknames")).decode("ascii", "replace").splitlines():
            name, _, place = line.partition(" ")
            start, _, size = place.partition(" ")
            if not start.isdigit() or not size.isdigit() or int(start) + int(size) > length:
                raise DamagedSegment(self.file.path, 0, "a mask leaves its area")
            names.append(name)
            masks[name] = (base + int(start), int(size))
        return names, masks

    def mask(self, segment_name: str) -> bytes | None:
        """Return one byte an entry of the segment, 1 for live.

        None when all are. Raises KeyError for a segment unknown to the view.
        """
        offset, length = self._masks[segment_name]
        return bytes(self.file.read(offset, length)) if length else None

    def _texts(self, offset: int, length: int) -> list[str]:
        base, size = self._strings
        if offset + length > size:
            raise DamagedSegment(self.file.path, 0, "a string leaves its area")
        return str(self.file.read(base + offset, length), "utf-8", "surrogatepass").split("\0")

    def row(self, number: int) -> ViewRow:
        """Return one row, numbered in order of documents and their sections."""
        id_, doc, line, start, size, at, length, part, _ = ROW.unpack(self.file.read(self._row_at + number * ROW.size, ROW.size))
        chunk, type_, *heading = self._texts(at, length)
        return ViewRow(id_, doc, line, start, start + size, part, chunk, type_, tuple(heading))

    @property
    def order(self) -> memoryview:
        """The numbers of all rows, by entry id, then number."""
        if self._order is None:
            self._order = self.file.read_area("order").cast("I")
        return self._order

    def _id_in_order(self, at: int) -> bytes:
        return self.entry_id(self.order[at])

    def entry_id(self, row: int) -> bytes:
        """Return the entry id of a row."""
        return bytes(self.file.read(self._row_at + row * ROW.size, ENTRY_SIZE))

    def holds(self, entry_id: bytes) -> bool:
        """Return whether some row is of this entry."""
        at = place_of_id(self.n_rows, self._id_in_order, entry_id)
        return at < self.n_rows and self._id_in_order(at) == entry_id

    def rows_between(self, low: bytes, high: bytes) -> list[ViewRow]:
        """Return the rows whose entry id begins with something from `low` on and below `high`, by id, then
        document.
        """
        order, found = self.order, []
        for at in range(place_of_id(self.n_rows, self._id_in_order, low), self.n_rows):
            if self.entry_id(order[at]) >= high:
                break
            found.append(self.row(order[at]))
        return found

    def rows_of(self, entry_id: bytes) -> list[ViewRow]:
        """Return the rows of an entry, by document; empty when it is not live."""
        return self.rows_between(entry_id, entry_id + b"\0")

    def rows_of_section(self, kbid: bytes) -> list[ViewRow]:
        """Return the rows of a section (its kbid, 16 bytes), whatever it stands under."""
        return self.rows_between(kbid, kbid + b"\xff" * (ENTRY_SIZE - len(kbid) + 1))

    def document(self, number: int) -> ViewDocument:
        """Return one document; they are numbered in order of file name."""
        if not 0 <= number < self.n_documents:
            raise DamagedSegment(self.file.path, 0, "a row names no document")
        at, length, first, n, language = DOCUMENT.unpack(self.file.read(self._documents + number * DOCUMENT.size, DOCUMENT.size))
        texts = self._texts(at, length)
        if len(texts) < 9:
            raise DamagedSegment(self.file.path, 0, "a document is cut")
        name, stamp, oid, docid, title, source, type_, tier, blob, *tags = texts
        rows = range(first, first + n)
        code = language.rstrip(b"\0").decode("ascii", "replace")
        return ViewDocument(name, bytes.fromhex(stamp), docid, title, source, type_, tier, blob, tuple(tags), rows, oid, code)

    def documents(self) -> Iterator[ViewDocument]:
        """Yield all documents in order."""
        for number in range(self.n_documents):
            yield self.document(number)

    def document_named(self, name: str) -> ViewDocument | None:
        """Return the document of a manifest's file name."""
        low, high = 0, self.n_documents
        while low < high:
            middle = (low + high) // 2
            if self.document(middle).name < name:
                low = middle + 1
            else:
                high = middle
        document = self.document(low) if low < self.n_documents else None
        return document if document is not None and document.name == name else None

    def end_of(self, document: ViewDocument) -> int:
        """Return where the last section of a document ends in its source, in bytes; 0 for one that has none."""
        return self.row(document.rows[-1]).end if document.rows else 0

    def ends(self) -> list[int]:
        """Return `end_of` of all documents in order."""
        rows = self.file.read_area("rows")
        found = []
        for _, _, first, n, _ in DOCUMENT.iter_unpack(self.file.read_area("documents")):
            if not n:
                found.append(0)
                continue
            if first + n > self.n_rows:
                raise DamagedSegment(self.file.path, 0, "a document has rows that are not there")
            _, _, _, start, size, *_ = ROW.unpack_from(rows, ROW.size * (first + n - 1))
            found.append(start + size)
        return found

    def stamps(self) -> list[tuple[str, bytes, str]]:
        """Return (name, stamp, oid) of all documents in order."""
        found = []
        strings = bytes(self.file.read(*self._strings))
        for at, length, _, _, _ in DOCUMENT.iter_unpack(self.file.read_area("documents")):
            name, stamp, oid = str(strings[at : at + length], "utf-8", "surrogatepass").split("\0", 3)[:3]
            found.append((name, bytes.fromhex(stamp), oid))
        return found

    def unchanged(self, stamps: dict[str, bytes]) -> dict[str, int]:
        """Return name -> number of the documents that have the stamp given for their name; `stamps` is sorted by name.

        The same as by a look at `stamps()`, without taking each apart: mostly all are what they were.
        """
        from bisect import bisect_left

        names = list(stamps)
        starts = [f"{name}\0{stamp.hex()}\0".encode("utf-8", "surrogatepass") for name, stamp in stamps.items()]
        strings = bytes(self.file.read(*self._strings))
        found: dict[str, int] = {}
        next_ = 0
        for n, (at, *_) in enumerate(DOCUMENT.iter_unpack(self.file.read_area("documents"))):
            if next_ == len(names) or not strings.startswith(starts[next_], at):
                name = str(strings[at : strings.find(b"\0", at)], "utf-8", "surrogatepass")
                next_ = bisect_left(names, name, next_)
                if next_ == len(names) or not strings.startswith(starts[next_], at):
                    continue
            found[names[next_]] = n
            next_ += 1
        return found

    def part(self, first: int, end: int) -> ViewPart:
        """Return the documents from number `first` up to `end`, as a part."""
        starts = []
        for number in (first, end):
            if number < self.n_documents:
                at, _, row, _, _ = DOCUMENT.unpack(self.file.read(self._documents + number * DOCUMENT.size, DOCUMENT.size))
                starts.append((at, row))
            else:
                starts.append((self._strings[1], self.n_rows))
        (strings, row), (strings_end, row_end) = starts
        documents = self.file.read(self._documents + first * DOCUMENT.size, (end - first) * DOCUMENT.size)
        rows = self.file.read(self._row_at + row * ROW.size, (row_end - row) * ROW.size)
        texts = self.file.read(self._strings[0] + strings, strings_end - strings)
        start = (first, row, strings)
        return ViewPart(bytes(documents), bytes(rows), bytes(texts), start, [(range(row, row_end), row_end - row)])

    def fits(self, segments: Segments) -> bool:
        """Return whether the masks were made for these segments."""
        return self.segment_names == segments.names

    def close(self) -> None:
        self._order = None
        self.file.close()


class ViewPart:
    """Documents of a view in its bytes.

    start: the document, the row and the offset in `strings` from which numbers and offsets count. runs: which rows these are, as
    (rows of the view that they were taken from, how many), None for new ones.
    """

    __slots__ = ("documents", "rows", "runs", "start", "strings")

    def __init__(
        self,
        documents: bytes | bytearray,
        rows: bytes | bytearray,
        strings: bytes | bytearray,
        start: tuple[int, int, int] = (0, 0, 0),
        runs: list[tuple[range | None, int]] | None = None,
    ):
        self.documents, self.rows, self.strings, self.start = documents, rows, strings, start
        self.runs = [(None, len(rows) // ROW.size)] if runs is None else runs

    def entry_ids(self) -> list[bytes]:
        """Return the entry id of each row, in order."""
        rows = bytes(self.rows)
        return [rows[at : at + ENTRY_SIZE] for at in range(0, len(rows), ROW.size)]

    def entry_id(self, row: int) -> bytes:
        """Return the entry id of one row."""
        return bytes(self.rows[ROW.size * row : ROW.size * row + ENTRY_SIZE])

    def new_rows(self) -> Iterator[int]:
        """Yield the numbers of the rows that were not taken from a view."""
        at = 0
        for taken, n in self.runs:
            if taken is None:
                yield from range(at, at + n)
            at += n

    def new_entry_ids(self) -> set[bytes]:
        """Return the entry ids of the rows that were not taken from a view."""
        return {self.entry_id(row) for row in self.new_rows()}

    def language_lines(self) -> bytes:
        """Return the area `languages`: how many documents are in which language; nothing when all are in English."""
        # The first byte of each language, which is 0 in an empty one.
        if not any(self.documents[DOCUMENT.size - LANGUAGE_SIZE :: DOCUMENT.size]):
            return b""
        from collections import Counter

        counts = Counter(language for *_, language in DOCUMENT.iter_unpack(self.documents))
        return b"".join([b"%b %d\n" % (language.rstrip(b"\0"), n) for language, n in sorted(counts.items())])


def encode_documents(documents: Iterable[tuple[ViewDocument, list[ViewRow]]]) -> ViewPart:
    """Return the bytes of documents in order of file name, each with its rows in order."""
    strings = bytearray()
    rows = bytearray()
    table = bytearray()

    def put(texts: Iterable[str]) -> tuple[int, int]:
        at = len(strings)
        strings.extend("\0".join([t.replace("\0", " ") for t in texts]).encode("utf-8", "surrogatepass"))
        return at, len(strings) - at

    for n, (d, place) in enumerate(documents):
        texts = (d.name, d.stamp.hex(), d.oid, d.docid, d.title, d.source, d.type, d.tier, d.blob, *d.tags)
        table += DOCUMENT.pack(*put(texts), len(rows) // ROW.size, len(place), d.language.encode())
        for r in place:
            at, length = put((r.chunk, r.type, *r.heading))
            rows += ROW.pack(r.entry_id, n, min(r.line, 0xFFFFFFFF), r.start, r.end - r.start, at, length, min(r.part, 0xFFFF), 0)
    return ViewPart(table, rows, strings)


def join_parts(parts: Iterable[ViewPart]) -> ViewPart:
    """Return one part with the documents of several, which are in order, counted from its own start."""
    strings = bytearray()
    rows = bytearray()
    table = bytearray()
    runs: list[tuple[range | None, int]] = []
    for part in parts:
        first, row, text = part.start
        n_documents, n_rows = len(table) // DOCUMENT.size - first, len(rows) // ROW.size - row
        table += _moved(part.documents, DOCUMENT.size, {0: len(strings) - text, 2: n_rows})
        rows += _moved(part.rows, ROW.size, {6: n_documents, 11: len(strings) - text})
        strings += part.strings
        runs += part.runs
    return ViewPart(table, rows, strings, runs=runs)


def encode_view(
    key: bytes, documents: ViewPart, segments: Segments, skipped: Iterable[str] = (), old: View | None = None
) -> bytearray:
    """Return the bytes of a view of all documents, with the masks for some segments.

    skipped: messages about manifests that cannot be used. old: the view that parts were taken from; with it, little change takes
    little time, and gives the same bytes.
    """
    patched = None
    if old is not None:
        from git_kb.index.patch import patch_order

        patched = patch_order(documents, segments, old)
    order, masks, n_entries = _order_and_masks(documents, segments) if patched is None else patched
    names, stored, tokens, n_found = _encode_masks(masks)
    n_documents, n_rows = len(documents.documents) // DOCUMENT.size, len(documents.rows) // ROW.size
    areas: list[tuple[str, bytes | bytearray]] = [
        ("key", key),
        ("stats", STATS.pack(n_found, n_rows, n_documents, n_entries - n_found, *tokens)),
        ("documents", documents.documents),
        ("rows", documents.rows),
        ("order", order),
        ("strings", documents.strings),
        ("languages", documents.language_lines()),
        ("skipped", "\0".join([message.replace("\0", " ") for message in skipped]).encode("utf-8", "surrogatepass")),
        ("masknames", names),
        ("masks", stored),
    ]
    return encode_pagefile(MAGIC, GENERATION, areas)


def _moved(records: bytes | bytearray, size: int, columns: dict[int, int]) -> bytes | bytearray:
    """Return records of `size` bytes with something added to some of their u32 columns: column -> addend."""
    columns = {column: addend for column, addend in columns.items() if addend}
    if not columns:
        return records
    from array import array

    from git_kb.index.build import from_little_endian, little_endian

    values = from_little_endian(records)
    width = size // 4
    for column, addend in columns.items():
        values[column::width] = array("I", map(addend.__add__, values[column::width]))
    return little_endian(values)


Masks = list["tuple[Segment, bytes | bytearray | None]"]


def _order_and_masks(documents: ViewPart, segments: Segments) -> tuple[bytes, Masks, int]:
    """Return (the area `order`, the mask of each segment, how many different entries there are)."""
    from array import array

    from git_kb.index.build import little_endian

    ids = documents.entry_ids()
    order = array("I", sorted(range(len(ids)), key=ids.__getitem__))
    live = set(ids)
    n_entries = len(live)
    masks: Masks = []
    # An entry that two segments hold (a merge was cut short) is live in the first alone, or it would count
    # and rank twice.
    for segment in segments:
        ids = segment.entry_ids()
        masks.append((segment, bytes(map(live.__contains__, ids))))
        live.difference_update(ids)
    return little_endian(order), masks, n_entries


def _encode_masks(masks: Masks) -> tuple[bytes, bytes, list[int], int]:
    """Return (mask directory, masks, tokens per field of live entries, how many these are). None is a mask of ones."""
    from itertools import compress

    stored = bytearray()
    lines = []
    tokens = [0, 0, 0]
    n_found = 0
    for segment, mask in masks:
        n_here = segment.n_entries if mask is None else mask.count(1)
        n_found += n_here
        whole = mask is None or n_here == len(mask)
        for field in range(3):
            tokens[field] += segment.tokens[field] if whole else sum(compress(segment.lengths[field], mask or b""))
        lines.append(f"{segment.name} {len(stored)} {0 if whole else segment.n_entries}\n")
        if mask is not None and not whole:
            stored += mask
    return "".join(lines).encode(), bytes(stored), tokens, n_found


def is_view_name(name: str) -> bool:
    """Return whether a file of that name is a view of ours."""
    return name.endswith(SUFFIX)


def write_view(path: str, data: bytes | bytearray) -> None:
    """Store a view's bytes under their final name at once. It is a cache, so it is not synced."""
    from git_kb.repo.lockfile import atomic_write

    os.makedirs(os.path.dirname(path), exist_ok=True)
    atomic_write(path, data, fsync=False)
