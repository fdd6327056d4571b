"""`protocol.Repository` over libgit2, by way of pygit2. The import costs about 75 ms, so only `open.py` imports this module."""

from __future__ import annotations

import os

import pygit2
from pygit2.enums import ObjectType, RepositoryOpenFlag

from git_kb.errors import KbError
from git_kb.repo.base import BaseRepository
from git_kb.repo.discover import Place

TYPES = {ObjectType.BLOB: "blob", ObjectType.TREE: "tree", ObjectType.COMMIT: "commit", ObjectType.TAG: "tag"}
TYPE_NAMES = {int(number): name for number, name in TYPES.items()}
TYPE_NUMBERS = {name: number for number, name in TYPES.items()}


class CannotOpen(KbError):
    """Libgit2 does not know this kind of repository."""


class Libgit2Repository(BaseRepository):
    """A repository through libgit2: packed objects, writes, refs. Raises CannotOpen for SHA-256, reftable and newer extensions."""

    def __init__(self, place: Place):
        super().__init__(place)
        # Git itself has accepted this repository (discover), with safe.directory from places that libgit2 does not look at.
        pygit2.settings.owner_validation = False
        try:
            self._repo = pygit2.Repository(place.git_dir, RepositoryOpenFlag.NO_SEARCH | RepositoryOpenFlag.NO_DOTGIT)
            if place.objects_dir != place.common_dir + "/objects" or place.alternates:
                self._repo.set_odb(_moved_odb(place))
            self._odb = self._repo.odb
            self._packs = _packs_alone(self._directories)
        except (pygit2.GitError, KeyError, OSError) as e:
            raise CannotOpen(f"libgit2 cannot open '{place.git_dir}': {e}") from None

    def has_object(self, oid: str) -> bool:
        try:
            return self._odb.exists(pygit2.Oid(hex=oid))
        except ValueError:
            return False

    def read_ref(self, name: str) -> str | None:
        try:
            reference = self._repo.lookup_reference(name).resolve()
        except (KeyError, ValueError, pygit2.GitError):
            return None
        return str(reference.target)

    def close(self) -> None:
        super().close()
        self._repo.free()

    def read_packed(self, oid: str) -> tuple[str, bytes] | None:
        try:
            kind, data = self._packs.read(pygit2.Oid(hex=oid))
        except (KeyError, ValueError, pygit2.GitError):
            return None
        return TYPE_NAMES[kind], data

    def _write(self, kind: str, data: bytes) -> str:
        try:
            return str(self._odb.write(TYPE_NUMBERS[kind], data))
        except pygit2.GitError as e:
            raise OSError(str(e)) from None


def _packs_alone(directories: list[str]) -> pygit2.Odb:
    """Return a database that never looks at loose objects (`loose.py` says why)."""
    odb = pygit2.Odb()
    for priority, directory in enumerate(reversed(directories), 1):
        odb.add_backend(pygit2.OdbBackendPack(directory), priority)
    return odb


def _moved_odb(place: Place) -> pygit2.Odb:
    """Return the object database that GIT_OBJECT_DIRECTORY and GIT_ALTERNATE_OBJECT_DIRECTORIES name."""
    odb = pygit2.Odb(os.fspath(place.objects_dir))
    for path in place.alternates:
        odb.add_disk_alternate(path)
    return odb
