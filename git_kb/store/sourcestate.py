"""Are the sources of a few hits still what was ingested? For the work tree; staleness.py answers for all and for other states.

A file whose bytes have the blob id of its document is current: one read and one hash. Only for the others git is asked, since
they may be kept off the disk (sparse checkout) or be stored in another form (line ends, filters). On the search path.
"""

from __future__ import annotations

import os
import stat

from git_kb.model.digest import digester
from git_kb.model.source import path_of_source
from git_kb.repo.regular import open_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from git_kb.index.view import ViewDocument
    from git_kb.repo.discover import Place

CURRENT, CHANGED, GONE = "current", "changed", "gone"
# What one command looks at. A source beyond has no state.
MAX_SOURCES = 100
MAX_BYTES = 32 << 20


def worktree_states(place: Place, documents: Iterable[ViewDocument], keep: dict[str, bytes] | None = None) -> dict[str, str]:
    """Return source -> CURRENT, CHANGED or GONE in the work tree. `keep` takes source -> bytes of files with the blob's id.

    URLs, and what is beyond MAX_SOURCES or MAX_BYTES in all, are left out; so is everything without a work tree.
    """
    if place.work_tree is None:
        return {}
    blobs = {path: (d.source, d.blob) for d in documents if (path := path_of_source(d.source)) is not None}
    states: dict[bytes, str] = {}
    other_bytes = []
    left = MAX_BYTES
    for path in list(blobs)[:MAX_SOURCES]:
        size = _size(place.work_tree, path)
        left -= max(size, 0)
        if left < 0:
            continue
        if size == NO_FILE:
            states[path] = GONE
        elif size != LINK and (data := _blob_bytes(place.work_tree, path, blobs[path][1])) is not None:
            states[path] = CURRENT
            if keep is not None:
                keep[blobs[path][0]] = data
        else:
            states[path] = CHANGED
            other_bytes += [path] if size != LINK else []
    in_index = _kept_off_disk(place, [p for p, state in states.items() if state != CURRENT])
    clean = _hash_clean(place, [p for p in other_bytes if p not in in_index])
    for path, oid in {**clean, **in_index}.items():
        states[path] = CURRENT if oid == blobs[path][1] else CHANGED
    return {blobs[path][0]: state for path, state in states.items()}


NO_FILE, LINK = -1, -2


def _size(top: str, path: bytes) -> int:
    """Return the size of a regular file, LINK for a symbolic link, NO_FILE where git sees neither; none is followed on the way."""
    parts = path.split(b"/")
    try:
        for n in range(1, len(parts)):
            if stat.S_ISLNK(os.lstat(_on_disk(top, b"/".join(parts[:n]))).st_mode):
                return NO_FILE
        status = os.lstat(_on_disk(top, path))
    except OSError:
        return NO_FILE
    if stat.S_ISLNK(status.st_mode):
        return LINK
    return status.st_size if stat.S_ISREG(status.st_mode) else NO_FILE


def _on_disk(top: str, path: bytes) -> bytes:
    return os.path.join(os.fsencode(top), path)


def _blob_bytes(top: str, path: bytes, blob: str) -> bytes | None:
    """Return the bytes of a file when they have that blob id."""
    try:
        with open(open_regular(_on_disk(top, path)), "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError:
        return None
    name: str = digester("sha256" if len(blob) == 64 else "sha1")(b"blob %d\0" % len(data) + data).hexdigest()
    return data if name == blob else None


def _kept_off_disk(place: Place, paths: list[bytes]) -> dict[bytes, str]:
    """Return path -> blob in the index, of those paths where git looks at no file: skip-worktree, assume-unchanged."""
    if not paths:
        return {}
    from git_kb.repo.spawn import run_git

    env = place.git_env({"GIT_LITERAL_PATHSPECS": "1"})
    status, out, _ = run_git(["ls-files", "-z", "-v", "-s", "--", *map(os.fsdecode, paths)], place.git_cwd, env=env)
    found: dict[bytes, str] = {}
    for row in out.split(b"\0")[:-1] if status == 0 else []:
        meta, _, path = row.partition(b"\t")
        tag, _, oid, stage = meta.split()
        if stage == b"0" and (tag == b"S" or tag.islower()):
            found[path] = oid.decode()
    return found


def _hash_clean(place: Place, paths: list[bytes]) -> dict[bytes, str]:
    """Return path -> the blob id that `git add` would give it, up to the first file that cannot be read."""
    if not paths:
        return {}
    from git_kb.repo.spawn import run_git

    _, out, _ = run_git(["hash-object", "--", *map(os.fsdecode, paths)], place.git_cwd, env=place.git_env())
    return dict(zip(paths, out.decode().split(), strict=False))
