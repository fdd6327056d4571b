"""A revision for the short way of search: which tree its documents are, and whether the sources of a few hits are in it.

By two or three git processes and no git library; staleness.py answers for the long way. On the search path of `--at`.
"""

from __future__ import annotations

from git_kb.model.source import path_of_source
from git_kb.repo.catfile import read_objects
from git_kb.store.root import DOCUMENTS
from git_kb.store.sourcestate import CHANGED, CURRENT, GONE, MAX_BYTES, MAX_SOURCES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from git_kb.index.view import ViewDocument
    from git_kb.repo.discover import Place


def resolve_trees(place: Place, rev: str) -> tuple[str, str] | None:
    """Return (tree of `kb/documents`, whole tree) of a revision; None where it has no such trees, or the name is an odd one."""
    if not rev or "\n" in rev or "\0" in rev:
        return None
    found = _check(
        place, [f"{rev}:{DOCUMENTS}".encode("utf-8", "surrogateescape"), f"{rev}^{{tree}}".encode("utf-8", "surrogateescape")]
    )
    if len(found) != 2 or any(len(row) != 3 or row[1] != b"tree" for row in found):
        return None
    return found[0][0].decode(), found[1][0].decode()


def tree_states(place: Place, tree: str, documents: Iterable[ViewDocument], keep: dict[str, bytes]) -> dict[str, str]:
    """Return source -> CURRENT, CHANGED or GONE in a tree. `keep` takes source -> bytes of those that are current.

    URLs, and what is beyond MAX_SOURCES, are left out.
    """
    few = {path: d for d in documents if (path := path_of_source(d.source)) is not None and b"\n" not in path}
    paths = list(few)[:MAX_SOURCES]
    states = {}
    current = []
    left = MAX_BYTES
    for path, row in zip(paths, _check(place, [f"{tree}:".encode() + path for path in paths]), strict=False):
        document = few[path]
        there = len(row) == 3 and row[1] != b"missing"
        states[document.source] = GONE if not there else CURRENT if row[0].decode() == document.blob else CHANGED
        if states[document.source] == CURRENT and row[1] == b"blob" and int(row[2]) <= left:
            left -= int(row[2])
            current.append(document)
    for document, data in zip(current, read_objects(place, [d.blob for d in current]), strict=True):
        if data is not None:
            keep[document.source] = data
    return states


def _check(place: Place, names: list[bytes]) -> list[list[bytes]]:
    """Return the fields of `git cat-file --batch-check` for each object name; fewer rows where git gave up."""
    from git_kb.repo.spawn import run_git

    if not names:
        return []
    _, out, _ = run_git(["cat-file", "--batch-check"], place.git_cwd, b"".join(name + b"\n" for name in names), place.git_env())
    # A missing object is told by its name, which may have blanks: the last word counts.
    return [row.rsplit(b" ", 2) if not row.endswith(b" missing") else [b"", b"missing"] for row in out.split(b"\n")[:-1]]
