"""`git kb sync`: our pool and that of a remote become one, in both places. docs/sync.md.

The remote's ref only moves forward, and only to a pool with more in it, so no two clones can keep each other busy.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from git_kb.errors import Damaged
from git_kb.repo.discover import Place
from git_kb.repo.process import git_at
from git_kb.repo.protocol import RefMoved, Repository
from git_kb.repo.remotes import PushLost, PushRefused, fetch_ref, push_ref, remote_names
from git_kb.store.pool import BadPool, pool_commit
from git_kb.store.root import POOL_REF
from git_kb.store.unite import OURS, DamagedSide, LeftOut, Union, count_differences, union_tree, unite_trees, write_union

MAX_TRIES = 12
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 2.0


class Way(Enum):
    """What a sync does: both ways; only look at what the remote has; take but give nothing; give but take nothing."""

    BOTH = "both"
    FETCH = "fetch"
    TAKE = "take"
    GIVE = "give"


class BadRemotePool(Damaged):
    """What a remote has as its pool is none. `why` says what it is."""

    hint = f"look at it with 'git ls-remote <remote> {POOL_REF}'; nothing was taken from it"

    def __init__(self, remote: str, why: str):
        self.remote, self.why = remote, why
        super().__init__(f"'{POOL_REF}' of '{remote}' is no section pool: {why}")


@dataclass(slots=True)
class Synced:
    """What a sync did, or in a dry run would do.

    n_received, n_sent: sections that only the remote, only we had. commit: what our pool is at afterwards;
    remote_commit: what the remote's is at. words: what the remote said to people. refused: why it did not take our push.
    """

    remote: str
    n_received: int = 0
    n_sent: int = 0
    commit: str | None = None
    remote_commit: str | None = None
    pushed: bool = False
    n_tries: int = 1
    left_out: list[LeftOut] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    refused: PushRefused | None = None


def tracking_ref(place: Place, remote: str) -> str | None:
    """Return the ref of ours that follows a remote's pool; None for a URL or path, which nothing follows."""
    return f"refs/kb/remotes/{remote}/sections" if remote in remote_names(place) else None


def sync(
    repo: Repository,
    remote: str,
    way: Way = Way.BOTH,
    *,
    dry_run: bool = False,
    verify: bool = True,
    sleep: Callable[[float], None] = time.sleep,
) -> Synced:
    """Unite our pool with a remote's. A dry run fetches, and changes neither pool.

    Raises RemoteFailed, PushLost (after MAX_TRIES), BadRemotePool, BadPool, RefLocked, RefRefused.
    """
    follows = tracking_ref(repo.place, remote)
    pause = FIRST_PAUSE_S
    for attempt in range(1, MAX_TRIES + 1):
        fetched = fetch_ref(repo.place, remote, POOL_REF, follows)
        done = Synced(remote, remote_commit=fetched.oid, n_tries=attempt, words=fetched.words)
        _check_commit(repo, remote, fetched.oid)
        try:
            goal = _unite(repo, remote, fetched.oid, way, dry_run, done)
            if goal is None or goal == fetched.oid or dry_run or way in (Way.FETCH, Way.TAKE):
                return done
            done.words += push_ref(repo.place, remote, goal, POOL_REF, verify)
        except PushLost:
            if attempt == MAX_TRIES:
                raise
            # Others lost with us: whoever waits a time of his own is not in their way again.
            sleep(pause * (0.5 + random.random()))
            pause = min(2 * pause, LONGEST_PAUSE_S)
            continue
        except PushRefused as e:
            done.refused = e
            return done
        done.pushed, done.remote_commit = True, goal
        _follow(repo, follows, goal)
        return done
    raise AssertionError("the loop returns or raises")


def known_differences(repo: Repository, remote: str) -> tuple[int, int] | None:
    """Return how many sections only we and only a remote has, as of the last sync. Asks nobody.

    None when there was no sync, or a pool cannot be read.
    """
    follows = tracking_ref(repo.place, remote)
    theirs = repo.read_ref(follows) if follows else None
    if theirs is None:
        return None
    ours = pool_commit(repo)
    try:
        return count_differences(repo, repo.read_commit(ours).tree if ours else None, repo.read_commit(theirs).tree)
    except Damaged:
        return None


def _check_commit(repo: Repository, remote: str, oid: str | None) -> None:
    if oid is None:
        return
    try:
        kind, _ = repo.read_object(oid)
    except Damaged as e:
        raise BadRemotePool(remote, str(e)) from None
    if kind != "commit":
        raise BadRemotePool(remote, f"it names a {kind}, not a commit")


def _unite(repo: Repository, remote: str, theirs: str | None, way: Way, dry_run: bool, done: Synced) -> str | None:
    """Return the commit that both pools are to be at, ours moved there already. Fills `done`."""
    for attempt in range(MAX_TRIES):
        ours = pool_commit(repo)
        union = _union(repo, remote, ours, theirs)
        done.n_received, done.n_sent, done.left_out = union.n_received, union.n_sent, union.left_out
        done.commit = ours
        if dry_run or way is Way.FETCH:
            return None
        goal = _goal(repo, union, ours, theirs)
        if goal is None or goal == ours or way is Way.GIVE:
            return goal
        try:
            repo.update_ref(POOL_REF, goal, ours, f"kb: sync with {remote}: {union.n_received} in")
        except RefMoved:
            # An ingest was quicker; what it brought goes along.
            if attempt == MAX_TRIES - 1:
                raise
            continue
        done.commit = goal
        return goal
    raise AssertionError("the loop returns or raises")


def _union(repo: Repository, remote: str, ours: str | None, theirs: str | None) -> Union:
    try:
        return unite_trees(repo, *(repo.read_commit(commit).tree if commit else None for commit in (ours, theirs)))
    except DamagedSide as e:
        if e.side == OURS:
            raise BadPool(e.why) from None
        raise BadRemotePool(remote, e.why) from None


def _goal(repo: Repository, union: Union, ours: str | None, theirs: str | None) -> str | None:
    """Return the commit that has the union: one of the two where it will do, else a new one; None where there is nothing."""
    if not union.kept and not union.made:
        return ours
    tree = union_tree(repo, union)
    if theirs and tree == repo.read_commit(theirs).tree:
        return theirs
    if ours and tree == repo.read_commit(ours).tree and (theirs is None or _is_ancestor(repo, theirs, ours)):
        return ours
    # Git would fail to push an object that cannot be read, wherever in the history it stands.
    whole = ours is not None and not any(entry.side == OURS and entry.unreadable for entry in union.left_out)
    return write_union(repo, union, [commit for commit in (ours if whole else None, theirs) if commit])[1]


def _is_ancestor(repo: Repository, older: str, younger: str) -> bool:
    status, _ = git_at(repo.place, ["merge-base", "--is-ancestor", older, younger], ok=(0, 1, 128))
    return status == 0


def _follow(repo: Repository, ref: str | None, commit: str) -> None:
    """Note where the remote is now. Whoever has moved the ref since knows better."""
    if ref is not None:
        try:
            repo.update_ref(ref, commit, repo.read_ref(ref), "kb: sync: pushed")
        except RefMoved:
            return
