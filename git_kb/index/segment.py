"""A segment, open for reading. docs/format-index.md, "Segments".

On the search path.
"""

from __future__ import annotations

from bisect import bisect_left
from struct import Struct

from xxhash import xxh3_128_hexdigest

from git_kb.index.btree import BadTree, Tree
from git_kb.index.pagefile import DamagedSegment, PageFile
from git_kb.index.varint import decode_varints
from git_kb.text.words import GENERATION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAGIC = b"GITKBSEG"
ENTRY_SIZE = 24
MAX_ENTRIES = 65_535
STATS = Struct("<IIQQQ")
HEADING, BODY, CODE = 0, 1, 2
FIELD_NAMES = ("heading", "body", "code")
# A posting's frequency byte: 255 stands for 255 or more.
TF_MAX = 255


class Postings:
    """One term in one segment: entries that hold it, and how often.

    ordinals: ascending; body_tf: one byte each, parallel. heading, code: (ordinals, frequencies) of those
    fields alone.
    """

    __slots__ = ("body_tf", "char", "code", "df", "heading", "ordinals")

    def __init__(
        self,
        char: str,
        ordinals: Sequence[int],
        body_tf: bytes,
        heading: tuple[Sequence[int], bytes],
        code: tuple[Sequence[int], bytes],
    ):
        self.char, self.ordinals, self.body_tf, self.heading, self.code = char, ordinals, body_tf, heading, code
        self.df = len(ordinals)


class Segment:
    """An open segment. Every read may raise DamagedSegment."""

    __slots__ = ("_ends", "_entries", "_lengths", "_typenames", "_types", "file", "n_entries", "n_terms", "name", "terms", "tokens")

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
            self.tokens = tuple(tokens)
            n = self.n_entries
            if n > MAX_ENTRIES:
                raise DamagedSegment(path, 0, "it has too many entries")
            for area, size in (("entries", n * ENTRY_SIZE), ("lengths", n * 12), ("types", n), ("tokenends", n * 12)):
                if self.file.area(area)[1] != size:
                    raise DamagedSegment(path, 0, f"its area '{area}' has the wrong size")
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
        """Per field, the number of tokens of each entry (u32)."""
        if self._lengths is None:
            whole = self.file.read_area("lengths").cast("I")
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
        at = bisect_left(range(self.n_entries), entry_id, key=self.entry_id)
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
        try:
            value = self.terms.get(term.encode("utf-8", "surrogatepass"))
            return None if value is None else self._postings(value)
        except (BadTree, IndexError, ValueError) as e:
            raise DamagedSegment(self.file.path, 0, f"its term tree makes no sense ({e})") from None

    def _postings(self, value: bytes) -> Postings:
        code_point, df, n_heading, n_code, offset = decode_varints(value)
        start, length = self.file.area("postings")
        sizes = (2 * df, df, 2 * n_heading, n_heading, 2 * n_code, n_code)
        if offset + sum(sizes) > length:
            raise ValueError("a posting list leaves its area")
        data = self.file.read(start + offset, sum(sizes))
        parts = []
        at = 0
        for size in sizes:
            parts.append(data[at : at + size])
            at += size
        return Postings(
            chr(code_point),
            parts[0].cast("H"),
            bytes(parts[1]),
            (parts[2].cast("H"), bytes(parts[3])),
            (parts[4].cast("H"), bytes(parts[5])),
        )

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

    def all_terms(self) -> Iterator[tuple[str, int, int]]:
        """Yield (term, code point, df) of all terms, in order."""
        for key, value in self.terms.scan():
            code_point, df, *_ = decode_varints(value)
            yield key.decode("utf-8", "surrogatepass"), code_point, df

    def token_string(self, ordinal: int, field: int) -> str:
        """Return the token string of one field of an entry: a character a token, `Postings.char` for each term."""
        if self._ends is None:
            self._ends = self.file.read_area("tokenends").cast("I")
        index = 3 * ordinal + field
        start = self._ends[index - 1] if index else 0
        end = self._ends[index]
        base, length = self.file.area("tokens")
        if not start <= end <= length:
            raise DamagedSegment(self.file.path, 0, "a token string leaves its area")
        try:
            return str(self.file.read(base + start, end - start), "utf-8")
        except UnicodeDecodeError:
            raise DamagedSegment(self.file.path, (base + start) // 4096, "a token string is not UTF-8") from None

    def tf(self, postings: Postings, at: int) -> int:
        """Return the exact frequency in the body of the posting at index `at`."""
        tf = postings.body_tf[at]
        return tf if tf < TF_MAX else self.token_string(postings.ordinals[at], BODY).count(postings.char)

    def verify(self) -> None:
        """Check every page. Raises DamagedSegment."""
        self.file.verify()

    def close(self) -> None:
        self._entries = self._lengths = self._ends = self._types = None
        self.file.close()
