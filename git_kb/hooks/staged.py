"""What is about to be committed: the index that git names (GIT_INDEX_FILE), against HEAD.

Every commit waits for this, so it imports next to nothing, and two or three short looks by git tell whether a commit is about
knowledge at all.
"""

from __future__ import annotations

import os

from git_kb.repo.spawn import run_git
from git_kb.store.root import CATALOG, CONFIG, DOCUMENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from git_kb.repo.discover import Place

# With more names than this, git lists all manifests instead of some.
MAX_NAMED = 500
# Paths up to here, slashes doubled, need no shortening.
MAX_PLAIN = 75
_PLAIN = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+/-"
# What Windows takes for devices.
_DEVICES = frozenset((b"con", b"prn", b"aux", b"nul", *(b"com%d" % n for n in range(1, 10)), *(b"lpt%d" % n for n in range(1, 10))))
_KB, _CONFIG, _DOCUMENTS = b"kb/", CONFIG.encode(), DOCUMENTS.encode() + b"/"


class Staged:
    """A path that differs between HEAD and the index. old, new: blob ids, "" for none. mode: in the index, 0 when deleted."""

    __slots__ = ("mode", "new", "old", "path")

    def __init__(self, path: bytes, old: str, new: str, mode: int):
        self.path, self.old, self.new, self.mode = path, old, new, mode

    def __repr__(self) -> str:
        return f"Staged({self.path!r}, {self.old!r}, {self.new!r}, {self.mode:o})"

    @property
    def is_file(self) -> bool:
        return self.mode in (0o100644, 0o100755)


def staged_changes(place: Place) -> list[Staged]:
    """Return what differs between HEAD (nothing, before the first commit) and the index. Raises GitFailed."""
    args = ["diff-index", "--cached", "-z", "--no-renames", "--ignore-submodules=dirty"]
    status, out, err = run_git([*args, "HEAD", "--"], place.git_cwd, env=place.git_env())
    if status != 0:
        _, head, _ = run_git(["rev-parse", "-q", "--verify", "HEAD"], place.git_cwd, env=place.git_env())
        if not head:
            _, tree, _ = run_git(["hash-object", "-t", "tree", os.devnull], place.git_cwd, env=place.git_env())
            status, out, err = run_git([*args, tree.decode().strip(), "--"], place.git_cwd, env=place.git_env())
    if status != 0:
        from git_kb.repo.process import GitFailed

        raise GitFailed(args, status, err)
    fields = out.split(b"\0")
    changes = []
    for head, path in zip(fields[:-1:2], fields[1::2], strict=True):
        old_mode, new_mode, old, new, _ = head[1:].split(b" ")
        gone, mode = int(old_mode, 8) == 0, int(new_mode, 8)
        changes.append(Staged(path, "" if gone else old.decode(), new.decode() if mode else "", mode))
    return changes


def concerns_us(place: Place, changes: list[Staged], wanted: Callable[[bytes], Callable[[bytes], bool]]) -> bool:
    """Return whether a commit of these changes may be about the knowledge base: its files, a source, or a file that could be one.

    wanted: from the bytes of kb.config.json, b"" for none, a test for paths that the configuration takes for sources.
    """
    if not changes:
        return False
    if any(c.path.startswith(_KB) or c.path == _CONFIG for c in changes):
        return True
    names = {c.path: _DOCUMENTS + _docid(c.path) + b".toml" for c in changes}
    known = _in_index(place, names.values())
    if CATALOG.encode() not in known:
        return False
    if any(name in known for name in names.values()):
        return True
    new = [c.path for c in changes if not c.old and c.is_file]
    if not new:
        return False
    is_wanted = wanted(staged_config(place))
    return any(map(is_wanted, new))


def plain_docid(path: bytes) -> bytes:
    """Return the docid of a path whose names need no care, b"" for any other. `model.document` takes 10 ms to load."""
    parts = path.split(b"/")
    if len(path) > MAX_PLAIN or path.translate(None, _PLAIN) or parts[0] in (b"url", b"stdin", b"generated"):
        return b""
    for part in parts:
        if b"--" in part or part[:1] in (b"", b"-") or part[-1:] in (b"-", b".") or part.partition(b".")[0].lower() in _DEVICES:
            return b""
    return b"--".join(parts)


def _docid(path: bytes) -> bytes:
    if found := plain_docid(path):
        return found
    from git_kb.model.document import docid_of_path

    return os.fsencode(docid_of_path(path))


def staged_config(place: Place) -> bytes:
    """Return the bytes of kb.config.json in the index, b"" when there is none."""
    status, out, _ = run_git(["cat-file", "blob", f":{CONFIG}"], place.git_cwd, env=place.git_env())
    return out if status == 0 else b""


def _in_index(place: Place, names: Iterable[bytes]) -> set[bytes]:
    """Return which of these paths, and the catalog, the index has."""
    asked = set(names)
    arguments = [os.fsdecode(name) for name in sorted(asked)] if len(asked) <= MAX_NAMED else [DOCUMENTS]
    env = place.git_env({"GIT_LITERAL_PATHSPECS": "1"})
    _, out, _ = run_git(["ls-files", "-z", "--", CATALOG, *arguments], place.git_cwd, env=env)
    return set(out.split(b"\0")[:-1]) & (asked | {CATALOG.encode()})
