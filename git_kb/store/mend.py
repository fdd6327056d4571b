"""What stands in `.git/kb` where the index keeps its files, and is none of them: found, and moved out of the way.

All of `.git/kb` is a cache, but only what we made is ours to delete. A directory, a pipe or an unreadable file in the
place of one of ours is renamed to `<name>.broken-<n>`, and the index is made again.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator

from git_kb.index.segments import CURRENT, DIRECTORY, is_segment_name
from git_kb.index.view import VIEWS, is_view_name
from git_kb.repo.regular import kind, set_aside


def oddities(kb_dir: str) -> Iterator[tuple[str, str]]:
    """Yield (path, what it is) of what is in the way of the index. Lock files see to themselves (repo/lockfile.py)."""
    if not os.path.lexists(kb_dir):
        return
    if what := _odd_directory(kb_dir):
        yield kb_dir, what
        return
    if what := _odd_file(os.path.join(kb_dir, CURRENT)):
        yield os.path.join(kb_dir, CURRENT), what
    for name, is_ours in ((DIRECTORY, is_segment_name), (VIEWS, is_view_name)):
        directory = os.path.join(kb_dir, name)
        if what := _odd_directory(directory):
            yield directory, what
            continue
        for below in sorted(os.listdir(directory)) if os.path.lexists(directory) else ():
            if is_ours(below) and (what := _odd_file(os.path.join(directory, below))):
                yield os.path.join(directory, below), what


def mend(kb_dir: str, warn: Callable[[str], None]) -> None:
    """Move aside what is in the way of the index, and say so. Raises InTheWay for the first that cannot be moved."""
    for path, what in list(oddities(kb_dir)):
        set_aside(path, what, warn)


def _odd_directory(path: str) -> str:
    """Return what is wrong with one of our directories, "" when nothing is or it is not there."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return "a link that leads nowhere" if os.path.islink(path) else ""
    if not stat.S_ISDIR(mode):
        return f"not a directory but {kind(mode)}"
    return "" if os.access(path, os.R_OK | os.X_OK) else "a directory that cannot be read"


def _odd_file(path: str) -> str:
    """The same for one of our files."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return "a link that leads nowhere" if os.path.islink(path) else ""
    if not stat.S_ISREG(mode):
        return f"not a file but {kind(mode)}"
    return "" if os.access(path, os.R_OK) else "a file that cannot be read"
