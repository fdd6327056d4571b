"""The section pool: `refs/kb/sections`, a tree `ab/cdef…` -> blob. docs/format-section.md."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from git_kb.errors import Damaged, KbError
from git_kb.model.section import DamagedSection, Section, decode_section, is_kbid
from git_kb.repo.loose import drop_damaged_loose
from git_kb.repo.objects import encode_tree
from git_kb.repo.pack import PackWriter
from git_kb.repo.process import GitFailed
from git_kb.repo.protocol import DIRECTORY, FILE, MissingObject, RefMoved, Repository, TreeEntry
from git_kb.repo.regular import kind as file_kind
from git_kb.repo.trees import Trees, update_tree
from git_kb.store.root import POOL_REF

T = TypeVar("T")
MAX_TRIES = 20
# Below this many new sections they are written as loose objects, as git does below transfer.unpackLimit.
LOOSE_LIMIT = 100


class BadPool(Damaged):
    """The pool's ref names no commit of sections, or what it names cannot be read. `why` says what is wrong."""

    hint = (
        f"fetch it again from where it is whole, or delete it with 'git update-ref --no-deref -d {POOL_REF}':"
        " sections are then made again from their sources"
    )

    def __init__(self, why: str):
        self.why = why
        super().__init__(f"the section pool '{POOL_REF}' cannot be used: {why}")


class UnknownSection(KbError):
    """The pool has no such section."""

    exit_code = 1
    hint = "'git kb ingest -f' makes sections again from their sources; or fetch refs/kb/sections"

    def __init__(self, kbid: str):
        self.kbid = kbid
        super().__init__(f"no section '{kbid}' in the pool")


class AmbiguousSection(KbError):
    """An abbreviation fits several sections. `candidates` are their kbids."""

    def __init__(self, prefix: str, candidates: list[str]):
        self.prefix, self.candidates = prefix, candidates
        shown = ", ".join(candidates[:5]) + (", …" if len(candidates) > 5 else "")
        super().__init__(f"'{prefix}' is ambiguous: {shown}")


def pool_path(kbid: str) -> bytes:
    """Return the path of a section's blob in the pool's tree."""
    return f"{kbid[:2]}/{kbid[2:]}".encode()


def pool_commit(repo: Repository) -> str | None:
    """Return the commit that the pool's ref names, None when there is no pool. Raises BadPool for anything but a commit."""
    if (target := repo.read_symref(POOL_REF)) is not None:
        raise BadPool(f"it is a symbolic ref to '{target}'")
    commit = repo.read_ref(POOL_REF)
    if commit is None:
        if why := _stray_file(repo):
            raise BadPool(why)
        return None
    try:
        kind, _ = repo.read_object(commit)
    except Damaged as e:
        raise BadPool(str(e)) from None
    if kind != "commit":
        raise BadPool(f"it names a {kind}, not a commit")
    return commit


def _stray_file(repo: Repository) -> str:
    """Return what keeps the pool's ref from being made, "" when nothing does."""
    path = os.path.join(repo.place.common_dir, POOL_REF)
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return ""
    if not stat.S_ISDIR(mode):
        return f"'{path}' is {'not a ref' if stat.S_ISREG(mode) else file_kind(mode)}"
    return f"other refs are below '{path}'" if any(names for _, _, names in os.walk(path)) else ""


class Pool:
    """The pool as one commit has it. Adding moves the ref and this object with it."""

    def __init__(self, repo: Repository):
        self.repo = repo
        self._open(pool_commit(repo))

    def _open(self, commit: str | None) -> None:
        self.commit = commit
        self.tree = self._read(lambda: self.repo.read_commit(commit).tree) if commit else None
        entries = self._read_tree(self.tree) if self.tree else []
        self._prefixes = {e.name: e.oid for e in entries if e.mode == DIRECTORY}
        self._names: dict[bytes, dict[bytes, str]] = {}

    def refresh(self) -> None:
        """Look at the ref again."""
        commit = pool_commit(self.repo)
        if commit != self.commit:
            self._open(commit)

    def _read_tree(self, oid: str) -> list[TreeEntry]:
        return self._read(lambda: self.repo.read_tree(oid))

    def _read(self, read: Callable[[], T]) -> T:
        try:
            return read()
        except Damaged as e:
            raise BadPool(str(e)) from None

    def _below(self, prefix: bytes) -> dict[bytes, str]:
        names = self._names.get(prefix)
        if names is None:
            oid = self._prefixes.get(prefix)
            entries = self._read_tree(oid) if oid else []
            names = self._names[prefix] = {e.name: e.oid for e in entries if e.mode == FILE}
        return names

    def subtree(self, prefix: bytes) -> str | None:
        """Return the id of the subtree of kbids that begin with two characters; None when there is none."""
        return self._prefixes.get(prefix)

    def __contains__(self, kbid: str) -> bool:
        return kbid[2:].encode() in self._below(kbid[:2].encode())

    def oid(self, kbid: str) -> str | None:
        """Return the blob id of a section, None when the pool lacks it."""
        return self._below(kbid[:2].encode()).get(kbid[2:].encode())

    def kbids(self) -> Iterator[str]:
        """Yield all kbids, sorted."""
        for prefix in sorted(self._prefixes):
            for name in sorted(self._below(prefix)):
                kbid = (prefix + name).decode("ascii", "replace")
                if is_kbid(kbid):
                    yield kbid

    def odd_entries(self) -> Iterator[bytes]:
        """Yield the paths in the pool's tree that are no sections. Such entries are not looked at otherwise."""
        for entry in self._read_tree(self.tree) if self.tree else []:
            if entry.mode != DIRECTORY:
                yield entry.name
                continue
            for below in self._read_tree(entry.oid):
                if below.mode != FILE or not is_kbid((entry.name + below.name).decode("ascii", "replace")):
                    yield entry.name + b"/" + below.name

    def __len__(self) -> int:
        return sum(1 for _ in self.kbids())

    def find(self, prefix: str) -> str:
        """Return the one kbid that begins with `prefix` (4 characters or more).

        Raises UnknownSection, AmbiguousSection.
        """
        rest = prefix[2:].encode()
        fits = sorted(prefix[:2] + n.decode() for n in self._below(prefix[:2].encode()) if n.startswith(rest))
        if not fits:
            raise UnknownSection(prefix)
        if len(fits) > 1:
            raise AmbiguousSection(prefix, fits)
        return fits[0]

    def read(self, kbid: str, verify: bool = True) -> Section:
        """Return one section. Raises UnknownSection, DamagedSection."""
        oid = self.oid(kbid)
        if oid is None:
            raise UnknownSection(kbid)
        try:
            data = self.repo.read_blob(oid)
        except Damaged as e:
            raise DamagedSection(kbid, str(e)) from None
        return decode_section(data, kbid, verify)

    def read_many(self, kbids: Iterable[str]) -> Iterator[tuple[str, Section | None]]:
        """Yield (kbid, section) in the order asked; None where it is missing or damaged. Streams; every section is hashed."""
        for kbid, kind, data in self.read_objects(kbids):
            yield kbid, _section(kbid, kind, data)

    def read_objects(self, kbids: Iterable[str]) -> Iterator[tuple[str, str, bytes]]:
        """Yield (kbid, type, data) of the objects in the order asked, unchecked.

        The type is "missing" or "damaged" where there is nothing to read.
        """
        for kbid in kbids:
            oid = self.oid(kbid)
            if oid is None:
                yield kbid, "missing", b""
                continue
            try:
                # Most sections are in packs; a look for a loose file costs more than reading one.
                yield kbid, *(self.repo.read_packed(oid) or self.repo.read_object(oid))
            except MissingObject:
                yield kbid, "missing", b""
            except (Damaged, GitFailed):
                yield kbid, "damaged", b""


def _section(kbid: str, kind: str, data: bytes) -> Section | None:
    if kind != "blob":
        return None
    try:
        return decode_section(data, kbid)
    except DamagedSection:
        return None


class PoolWriter:
    """Collects new sections, then publishes them at once: `add` each, `commit` at the end.

    Until the commit nothing is visible; dying before it leaves at most a temporary pack, which `git gc`
    removes.
    """

    def __init__(self, pool: Pool, sync: bool = True):
        self.pool, self.sync = pool, sync
        self._early: dict[str, bytes] = {}
        self._oids: dict[str, str] = {}
        self._pack: PackWriter | None = None

    def __len__(self) -> int:
        return len(self._oids) + len(self._early)

    def has(self, kbid: str, verify: bool = False) -> bool:
        """Return whether the section is in the pool or on its way there. `verify`: and can be read, and is what its name says."""
        if kbid in self._oids or kbid in self._early:
            return True
        return self._is_whole(kbid) if verify else kbid in self.pool

    def _is_whole(self, kbid: str) -> bool:
        try:
            self.pool.read(kbid)
        except (UnknownSection, DamagedSection):
            return False
        return True

    def add(self, kbid: str, data: bytes) -> None:
        """Take one section object. One that the pool has already, but damaged, is written anew."""
        if self._pack is None and len(self._early) < LOOSE_LIMIT:
            self._early[kbid] = data
        else:
            self._oids[kbid] = self._open_pack().add("blob", data)

    def add_deflated(self, kbid: str, oid: str, size_bytes: int, deflated: bytes) -> None:
        """Take one section object that a worker has hashed and deflated."""
        self._open_pack().add_compressed(oid, "blob", size_bytes, deflated)
        self._oids[kbid] = oid

    def _open_pack(self) -> PackWriter:
        if self._pack is None:
            place = self.pool.repo.place
            self._pack = PackWriter(place.objects_dir, place.object_format, fsync=self.sync)
            for kbid, data in self._early.items():
                self._oids[kbid] = self._pack.add("blob", data)
            self._early.clear()
        return self._pack

    def abort(self) -> None:
        """Forget all."""
        if self._pack is not None:
            self._pack.abort()
        self._pack = None
        self._oids.clear()
        self._early.clear()

    def commit(self, message: str) -> int:
        """Store what was added and move `refs/kb/sections` over it. Returns how many sections were new.

        When another process moved the ref first, the two are united: a name is a hash, so nothing can conflict.
        """
        repo = self.pool.repo
        for kbid, data in self._early.items():
            self._oids[kbid] = repo.write_blob(data)
        self._early.clear()
        n_new = len(self._oids)
        # With a pack open, the trees go into it too; otherwise each new subtree is one more loose file.
        tree = self._write_tree() if self._pack is not None else None
        if self._pack is not None:
            self._pack.finish()
            self._pack = None
            self._drop_damaged()
        for attempt in range(MAX_TRIES):
            try:
                self._publish(message, tree)
                break
            except RefMoved:
                if attempt == MAX_TRIES - 1:
                    raise
                self.pool.refresh()
                tree = None
        self._oids.clear()
        return n_new

    def _drop_damaged(self) -> None:
        """Remove the loose files of what is in our pack now, where they are damaged."""
        place = self.pool.repo.place
        for kbid, oid in self._oids.items():
            if self.pool.oid(kbid) == oid:
                drop_damaged_loose(place.objects_dir, oid, place.object_format)

    def _write_tree(self) -> str | None:
        """Write the pool's tree with what is new, and return its oid; None when nothing is.

        A subtree at a time: `update_tree`, which may plant anything anywhere, takes four times as long for 100,000 names.
        """
        pool = self.pool
        added: dict[bytes, list[TreeEntry]] = {}
        for kbid, oid in self._oids.items():
            if pool.oid(kbid) != oid:
                prefix, _, name = pool_path(kbid).partition(b"/")
                added.setdefault(prefix, []).append(TreeEntry(name, FILE, oid))
        if not added:
            return None
        trees: Trees = pool.repo if self._pack is None else _PackedTrees(pool.repo, self._pack)
        changes: dict[bytes, tuple[int, str] | None] = {}
        for prefix, entries in added.items():
            before = pool.subtree(prefix)
            whole = {entry.name: entry for entry in [*(pool._read_tree(before) if before else ()), *entries]}
            changes[prefix] = (DIRECTORY, trees.write_tree(whole.values()))
        return update_tree(trees, pool.tree, changes)

    def _publish(self, message: str, tree: str | None) -> None:
        pool = self.pool
        tree = tree or self._write_tree()
        if tree is None:
            return
        commit = pool.repo.write_commit(tree, [pool.commit] if pool.commit else [], message)
        pool.repo.update_ref(POOL_REF, commit, pool.commit, "kb: " + message.partition("\n")[0])
        pool._open(commit)


class _PackedTrees:
    """Reads trees from the repository, writes them into a pack."""

    def __init__(self, repo: Repository, pack: PackWriter):
        self.repo, self.pack = repo, pack

    def read_tree(self, oid: str) -> list[TreeEntry]:
        return self.repo.read_tree(oid)

    def write_tree(self, entries: Iterable[TreeEntry]) -> str:
        return self.pack.add("tree", encode_tree(entries))
