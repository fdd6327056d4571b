"""A commit of exactly some files, made by `git commit` from an index of our own.

Git makes it, so commit.gpgsign, user.signingKey, hooks, core.hooksPath, commit.cleanup and a missing identity are what they are in
any other commit. The user's index keeps what is staged.

Order: the user's index gets the files' entries first, then git commits from the private one. Hooks see both as `git commit` would
show them, and a kill in between leaves the files staged, which loses nothing; the other way round, an index that lacks what HEAD
has would say that they are to be deleted. When git refuses, the index gets back what it had.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from git_kb.errors import KbError
from git_kb.repo.discover import NeedsWorkTree, Place
from git_kb.repo.process import GitFailed, git_at
from git_kb.repo.spawn import run_git
from git_kb.repo.worktree import hash_files

# (mode, object id) as `git ls-files -s` prints them.
Entry = tuple[bytes, bytes]
# What stands for a file that is not there.
NO_ENTRY: Entry = (b"0", b"0")
# How long to wait for another process that is writing the user's index.
LOCK_WAIT_S, LOCK_PAUSE_S = 1.0, 0.1
# Directories of private indexes in `.git/kb`, and when one was surely left by a process that was killed.
SCRATCH, LEFT_S = "commit-", 24 * 3600.0
MIDDLES = {"MERGE_HEAD": "merge", "CHERRY_PICK_HEAD": "cherry-pick", "REVERT_HEAD": "revert"}


class CommitInTheWay(KbError):
    """A merge, cherry-pick or revert is under way, or the index has conflicts: a commit of some files would take its place."""

    def __init__(self, why: str, hint: str):
        self.hint = hint
        super().__init__(why)


class NotCommitted(KbError):
    """Git did not make the commit; `stderr` has its own words, `status` its exit status. The files are as they were."""

    hint = "the files are written and nothing is staged; when git can commit, run the same command again"

    def __init__(self, status: int, stderr: bytes):
        self.status, self.stderr = status, stderr
        # A hook that says no is an answer, not a failure; git ends with 1 then.
        self.exit_code = 1 if status == 1 else 128
        super().__init__("git did not commit")


class Made(NamedTuple):
    """A commit that was made: its id, the one before it (None for the first), and what git and its hooks said."""

    oid: str
    parent: str | None
    n_files: int
    stderr: bytes


def check_can_commit(place: Place) -> None:
    """Raise CommitInTheWay where `git commit -- <path>` would refuse, too. Raises NeedsWorkTree."""
    if place.work_tree is None:
        raise NeedsWorkTree(place.git_dir)
    for ref, name in MIDDLES.items():
        if _rev(place, ref):
            raise CommitInTheWay(
                f"cannot commit some files during a {name}",
                f"finish it, or go back with 'git {name} --abort'; without --commit, ingest does not mind",
            )
    _, out = git_at(place, ["ls-files", "-u", "-z"])
    if out:
        raise CommitInTheWay("cannot commit: there are unmerged files", "resolve the conflicts and 'git add' them first")


def commit_files(place: Place, paths: Iterable[bytes], message: str) -> Made | None:
    """Commit these files as they are in the work tree; what is not there is deleted. None when HEAD has them all as they are.

    Raises NotCommitted, CommitInTheWay, GitFailed (the index is locked, for example).
    """
    check_can_commit(place)
    parent = _rev(place, "HEAD^{commit}")
    os.makedirs(place.kb_dir, exist_ok=True)
    _remove_leftovers(place.kb_dir)
    with tempfile.TemporaryDirectory(prefix=SCRATCH, dir=place.kb_dir) as scratch:
        private = {"GIT_INDEX_FILE": os.path.join(scratch, "index")}
        _start_index(place, private, parent)
        wanted = _entries_on_disk(place, list(paths))
        committed = _entries(place, private)
        changes = {path: entry for path, entry in wanted.items() if committed.get(path, NO_ENTRY)[1] != entry[1]}
        if not changes:
            return None
        _set_entries(place, private, changes)
        before = _entries(place, None)
        _set_entries(place, None, changes)
        status, err = _commit(place, private, message)
        new = _rev(place, "HEAD^{commit}")
        if status != 0 or new is None or new == parent:
            _put_back(place, {path: before.get(path, NO_ENTRY) for path in changes}, parent)
            raise NotCommitted(status, err)
    _follow(place, parent, new, set(changes), before)
    return Made(new, parent, len(changes), err)


def _remove_leftovers(directory: str) -> None:
    for name in os.listdir(directory):
        path = os.path.join(directory, name)
        if name.startswith(SCRATCH) and os.path.isdir(path) and time.time() - os.lstat(path).st_mtime > LEFT_S:
            shutil.rmtree(path, ignore_errors=True)


def _start_index(place: Place, private: Mapping[str, str], parent: str | None) -> None:
    """Make the private index that of HEAD.

    What the user's index knows of files on disk comes along, so that git need not read them.
    """
    if parent is None:
        git_at(place, ["read-tree", "--empty"], env=private)
        return
    _, out = git_at(place, ["rev-parse", "--path-format=absolute", "--git-path", "index"])
    try:
        shutil.copyfile(out.removesuffix(b"\n"), private["GIT_INDEX_FILE"])
    except FileNotFoundError:
        pass  # nothing was ever staged
    git_at(place, ["read-tree", "--reset", parent], env=private)


def _entries_on_disk(place: Place, paths: list[bytes]) -> dict[bytes, Entry]:
    """Return the entries that the files would have in an index, their blobs stored; NO_ENTRY of those that are not there."""
    for path in paths:
        if os.path.islink(os.path.join(os.fsencode(place.git_cwd), path)):
            raise KbError(f"cannot commit '{os.fsdecode(path)}': it is a symbolic link")
    refused: dict[bytes, str] = {}
    ids = hash_files(place, paths, refused, store=True)
    for path, why in refused.items():
        raise KbError(f"cannot commit '{os.fsdecode(path)}': {why}")
    return {path: (b"100644", ids[path].encode()) if path in ids else NO_ENTRY for path in paths}


def _entries(place: Place, index: Mapping[str, str] | None) -> dict[bytes, Entry]:
    """Return path -> entry of an index; None is the user's."""
    _, out = git_at(place, ["ls-files", "-s", "-z"], env=index)
    entries = {}
    for row in out.split(b"\0")[:-1]:
        head, _, path = row.partition(b"\t")
        mode, oid, _stage = head.split(b" ")
        entries[path] = mode, oid
    return entries


def _set_entries(place: Place, index: Mapping[str, str] | None, entries: Mapping[bytes, Entry]) -> None:
    """Put entries into an index. Waits a moment for its lock, which is never broken: it is somebody's."""
    zero = b"0" * place.oid_hex_length
    lines = b"".join(
        mode + b" " + (zero if mode == b"0" else oid) + b"\t" + path + b"\0" for path, (mode, oid) in sorted(entries.items())
    )
    deadline = time.monotonic() + LOCK_WAIT_S
    while True:
        try:
            git_at(place, ["update-index", "-z", "--index-info"], lines, env=index)
            return
        except GitFailed as e:
            if b"index.lock" not in e.stderr or time.monotonic() > deadline:
                raise
        time.sleep(LOCK_PAUSE_S)


def _commit(place: Place, private: Mapping[str, str], message: str) -> tuple[int, bytes]:
    """Run `git commit` as the user would, from the top of the work tree: hooks get no variable that git itself would not set."""
    data = message.encode("utf-8", "surrogateescape")
    status, out, err = run_git(["commit", "-q", "-F", "-"], place.git_cwd, data, place.callers_env(private))
    return status, out + err


def _put_back(place: Place, entries: dict[bytes, Entry], parent: str | None) -> None:
    """Give the user's index what it had before a commit that did not come to be."""
    _set_entries(place, None, entries)
    # What was only announced with `git add -N` has the empty blob, and stands in no commit.
    empty = _empty_blob(place)
    announced = [
        path for path, entry in entries.items() if entry[1] == empty and (parent is None or not _in_tree(place, parent, path))
    ]
    if announced:
        _set_entries(place, None, dict.fromkeys(announced, NO_ENTRY))
        names = b"".join(path + b"\0" for path in announced)
        git_at(place, ["add", "-N", "--pathspec-from-file=-", "--pathspec-file-nul"], names, env={"GIT_LITERAL_PATHSPECS": "1"})
    _refresh(place)


def _follow(place: Place, parent: str | None, new: str, ours: set[bytes], before: Mapping[bytes, Entry]) -> None:
    """Take into the user's index what a hook added to the commit, where the index still has what HEAD had.

    Without it, such a file would look as if its deletion, or its old content, were staged.
    """
    _, out = git_at(place, ["diff-tree", "-r", "-z", "--no-renames", parent or _empty_tree(place), new])
    fields = out.split(b"\0")[:-1]
    others = {}
    for head, path in zip(fields[::2], fields[1::2], strict=True):
        # ":100644 100644 <oid> <oid> M"
        old_mode, mode, old_oid, oid, _ = head[1:].split(b" ")
        was = before.get(path)
        unstaged = was is None if not int(old_mode, 8) else was == (old_mode, old_oid)
        if path not in ours and unstaged:
            others[path] = (mode, oid) if int(mode, 8) else NO_ENTRY
    if others:
        _set_entries(place, None, others)
    _refresh(place)


def _refresh(place: Place) -> None:
    """Have the index know the files on disk again. A lock in the way does not matter: `git status` does it, too."""
    git_at(place, ["update-index", "-q", "--refresh"], ok=(0, 1, 128))


def _rev(place: Place, name: str) -> str | None:
    status, out = git_at(place, ["rev-parse", "--verify", "--quiet", name], ok=(0, 1, 128))
    return out.decode().strip() if status == 0 else None


def _in_tree(place: Place, rev: str, path: bytes) -> bool:
    _, out = git_at(place, ["ls-tree", "-z", rev, "--", os.fsdecode(path)], env={"GIT_LITERAL_PATHSPECS": "1"})
    return bool(out)


def _empty_blob(place: Place) -> bytes:
    from git_kb.repo.objects import object_id

    return object_id("blob", b"", place.object_format).encode()


def _empty_tree(place: Place) -> str:
    _, out = git_at(place, ["hash-object", "-w", "-t", "tree", "--stdin"])
    return out.decode().strip()
