"""The container of segments and views: named areas on checksummed pages. docs/format-index.md, "Page files".

On the search path.
"""

from __future__ import annotations

import mmap
import os
from bisect import bisect_left
from math import isqrt
from struct import Struct

from xxhash import xxh3_64_digest, xxh3_64_intdigest

from git_kb.errors import Damaged, NewerFormat
from git_kb.repo.regular import open_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

PAGE_SIZE = 4096
FORMAT = 3
# A search for an id guesses so often where it is, as long as there are more than so many to choose from.
MAX_GUESSES, MIN_GUESSED = 6, 8
#   offset  size  field
#        0     8  magic
#        8     4  format
#       12     4  feature
#       16     4  page_size
#       20     4  n_areas
#       24     8  size_bytes of the whole file
#       32     8  offset of the checksum table
#       40    16  reserved
#       56     8  XXH3-64 of bytes 0..56 and the directory
HEADER = Struct("<8sIIIIQQ16s")
CHECK = Struct("<Q")
AREA = Struct("<16sQQ")
assert HEADER.size == 56
assert AREA.size == 32


class DamagedSegment(Damaged):
    """A page failed its check. `path` is the file, `pgno` a page number from 0."""

    hint = "the index is only a cache; run 'git kb index --rebuild'"

    def __init__(self, path: str, pgno: int, why: str):
        self.path, self.pgno, self.why = path, pgno, why
        super().__init__(f"page {pgno} of '{path}' is damaged: {why}")


class OtherFeature(Damaged):
    """The file was made by another tokenizer generation, so it has to be made again."""

    hint = "run 'git kb index'"

    def __init__(self, path: str, feature: int):
        self.path, self.feature = path, feature
        super().__init__(f"'{path}' was made with tokenizer generation {feature}")


def place_of_id(n: int, id_at: Callable[[int], bytes], wanted: bytes) -> int:
    """Return where `wanted` belongs among `n` ids in ascending order, as `bisect_left` does: before the first that is not below it.

    Ids are hashes, so where one stands is guessed from its value (interpolation search, Perl, Itai & Avni 1978,
    doi:10.1145/359545.359557); where they are spread otherwise, bisection ends it.
    """
    low, high = 0, n
    least, most = 0, 1 << 64
    value = int.from_bytes(wanted[:8].ljust(8, b"\0"), "big")
    for _ in range(MAX_GUESSES):
        if high - low <= MIN_GUESSED or not least <= value < most:
            break
        at = low + (high - low) * (value - least) // (most - least)
        # A little farther from the nearer end than it seems, so that the end on the other side comes near too.
        at = min(at + isqrt(at - low) + 1, high - 1) if at - low < high - at else max(at - isqrt(high - at) - 1, low)
        found = id_at(at)
        if found < wanted:
            low, least = at + 1, int.from_bytes(found[:8], "big")
        else:
            high, most = at, int.from_bytes(found[:8], "big")
    return bisect_left(range(n), wanted, low, high, key=id_at)


def encode_pagefile(magic: bytes, feature: int, areas: Iterable[tuple[str, bytes | bytearray | memoryview]]) -> bytearray:
    """Return the bytes of a page file."""
    areas = list(areas)
    directory = bytearray()
    offset = PAGE_SIZE
    for name, data in areas:
        directory += AREA.pack(name.encode(), offset, len(data))
        offset += -(-len(data) // PAGE_SIZE) * PAGE_SIZE
    assert HEADER.size + CHECK.size + len(directory) <= PAGE_SIZE
    n_pages = offset // PAGE_SIZE
    header = HEADER.pack(magic, FORMAT, feature, PAGE_SIZE, len(areas), offset + 8 * n_pages, offset, bytes(16))
    out = bytearray(header + CHECK.pack(xxh3_64_intdigest(header + directory)) + directory)
    for _, data in areas:
        out += bytes(-len(out) % PAGE_SIZE)
        out += data
    out += bytes(-len(out) % PAGE_SIZE)
    view = memoryview(out)
    checks = b"".join([xxh3_64_digest(view[at : at + PAGE_SIZE])[::-1] for at in range(0, n_pages * PAGE_SIZE, PAGE_SIZE)])
    view.release()
    out += checks
    return out


class PageFile:
    """An open page file. Every page is checked when it is first read."""

    __slots__ = ("_checked", "_checks", "_data", "_map", "areas", "feature", "path", "view")

    def __init__(self, path: str, magic: bytes, feature: int | None, data: bytes | bytearray | None = None):
        """Map the file, or take `data` for its bytes.

        Raises FileNotFoundError, DamagedSegment, NewerFormat, and OtherFeature when its feature is not
        `feature`.
        """
        self.path = path
        self._map: mmap.mmap | None = None
        # What has `find`; `view`, of the same bytes, has slices without a copy.
        self._data: bytes | bytearray | mmap.mmap | None = data
        if data is not None:
            self.view = memoryview(data)
            self._open(magic, feature, len(data))
            return
        fd = _open(path)
        try:
            size = os.fstat(fd).st_size
            if size < PAGE_SIZE:
                raise DamagedSegment(path, 0, f"the file has {size} bytes")
            self._data = self._map = mmap.mmap(fd, size, access=mmap.ACCESS_READ)
        except OSError as e:
            raise DamagedSegment(path, 0, f"the file cannot be read: {e.strerror or e}") from None
        finally:
            os.close(fd)
        self.view = memoryview(self._map)
        try:
            self._open(magic, feature, size)
        except BaseException:
            self.close()
            raise

    def _open(self, magic: bytes, feature: int | None, size: int) -> None:
        found, version, self.feature, page_size, n_areas, size_bytes, table, _ = HEADER.unpack_from(self.view)
        if found != magic:
            raise DamagedSegment(self.path, 0, "it has no magic number")
        if version > FORMAT:
            raise NewerFormat(self.path, version)
        end = HEADER.size + CHECK.size + n_areas * AREA.size
        if version < FORMAT and feature is not None:
            raise OtherFeature(self.path, version)
        if version != FORMAT or page_size != PAGE_SIZE or end > PAGE_SIZE:
            raise DamagedSegment(self.path, 0, "its header makes no sense")
        directory = bytes(self.view[HEADER.size + CHECK.size : end])
        (check,) = CHECK.unpack_from(self.view, HEADER.size)
        if check != xxh3_64_intdigest(bytes(self.view[: HEADER.size]) + directory):
            raise DamagedSegment(self.path, 0, "its header fails the check")
        if size != size_bytes or table % PAGE_SIZE or size - table != table // PAGE_SIZE * 8:
            raise DamagedSegment(self.path, 0, f"it has {size} bytes and should have {size_bytes}")
        if feature is not None and self.feature != feature:
            raise OtherFeature(self.path, self.feature)
        self.areas = {name.rstrip(b"\0").decode(): (at, length) for name, at, length in AREA.iter_unpack(directory)}
        if any(at % PAGE_SIZE or at + length > table for at, length in self.areas.values()):
            raise DamagedSegment(self.path, 0, "an area leaves the file")
        self._checks = self.view[table:].cast("Q")
        self._checked = bytearray(table // PAGE_SIZE)

    def area(self, name: str) -> tuple[int, int]:
        """Return (offset, length) of an area. Raises DamagedSegment."""
        try:
            return self.areas[name]
        except KeyError:
            raise DamagedSegment(self.path, 0, f"it has no area '{name}'") from None

    def read(self, offset: int, length: int) -> memoryview:
        """Return bytes of the file, checked. The view lives no longer than the file. Raises DamagedSegment."""
        if length <= 0:
            if length < 0 or offset < 0:
                raise DamagedSegment(self.path, 0, "an offset makes no sense")
            return self.view[:0]
        first, last = offset // PAGE_SIZE, (offset + length - 1) // PAGE_SIZE
        if last >= len(self._checked) or offset < 0:
            raise DamagedSegment(self.path, last, "an offset leaves the file")
        if first == last:
            if not self._checked[first]:
                if xxh3_64_intdigest(self.view[first * PAGE_SIZE : (first + 1) * PAGE_SIZE]) != self._checks[first]:
                    raise DamagedSegment(self.path, first, "it fails its check")
                self._checked[first] = 1
        elif self._checked.find(0, first, last + 1) >= 0:
            checked, checks, view = self._checked, self._checks, self.view
            for pgno in range(first, last + 1):
                if not checked[pgno]:
                    if xxh3_64_intdigest(view[pgno * PAGE_SIZE : (pgno + 1) * PAGE_SIZE]) != checks[pgno]:
                        raise DamagedSegment(self.path, pgno, "it fails its check")
                    checked[pgno] = 1
        return self.view[offset : offset + length]

    def holds(self, needle: bytes, ranges: Iterable[tuple[int, int]]) -> Iterator[bool]:
        """Yield for each (start, end) whether a string stands there. Faster than to read each. Raises DamagedSegment."""
        checked, read, find = self._checked, self.read, self._data.find  # type: ignore[union-attr]
        n_pages = len(checked)
        for start, end in ranges:
            first, last = start // PAGE_SIZE, end // PAGE_SIZE
            if first < 0 or last >= n_pages or last - first > 1 or not (checked[first] and checked[last]):
                read(start, end - start)
            yield find(needle, start, end) >= 0

    def read_area(self, name: str) -> memoryview:
        """Return a whole area, checked."""
        return self.read(*self.area(name))

    def verify(self) -> None:
        """Check every page. Raises DamagedSegment."""
        self.read(0, len(self._checked) * PAGE_SIZE)

    def close(self) -> None:
        """Unmap. Views handed out before keep the map alive until they are gone."""
        self._checks = self._data = None  # type: ignore[assignment]
        self.view.release()
        if self._map is not None:
            try:
                self._map.close()
            except BufferError:
                pass


def _open(path: str) -> int:
    try:
        return open_regular(path, follow=True)
    except FileNotFoundError:
        raise
    except OSError as e:
        raise DamagedSegment(path, 0, f"the file cannot be read: {e.strerror or e}") from None
