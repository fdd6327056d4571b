"""Bringing an export back: sources as blobs, sections into the pool, source files, manifests. docs/format-export.md, "Import"."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from git_kb.errors import KbError
from git_kb.ingest.ingest import write_manifest
from git_kb.model.document import Manifest
from git_kb.model.section import DamagedSection, decode_section
from git_kb.model.source import path_of_source
from git_kb.repo.discover import Place
from git_kb.repo.lockfile import CannotWrite, atomic_write, remove_leftovers
from git_kb.repo.objects import BadPath, check_name, object_id
from git_kb.repo.pack import write_blobs
from git_kb.repo.protocol import Repository
from git_kb.repo.regular import kind, read_regular
from git_kb.repo.worktree import hash_files
from git_kb.store.config import BadConfig, Config, parse_config
from git_kb.store.manifest import SUFFIX, render_manifest
from git_kb.store.pool import Pool, PoolWriter
from git_kb.store.root import CATALOG, CONFIG, DOCUMENTS
from git_kb.store.snapshot import DamagedExport, Snapshot
from git_kb.store.state import worktree_config

# Paths that are ours: an export says what they hold in its own way.
OURS = tuple(name.encode() for name in (CATALOG, CONFIG, DOCUMENTS))
LOT_BYTES = 32 << 20


class Conflicts(KbError):
    """What is there says something else. `paths`: counted from the top of the work tree."""

    exit_code = 1
    hint = "nothing was written; --force overwrites them"

    def __init__(self, paths: list[str]):
        self.paths = paths
        n = len(paths)
        super().__init__(f"{n} file{'s' * (n != 1)} would be overwritten")


@dataclass(slots=True)
class Restored:
    """What came in. Paths are repository paths; `without_source`: sources that the export does not have."""

    documents: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    n_unchanged: int = 0
    n_sections: int = 0
    n_sections_new: int = 0
    conflicts: list[str] = field(default_factory=list)
    without_source: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def restore(
    repo: Repository,
    snapshot: Snapshot,
    force: bool = False,
    dry_run: bool = False,
    beat: Callable[[], None] = lambda: None,
) -> Restored:
    """Bring a state back. The caller holds the writer's lock. Where there are conflicts, and no `force`, nothing is written.

    Raises DamagedExport, InTheWayOfSource; then nothing was written either.
    """
    restored = Restored()
    plan = _Plan(repo, snapshot, restored)
    plan.look()
    if not dry_run and (force or not restored.conflicts):
        plan.carry_out(beat)
    return restored


class _Plan:
    """What has to be written. Looking comes first, and reads and checks all there is."""

    def __init__(self, repo: Repository, snapshot: Snapshot, restored: Restored):
        self.repo, self.snapshot, self.restored = repo, snapshot, restored
        self.top = repo.place.work_tree or ""
        self.manifests: dict[str, bytes] = {}
        self.kbids: set[str] = set()
        # Path -> blob id in the export, of files to write; and of all that there are.
        self.files: dict[bytes, str] = {}
        self.blobs: dict[bytes, str] = {}
        self.config: bytes | None = None

    def look(self) -> None:
        restored = self.restored
        pool = Pool(self.repo)
        translated = self.snapshot.object_format != self.repo.place.object_format
        for manifest in self.snapshot.manifests():
            data = self.snapshot.documents[manifest.docid + SUFFIX]
            ids = self._look_at_source(manifest)
            if translated:
                if ids is None:
                    why = f"'{manifest.source}' is missing, without which its blob id cannot be made anew for this repository"
                    raise DamagedExport(self.snapshot.path, why)
                data = render_manifest(replace(manifest, blob=ids)).encode()
            self._look_at_manifest(manifest.docid + SUFFIX, data)
            self.kbids |= {row.kbid for row in manifest.sections}
        self._look_at_files()
        restored.n_sections = len(self.kbids)
        for kbid in sorted(self.kbids):
            if self._section(kbid) is None and kbid not in pool:
                raise DamagedExport(self.snapshot.path, f"section {kbid} is missing")
            restored.n_sections_new += kbid not in pool
        self._look_at_config()
        restored.conflicts.sort()

    def _section(self, kbid: str) -> bytes | None:
        data = self.snapshot.read_section(kbid)
        if data is not None:
            try:
                decode_section(data, kbid)
            except DamagedSection as e:
                raise DamagedExport(self.snapshot.path, str(e)) from None
        return data

    def _look_at_source(self, manifest: Manifest) -> str | None:
        """Note where a source has to go. Returns its blob id in this repository, None when the export lacks it."""
        data = self.snapshot.read_source(manifest.blob)
        if "://" in manifest.source:
            return None if data is None else object_id("blob", data, self.repo.place.object_format)
        path = path_of_source(manifest.source)
        if path is None or not _is_safe(path):
            raise DamagedExport(self.snapshot.path, f"'{manifest.source}' is no path for a source")
        if data is None:
            self.restored.without_source.append(manifest.source)
            return None
        if self.blobs.setdefault(path, manifest.blob) != manifest.blob:
            raise DamagedExport(self.snapshot.path, f"two documents have other versions of '{manifest.source}'")
        return object_id("blob", data, self.repo.place.object_format)

    def _look_at_manifest(self, name: str, data: bytes) -> None:
        path = os.path.join(self.top, DOCUMENTS, name)
        if (what := _in_the_way(path)) is not None:
            raise DamagedExport(self.snapshot.path, f"'{DOCUMENTS}/{name}' is {what} here")
        try:
            same = read_regular(path) == data
        except FileNotFoundError:
            same = None
        if same:
            self.restored.n_unchanged += 1
            return
        if same is False:
            self.restored.conflicts.append(f"{DOCUMENTS}/{name}")
        self.manifests[name] = data
        self.restored.documents.append(name.removesuffix(SUFFIX))

    def _look_at_files(self) -> None:
        place = self.repo.place
        _check_clash(self.snapshot.path, self.blobs)
        for path in self.blobs:
            check_way(place, path)
        here = hash_files(place, sorted(self.blobs)) if self.blobs else {}
        for path in sorted(self.blobs):
            blob = self.blobs[path]
            full = os.path.join(os.fsencode(self.top), path)
            if path in here and not os.path.islink(full):
                if here[path] == self._id_here(blob):
                    continue
                self.restored.conflicts.append(os.fsdecode(path))
            elif os.path.lexists(full):
                raise InTheWayOfSource(os.fsdecode(path), kind(os.lstat(full).st_mode))
            self.files[path] = blob
            self.restored.sources.append(os.fsdecode(path))

    def _id_here(self, blob: str) -> str:
        if self.snapshot.object_format == self.repo.place.object_format:
            return blob
        return object_id("blob", self._source(blob), self.repo.place.object_format)

    def _source(self, blob: str) -> bytes:
        data = self.snapshot.read_source(blob)
        if data is None:
            raise DamagedExport(self.snapshot.path, f"source '{blob}' is gone")
        return data

    def _look_at_config(self) -> None:
        """Take the export's configuration over where ours says nothing but the defaults."""
        data = self.snapshot.config
        if data is None:
            return
        try:
            theirs = replace(parse_config(data), name="")
            ours = replace(worktree_config(self.repo.place), name="")
        except BadConfig as e:
            self.restored.notes.append(f"'{CONFIG}' is left as it is: {e}")
            return
        if ours == theirs:
            return
        if ours == Config():
            self.config = data
            self.restored.notes.append(f"'{CONFIG}' is that of the export")
        else:
            self.restored.notes.append(f"'{CONFIG}' is left as it is; the export has other settings")

    def carry_out(self, beat: Callable[[], None]) -> None:
        repo = self.repo
        write_blobs(repo, self._new_sources())
        beat()
        writer = PoolWriter(Pool(repo))
        try:
            for n, kbid in enumerate(sorted(self.kbids)):
                if n % 1000 == 999:
                    beat()
                if not writer.has(kbid, verify=True) and (data := self._section(kbid)) is not None:
                    writer.add(kbid, data)
            if len(writer):
                n_new = len(writer)
                writer.commit(f"import {n_new} section{'s' * (n_new != 1)}\n\nKb-Operation: import\n")
        except BaseException:
            writer.abort()
            raise
        clear_leftovers(repo.place, self.files)
        for n, (path, blob) in enumerate(sorted(self.files.items())):
            if n % 1000 == 999:
                beat()
            write_below(repo.place, path, self._source(blob))
        if self.config is not None:
            atomic_write(os.path.join(self.top, CONFIG), self.config)
        directory = os.path.join(self.top, DOCUMENTS)
        os.makedirs(directory, exist_ok=True)
        remove_leftovers(directory)
        for name, data in sorted(self.manifests.items()):
            write_manifest(directory, name.removesuffix(SUFFIX), data)
        self._note_filtered()

    def _new_sources(self) -> Iterator[bytes]:
        for blob in sorted({*self.files.values()}):
            data = self._source(blob)
            if not self.repo.has_object(object_id("blob", data, self.repo.place.object_format)):
                yield data

    def _note_filtered(self) -> None:
        """Say which sources git would store otherwise here, by its attributes and settings."""
        here = hash_files(self.repo.place, sorted(self.files)) if self.files else {}
        for path in sorted(self.files):
            if here.get(path) != self._id_here(self.files[path]):
                self.restored.notes.append(f"'{os.fsdecode(path)}' would be stored otherwise here (line ends, filters)")


class InTheWayOfSource(KbError):
    """Something that is no file stands where one shall go, or on the way there."""

    hint = "nothing was written; move it away"

    def __init__(self, path: str, what: str):
        self.path, self.what = path, what
        super().__init__(f"'{path}' is {what}")


def check_way(place: Place, path: bytes) -> None:
    """Raise InTheWayOfSource unless every directory on the way to a repository path is a real one, or not there yet."""
    top = os.fsencode(place.work_tree or "")
    parts = path.split(b"/")
    for n in range(1, len(parts)):
        directory = b"/".join(parts[:n])
        try:
            mode = os.lstat(os.path.join(top, directory)).st_mode
        except FileNotFoundError:
            return
        except OSError as e:
            raise InTheWayOfSource(os.fsdecode(directory), f"out of reach: {e.strerror or e}") from None
        if not stat.S_ISDIR(mode):
            raise InTheWayOfSource(os.fsdecode(directory), kind(mode))
        if os.path.lexists(os.path.join(top, directory, b".git")):
            raise InTheWayOfSource(os.fsdecode(directory), "a repository of its own")


def clear_leftovers(place: Place, paths: Iterable[bytes]) -> None:
    """Remove what a killed import left beside the files that it was about to write."""
    names: dict[str, set[str]] = {}
    for path in paths:
        directory, _, name = os.fsdecode(path).rpartition("/")
        names.setdefault(directory, set()).add(name)
    for directory in sorted(names):
        remove_leftovers(os.path.join(place.work_tree or "", directory), names[directory])


def write_below(place: Place, path: bytes, data: bytes) -> None:
    """Write a file of the work tree whole, behind no link. Raises InTheWayOfSource, CannotWrite."""
    check_way(place, path)
    full = os.path.join(place.work_tree or "", os.fsdecode(path))
    try:
        os.makedirs(os.path.dirname(full), exist_ok=True)
    except OSError as e:
        raise CannotWrite(full, e) from None
    atomic_write(full, data, fsync=False)


def _is_safe(path: bytes) -> bool:
    """Return whether a path is one that git takes, and none of ours."""
    lower = path.lower()
    if any(lower == own or lower.startswith(own + b"/") for own in OURS) or len(path) > 4096:
        return False
    try:
        for name in path.split(b"/"):
            check_name(name)
    except BadPath:
        return False
    return all(len(name) <= 255 for name in path.split(b"/"))


def _check_clash(where: str, paths: dict[bytes, str]) -> None:
    """Raise DamagedExport when one source's path is a directory of another's."""
    for path in paths:
        parts = path.split(b"/")
        for n in range(1, len(parts)):
            if b"/".join(parts[:n]) in paths:
                raise DamagedExport(where, f"'{os.fsdecode(b'/'.join(parts[:n]))}' is both a file and a directory")


def _in_the_way(path: str) -> str | None:
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return None
    return None if stat.S_ISREG(mode) else kind(mode)
