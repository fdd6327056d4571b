"""`protocol.Repository` over dulwich: for SHA-256, reftable, and where pygit2 does not import. Only `open.py` imports it."""

from __future__ import annotations

import os
import zlib

from dulwich.errors import ChecksumMismatch, FileFormatException, ObjectFormatException
from dulwich.file import FileLocked
from dulwich.object_format import SHA1, SHA256
from dulwich.object_store import DiskObjectStore
from dulwich.objects import ObjectID, ShaFile
from dulwich.refs import DiskRefsContainer, Ref, SymrefLoop, check_ref_format

from git_kb.repo.base import BaseRepository
from git_kb.repo.discover import Place
from git_kb.repo.loose import is_loose
from git_kb.repo.objects import is_oid
from git_kb.repo.process import git_at

TYPE_NAMES = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}
TYPE_NUMBERS = {name: number for number, name in TYPE_NAMES.items()}
# What a damaged object or pack makes dulwich raise; git is asked then, and says it in its own words.
UNREADABLE = (
    KeyError,
    ValueError,
    AssertionError,
    OSError,
    zlib.error,
    ChecksumMismatch,
    FileFormatException,
    ObjectFormatException,
)


class DulwichRepository(BaseRepository):
    """A repository through dulwich's object store and refs; `Repo` is not needed, since git has told where everything is."""

    def __init__(self, place: Place):
        super().__init__(place)
        self._format = SHA256 if place.object_format == "sha256" else SHA1
        self._store = DiskObjectStore(place.objects_dir, object_format=self._format, alternates=place.alternates)
        self._refs = DiskRefsContainer(place.common_dir, worktree_path=place.git_dir)

    def has_object(self, oid: str) -> bool:
        if not is_oid(oid, self.place.oid_hex_length):
            return False
        # Dulwich would parse a loose object to see whether it is there.
        return is_loose(self._directories, oid) or ObjectID(oid.encode()) in self._store

    def read_ref(self, name: str) -> str | None:
        if self.place.ref_format != "files":
            return self._read_ref_with_git(name)
        if name != "HEAD" and not check_ref_format(Ref(os.fsencode(name))):
            return None
        try:
            _, oid = self._refs.follow(Ref(os.fsencode(name)))
        except (KeyError, SymrefLoop):
            return None
        return oid.decode() if oid else None

    def close(self) -> None:
        super().close()
        self._store.close()

    def read_packed(self, oid: str) -> tuple[str, bytes] | None:
        try:
            number, data = self._store.get_raw(ObjectID(oid.encode()))
        except UNREADABLE:
            return None
        return TYPE_NAMES[number], data

    def _write(self, kind: str, data: bytes) -> str:
        made = ShaFile.from_raw_string(TYPE_NUMBERS[kind], data, object_format=self._format)
        try:
            self._store.add_object(made)
        except FileLocked:
            # Another process is writing this very object. Git needs no lock for it.
            return git_at(self.place, ["hash-object", "-w", "-t", kind, "--stdin"], input=data)[1].decode().strip()
        return made.get_id(self._format).decode()

    def _read_ref_with_git(self, name: str) -> str | None:
        """Dulwich reads reftable of SHA-1 alone, and git is exact for both."""
        if "\0" in name or not (name == "HEAD" or name.startswith("refs/")):
            return None
        status, out = git_at(self.place, ["rev-parse", "--verify", "--quiet", "--end-of-options", name], ok=(0, 1, 128))
        return out.decode().strip() if status == 0 else None
