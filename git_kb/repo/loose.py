"""Loose objects, read by us for both bodies: libgit2 1.9 never returns from one that is cut off, dulwich accepts some damage."""

from __future__ import annotations

import os
import secrets
import zlib
from typing import TYPE_CHECKING

from git_kb.repo.objects import object_id
from git_kb.repo.protocol import DamagedObject
from git_kb.repo.regular import InTheWay, NotRegular, kind, read_regular

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
            deflated = read_regular(directory + name, follow=True)
        except NotRegular as e:
            raise DamagedObject(oid, str(e.strerror)) from None
        except OSError:
            continue
        return _decode(deflated, oid, object_format)
    return None


def replace_loose(directory: str, oid: str, type_: str, data: bytes, fsync: bool = True) -> None:
    """Write an object as a loose file over whatever is there under its name. The caller vouches for `oid`.

    Neither libgit2 nor dulwich nor git does that: a file that exists is taken for the object. Raises InTheWay, OSError.
    """
    path = f"{directory}/{oid[:2]}/{oid[2:]}"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    # Named so that 'git gc' removes it should we be killed; read-only, as git's own are.
    temporary = f"{directory}/{oid[:2]}/tmp_obj_{secrets.token_hex(6)}"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o444)
    try:
        with open(fd, "wb") as file:
            file.write(zlib.compress(b"%s %d\0" % (type_.encode(), len(data)) + data, 1))
            file.flush()
            if fsync:
                os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as e:
        os.unlink(temporary)
        if isinstance(e, OSError) and os.path.isdir(path):
            raise InTheWay(path, f"not an object but {kind(os.lstat(path).st_mode)}", e) from None
        raise


def drop_damaged_loose(directory: str, oid: str, object_format: str) -> None:
    """Remove the loose file of an object where it is damaged. Only for what is whole in a pack."""
    try:
        read_loose([directory], oid, object_format)
    except DamagedObject:
        os.unlink(f"{directory}/{oid[:2]}/{oid[2:]}")


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
        lines = read_regular(directory + "/info/alternates", follow=True).split(b"\n")
    except OSError:
        return []
    return [os.path.normpath(os.path.join(directory, os.fsdecode(line))) for line in lines if line and not line.startswith(b"#")]
