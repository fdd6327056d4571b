"""What we need from git: objects, revisions, refs. `libgit2.py` and `dulwich.py` are its two bodies; `open.py` picks one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, Protocol

from git_kb.errors import Damaged, KbError

if TYPE_CHECKING:
    from git_kb.repo.discover import Place
    from git_kb.repo.ident import Ident

FILE, EXECUTABLE, SYMLINK, GITLINK, DIRECTORY = 0o100644, 0o100755, 0o120000, 0o160000, 0o040000


class UnknownRevision(KbError):
    """`rev` names no commit and no tree."""

    def __init__(self, rev: str, why: str = ""):
        self.rev = rev
        super().__init__(f"unknown revision '{rev}'" + (f": {why}" if why else ""))


class MissingObject(Damaged):
    """The object database does not have an object that should be there, and git could not fetch it either."""

    hint = "run 'git fsck'; in a partial clone, check the connection to the remote"

    def __init__(self, oid: str, why: str = "", hint: str = ""):
        self.oid = oid
        self.hint = hint or self.hint
        super().__init__(f"object '{oid}' is missing" + (f": {why}" if why else ""))


class WrongType(Damaged):
    """An object is not of the type it was asked as."""

    def __init__(self, oid: str, wanted: str, actual: str):
        self.oid, self.wanted, self.actual = oid, wanted, actual
        super().__init__(f"object '{oid}' is a {actual}, not a {wanted}")


class DamagedObject(Damaged):
    """The bytes of a tree or commit do not parse."""

    hint = "run 'git fsck'"

    def __init__(self, oid: str, why: str):
        self.oid, self.why = oid, why
        super().__init__(f"object '{oid}' is damaged: {why}")


class RefMoved(KbError):
    """The compare-and-swap lost: another process moved the ref first. None stands for "does not exist"."""

    hint = "another process changed it; try again"

    def __init__(self, name: str, expected: str | None, actual: str | None):
        self.name, self.expected, self.actual = name, expected, actual
        super().__init__(f"'{name}' is at {actual or 'nothing'} but {expected or 'nothing'} was expected")


class RefLocked(KbError):
    """Another process holds the ref's lock, or died holding it. Git waited as long as core.filesRefLockTimeout says."""

    hint = "another git process may be running; if none is, remove the lock file named above"

    def __init__(self, name: str, why: str):
        self.name = name
        super().__init__(f"'{name}' is locked: {why}")


class RefRefused(KbError):
    """Git will not write this ref: a bad name, or a name that another ref's directory stands in the way of. Git's own words."""

    def __init__(self, name: str, why: str):
        self.name, self.why = name, why
        super().__init__(f"cannot update '{name}': {why}")


class TreeEntry(NamedTuple):
    """One name in a tree: raw bytes without "/", mode as in `git ls-tree`, object id in hex."""

    name: bytes
    mode: int
    oid: str


class Commit(NamedTuple):
    """A commit. `parents` is empty at the boundary of a shallow clone, as git has it. `message`: U+FFFD for undecodable bytes."""

    tree: str
    parents: tuple[str, ...]
    author: Ident
    committer: Ident
    message: str


class Repository(Protocol):
    """Bytes in, object ids out as hex `str` (40 or 64 digits). Reads see objects that other processes wrote after opening.

    Reads raise MissingObject, WrongType, DamagedObject.
    """

    place: Place

    def read_object(self, oid: str) -> tuple[str, bytes]:
        """Return (type, data); type is "blob", "tree", "commit" or "tag"."""
        ...

    def read_packed(self, oid: str) -> tuple[str, bytes] | None:
        """Return (type, data) of an object in a pack, not hashed; None where it is elsewhere, or this body cannot read it."""

    def read_blob(self, oid: str) -> bytes: ...

    def has_object(self, oid: str) -> bool:
        """Return whether the object is here. Never fetches."""
        ...

    def write_blob(self, data: bytes) -> str:
        """Store a loose object, unless it is there already and whole. For many at once use `pack.write_blobs`."""
        ...

    def write_tree(self, entries: Iterable[TreeEntry]) -> str:
        """Store a tree; entries in any order. Raises objects.BadPath for a name git would refuse or that is there twice."""
        ...

    def write_commit(
        self,
        tree: str,
        parents: Iterable[str],
        message: str,
        author: Ident | None = None,
        committer: Ident | None = None,
    ) -> str:
        """Store a commit. None for author or committer: as git takes them, git-kb itself where git knows no user."""
        ...

    def read_commit(self, oid: str) -> Commit: ...

    def read_tree(self, oid: str) -> list[TreeEntry]: ...

    def resolve(self, rev: str) -> str:
        """Return the oid of the commit or tree that `rev` names, tags peeled. Any syntax git knows. Raises UnknownRevision."""
        ...

    def tree_of(self, rev_or_oid: str) -> str:
        """Return the oid of a revision's tree."""
        ...

    def entry_at(self, tree_oid: str, path: bytes) -> TreeEntry | None:
        """Return the entry at a path below a tree; None when there is none. The empty path is the tree itself."""
        ...

    def read_ref(self, name: str) -> str | None:
        """Return what a full ref name ("HEAD", "refs/...") points to, symbolic refs followed; None when it does not exist (yet)."""
        ...

    def read_symref(self, name: str) -> str | None:
        """Return the ref that a symbolic ref names, which need not exist; None for what is no symbolic ref."""
        ...

    def update_ref(self, name: str, new: str, old: str | None, message: str) -> None:
        """Move a ref from `old` (None: it must not exist) to `new`, with a reflog line. Never through a symbolic ref but HEAD.

        Raises RefMoved, RefLocked, RefRefused.
        """
        ...

    def iter_commits(self, start: str) -> Iterator[str]:
        """Yield `start` and its ancestors: no parent before all its children, else newest first (`rev-list --date-order`)."""
        ...

    def close(self) -> None: ...

    def __enter__(self) -> Repository: ...

    def __exit__(self, *exc: object) -> None: ...


def show_path(path: bytes) -> str:
    """Return a path for messages."""
    return os.fsdecode(path)
