"""Two pools into one: the union of their trees, and the commit that has it. docs/sync.md.

Nothing that comes from elsewhere is believed: what is in one of the two alone is hashed before it gets into the union. The result
does not depend on the order of the two, nor on who unites them, so that everybody who unites the same pools makes the same commit.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from git_kb.errors import Damaged
from git_kb.model.section import KBID_ALPHABET, DamagedSection, check_section, is_kbid
from git_kb.repo.ident import FALLBACK_EMAIL, FALLBACK_NAME, Ident
from git_kb.repo.objects import encode_commit, encode_tree, object_id
from git_kb.repo.pack import MIN_PACKED, PackWriter
from git_kb.repo.process import GitFailed
from git_kb.repo.protocol import DIRECTORY, FILE, Repository, TreeEntry

OURS, THEIRS = "ours", "theirs"
SUBJECT = "unite section pools"
# 2106-02-07, where the dates end that older programs read. A made-up date must not get into our commits.
MAX_DATE = (1 << 32) - 1


class DamagedSide(Damaged):
    """A tree of one of the two pools cannot be read. `side` says whose, `why` what is wrong."""

    def __init__(self, side: str, why: str):
        self.side, self.why = side, why
        super().__init__(why)


class LeftOut(NamedTuple):
    """An entry that is in no union. `path`: in the pool's tree. `side`: whose it is. `unreadable`: its object cannot be had."""

    path: str
    side: str
    why: str
    unreadable: bool = False


@dataclass(slots=True)
class Union:
    """The union of two pools. n_received, n_sent: sections that only theirs, only ours had."""

    n_received: int = 0
    n_sent: int = 0
    left_out: list[LeftOut] = field(default_factory=list)
    # Subtrees as they are in one of the two, and new ones: prefix -> entries.
    kept: dict[bytes, str] = field(default_factory=dict)
    made: dict[bytes, list[TreeEntry]] = field(default_factory=dict)


def unite_trees(repo: Repository, ours: str | None, theirs: str | None) -> Union:
    """Return the union of two pools' trees (None: no pool). Raises DamagedSide."""
    union = Union()
    left, right = _top(repo, ours, OURS, union), _top(repo, theirs, THEIRS, union)
    for prefix in sorted(left.keys() | right.keys()):
        mine, yours = left.get(prefix), right.get(prefix)
        if mine is not None and mine == yours:
            union.kept[prefix] = mine
        else:
            _unite_below(repo, prefix, mine, yours, union)
    return union


def count_differences(repo: Repository, ours: str | None, theirs: str | None) -> tuple[int, int]:
    """Return how many sections only ours and only theirs names. No section is read. Raises DamagedSide."""
    ignored = Union()
    left, right = _top(repo, ours, OURS, ignored), _top(repo, theirs, THEIRS, ignored)
    n_ours = n_theirs = 0
    for prefix in left.keys() | right.keys():
        if left.get(prefix) != right.get(prefix):
            mine = _below(repo, prefix, left.get(prefix), OURS, ignored).keys()
            yours = _below(repo, prefix, right.get(prefix), THEIRS, ignored).keys()
            n_ours += len(mine - yours)
            n_theirs += len(yours - mine)
    return n_ours, n_theirs


def write_union(repo: Repository, union: Union, parents: Iterable[str]) -> tuple[str, str]:
    """Store a union and return (tree, commit). The commit is made of its parents and nothing else, whoever makes it.

    Author and committer are git-kb, the date is that of the youngest parent, the order of the parents that of their ids.
    """
    ordered = sorted(set(parents))
    when = max((repo.read_commit(parent).committer.when for parent in ordered), default=0)
    ident = Ident(FALLBACK_NAME, FALLBACK_EMAIL, min(when, MAX_DATE))
    trees = [(prefix, encode_tree(entries)) for prefix, entries in sorted(union.made.items())]
    top = [TreeEntry(prefix, DIRECTORY, oid) for prefix, oid in union.kept.items()]
    if len(trees) < MIN_PACKED:
        top += [TreeEntry(prefix, DIRECTORY, repo.write_tree(union.made[prefix])) for prefix, _ in trees]
        tree = repo.write_tree(top)
        return tree, repo.write_commit(tree, ordered, SUBJECT, ident, ident)
    with PackWriter(repo.place.objects_dir, repo.place.object_format) as pack:
        top += [TreeEntry(prefix, DIRECTORY, pack.add("tree", data)) for prefix, data in trees]
        tree = pack.add("tree", encode_tree(top))
        return tree, pack.add("commit", encode_commit(tree, ordered, ident, ident, SUBJECT))


def union_tree(repo: Repository, union: Union) -> str:
    """Return the id of a union's tree without storing anything."""
    object_format = repo.place.object_format
    top = [TreeEntry(prefix, DIRECTORY, oid) for prefix, oid in union.kept.items()]
    top += [TreeEntry(p, DIRECTORY, object_id("tree", encode_tree(e), object_format)) for p, e in union.made.items()]
    return object_id("tree", encode_tree(top), object_format)


def _top(repo: Repository, tree: str | None, side: str, union: Union) -> dict[bytes, str]:
    """Return prefix -> subtree of one pool; what else is in its tree is left out."""
    found = {}
    for entry in _read_tree(repo, tree, side):
        if entry.mode == DIRECTORY and len(entry.name) == 2 and all(chr(c) in KBID_ALPHABET for c in entry.name):
            found[entry.name] = entry.oid
        else:
            union.left_out.append(LeftOut(os.fsdecode(entry.name), side, "the pool's tree has no place for it"))
    return found


def _below(repo: Repository, prefix: bytes, tree: str | None, side: str, union: Union) -> dict[bytes, str]:
    """Return rest of the kbid -> blob of one subtree; what else is in it is left out."""
    found = {}
    for entry in _read_tree(repo, tree, side):
        if entry.mode == FILE and is_kbid((prefix + entry.name).decode("ascii", "replace")):
            found[entry.name] = entry.oid
        else:
            path = f"{os.fsdecode(prefix)}/{os.fsdecode(entry.name)}"
            union.left_out.append(LeftOut(path, side, "the pool's tree has no place for it"))
    return found


def _read_tree(repo: Repository, tree: str | None, side: str) -> list[TreeEntry]:
    try:
        return repo.read_tree(tree) if tree else []
    except Damaged as e:
        raise DamagedSide(side, str(e)) from None


def _unite_below(repo: Repository, prefix: bytes, mine: str | None, yours: str | None, union: Union) -> None:
    left, right = _below(repo, prefix, mine, OURS, union), _below(repo, prefix, yours, THEIRS, union)
    whole = {name: oid for name, oid in left.items() if right.get(name) == oid}
    for name in sorted(left.keys() | right.keys()):
        if name in whole:
            continue
        sound = list(_sound(repo, prefix, name, left.get(name), right.get(name), union))
        if not sound:
            continue
        # Of one name only one content is right, short of a broken SHA-256; then the order must not depend on sides.
        side, oid = min(sound, key=lambda s: s[1])
        whole[name] = oid
        union.n_received += side == THEIRS
        union.n_sent += side == OURS
    if whole:
        union.made[prefix] = [TreeEntry(name, FILE, oid) for name, oid in sorted(whole.items())]


def _sound(
    repo: Repository, prefix: bytes, name: bytes, mine: str | None, yours: str | None, union: Union
) -> Iterator[tuple[str, str]]:
    """Yield (side, blob) of the entries that are what their name says; the others are left out."""
    kbid = (prefix + name).decode()
    for side, oid in ((OURS, mine), (THEIRS, yours)):
        if oid is None:
            continue
        try:
            kind, data = repo.read_packed(oid) or repo.read_object(oid)
        except (Damaged, GitFailed) as e:
            union.left_out.append(LeftOut(f"{kbid[:2]}/{kbid[2:]}", side, str(e), unreadable=True))
            continue
        try:
            if kind != "blob":
                raise DamagedSection(kbid, f"it is a {kind}")
            check_section(data, kbid)
        except DamagedSection as e:
            union.left_out.append(LeftOut(f"{kbid[:2]}/{kbid[2:]}", side, e.why))
            continue
        yield side, oid
