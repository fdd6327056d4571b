"""A segment, open for reading. docs/format-index.md, "Segments".

On the search path.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import compress, pairwise
from struct import Struct

from xxhash import xxh3_128_hexdigest

from git_kb.index.btree import BadTree, Tree
from git_kb.index.pagefile import DamagedSegment, PageFile, place_of_id
from git_kb.index.varint import decode_varints
from git_kb.text.words import FIELDS, GENERATION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MAGIC = b"GITKBSEG"
ENTRY_SIZE = 24
MAX_ENTRIES = 65_535
STATS = Struct("<IIQQQIII")
HEADING, BODY, CODE = 0, 1, 2
FIELD_NAMES = ("heading", "body", "code")
# The length of a field counts up to this in the `lengths` area.
MAX_LENGTH = 65_535
# What impacts are worked out with: per field, heading, body, code.
REFERENCE_WEIGHTS = (3.0, 1.0, 1.0)
REFERENCE_B = (0.5, 0.55, 0.55)
REFERENCE_K1 = 1.2
# What a term in the heading counts more, as a share.
REFERENCE_ZONE = 0.1
SHORT, BLOCKED, DENSE = 0, 1, 2
# Below this many entries no list is dense.
MIN_DENSE = 1024
# A posting list of one entry.
ONE = Struct("<HB")
# Longer blocked lists are made dense block by block, shorter ones posting by posting.
MIN_BY_BLOCK = 6000
# Looking up so many entries, times this, takes as long as making a list dense, or as a table of a short one.
PROBES_BY_DENSE, PROBES_BY_TABLE = 6, 16
# A segment keeps the lists last asked for, and what was made of them, of so many terms that are in at least so many entries. Words
# that are frequent in texts are so in queries, and in a process that answers many, finding and unpacking them is half of the work.
MAX_KEPT, MIN_KEPT = 64, 1000
_ALL, _ZEROS = bytes(range(256)), bytes(256)
_NONZERO = bytes([0]) + bytes([1]) * 255


def n_blocks(n_entries: int) -> int:
    """Return the number of blocks of 256 ordinals."""
    return (n_entries + 255) >> 8


def layout_of(df: int, n_entries: int) -> int:
    """Return how a list of `df` > 1 postings is stored."""
    if 4 * df >= n_entries >= MIN_DENSE:
        return DENSE
    return BLOCKED if df > 2 * (n_blocks(n_entries) + 1) else SHORT


class Postings:
    """One term in one segment: the entries that hold it, and what that can be worth.

    df: entries; top: greatest impact. By *place* (0..df-1, in ascending order of ordinal) for short and blocked lists.
    """

    __slots__ = ("_dense", "_layout", "_lows", "_ordinals", "_table", "char", "df", "impacts", "n_entries", "top")

    def __init__(self, char: str, df: int, top: int, n_entries: int, layout: int, data: memoryview):
        self.char, self.df, self.top, self.n_entries, self._layout = char, df, top, n_entries, layout
        self._ordinals: Sequence[int] | None = None
        self._dense: bytes | None = None
        self._lows, self._table = b"", data[:0]
        if layout == DENSE:
            # By ordinal instead of by place; 0 for none.
            self.impacts = bytes(data)
        elif layout == BLOCKED:
            size = 2 * (n_blocks(n_entries) + 1)
            self._table = data[:size].cast("H")
            self._lows = bytes(data[size : size + df])
            self.impacts = bytes(data[size + df :])
        else:
            self._ordinals = data[: 2 * df].cast("H")
            self.impacts = bytes(data[2 * df :])

    @property
    def is_dense(self) -> bool:
        """Whether `impacts` is by ordinal."""
        return self._layout == DENSE

    @property
    def ordinals(self) -> Sequence[int]:
        """The entries, ascending."""
        if self._layout == DENSE:
            return list(compress(range(self.n_entries), self.impacts))
        if self._ordinals is None:
            table, df = self._table, self.df
            both = bytearray(2 * df)
            both[0::2] = self._lows
            both[1::2] = b"".join([bytes((block,)) * (table[block + 1] - table[block]) for block in range(len(table) - 1)])
            self._ordinals = memoryview(both).cast("H")
        return self._ordinals

    def impact(self, ordinal: int) -> int:
        """Return the impact of the term in an entry, 0 when the entry lacks it."""
        if self._layout == DENSE:
            return self.impacts[ordinal]
        if self._dense is not None:
            return self._dense[ordinal]
        if self._layout == BLOCKED:
            block = ordinal >> 8
            place = self._lows.find(ordinal & 0xFF, self._table[block], self._table[block + 1])
            return self.impacts[place] if place >= 0 else 0
        ordinals = self.ordinals
        place = bisect_left(ordinals, ordinal)
        return self.impacts[place] if place < self.df and ordinals[place] == ordinal else 0

    def impacts_of(self, ordinals: Sequence[int]) -> list[int]:
        """Return the impact of the term in each of some entries, as `impact` does: faster for many."""
        if self._layout == BLOCKED and len(ordinals) * PROBES_BY_DENSE > min(self.df, MIN_BY_BLOCK):
            self.dense()
        dense = self.impacts if self._layout == DENSE else self._dense
        if dense is not None:
            return list(map(dense.__getitem__, ordinals))
        if self._layout == SHORT and len(ordinals) * PROBES_BY_TABLE < self.df:
            return list(map(self.impact, ordinals))
        impacts = self.impacts
        if self._layout == SHORT:
            known = dict(zip(self.ordinals, impacts, strict=True))
            return [known.get(ordinal, 0) for ordinal in ordinals]
        find, table = self._lows.find, self._table.tolist()
        return [impacts[at] if (at := find(o & 0xFF, table[o >> 8], table[(o >> 8) + 1])) >= 0 else 0 for o in ordinals]

    def at(self, place: int) -> int:
        """Return the ordinal of a place of `impacts`."""
        if self._layout == DENSE:
            return place
        if self._ordinals is not None:
            return self._ordinals[place]
        return (bisect_right(self._table, place) - 1) << 8 | self._lows[place]

    def best_first(self) -> Iterator[tuple[int, int]]:
        """Yield (impact, ordinal) of all postings, the greatest impact first."""
        for impact in range(self.top, 0, -1):
            place = self.impacts.find(impact)
            while place >= 0:
                yield impact, self.at(place)
                place = self.impacts.find(impact, place + 1)

    def dense(self) -> bytes:
        """Return the impact of each entry of the segment, 0 for those without the term."""
        if self._layout == DENSE:
            return self.impacts
        if self._dense is None:
            self._dense = self._dense_by_block() if self._layout == BLOCKED and self.df > MIN_BY_BLOCK else self._scattered()
        return self._dense

    def _scattered(self) -> bytes:
        dense = bytearray(self.n_entries)
        for ordinal, impact in zip(self.ordinals, self.impacts, strict=True):
            dense[ordinal] = impact
        return bytes(dense)

    def _dense_by_block(self) -> bytes:
        """`dense`, in a few calls for each block: a translation table is an array that `maketrans` fills in C."""
        lows, impacts, table = self._lows, self.impacts, self._table
        blocks = []
        for start, stop in pairwise(table):
            there = lows[start:stop]
            others = _ALL.translate(None, there)
            blocks.append(bytes.maketrans(there + others, impacts[start:stop] + _ZEROS[: len(others)]))
        return b"".join(blocks)[: self.n_entries]

    def present(self) -> bytes:
        """Return one byte an entry of the segment: 1 where the term is."""
        return self.dense().translate(_NONZERO)


class Segment:
    """An open segment. Every read may raise DamagedSegment."""

    __slots__ = (
        "_ends",
        "_entries",
        "_kept",
        "_lengths",
        "_tokens_at",
        "_typenames",
        "_types",
        "file",
        "longest",
        "n_entries",
        "n_terms",
        "name",
        "terms",
        "tokens",
    )

    def __init__(self, path: str, name: str = "", data: bytes | bytearray | None = None):
        """Map the file, or take `data` for its bytes.

        Raises FileNotFoundError, DamagedSegment, OtherFeature, NewerFormat.
        """
        self.name = name
        self.file = PageFile(path, MAGIC, GENERATION, data)
        try:
            stats = self.file.read_area("stats")
            if len(stats) != STATS.size:
                raise DamagedSegment(path, 0, "its statistics are cut")
            self.n_entries, self.n_terms, *tokens = STATS.unpack(stats)
            # Per field: tokens in all entries, tokens in the longest.
            self.tokens, self.longest = tuple(tokens[:3]), tuple(tokens[3:])
            n = self.n_entries
            if n > MAX_ENTRIES:
                raise DamagedSegment(path, 0, "it has too many entries")
            for area, size in (("entries", n * ENTRY_SIZE), ("lengths", n * 6), ("types", n), ("tokenends", n * 4)):
                if self.file.area(area)[1] != size:
                    raise DamagedSegment(path, 0, f"its area '{area}' has the wrong size")
            self._tokens_at = self.file.area("tokens")
            at, size = self.file.area("terms")
            self.terms = Tree(lambda offset, length: self.file.read(at + offset, length), size)
        except BaseException:
            self.file.close()
            raise
        self._entries: memoryview | None = None
        self._lengths: list[memoryview] | None = None
        self._ends: memoryview | None = None
        self._types: memoryview | None = None
        self._typenames: list[str] | None = None
        # Term -> its postings, the one last asked for at the end.
        self._kept: dict[str, Postings] = {}

    @classmethod
    def over(cls, data: bytes | bytearray) -> Segment:
        """Return the segment of bytes in memory."""
        name = f"memory-{xxh3_128_hexdigest(data)}"
        return cls(name, name, data)

    @property
    def entries(self) -> memoryview:
        """All entry ids, 24 bytes each, ascending."""
        if self._entries is None:
            self._entries = self.file.read_area("entries")
        return self._entries

    @property
    def lengths(self) -> list[memoryview]:
        """Per field, the number of tokens of each entry, at most MAX_LENGTH."""
        if self._lengths is None:
            whole = self.file.read_area("lengths").cast("H")
            n = self.n_entries
            self._lengths = [whole[f * n : (f + 1) * n] for f in range(3)]
        return self._lengths

    def entry_id(self, ordinal: int) -> bytes:
        """Return the id of an entry."""
        if self._entries is not None:
            return bytes(self._entries[ordinal * ENTRY_SIZE : (ordinal + 1) * ENTRY_SIZE])
        return bytes(self.file.read(self.file.area("entries")[0] + ordinal * ENTRY_SIZE, ENTRY_SIZE))

    def entry_ids(self) -> list[bytes]:
        """Return all ids, ascending."""
        data = bytes(self.entries)
        return [data[i : i + ENTRY_SIZE] for i in range(0, len(data), ENTRY_SIZE)]

    def ordinal(self, entry_id: bytes) -> int | None:
        """Return the ordinal of an entry."""
        at = place_of_id(self.n_entries, self.entry_id, entry_id)
        return at if at < self.n_entries and self.entry_id(at) == entry_id else None

    def mime(self, ordinal: int) -> str:
        """Return the MIME type of an entry's section."""
        if self._types is None or self._typenames is None:
            self._types = self.file.read_area("types")
            self._typenames = bytes(self.file.read_area("typenames")).decode("utf-8", "replace").split("\n")
        number = self._types[ordinal]
        return self._typenames[number] if number < len(self._typenames) else ""

    def postings(self, term: str) -> Postings | None:
        """Return the postings of a term."""
        if (kept := self._kept.pop(term, None)) is not None:
            self._kept[term] = kept
            return kept
        try:
            value = self.terms.get(term.encode("utf-8", "surrogatepass"))
            if value is None:
                return None
            postings = self._postings(value)
            if postings.df >= MIN_KEPT:
                self._kept[term] = postings
                if len(self._kept) > MAX_KEPT:
                    del self._kept[next(iter(self._kept))]
            return postings
        except (BadTree, IndexError, ValueError) as e:
            raise DamagedSegment(self.file.path, 0, f"its term tree makes no sense ({e})") from None

    def _postings(self, value: bytes) -> Postings:
        code_point, df, at, top = decode_varints(value)
        n = self.n_entries
        if df == 1:
            if at >= n:
                raise ValueError("a posting names no entry")
            return Postings(chr(code_point), 1, top, n, SHORT, memoryview(ONE.pack(at, top)))
        layout = layout_of(df, n)
        size = n if layout == DENSE else 3 * df if layout == SHORT else 2 * (n_blocks(n) + 1) + 2 * df
        start, length = self.file.area("postings")
        if not 1 < df <= n or at + size > length:
            raise ValueError("a posting list leaves its area")
        return Postings(chr(code_point), df, top, n, layout, self.file.read(start + at, size))

    def prefix_terms(self, prefix: str, limit: int) -> list[str]:
        """Return up to `limit` terms that begin with `prefix`, in order."""
        start = prefix.encode("utf-8", "surrogatepass")
        found: list[str] = []
        try:
            for key, _ in self.terms.scan(start):
                if not key.startswith(start) or len(found) >= limit:
                    break
                found.append(key.decode("utf-8", "surrogatepass"))
        except (BadTree, IndexError) as e:
            raise DamagedSegment(self.file.path, 0, f"its term tree makes no sense ({e})") from None
        return found

    def all_terms(self, prefix: str = "") -> Iterator[tuple[str, int, int]]:
        """Yield (term, code point, df) of all terms that begin with `prefix`, in order."""
        start = prefix.encode("utf-8", "surrogatepass")
        try:
            for key, value in self.terms.scan(start):
                if not key.startswith(start):
                    return
                code_point, df, *_ = decode_varints(value)
                yield key.decode("utf-8", "surrogatepass"), code_point, df
        except (BadTree, IndexError, ValueError) as e:
            raise DamagedSegment(self.file.path, 0, f"its term tree makes no sense ({e})") from None

    def token_bytes(self, ordinal: int) -> bytes:
        """Return the token string of an entry in UTF-8, as it is stored."""
        return bytes(self._tokens_of(ordinal))

    def _tokens_of(self, ordinal: int) -> memoryview:
        ends = self._ends or self._read_ends()
        start, end = ends[ordinal - 1] if ordinal else 0, ends[ordinal]
        base, length = self._tokens_at
        if not start <= end <= length:
            raise DamagedSegment(self.file.path, 0, "a token string leaves its area")
        return self.file.read(base + start, end - start)

    def _read_ends(self) -> memoryview:
        self._ends = self.file.read_area("tokenends").cast("I")
        return self._ends

    def holding(self, needle: bytes, ordinals: Sequence[int]) -> list[int]:
        """Return those of some entries whose token string in UTF-8 has a substring."""
        return list(compress(ordinals, self.file.holds(needle, self._token_ranges(ordinals))))

    def _token_ranges(self, ordinals: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Yield the offsets in the file at which token strings start and end."""
        ends = self._ends or self._read_ends()
        base, length = self._tokens_at
        for ordinal in ordinals:
            start, end = ends[ordinal - 1] if ordinal else 0, ends[ordinal]
            if not start <= end <= length:
                raise DamagedSegment(self.file.path, 0, "a token string leaves its area")
            yield base + start, base + end

    def token_string(self, ordinal: int) -> str:
        """Return the token string of an entry: a character a token, `Postings.char` for each term; FIELDS between fields."""
        try:
            return str(self._tokens_of(ordinal), "utf-8")
        except UnicodeDecodeError:
            raise DamagedSegment(self.file.path, 0, f"the token string of entry {ordinal} is not UTF-8") from None

    def token_strings(self, ordinal: int) -> list[str]:
        """Return the token string of each field of an entry: heading, body, code."""
        return self.token_string(ordinal).split(FIELDS)

    def verify(self) -> None:
        """Check every page. Raises DamagedSegment."""
        self.file.verify()

    def close(self) -> None:
        self._kept.clear()
        self._entries = self._lengths = self._ends = self._types = None
        self.file.close()
