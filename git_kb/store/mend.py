"""What stands in `.git/kb` where the index keeps its files, and is none of them: found, and moved out of the way.

All of `.git/kb` is a cache, but only what we made is ours to delete. A directory, a pipe or an unreadable file in the
place of one of ours is renamed to `<name>.broken-<n>`, and the index is made again.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator

from git_kb.index import references, signatures
from git_kb.index.segments import CURRENT, DIRECTORY, is_segment_name
from git_kb.index.view import VIEWS, is_view_name
from git_kb.repo.regular import kind, set_aside
from git_kb.store import datefile

_DIRECTORIES = (
    (DIRECTORY, is_segment_name),
    (VIEWS, is_view_name),
    (references.DIRECTORY, references.is_reference_name),
    (signatures.DIRECTORY, signatures.is_signature_name),
    (datefile.DIRECTORY, datefile.is_date_name),
)


def oddities(kb_dir: str) -> Iterator[tuple[str, str]]:
    """Yield (path, what it is) of what is in the way of the index. Lock files see to themselves (repo/lockfile.py)."""
    if not os.path.lexists(kb_dir):
        return
    if what := _odd(kb_dir, "directory"):
        yield kb_dir, what
        return
    if what := _odd(os.path.join(kb_dir, CURRENT), "file"):
        yield os.path.join(kb_dir, CURRENT), what
    for name, is_ours in _DIRECTORIES:
        directory = os.path.join(kb_dir, name)
        if what := _odd(directory, "directory"):
            yield directory, what
            continue
        for below in sorted(os.listdir(directory)) if os.path.lexists(directory) else ():
            if is_ours(below) and (what := _odd(os.path.join(directory, below), "file")):
                yield os.path.join(directory, below), what


def mend(kb_dir: str, warn: Callable[[str], None]) -> None:
    """Move aside what is in the way of the index, and say so. Raises InTheWay for the first that cannot be moved."""
    for path, what in list(oddities(kb_dir)):
        set_aside(path, what, warn)


# What is wanted -> how to tell it by its mode, and the rights we need on it.
_WANTED = {"directory": (stat.S_ISDIR, os.R_OK | os.X_OK), "file": (stat.S_ISREG, os.R_OK)}


def _odd(path: str, wanted: str) -> str:
    """Return what is wrong with one of our directories or files, "" when nothing is or it is not there."""
    is_wanted, rights = _WANTED[wanted]
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return "a link that leads nowhere" if os.path.islink(path) else ""
    if not is_wanted(mode):
        return f"not a {wanted} but {kind(mode)}"
    return "" if os.access(path, rights) else f"a {wanted} that cannot be read"
