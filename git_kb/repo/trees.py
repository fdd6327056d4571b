"""Trees without a checkout: change one by path, compare two, walk one, follow a path through history."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, Protocol

from git_kb.repo.objects import BadPath, check_name, tree_order
from git_kb.repo.protocol import DIRECTORY, DamagedObject, TreeEntry

if TYPE_CHECKING:
    from git_kb.repo.protocol import Repository

# Git's own limit (core.maxTreeDepth) is 2048; ours keeps recursion inside the interpreter's.
MAX_PATH_DEPTH = 400
MAX_TREE_DEPTH = 4096

# (path, old entry, new entry); a directory's path ends in "/".
Level = Iterator[tuple[bytes, TreeEntry | None, TreeEntry | None]]


class Change(NamedTuple):
    """A path whose entry differs. `old` is None when it was added, `new` when it was deleted."""

    path: bytes
    old: TreeEntry | None
    new: TreeEntry | None


class Trees(Protocol):
    """Where trees are read and written: a repository, or one whose new trees go into a pack."""

    def read_tree(self, oid: str) -> list[TreeEntry]: ...

    def write_tree(self, entries: Iterable[TreeEntry]) -> str: ...


def update_tree(repo: Trees, tree: str | None, changes: Mapping[bytes, tuple[int, str] | None]) -> str:
    """Return the oid of `tree` (None: the empty tree) after `changes`: path -> (mode, oid) to put, None to delete.

    Deletions come first, so that a file may give way to a directory of its name. To delete what is not there is no error.
    Directories left empty go. A (mode, oid) of a directory puts that whole subtree. Only subtrees on the way to a change are read
    and written. Raises BadPath: a name git refuses, a file where a directory is needed or the other way round, a deletion of a
    directory.
    """
    root = _Node()
    for path, change in changes.items():
        _plant(root, path, change)
    return _apply(repo, tree, root, b"") or repo.write_tree([])


def diff_trees(repo: Repository, old: str | None, new: str | None, prefix: bytes = b"") -> Iterator[Change]:
    """Yield what differs between two trees (None: the empty tree), as `git diff-tree -r` does and in its order.

    Subtrees with equal ids are not read. `prefix` goes before each path.
    """
    stack: list[Level] = [_diff_level(repo, old, new, prefix)]
    while stack:
        step = next(stack[-1], None)
        if step is None:
            stack.pop()
            continue
        path, left, right = step
        if path.endswith(b"/"):
            _push(stack, _diff_level(repo, left.oid if left else None, right.oid if right else None, path), left or right)
        else:
            yield Change(path, left, right)


def walk_tree(repo: Repository, tree: str, prefix: bytes = b"") -> Iterator[tuple[bytes, TreeEntry]]:
    """Yield (path, entry) of everything below a tree but the directories themselves, as `git ls-tree -r`."""
    for path, _, entry in diff_trees(repo, None, tree, prefix):
        if entry is not None:
            yield path, entry


def path_history(repo: Repository, start: str, path: bytes) -> Iterator[str]:
    """Yield the commits that gave `path` (a file or directory) what it was, newest first, as `git rev-list <start> -- <path>`.

    Git's simplified history: at a merge that has the path as one of its parents has it, only that parent is followed.
    """
    read_commit = cache(repo.read_commit)
    # Newest first, then first found first.
    queue = [(-read_commit(start).committer.when, 0, start)]
    seen = {start}
    while queue:
        _, _, oid = heapq.heappop(queue)
        commit = read_commit(oid)
        entry = _content_at(repo, commit.tree, path)
        same = next((p for p in commit.parents if _content_at(repo, read_commit(p).tree, path) == entry), None)
        if same is None and (commit.parents or entry is not None):
            yield oid
        for parent in commit.parents if same is None else (same,):
            if parent not in seen:
                seen.add(parent)
                heapq.heappush(queue, (-read_commit(parent).committer.when, len(seen), parent))


class _Node:
    """Changes at and below one path. `leaf` is False when the path itself is left alone."""

    __slots__ = ("children", "leaf")

    def __init__(self) -> None:
        self.children: dict[bytes, _Node] = {}
        self.leaf: tuple[int, str] | bool | None = False

    def adds(self) -> bool:
        return isinstance(self.leaf, tuple) or any(child.adds() for child in self.children.values())


def _plant(root: _Node, path: bytes, change: tuple[int, str] | None) -> None:
    names = path.split(b"/")
    if len(names) > MAX_PATH_DEPTH:
        raise BadPath(path, f"more than {MAX_PATH_DEPTH} directories deep")
    node = root
    for name in names:
        check_name(name, path)
        node = node.children.setdefault(name, _Node())
    node.leaf = change


def _apply(repo: Trees, tree: str | None, node: _Node, prefix: bytes) -> str | None:
    """Return the tree after the changes in `node`, None when nothing is left of it."""
    before = {entry.name: entry for entry in repo.read_tree(tree)} if tree else {}
    after = dict(before)
    for name, child in node.children.items():
        entry = _changed_entry(repo, before.get(name), child, prefix + name)
        if entry is not None:
            after[name] = entry
        else:
            after.pop(name, None)
    if not after:
        return None
    if tree and after == before:
        return tree
    return repo.write_tree(after.values())


def _changed_entry(repo: Trees, entry: TreeEntry | None, node: _Node, path: bytes) -> TreeEntry | None:
    subtree = entry.oid if entry is not None and entry.mode == DIRECTORY else None
    file = entry if entry is not None and subtree is None else None
    if node.leaf is None:
        if subtree:
            raise BadPath(path, "is a directory, not a file to delete")
        file = None
    if node.children:
        if file is None:
            subtree = _apply(repo, subtree, node, path + b"/")
        elif node.leaf is False and any(child.adds() for child in node.children.values()):
            raise BadPath(path, "is a file; it cannot hold other files")
    name = path.rpartition(b"/")[2]
    if isinstance(node.leaf, tuple):
        mode, oid = node.leaf
        if any(child.adds() for child in node.children.values()) or (subtree and (mode != DIRECTORY or node.children)):
            raise BadPath(path, "is a directory; a file cannot take its place")
        return TreeEntry(name, mode, oid)
    if subtree:
        return TreeEntry(name, DIRECTORY, subtree)
    return file


def _diff_level(repo: Repository, old: str | None, new: str | None, prefix: bytes) -> Level:
    """Yield what differs in two directories, not looking into subdirectories."""
    if old == new:
        return
    left = {tree_order(entry): entry for entry in repo.read_tree(old)} if old else {}
    right = {tree_order(entry): entry for entry in repo.read_tree(new)} if new else {}
    differing = [key for key, entry in left.items() if right.get(key) != entry]
    differing += [key for key in right if key not in left]
    for key in sorted(differing):
        yield prefix + key, left.get(key), right.get(key)


def _push(stack: list[Level], level: Level, entry: TreeEntry | None) -> None:
    if len(stack) >= MAX_TREE_DEPTH:
        raise DamagedObject(entry.oid if entry else "", "its directories are nested too deep")
    stack.append(level)


def _content_at(repo: Repository, tree: str, path: bytes) -> tuple[int, str] | None:
    entry = repo.entry_at(tree, path)
    return (entry.mode, entry.oid) if entry is not None else None
