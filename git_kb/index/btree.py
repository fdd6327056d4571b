"""A B+ tree, bulk-loaded from sorted keys and never changed. docs/format-index.md, "B+ tree".

On the search path.
"""

from __future__ import annotations

from bisect import bisect_right
from struct import Struct, error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

LEAF, BRANCH = 1, 2
NONE = 0xFFFFFFFF
HEAD = Struct("<BBHI")
SLOT = Struct("<H")
LEAF_CELL = Struct("<HH")
BRANCH_CELL = Struct("<HI")
MAX_KEY, MAX_VALUE = 255, 512
MANY_VISITS = 10


class BadTree(ValueError):
    """A page of the tree makes no sense. `pgno` is its number."""

    def __init__(self, pgno: int, why: str):
        self.pgno, self.why = pgno, why
        super().__init__(f"tree page {pgno}: {why}")


def bulk_load(items: Iterable[tuple[bytes, bytes]], page_size: int = 4096) -> bytearray:
    """Return the pages of a tree of (key, value) pairs in ascending order of unique keys. Nothing gives nothing.

    Raises ValueError for keys out of order, or a key or value that is too long for the page.
    """
    out = bytearray()
    level: list[tuple[bytes, int]] = []
    cells: list[bytes] = []
    size = HEAD.size
    first = last = b""
    for key, value in items:
        if len(key) > min(MAX_KEY, page_size // 4) or len(value) > min(MAX_VALUE, page_size // 4):
            raise ValueError(f"a key of {len(key)} or a value of {len(value)} bytes is too long")
        if (cells or level) and key <= last:
            raise ValueError("keys are not in ascending order")
        cell = LEAF_CELL.pack(len(key), len(value)) + key + value
        if cells and size + len(cell) + SLOT.size > page_size:
            level.append((first, _append(out, LEAF, cells, page_size, len(out) // page_size + 1)))
            cells, size = [], HEAD.size
        if not cells:
            first = key
        cells.append(cell)
        size += len(cell) + SLOT.size
        last = key
    if cells:
        level.append((first, _append(out, LEAF, cells, page_size, NONE)))
    while len(level) > 1:
        level = _branches(out, level, page_size)
    return out


def _branches(out: bytearray, below: list[tuple[bytes, int]], page_size: int) -> list[tuple[bytes, int]]:
    level: list[tuple[bytes, int]] = []
    cells: list[bytes] = []
    size = HEAD.size
    first = b""
    for key, child in below:
        cell = BRANCH_CELL.pack(len(key), child) + key
        if cells and size + len(cell) + SLOT.size > page_size:
            level.append((first, _append(out, BRANCH, cells, page_size, 0)))
            cells, size = [], HEAD.size
        if not cells:
            first = key
        cells.append(cell)
        size += len(cell) + SLOT.size
    level.append((first, _append(out, BRANCH, cells, page_size, 0)))
    return level


def _append(out: bytearray, kind: int, cells: list[bytes], page_size: int, link: int) -> int:
    """Append one page and return its number."""
    pgno = len(out) // page_size
    offset = HEAD.size + SLOT.size * len(cells)
    page = bytearray(HEAD.pack(kind, 0, len(cells), link))
    for cell in cells:
        page += SLOT.pack(offset)
        offset += len(cell)
    page += b"".join(cells)
    out += page.ljust(page_size, b"\0")
    return pgno


class Tree:
    """A tree in bytes.

    `read(offset, length)` gives checked bytes of the tree's area; `size_bytes` is the area's length.
    """

    __slots__ = ("_branches", "_visits", "n_pages", "page_size", "read")

    def __init__(self, read: Callable[[int, int], memoryview], size_bytes: int, page_size: int = 4096):
        self.read, self.page_size, self.n_pages = read, page_size, size_bytes // page_size
        # Branch page -> (keys, children), once it has been visited so often that taking it apart pays.
        self._branches: dict[int, tuple[list[bytes], list[int]]] = {}
        self._visits: dict[int, int] = {}

    @classmethod
    def over(cls, data: bytes | bytearray, page_size: int = 4096) -> Tree:
        """Return the tree of bytes in memory."""
        view = memoryview(data)
        return cls(lambda offset, length: view[offset : offset + length], len(view), page_size)

    def _page(self, pgno: int) -> bytes:
        if not 0 <= pgno < self.n_pages:
            raise BadTree(pgno, "there is no such page")
        return bytes(self.read(pgno * self.page_size, self.page_size))

    def _leaf(self, key: bytes) -> tuple[bytes, int, int]:
        """Return (page, number of cells, index of the first cell not below key) of the leaf where key belongs."""
        pgno = self.n_pages - 1
        for _ in range(32):
            known = self._branches.get(pgno)
            if known is not None:
                pgno = known[1][max(bisect_right(known[0], key) - 1, 0)]
                continue
            page = self._page(pgno)
            kind, _, n, _ = HEAD.unpack_from(page)
            if kind not in (LEAF, BRANCH) or HEAD.size + n * SLOT.size > len(page):
                raise BadTree(pgno, "it is neither a leaf nor a branch")
            low, high = 0, n
            header = 4 if kind == LEAF else 6
            while low < high:
                middle = (low + high) // 2
                at = page[8 + 2 * middle] | page[9 + 2 * middle] << 8
                if page[at + header : at + header + (page[at] | page[at + 1] << 8)] < key:
                    low = middle + 1
                else:
                    high = middle
            if kind == LEAF:
                return page, n, low
            self._visits[pgno] = self._visits.get(pgno, 0) + 1
            if self._visits[pgno] == MANY_VISITS:
                try:
                    self._branches[pgno] = _parse_branch(page, n)
                except error:
                    raise BadTree(pgno, "a cell leaves it") from None
            # The child that may hold the key is the last one whose smallest key is not above it.
            at = page[8 + 2 * low] | page[9 + 2 * low] << 8 if low < n else 0
            if low == n or page[at + 6 : at + 6 + (page[at] | page[at + 1] << 8)] != key:
                low = max(low - 1, 0)
            at = page[8 + 2 * low] | page[9 + 2 * low] << 8
            pgno = BRANCH_CELL.unpack_from(page, at)[1]
        raise BadTree(pgno, "the tree has a loop")

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key."""
        if not self.n_pages:
            return None
        page, n, at = self._leaf(key)
        if at >= n:
            return None
        found, value = _cell(page, at)
        return value if found == key else None

    def scan(self, start: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Yield (key, value) from `start` on, in order."""
        if not self.n_pages:
            return
        page, n, at = self._leaf(start)
        for _ in range(self.n_pages):
            for index in range(at, n):
                yield _cell(page, index)
            link = HEAD.unpack_from(page)[3]
            if link == NONE:
                return
            page = self._page(link)
            kind, _, n, _ = HEAD.unpack_from(page)
            if kind != LEAF:
                raise BadTree(link, "it is not a leaf")
            at = 0
        raise BadTree(0, "its leaves form a loop")


def _parse_branch(page: bytes, n: int) -> tuple[list[bytes], list[int]]:
    keys, children = [], []
    for index in range(n):
        at = SLOT.unpack_from(page, HEAD.size + SLOT.size * index)[0]
        length, child = BRANCH_CELL.unpack_from(page, at)
        keys.append(page[at + BRANCH_CELL.size : at + BRANCH_CELL.size + length])
        children.append(child)
    return keys, children


def _cell(page: bytes, index: int) -> tuple[bytes, bytes]:
    at = SLOT.unpack_from(page, HEAD.size + SLOT.size * index)[0]
    key_length, value_length = LEAF_CELL.unpack_from(page, at)
    at += LEAF_CELL.size
    return page[at : at + key_length], page[at + key_length : at + key_length + value_length]
