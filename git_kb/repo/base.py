"""What both bodies of `protocol.Repository` share, written over four primitives: read packed, write, has and read_ref."""

from __future__ import annotations

import heapq
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Self

from git_kb.errors import Damaged
from git_kb.repo.ident import author_ident, committer_ident
from git_kb.repo.lockfile import CannotWrite
from git_kb.repo.loose import object_directories, read_loose, replace_loose
from git_kb.repo.objects import decode_commit, decode_tree, encode_commit, encode_tree, is_oid, object_id
from git_kb.repo.process import CatFile, GitFailed, git_at
from git_kb.repo.protocol import (
    DIRECTORY,
    Commit,
    DamagedObject,
    MissingObject,
    RefLocked,
    RefMoved,
    RefRefused,
    TreeEntry,
    UnknownRevision,
    WrongType,
)
from git_kb.repo.regular import read_regular

if TYPE_CHECKING:
    from git_kb.repo.discover import Place
    from git_kb.repo.ident import Ident

N_CACHED_TREES = 512
MAX_TAG_DEPTH = 100


class BaseRepository(ABC):
    """The shared half of a body. A body adds `read_packed`, `_write`, `has_object` and `read_ref`."""

    def __init__(self, place: Place):
        self.place = place
        self._cat_file: CatFile | None = None
        self._trees: dict[str, list[TreeEntry]] = {}
        self._boundary = _shallow_boundary(place)
        self._directories = object_directories(place)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @abstractmethod
    def read_packed(self, oid: str) -> tuple[str, bytes] | None:
        """Return (type, data) of an object in a pack; None when this body cannot, and git shall be asked."""

    @abstractmethod
    def _write(self, kind: str, data: bytes) -> str:
        """Write an object that is not here yet, and return its id. Raises OSError."""

    @abstractmethod
    def has_object(self, oid: str) -> bool: ...

    @abstractmethod
    def read_ref(self, name: str) -> str | None: ...

    def read_object(self, oid: str) -> tuple[str, bytes]:
        if not is_oid(oid, self.place.oid_hex_length):
            raise MissingObject(oid)
        try:
            found = read_loose(self._directories, oid, self.place.object_format)
        except DamagedObject:
            # A pack may have a good copy. Git is not asked: it does not check what it reads.
            found = self.read_packed(oid)
            if found is None or object_id(*found, self.place.object_format) != oid:
                raise
        return found or self.read_packed(oid) or self._read_with_git(oid)

    def read_blob(self, oid: str) -> bytes:
        return self._read_as("blob", oid)

    def write_blob(self, data: bytes) -> str:
        return self._put("blob", data)

    def write_tree(self, entries: Iterable[TreeEntry]) -> str:
        return self._put("tree", encode_tree(entries))

    def write_commit(
        self,
        tree: str,
        parents: Iterable[str],
        message: str,
        author: Ident | None = None,
        committer: Ident | None = None,
    ) -> str:
        author = author or author_ident(self.place, fallback=True)
        committer = committer or committer_ident(self.place, fallback=True)
        return self._put("commit", encode_commit(tree, parents, author, committer, message))

    def _put(self, kind: str, data: bytes) -> str:
        """Write an object. One that is here already is looked at, and written anew where it is damaged. Raises CannotWrite."""
        oid = object_id(kind, data, self.place.object_format)
        try:
            if not self.has_object(oid):
                self._write(kind, data)
            elif not self._is_whole(oid, kind, data):
                replace_loose(self.place.objects_dir, oid, kind, data)
        except OSError as e:
            raise CannotWrite(f"{self.place.objects_dir}/{oid[:2]}/{oid[2:]}", e) from None
        return oid

    def _is_whole(self, oid: str, kind: str, data: bytes) -> bool:
        try:
            return self.read_object(oid) == (kind, data)
        except Damaged:
            return False

    def read_commit(self, oid: str) -> Commit:
        commit = decode_commit(self._read_as("commit", oid), oid)
        return commit._replace(parents=()) if oid in self._boundary else commit

    def read_tree(self, oid: str) -> list[TreeEntry]:
        entries = self._trees.get(oid)
        if entries is None:
            entries = decode_tree(self._read_as("tree", oid), oid)
            if len(self._trees) >= N_CACHED_TREES:
                del self._trees[next(iter(self._trees))]
            self._trees[oid] = entries
        return list(entries)

    def resolve(self, rev: str) -> str:
        oid = self._resolve_plain(rev) or self._resolve_with_git(rev)
        for _ in range(MAX_TAG_DEPTH):
            try:
                kind, data = self.read_object(oid)
            except MissingObject as e:
                raise UnknownRevision(rev, str(e)) from None
            if kind in ("commit", "tree"):
                return oid
            if kind == "blob":
                raise UnknownRevision(rev, "it names a blob")
            oid = data.partition(b"\n")[0].removeprefix(b"object ").decode("ascii", "replace")
        raise DamagedObject(oid, "its chain of tags does not end")

    def tree_of(self, rev_or_oid: str) -> str:
        oid = self.resolve(rev_or_oid)
        kind, data = self.read_object(oid)
        return decode_commit(data, oid).tree if kind == "commit" else oid

    def entry_at(self, tree_oid: str, path: bytes) -> TreeEntry | None:
        entry = TreeEntry(b"", DIRECTORY, tree_oid)
        for name in path.split(b"/") if path else ():
            if entry.mode != DIRECTORY:
                return None
            found = next((e for e in self._tree(entry.oid) if e.name == name), None)
            if found is None:
                return None
            entry = found
        return entry

    def read_symref(self, name: str) -> str | None:
        status, out = git_at(self.place, ["symbolic-ref", "-q", name], ok=(0, 1, 128))
        return os.fsdecode(out).strip() if status == 0 else None

    def update_ref(self, name: str, new: str, old: str | None, message: str) -> None:
        """Through `git update-ref`: only git has all of it (timeouts, ref hooks, clashes with packed refs, reftable)."""
        if "\0" in name or not (name == "HEAD" or name.startswith("refs/")):
            raise RefRefused(name, "not a full ref name")
        expected = old or "0" * self.place.oid_hex_length
        # The locale decides the wording, which tells a lock from other refusals.
        # Git refuses an empty message given with -m.
        reason = " ".join(message.replace("\0", " ").split())
        # Of symbolic refs only HEAD stands for another ref; a write to any other must not land elsewhere.
        deref = [] if name == "HEAD" else ["--no-deref"]
        args = ["update-ref", "--create-reflog", *deref, *(["-m", reason] if reason else []), name, new, expected]
        try:
            git_at(self.place, args, env={"LC_ALL": "C", "LANGUAGE": ""})
        except GitFailed as e:
            raise self._ref_error(name, old, str(e)) from None

    def iter_commits(self, start: str) -> Iterator[str]:
        commits: dict[str, tuple[tuple[str, ...], int]] = {}
        n_children: dict[str, int] = {start: 0}
        found = [start]
        while found:
            oid = found.pop()
            if oid in commits:
                continue
            commit = self.read_commit(oid)
            commits[oid] = commit.parents, commit.committer.when
            for parent in commit.parents:
                n_children[parent] = n_children.get(parent, 0) + 1
                found.append(parent)
        ready = [(-commits[start][1], 0, start)]
        n_pushed = 1
        while ready:
            _, _, oid = heapq.heappop(ready)
            yield oid
            for parent in commits[oid][0]:
                n_children[parent] -= 1
                if n_children[parent] == 0:
                    heapq.heappush(ready, (-commits[parent][1], n_pushed, parent))
                    n_pushed += 1

    def close(self) -> None:
        if self._cat_file is not None:
            self._cat_file.close()
            self._cat_file = None

    def _tree(self, oid: str) -> list[TreeEntry]:
        """Like `read_tree`, but the list must not be changed."""
        return self._trees.get(oid) or self.read_tree(oid)

    def _read_as(self, wanted: str, oid: str) -> bytes:
        kind, data = self.read_object(oid)
        if kind != wanted:
            raise WrongType(oid, wanted, kind)
        return data

    def _read_with_git(self, oid: str) -> tuple[str, bytes]:
        """Ask git for an object: it fetches what a partial clone left out. Raises MissingObject, DamagedObject."""
        if self._cat_file is None:
            self._cat_file = CatFile.at(self.place)
        why = hint = ""
        try:
            _, kind, data = self._cat_file.read(oid.encode())
        except GitFailed as e:
            kind, data, why, hint = "missing", b"", str(e), e.hint
        if kind != "missing":
            if object_id(kind, data, self.place.object_format) != oid:
                # Git does not check this when it reads.
                raise DamagedObject(oid, "its hash is not its name")
            return kind, data
        if self.has_object(oid):
            raise DamagedObject(oid, why or "git cannot read it")
        raise MissingObject(oid, why, hint)

    def _resolve_plain(self, rev: str) -> str | None:
        """Resolve what needs no git process: whole ids and full ref names."""
        if is_oid(rev, self.place.oid_hex_length):
            return rev if self.has_object(rev) else None
        if rev == "HEAD" or (rev.startswith("refs/") and not any(c in rev for c in "^~@:{\\")):
            return self.read_ref(rev)
        return None

    def _resolve_with_git(self, rev: str) -> str:
        if "\0" in rev or rev.startswith("^"):
            raise UnknownRevision(rev)
        status, out = git_at(self.place, ["rev-parse", "--verify", "--quiet", "--end-of-options", rev], ok=(0, 1, 128))
        oid = out.decode("ascii", "replace").strip()
        if status != 0 or not is_oid(oid, self.place.oid_hex_length):
            raise UnknownRevision(rev)
        return oid

    def _ref_error(self, name: str, old: str | None, words: str) -> RefMoved | RefLocked | RefRefused:
        """Tell why git refused: by what the ref is now, then by git's words."""
        status, out = git_at(self.place, ["rev-parse", "--verify", "--quiet", "--end-of-options", name], ok=(0, 1, 128))
        actual = out.decode().strip() if status == 0 else None
        if actual != old:
            return RefMoved(name, old, actual)
        if ".lock': File exists" in words:
            return RefLocked(name, words.partition("\n")[0])
        return RefRefused(name, words.partition("\n")[0])


def _shallow_boundary(place: Place) -> frozenset[str]:
    if not place.is_shallow:
        return frozenset()
    return frozenset(read_regular(place.common_dir + "/shallow", follow=True).decode("ascii").split())
