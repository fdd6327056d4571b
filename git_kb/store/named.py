"""Which sections anything still names: manifests of every commit that git keeps, of every index, and of every work tree.

Errs on the side of keeping: whatever in a manifest has the form of a kbid counts, damaged manifests included, and what cannot be
read at all is an error.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256

from git_kb.errors import KbError
from git_kb.repo.discover import Place
from git_kb.repo.objects import is_oid
from git_kb.repo.process import CatFile, git_at
from git_kb.repo.regular import read_regular
from git_kb.repo.spawn import run_git
from git_kb.store.manifest import SUFFIX
from git_kb.store.pool import Pool
from git_kb.store.root import DOCUMENTS

_KBID = re.compile(rb"(?<![a-z2-7])[a-z2-7]{26}(?![a-z2-7])")
_ESCAPE = re.compile(rb"\\(?:u00|U000000)([0-7][0-9A-Fa-f])")
_JOINED_LINES = re.compile(rb"\\[ \t\r]*\n[ \t\r\n]*")
# As `git kb recall` takes them, but wherever they stand.
_MARKER = re.compile(rb"\$\((?:image|code|text|link):[ \t]*([A-Za-z2-7]{4,26})[ \t]*\)")
_OID = re.compile(rb"(?<![0-9a-f])(?:[0-9a-f]{64}|[0-9a-f]{40})(?![0-9a-f])")
# Where git notes what it is in the middle of: in a git directory, and in these directories of it.
_UNDER_WAY = ("", "rebase-merge", "rebase-apply", "sequencer")
_PSEUDO_REF = re.compile(r"[A-Z][A-Z_]*\Z")
MAX_STATE_BYTES = 1 << 20


class CannotTell(KbError):
    """What may name sections cannot be read, so nothing may be dropped. `what` is it."""

    hint = "nothing was dropped; mend it, or remove what is not wanted any more, and try again"

    def __init__(self, what: str, why: str):
        self.what, self.why = what, why
        super().__init__(f"cannot tell which sections {what} names: {why}")


@dataclass(slots=True)
class WorkTree:
    """One of the repository's work trees. top: None where the repository is bare, or the directory is gone."""

    git_dir: str
    top: str | None


@dataclass(slots=True)
class Named:
    """Kbids that something names, and the manifests that do, each by its SHA-256: what is on a disk is mostly in a commit too."""

    kbids: set[str] = field(default_factory=set)
    manifests: set[bytes] = field(default_factory=set)

    @property
    def n_manifests(self) -> int:
        return len(self.manifests)


def named_sections(place: Place, beat: Callable[[], None] = lambda: None) -> Named:
    """Return what any manifest names that is reachable from a ref or reflog, stands in an index, or in a work tree.

    beat: called now and then. Raises CannotTell, GitFailed.
    """
    named = Named()
    trees = list(work_trees(place))
    seen: set[bytes] = set()
    blobs = [*_of_history(place, trees), *(oid for tree in trees for oid in _of_index(place, tree))]
    with CatFile.at(place) as cat_file:
        fresh = (oid for oid in blobs if not (oid in seen or seen.add(oid)))  # type: ignore[func-returns-value]
        for number, (oid, _, kind, data) in enumerate(cat_file.read_many(fresh)):
            if kind == "missing":
                raise CannotTell(f"the object '{oid.decode()}'", "it is missing")
            if kind == "blob":
                _take(named, data)
            if number % 1000 == 0:
                beat()
    for tree in trees:
        for data in _of_disk(tree):
            _take(named, data)
    return named


def referred_sections(pool: Pool, kept: Iterable[str], candidates: set[str], beat: Callable[[], None]) -> set[str]:
    """Return those candidates that a section which is kept, or one of themselves, refers to by a content marker."""
    found: set[str] = set()
    if not candidates:
        return found
    by_start: dict[str, list[str]] = {}
    for kbid in candidates:
        by_start.setdefault(kbid[:4], []).append(kbid)
    looking = list(kept)
    while looking:
        fresh: set[str] = set()
        for number, (_, _, data) in enumerate(pool.read_objects(looking)):
            for match in _MARKER.finditer(data):
                prefix = match[1].decode().lower()
                fresh.update(kbid for kbid in by_start.get(prefix[:4], ()) if kbid.startswith(prefix))
            if number % 1000 == 0:
                beat()
        looking = sorted(fresh - found)
        found |= fresh
    return found


def work_trees(place: Place) -> Iterator[WorkTree]:
    """Yield all work trees, the main one first. Raises CannotTell for one that is said to be elsewhere just now."""
    main = _main_top(place)
    yield WorkTree(place.common_dir, main)
    if place.work_tree is not None and place.work_tree != main and place.git_dir == place.common_dir:
        yield WorkTree(place.git_dir, place.work_tree)
    directory = os.path.join(place.common_dir, "worktrees")
    for name in sorted(os.listdir(directory)) if os.path.isdir(directory) else ():
        git_dir = os.path.join(directory, name)
        try:
            link = os.fsdecode(read_regular(os.path.join(git_dir, "gitdir"))).removesuffix("\n")
        except OSError:
            continue  # not a work tree
        top = os.path.dirname(os.path.normpath(os.path.join(git_dir, link)))
        if os.path.isdir(top):
            yield WorkTree(git_dir, top)
        elif os.path.lexists(os.path.join(git_dir, "locked")):
            raise CannotTell(f"the locked work tree '{top}'", "it is not there")
        else:
            yield WorkTree(git_dir, None)


def _main_top(place: Place) -> str | None:
    """Return the top of the main work tree, None in a bare repository."""
    env = {"GIT_DIR": place.common_dir}
    _, bare = git_at(place, ["config", "--type=bool", "--default=false", "--get", "core.bare"], env=env)
    if bare.strip() == b"true":
        return None
    status, out = git_at(place, ["config", "--get", "core.worktree"], ok=(0, 1), env=env)
    if status == 0:
        return os.path.normpath(os.path.join(place.common_dir, os.fsdecode(out).removesuffix("\n")))
    if os.path.basename(place.common_dir) == ".git":
        return os.path.dirname(place.common_dir)
    if place.git_dir == place.common_dir:
        return place.work_tree
    # A repository apart from its main work tree does not say where that is.
    raise CannotTell("the main work tree", "it cannot be found from here; run it there")


def _of_history(place: Place, trees: list[WorkTree]) -> list[bytes]:
    """Return the objects below kb/documents of all commits that refs, reflogs and operations under way reach.

    All parents of merges are followed, as a simplified history would leave out what a merge did not take over.
    """
    env = dict(place.git_env({"GIT_LITERAL_PATHSPECS": "1"}))
    # Work trees' own HEADs and reflogs are among them.
    arguments = ["rev-list", "--objects", "--full-history", "--exclude=refs/kb/*", "--all", "--reflog", "--stdin", "--", DOCUMENTS]
    roots = b"".join(oid + b"\n" for oid in _under_way(place, trees))
    status, out, err = run_git(arguments, place.git_cwd, roots, env)
    if status != 0:
        raise CannotTell("the history", err.decode("utf-8", "replace").strip().removeprefix("fatal: "))
    # "<commit>", "<tree> ", "<tree> kb", "<tree> kb/documents", "<blob> kb/documents/<name>".
    rows = (row.partition(b" ") for row in out.split(b"\n"))
    return [oid for oid, blank, name in rows if blank and name not in (b"", b"kb", DOCUMENTS.encode())]


def _under_way(place: Place, trees: list[WorkTree]) -> list[bytes]:
    """Return the objects that merges, rebases, cherry-picks, bisections and the like have noted, as far as they are there."""
    noted: set[bytes] = set()
    for git_dir in dict.fromkeys(tree.git_dir for tree in trees):
        for path in _state_files(git_dir):
            try:
                if os.lstat(path).st_size <= MAX_STATE_BYTES:
                    noted.update(_OID.findall(read_regular(path)))
            except OSError:
                continue  # gone since, or no file
    ids = sorted(oid for oid in noted if is_oid(oid.decode(), place.oid_hex_length))
    if not ids:
        return []
    _, out = git_at(place, ["cat-file", "--batch-check=%(objectname) %(objecttype)"], b"".join(oid + b"\n" for oid in ids))
    return [row.split(b" ")[0] for row in out.split(b"\n") if row.endswith((b" commit", b" tree", b" tag"))]


def _state_files(git_dir: str) -> Iterator[str]:
    for below in _UNDER_WAY:
        directory = os.path.join(git_dir, below)
        for name in sorted(os.listdir(directory)) if os.path.isdir(directory) else ():
            if below or _PSEUDO_REF.match(name):
                yield os.path.join(directory, name)
    # A work tree's own refs, which git lists for that work tree alone.
    for top, _, names in os.walk(os.path.join(git_dir, "refs")):
        if os.path.basename(os.path.dirname(git_dir)) == "worktrees":
            yield from (os.path.join(top, name) for name in names)


def _of_index(place: Place, tree: WorkTree) -> list[bytes]:
    """Return the blobs below kb/documents in a work tree's index, all sides of conflicts."""
    env = {"GIT_DIR": tree.git_dir, "GIT_WORK_TREE": tree.git_dir, "GIT_LITERAL_PATHSPECS": "1"}
    indexes = [os.path.join(tree.git_dir, "index")]
    own = place.git_env().get("GIT_INDEX_FILE")
    if own and tree.git_dir == place.git_dir:
        indexes.append(os.path.join(place.git_cwd, own))
    found = []
    for index in indexes:
        if not os.path.lexists(index):
            continue
        status, out, err = run_git(
            ["ls-files", "-s", "-z", "--", DOCUMENTS], tree.git_dir, env=place.git_env({**env, "GIT_INDEX_FILE": index})
        )
        if status != 0:
            raise CannotTell(f"the index '{index}'", err.decode("utf-8", "replace").strip().removeprefix("fatal: "))
        found += [row.split(b" ")[1] for row in out.split(b"\0")[:-1] if not row.startswith(b"160000")]
    # `git add -N` notes the empty blob, which nobody needs to have stored.
    return [oid for oid in found if oid not in _EMPTY]


_EMPTY = (b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391", b"473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813")


def _of_disk(tree: WorkTree) -> Iterator[bytes]:
    """Yield the manifests that stand in a work tree, committed or not."""
    if tree.top is None:
        return
    directory = os.path.join(tree.top, DOCUMENTS)
    # No command of ours reads through a link there.
    if any(os.path.islink(os.path.join(tree.top, part)) for part in ("kb", DOCUMENTS)) or not os.path.isdir(directory):
        return
    try:
        for name in sorted(os.listdir(directory)):
            path = os.path.join(directory, name)
            if name.endswith(SUFFIX) and os.path.isfile(path) and not os.path.islink(path):
                yield read_regular(path)
    except FileNotFoundError as e:
        raise CannotTell(f"'{e.filename}'", "it went away just now") from None
    except OSError as e:
        raise CannotTell(f"'{os.fsdecode(e.filename or directory)}'", (e.strerror or str(e)).lower()) from None


def _take(named: Named, data: bytes) -> None:
    """Add what one manifest names."""
    digest = sha256(data).digest()
    if digest in named.manifests:
        return
    named.manifests.add(digest)
    named.kbids.update(kbid.decode() for kbid in _KBID.findall(data))
    if b"\\" in data:
        # A kbid with escapes in it is a kbid too.
        plain = _ESCAPE.sub(lambda match: bytes([int(match[1], 16)]), _JOINED_LINES.sub(b"", data))
        named.kbids.update(kbid.decode() for kbid in _KBID.findall(plain))
