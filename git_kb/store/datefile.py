"""When all files of a commit last changed, kept in `.git/kb/dates`. docs/format-index.md, "Dates".

A cache: a commit's history never changes, but for shallow clones, grafts and replacements, and with those nothing is kept.
"""

from __future__ import annotations

import os
from array import array
from struct import Struct

from git_kb.errors import NewerFormat
from git_kb.index.build import little_endian
from git_kb.index.pagefile import DamagedSegment, OtherFeature, PageFile, encode_pagefile
from git_kb.repo.lockfile import CannotWrite, atomic_write
from git_kb.repo.regular import read_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from git_kb.repo.discover import Place

MAGIC = b"GITKBDAT"
GENERATION = 1
DIRECTORY = "dates"
SUFFIX = ".kbd"
MAX_FILES = 8
FLOOR = Struct("<d")
# Stands for a change before the floor.
OLDER = -(1 << 63)


class Dates:
    """What is known of a commit. blobs: path -> blob id of all its files. dates: path -> when it last changed (s since 1970).

    floor: files without a date last changed before that.
    """

    __slots__ = ("blobs", "dates", "floor")

    def __init__(self, floor: float, blobs: dict[bytes, str], dates: dict[bytes, float]):
        self.floor, self.blobs, self.dates = floor, blobs, dates


def encode_dates(known: Dates) -> bytes:
    """Return the bytes of a file."""
    paths = sorted(known.blobs)
    dates = array("q", [int(known.dates.get(path, OLDER)) for path in paths])
    areas: list[tuple[str, bytes | bytearray]] = [
        ("floor", FLOOR.pack(known.floor)),
        ("paths", b"\0".join(paths)),
        ("blobs", bytes.fromhex("".join([known.blobs[path] for path in paths]))),
        ("dates", little_endian(dates)),
    ]
    return bytes(encode_pagefile(MAGIC, GENERATION, areas))


def decode_dates(path: str, data: bytes | None = None) -> Dates:
    """Return what a file says, or its bytes do. Raises FileNotFoundError, DamagedSegment, OtherFeature, NewerFormat."""
    file = PageFile(path, MAGIC, GENERATION, data)
    try:
        floor, whole, blobs = (bytes(file.read_area(name)) for name in ("floor", "paths", "blobs"))
        stamps = file.read_area("dates")
        n = len(stamps) // 8
        paths = whole.split(b"\0") if n else []
        width = len(blobs) // n if n else 0
        if (
            len(floor) != FLOOR.size
            or len(stamps) != 8 * n
            or len(paths) != n
            or len(blobs) != n * width
            or (n and width not in (20, 32))
        ):
            raise DamagedSegment(path, 0, "its areas do not fit each other")
        dates = [date for (date,) in Struct("<q").iter_unpack(stamps)]
        stamps.release()
    finally:
        file.close()
    text = blobs.hex()
    return Dates(
        FLOOR.unpack(floor)[0],
        {p: text[2 * width * i : 2 * width * (i + 1)] for i, p in enumerate(paths)},
        {p: float(date) for p, date in zip(paths, dates, strict=True) if date != OLDER},
    )


def read_dates(place: Place, commit: str) -> Dates | None:
    """Return what is kept of a commit, None when nothing that can be used is."""
    try:
        return decode_dates(_path(place, commit))
    except (OSError, DamagedSegment, OtherFeature, NewerFormat):
        return None


def keep_dates(place: Place, commit: str, known: Dates) -> None:
    """Keep what is known of a commit, where it may be written. It is a cache, so it is not synced."""
    directory = os.path.join(place.kb_dir, DIRECTORY)
    try:
        os.makedirs(directory, exist_ok=True)
        atomic_write(_path(place, commit), encode_dates(known), fsync=False)
        for commit in kept_commits(place)[MAX_FILES:]:
            os.unlink(_path(place, commit))
    except (CannotWrite, OSError):
        return


def kept_commits(place: Place) -> list[str]:
    """Return the commits that something is kept of, the last written first."""
    directory = os.path.join(place.kb_dir, DIRECTORY)
    ages = []
    try:
        for name in filter(is_date_name, os.listdir(directory)):
            ages.append((os.stat(os.path.join(directory, name)).st_mtime_ns, name.removesuffix(SUFFIX)))
    except OSError:
        return []
    return [commit for _, commit in sorted(ages, reverse=True)]


def is_date_name(name: str) -> bool:
    """Return whether a file of that name is one of ours."""
    stem = name.removesuffix(SUFFIX)
    return name.endswith(SUFFIX) and len(stem) in (40, 64) and all(c in "0123456789abcdef" for c in stem)


def drop_dates(kb_dir: str) -> None:
    """Delete all files."""
    directory = os.path.join(kb_dir, DIRECTORY)
    for name in filter(is_date_name, os.listdir(directory) if os.path.isdir(directory) else ()):
        try:
            os.unlink(os.path.join(directory, name))
        except OSError:
            continue  # gone already


def may_keep(place: Place) -> bool:
    """Return whether the history of a commit is what its id says: not in a shallow clone, nor with grafts or replacements."""
    top = place.common_dir
    if any(os.path.lexists(os.path.join(top, name)) for name in ("shallow", "info/grafts")) or place.ref_format != "files":
        return False
    replaced = os.path.join(top, "refs", "replace")
    try:
        if os.path.lexists(replaced) and os.listdir(replaced):
            return False
        return b" refs/replace/" not in read_regular(os.path.join(top, "packed-refs"))
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _path(place: Place, commit: str) -> str:
    return os.path.join(place.kb_dir, DIRECTORY, commit + SUFFIX)
