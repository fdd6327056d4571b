"""All manifests that the repository has: of work trees, indexes, branches, tags, the stash and reflogs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from git_kb.repo.process import CatFile, git_at
from git_kb.repo.protocol import Repository
from git_kb.repo.regular import read_regular
from git_kb.store.manifest import SUFFIX
from git_kb.store.root import DOCUMENTS

# A manifest that was edited by hand may quote as TOML lets it. What only looks like a kbid keeps a section; that is the safe side.
_NAMED = re.compile(rb"[\"']([a-z2-7]{26})[\"']")


def all_manifests(repo: Repository) -> Iterator[tuple[str, bytes]]:
    """Yield (file name, bytes) of every manifest, one of the same bytes once or more. Raises GitFailed where history is damaged."""
    yield from _on_disk(repo)
    yield from _stored(repo)


def named_sections(data: bytes) -> set[str]:
    """Return the kbids that a manifest names, those of superseded sections too."""
    return {kbid.decode() for kbid in _NAMED.findall(data)}


def _stored(repo: Repository) -> Iterator[tuple[str, bytes]]:
    args = ["rev-list", "--all", "--reflog", "--indexed-objects", "--objects", "--full-history", "--", DOCUMENTS]
    _, out = git_at(repo.place, args)
    names: dict[bytes, str] = {}
    for line in out.split(b"\n"):
        oid, _, path = line.partition(b" ")
        name = os.fsdecode(path.rpartition(b"/")[2])
        if name.endswith(SUFFIX):
            names.setdefault(oid, name)
    with CatFile.at(repo.place) as cat_file:
        for oid, _, kind, data in cat_file.read_many(names):
            if kind == "blob":
                yield names[oid], data


def _on_disk(repo: Repository) -> Iterator[tuple[str, bytes]]:
    """Yield the manifests in all work trees of the repository."""
    _, out = git_at(repo.place, ["worktree", "list", "--porcelain"])
    tops = [os.fsdecode(line[9:]) for line in out.split(b"\n") if line.startswith(b"worktree ")]
    if repo.place.work_tree is not None and repo.place.work_tree not in tops:
        tops.append(repo.place.work_tree)
    for top in tops:
        directory = os.path.join(top, DOCUMENTS)
        try:
            names = sorted(os.listdir(directory))
        except OSError:
            continue  # none there, or on a disk that is not
        for name in names:
            if name.endswith(SUFFIX):
                try:
                    yield name, read_regular(os.path.join(directory, name))
                except OSError:
                    continue
