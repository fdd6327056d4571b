"""`git kb gc`: drop from the pool what nothing names any more. docs/gc.md.

The pool's commits are written anew without the dropped sections, as `git filter-branch` would, with authors, dates and messages as
they were. So the log stays, and two clones that drop the same from the same pool make the same commits.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from git_kb.errors import Damaged, KbError
from git_kb.repo.discover import Place
from git_kb.repo.objects import encode_commit, encode_tree
from git_kb.repo.pack import MIN_PACKED, PackWriter
from git_kb.repo.process import git_at
from git_kb.repo.protocol import DIRECTORY, RefMoved, Repository, TreeEntry
from git_kb.repo.regular import read_regular
from git_kb.repo.spawn import run_git
from git_kb.store.named import named_sections, referred_sections
from git_kb.store.pool import BadPool, Pool
from git_kb.store.root import POOL_REF

# As git's own.
DEFAULT_GRACE = "2.weeks.ago"
MAX_TRIES = 20


class BadExpiry(KbError):
    """What --prune or gc.pruneExpire says is no date."""

    hint = "for example 2.weeks.ago, 2025-03-01, now or never"

    def __init__(self, text: str):
        self.text = text
        super().__init__(f"malformed expiration date '{text}'")


@dataclass(slots=True)
class Collected:
    """What was dropped, or in a dry run would be.

    n_named: sections that stay because something names them. n_recent: that nothing names, but that came in after the cutoff.
    n_bytes: size of what was dropped, as stored before compression. n_on_remotes: how many of it a remote had when last synced.
    """

    dropped: list[str]
    n_bytes: int = 0
    n_named: int = 0
    n_recent: int = 0
    n_manifests: int = 0
    n_on_remotes: int = 0
    n_packed: int = 0
    commit: str | None = None


def expiry(place: Place, text: str | None) -> tuple[str, int]:
    """Return (git's form of a date, seconds since 1970) of --prune; None is gc.pruneExpire. "never" is 0, "now" after all times.

    Raises BadExpiry.
    """
    if text is None:
        _, out = git_at(place, ["config", f"--default={DEFAULT_GRACE}", "--get", "gc.pruneExpire"])
        text = os.fsdecode(out).removesuffix("\n")
    arguments = ["config", "--file", os.devnull, "--type=expiry-date", f"--default={text}", "--get", "kb.date"]
    status, out, _ = run_git(arguments, place.git_cwd, env=place.git_env()) if "\0" not in text else (1, b"", b"")
    if status != 0 or not out.strip().isdigit():
        raise BadExpiry(text)
    return text, int(out)


def collect(repo: Repository, prune: tuple[str, int], dry_run: bool, beat: Callable[[], None] = lambda: None) -> Collected:
    """Drop what nothing names and what came in at the cutoff or before. The caller holds the lock.

    prune: as `expiry` gives it. Raises CannotTell, BadPool, RefMoved, RefLocked, RefRefused, CannotWritePack.
    """
    pool = Pool(repo)
    if pool.commit is None:
        return Collected([])
    named = named_sections(repo.place, beat)
    everything = set(pool.kbids())
    unnamed = everything - named.kbids
    old = unnamed & _sections_before(repo, pool.commit, prune[1]) if unnamed else set()
    # What is too new may refer to what is old.
    dropped = old - referred_sections(pool, everything - old, old, beat)
    done = Collected(sorted(dropped), n_recent=len(unnamed - old), n_manifests=named.n_manifests, commit=pool.commit)
    done.n_named = len(everything) - len(dropped) - done.n_recent
    done.n_bytes = sum(len(data) for _, _, data in pool.read_objects(done.dropped))
    done.n_on_remotes = len(dropped & _on_remotes(repo)) if dropped else 0
    if dry_run:
        return done
    if dropped:
        done.commit = _publish(repo, pool, dropped, beat)
    _expire_reflog(repo.place, prune[0])
    done.n_packed = _pack_loose(repo.place)
    return done


def _publish(repo: Repository, pool: Pool, dropped: set[str], beat: Callable[[], None]) -> str:
    """Move the pool's ref to its history without the dropped sections. What comes in meanwhile stays."""
    for attempt in range(MAX_TRIES):
        assert pool.commit is not None
        try:
            new = without_sections(repo, pool.commit, dropped, beat)
            repo.update_ref(POOL_REF, new, pool.commit, f"kb: gc: {len(dropped)} dropped")
            return new
        except RefMoved:
            if attempt == MAX_TRIES - 1:
                raise
            pool.refresh()
            if pool.commit is None:
                raise
    raise AssertionError("the loop returns or raises")


def without_sections(repo: Repository, tip: str, dropped: set[str], beat: Callable[[], None] = lambda: None) -> str:
    """Store the history of a pool without some sections, and return its tip. Commits that lose nothing stay themselves.

    A commit with nothing left to say, its tree being that of its only parent, goes. Raises BadPool.
    """
    by_prefix: dict[bytes, set[bytes]] = {}
    for kbid in dropped:
        by_prefix.setdefault(kbid[:2].encode(), set()).add(kbid[2:].encode())
    try:
        with PackWriter(repo.place.objects_dir, repo.place.object_format) as pack:
            return _Rewriting(repo, pack, by_prefix).history(tip, beat)
    except Damaged as e:
        raise BadPool(str(e)) from None


class _Rewriting:
    """Trees and commits as they become, each worked out once."""

    def __init__(self, repo: Repository, pack: PackWriter, dropped: dict[bytes, set[bytes]]):
        self.repo, self.pack, self.dropped = repo, pack, dropped
        self._below: dict[tuple[bytes, str], str | None] = {}
        self._trees: dict[str, str] = {}
        self._empty = encode_tree([])

    def history(self, tip: str, beat: Callable[[], None]) -> str:
        become: dict[str, str | None] = {}
        trees: dict[str, str] = {}
        # Parents before children.
        for number, oid in enumerate(reversed(list(self.repo.iter_commits(tip)))):
            commit = self.repo.read_commit(oid)
            tree = self.tree(commit.tree)
            parents = list(dict.fromkeys(p for parent in commit.parents if (p := become[parent]) is not None))
            if tree == commit.tree and tuple(parents) == commit.parents:
                new: str | None = oid
            elif len(parents) == 1 and trees[parents[0]] == tree:
                new = parents[0]
            elif not parents and self._is_empty(tree):
                new = None
            else:
                new = self.pack.add("commit", encode_commit(tree, parents, commit.author, commit.committer, commit.message))
            become[oid] = new
            if new is not None:
                trees[new] = tree
            if number % 100 == 0:
                beat()
        last = become[tip]
        if last is not None:
            return last
        # Nothing is left of the pool. An empty one says so; no pool at all would look like a fresh clone.
        commit = self.repo.read_commit(tip)
        tree = self.pack.add("tree", self._empty)
        return self.pack.add("commit", encode_commit(tree, [], commit.author, commit.committer, "empty section pool"))

    def tree(self, oid: str) -> str:
        """Return what a pool's tree becomes."""
        if oid not in self._trees:
            entries = [new for entry in self.repo.read_tree(oid) if (new := self._entry(entry)) is not None]
            self._trees[oid] = oid if entries == self.repo.read_tree(oid) else self.pack.add("tree", encode_tree(entries))
        return self._trees[oid]

    def _entry(self, entry: TreeEntry) -> TreeEntry | None:
        gone = self.dropped.get(entry.name)
        if gone is None or entry.mode != DIRECTORY:
            return entry
        key = entry.name, entry.oid
        if key not in self._below:
            before = self.repo.read_tree(entry.oid)
            after = [e for e in before if e.name not in gone]
            whole = len(after) == len(before)
            self._below[key] = entry.oid if whole else self.pack.add("tree", encode_tree(after)) if after else None
        new = self._below[key]
        return None if new is None else entry._replace(oid=new)

    def _is_empty(self, tree: str) -> bool:
        return tree == self.pack.add("tree", self._empty)


def _sections_before(repo: Repository, tip: str, cutoff: int) -> set[str]:
    """Return the sections that came into the pool at the cutoff or before, and into this clone too, as far as that is known.

    By the dates of the pool's commits; by the ref's reflog, since a sync may bring today what was old elsewhere.
    """
    try:
        old = _by_commits(repo, tip, cutoff)
        known, arrived = _by_reflog(repo, cutoff)
        return old & arrived if known else old
    except Damaged as e:
        raise BadPool(str(e)) from None


def _by_commits(repo: Repository, tip: str, cutoff: int) -> set[str]:
    found: set[str] = set()
    seen, left = {tip}, [tip]
    while left:
        commit = repo.read_commit(left.pop())
        if commit.committer.when <= cutoff:
            # The pool only grows, so what its ancestors had it has.
            found |= _kbids(repo, commit.tree)
            continue
        left += [parent for parent in commit.parents if parent not in seen]
        seen.update(commit.parents)
    return found


def _by_reflog(repo: Repository, cutoff: int) -> tuple[bool, set[str]]:
    """Return (whether the reflog goes back as far, the sections that were here then)."""
    status, out = git_at(
        repo.place, ["log", "-g", "--date=unix", "--no-show-signature", "--format=%H %gd", POOL_REF, "--"], ok=(0, 128)
    )
    for line in out.decode("ascii", "replace").splitlines() if status == 0 else ():
        oid, _, name = line.partition(" ")
        when = name.rpartition("@{")[2].rstrip("}")
        if when.isdigit() and int(when) <= cutoff:
            return True, _kbids(repo, repo.read_commit(oid).tree)
    return _was_born_in_reflog(repo.place), set()


def _was_born_in_reflog(place: Place) -> bool:
    """Return whether the first entry of the reflog is the one that made the ref: before, there was nothing."""
    try:
        first = read_regular(os.path.join(place.common_dir, "logs", POOL_REF)).partition(b" ")[0]
    except OSError:
        return False
    return bool(first) and not first.strip(b"0")


def _on_remotes(repo: Repository) -> set[str]:
    """Return the sections that remotes had when we last synced with them."""
    _, out = git_at(repo.place, ["for-each-ref", "--format=%(objectname)", "refs/kb/remotes"])
    found: set[str] = set()
    for oid in out.decode().split():
        try:
            found |= _kbids(repo, repo.read_commit(oid).tree)
        except Damaged:
            continue
    return found


def _kbids(repo: Repository, tree: str) -> set[str]:
    return {
        (above.name + entry.name).decode("ascii", "replace")
        for above in repo.read_tree(tree)
        if above.mode == DIRECTORY
        for entry in repo.read_tree(above.oid)
    }


def _expire_reflog(place: Place, when: str) -> None:
    """Let the pool's reflog forget what is older; otherwise it would keep what was dropped for months."""
    if git_at(place, ["reflog", "exists", POOL_REF], ok=(0, 1))[0] == 0:
        git_at(place, ["reflog", "expire", f"--expire={when}", f"--expire-unreachable={when}", POOL_REF])


def _pack_loose(place: Place) -> int:
    """Put the pool's loose objects into one pack when they are many, and return how many they were."""
    if pool_is_unborn(place):
        return 0
    _, out = git_at(place, ["rev-list", "--objects", "--unpacked", "--no-object-names", "--missing=allow-any", POOL_REF])
    n_loose = len(out.split())
    if n_loose < MIN_PACKED:
        return 0
    arguments = ["pack-objects", "--revs", "--unpacked", "--incremental", "--non-empty", "--missing=allow-any", "--quiet"]
    git_at(place, [*arguments, os.path.join(place.objects_dir, "pack", "pack")], POOL_REF.encode() + b"\n")
    git_at(place, ["prune-packed", "--quiet"])
    return n_loose


def pool_is_unborn(place: Place) -> bool:
    """Return whether there is no pool."""
    return git_at(place, ["rev-parse", "--verify", "--quiet", POOL_REF], ok=(0, 1, 128))[0] != 0
