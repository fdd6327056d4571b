"""Loose objects, read by us for both bodies: libgit2 1.9 never returns from one that is cut off, dulwich accepts some damage."""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING

from git_kb.repo.objects import object_id
from git_kb.repo.protocol import DamagedObject

if TYPE_CHECKING:
    from git_kb.repo.discover import Place

# "commit 18446744073709551615\0" and to spare.
MAX_HEADER = 64
# Git's own limit on alternates of alternates.
MAX_ALTERNATE_DEPTH = 5


def object_directories(place: Place) -> list[str]:
    """Return the directories objects are in: the repository's own first, then all alternates."""
    found: dict[str, None] = {}
    level = [place.objects_dir, *place.alternates]
    for _ in range(MAX_ALTERNATE_DEPTH + 1):
        level = [directory for directory in dict.fromkeys(level) if directory not in found]
        found.update(dict.fromkeys(level))
        level = [alternate for directory in level for alternate in _listed_alternates(directory)]
    return list(found)


def read_loose(directories: list[str], oid: str, object_format: str) -> tuple[str, bytes] | None:
    """Return (type, data) of a loose object, its hash verified; None when it is not loose. Raises DamagedObject."""
    name = f"/{oid[:2]}/{oid[2:]}"
    for directory in directories:
        try:
            fd = os.open(directory + name, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        except OSError:
            continue
        with open(fd, "rb") as file:
            return _decode(file.read(), oid, object_format)
    return None


def is_loose(directories: list[str], oid: str) -> bool:
    """Return whether there is a loose file for an object, good or damaged."""
    return any(os.path.exists(f"{directory}/{oid[:2]}/{oid[2:]}") for directory in directories)


def _decode(deflated: bytes, oid: str, object_format: str) -> tuple[str, bytes]:
    """Return (type, data). Inflates no more than the header says."""
    inflater = zlib.decompressobj()
    try:
        start = inflater.decompress(deflated, MAX_HEADER)
        header, nul, data = start.partition(b"\0")
        kind, _, size_text = header.partition(b" ")
        if not nul or kind not in (b"blob", b"tree", b"commit", b"tag") or not size_text.isdigit():
            raise DamagedObject(oid, "its header does not parse")
        size = int(size_text)
        if size >= len(data):
            data += inflater.decompress(inflater.unconsumed_tail, size - len(data) + 1)
    except zlib.error as e:
        raise DamagedObject(oid, str(e)) from None
    if len(data) != size or not inflater.eof:
        raise DamagedObject(oid, "it is cut off or longer than its header says")
    if object_id(kind.decode(), data, object_format) != oid:
        raise DamagedObject(oid, "its hash is not its name")
    return kind.decode(), data


def _listed_alternates(directory: str) -> list[str]:
    try:
        with open(directory + "/info/alternates", "rb") as file:
            lines = file.read().split(b"\n")
    except OSError:
        return []
    return [os.path.normpath(os.path.join(directory, os.fsdecode(line))) for line in lines if line and not line.startswith(b"#")]
