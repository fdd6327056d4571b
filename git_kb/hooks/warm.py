"""Bringing the index up to date in the background, one process at a time for all work trees of a repository.

Who wants it leaves a note in `.git/kb/warm/` and tries to become the warmer; the warmer works until there is no note. Nothing
depends on it: a search checks the index, whether it was warmed or not.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from git_kb.errors import KbError
from git_kb.repo.discover import Place, discover
from git_kb.repo.lockfile import atomic_write, file_lock, is_leftover
from git_kb.repo.process import foreign_env
from git_kb.repo.regular import read_regular

NOTES = "warm"
LOCK = "warm.lock"
MAIN = "main"


def ask(place: Place) -> None:
    """Leave a note that the index of this work tree is to be brought up to date. Raises CannotWrite, OSError."""
    directory = os.path.join(place.kb_dir, NOTES)
    os.makedirs(directory, exist_ok=True)
    text = b"\0".join(os.fsencode(path) for path in (place.git_dir, place.work_tree or ""))
    # "." cannot stand at the start of a work tree's name.
    name = f"worktree-{place.worktree_id}" if place.worktree_id else MAIN
    atomic_write(os.path.join(directory, name), text, fsync=False)


def warm_all(kb_dir: str, warm: Callable[[Place], None]) -> int:
    """Call `warm` for each work tree that has a note, unless another process does just that; return how often.

    A note that comes while the last one is worked on is seen too, whoever wrote it. Work trees that are gone are passed over.
    """
    n_done = 0
    while _notes(kb_dir):
        with file_lock(os.path.join(kb_dir, LOCK)) as held:
            if not held:
                return n_done
            for path in _notes(kb_dir):
                place = _take(path)
                if place is not None:
                    warm(place)
                    n_done += 1
    return n_done


def _notes(kb_dir: str) -> list[str]:
    directory = os.path.join(kb_dir, NOTES)
    try:
        return [os.path.join(directory, name) for name in sorted(os.listdir(directory)) if not is_leftover(name)]
    except OSError:
        return []


def _take(path: str) -> Place | None:
    """Remove a note and return its work tree; None where it is no work tree any more."""
    try:
        git_dir, _, work_tree = read_regular(path).partition(b"\0")
    except OSError:
        git_dir = work_tree = b""
    os.unlink(path)
    env = foreign_env()
    # As we were found, which need not be by a `.git` in the work tree.
    env["GIT_DIR"], env["GIT_WORK_TREE"] = os.fsdecode(git_dir), os.fsdecode(work_tree)
    try:
        return discover(os.fsdecode(work_tree), env) if work_tree else None
    except (KbError, ValueError):
        return None
