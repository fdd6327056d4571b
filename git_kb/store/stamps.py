"""Has a directory of manifests changed? Stat data alone answers, as git's index does for the work tree.

On the search path, so it imports nothing but `errno`, `os` and `struct`.
"""

from __future__ import annotations

import os
from errno import ELOOP, ENOENT, ENOTDIR
from struct import Struct

# Stat calls cost 2 us each. Up to this many manifests each one is looked at for every query. Beyond, the
# directory's own times are taken: they change whenever a file in it is made, renamed or removed, which is
# how git and git-kb write; only an editor that overwrites a manifest in place goes unseen until 'git kb
# index' or 'git kb ingest' looks at each file.
MAX_STATS = 4096
STAMP = Struct("<qqqQ")  # mtime in ns, ctime in ns, size in bytes, inode


def stamp(status: os.stat_result) -> bytes:
    """Return the stamp of one file."""
    return STAMP.pack(status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino & (1 << 64) - 1)


def stamp_directory(directory: str) -> tuple[dict[str, bytes], bytes]:
    """Return (file name -> stamp of each manifest, sorted by name.

    the key of `quick_key`). A missing directory is empty.
    """
    stamps = {}
    key_before = _directory_key(directory)
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                if entry.name.endswith(".toml"):
                    stamps[entry.name] = stamp(entry.stat(follow_symlinks=False))
    except OSError as e:
        if e.errno not in (ENOENT, ENOTDIR, ELOOP):
            raise
        return {}, b"files "
    stamps = {name: stamps[name] for name in sorted(stamps)}
    if len(stamps) > MAX_STATS:
        return stamps, key_before
    return stamps, _files_key(stamps)


def quick_key(directory: str, n_expected: int) -> bytes:
    """Return the key of a directory's present state. `n_expected`: how many manifests the cached view has."""
    if n_expected > MAX_STATS:
        return _directory_key(directory)
    return stamp_directory(directory)[1]


def _directory_key(directory: str) -> bytes:
    try:
        status = os.stat(directory)
    except OSError:
        return b"files "
    return b"directory " + STAMP.pack(status.st_mtime_ns, status.st_ctime_ns, 0, status.st_ino & (1 << 64) - 1)


def _files_key(stamps: dict[str, bytes]) -> bytes:
    import xxhash

    state = xxhash.xxh3_128()
    for name, value in stamps.items():
        state.update(os.fsencode(name) + b"\0" + value)
    return b"files " + (state.digest() if stamps else b"")
