"""Which sources an ingest is about.

paths from the command line, git's ignore rules, the configuration's patterns, what is already in.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field

from git_kb.errors import KbError, NewerFormat
from git_kb.ingest.patterns import compile_patterns
from git_kb.model.document import STDIN, Manifest, docid_of_path
from git_kb.model.source import path_of_source
from git_kb.repo import worktree
from git_kb.repo.config import read_config
from git_kb.repo.discover import Place
from git_kb.repo.regular import read_regular
from git_kb.repo.worktree import SourceFile, blob_sizes, check_ignored, hash_files, list_sources
from git_kb.store.config import Config
from git_kb.store.documents import Warn, decode_manifest, manifest_names, manifest_stamp, read_manifests
from git_kb.store.manifest import SUFFIX, DamagedManifest, parse_manifest, read_origin, salvage_manifest
from git_kb.store.root import RAW
from git_kb.store.viewfile import Indexed


class NoSuchSource(KbError):
    """A path on the command line names nothing that could be ingested."""

    def __init__(self, path: str, why: str, hint: str = ""):
        self.path = path
        if hint:
            self.hint = hint
        super().__init__(f"cannot ingest '{path}': {why}")


@dataclass(frozen=True, slots=True)
class Source:
    """One file to cut. `blob`: its blob id now. `old`: its manifest, when it has one.

    `damaged`: it has one that cannot be used; then `old` has no sections, and is None where not even its head can be read.
    """

    file: SourceFile
    blob: str
    old: Manifest | None
    damaged: bool = False

    @property
    def path(self) -> bytes:
        return self.file.path


@dataclass(slots=True)
class Selection:
    """What to do.

    `skipped`: (path, reason). `gone`: manifests of sources below the given paths that no longer exist.
    """

    work: list[Source] = field(default_factory=list)
    n_unchanged: int = 0
    skipped: list[tuple[bytes, str]] = field(default_factory=list)
    gone: list[Manifest] = field(default_factory=list)


# Why a file that git lists is not taken.
REASONS = {
    worktree.SYMLINK: "it is a symbolic link; a target in this repository is ingested under its own name",
    worktree.GITLINK: "it is a submodule; run git kb inside it",
    worktree.NESTED: "it is a repository of its own; run git kb inside it",
    worktree.UNMERGED: "it has unresolved merge conflicts",
}
# What a look for binary and empty files may read: at most 100 MB, about a tenth of a second a thousand small files.
MAX_LOOK, MAX_LOOKS = 100_000, 1000
OTHER_REPOSITORY = {worktree.GITLINK, worktree.NESTED}


def select_sources(place: Place, paths: list[str], config: Config, warn: Warn, force: bool = False) -> Selection:
    """Return what ingesting `paths` (as typed, relative to the current directory) has to do.

    A directory takes what git does not ignore, as far as the configuration includes it or it has a manifest already; a file
    named on the command line is taken whatever the patterns say. `force` cuts again what has not changed. What has a damaged
    manifest is cut again too; one of a later format is left alone. Raises NoSuchSource.
    """
    known = _Known(place, warn)
    try:
        return _select(place, paths, config, known, force)
    finally:
        known.close()


def _select(place: Place, paths: list[str], config: Config, known: _Known, force: bool) -> Selection:
    files, skipped = _list_files(place, paths, config, known.has)
    selection = Selection(skipped=skipped)
    by_docid: dict[str, bytes] = {}
    folds = read_config(place, "core").get_bool("core.ignorecase")
    by_name = {_one_name(docid): docid for docid in _docids(place)} if folds else {}
    unhashed = [f.path for f in files if f.changed]
    refused: dict[bytes, str] = {}
    hashed = hash_files(place, unhashed, refused) if unhashed else {}
    doubtful: list[tuple[SourceFile, str, int]] = []

    def take(file: SourceFile, blob: str) -> None:
        docid = docid_of_path(file.path)
        old, damaged = known.manifest(docid)
        if (newer := known.newer.get(docid + SUFFIX)) is not None:
            selection.skipped.append((file.path, f"its manifest has format {newer.version}; {newer.hint}"))
        else:
            selection.work.append(Source(file, blob, old, damaged))

    for file in files:
        # The index has an id for a file that differs on disk, but that is not what would be ingested.
        blob = hashed.get(file.path) if file.changed else file.oid
        if blob is None:
            selection.skipped.append((file.path, refused.get(file.path, "it cannot be read")))
            continue
        docid = docid_of_path(file.path)
        if (other := by_docid.setdefault(docid, file.path)) != file.path:
            selection.skipped.append((file.path, f"its document name is taken by '{os.fsdecode(other)}'"))
            continue
        if folds and (taken := by_name.setdefault(_one_name(docid), docid)) != docid:
            why = f"its manifest would replace that of document '{taken}': case does not count here (core.ignoreCase)"
            selection.skipped.append((file.path, why))
            continue
        covered = None if force else known.covered(docid, blob)
        if covered is None:
            take(file, blob)
        elif file.state == worktree.SKIP_WORKTREE or covered == _size(place, file):
            selection.n_unchanged += 1
        else:
            doubtful.append((file, blob, covered))
    # Mostly, git stores these in another form than the disk has them.
    sizes = blob_sizes(place, [blob for _, blob, _ in doubtful])
    for file, blob, covered in doubtful:
        size = sizes.get(blob)
        if size == covered:
            selection.n_unchanged += 1
            continue
        if size is not None:
            known.warn(str(DamagedManifest(docid_of_path(file.path) + SUFFIX, f"its rows cover {covered} of {size} bytes")))
        take(file, blob)
    if doubtful:
        selection.work.sort(key=lambda source: source.path)
    _warn_of_one_name(place, selection.work, known.warn)
    selection.gone = _vanished(place, paths, known, {f.path for f in files})
    return selection


def _docids(place: Place) -> list[str]:
    return [name.removesuffix(SUFFIX) for name in manifest_names(place)]


def _one_name(docid: str) -> str:
    """Return what file systems that ignore case take for the same name. How letters are composed never is the difference."""
    return docid.casefold()


def _warn_of_one_name(place: Place, work: list[Source], warn: Warn) -> None:
    """Warn of new documents whose manifests some file systems cannot hold beside others."""
    new = {docid_of_path(source.path) for source in work if source.old is None}
    if not new:
        return
    same: dict[str, set[str]] = {}
    for docid in (*new, *_docids(place)):
        same.setdefault(_one_name(docid), set()).add(docid)
    for docids in same.values():
        if len(docids) > 1 and docids & new:
            listed = " and ".join(f"'{docid}'" for docid in sorted(docids))
            warn(f"documents {listed} differ in case only: where file names do not tell case apart, one of them is lost")


def new_sources(place: Place, config: Config, docids: set[str]) -> list[bytes]:
    """Return the files that an ingest of the whole work tree would take and that are no document yet.

    Files of up to MAX_LOOK bytes are looked into, unless there are more than MAX_LOOKS: binary and empty ones are left out.
    """
    files, _ = _list_files(place, [place.work_tree or "."], config, lambda path: False)
    new = [f.path for f in files if docid_of_path(f.path) not in docids]
    return [path for path in new if not _is_unusable(place, path)] if len(new) <= MAX_LOOKS else new


def _is_unusable(place: Place, path: bytes) -> bool:
    from git_kb.text.chunk import why_unusable

    full = os.path.join(os.fsencode(place.work_tree or ""), path)
    try:
        if os.lstat(full).st_size > MAX_LOOK:
            return False
        return bool(why_unusable(os.fsdecode(path), read_regular(full)))
    except OSError:
        # Ingest says why.
        return False


def _list_files(
    place: Place, paths: list[str], config: Config, is_document: Callable[[bytes], bool]
) -> tuple[list[SourceFile], list[tuple[bytes, str]]]:
    """Return the regular files that the paths stand for, sorted, and what was left out.

    A file for which `is_document` is true is taken whatever the patterns say.
    """
    included, excluded = compile_patterns(config.include), compile_patterns(config.exclude)
    resolved = [(typed, *resolve_path(place, typed)) for typed in paths]
    named = {inside for _, inside, _ in resolved}
    found: dict[bytes, SourceFile] = {}
    skipped: dict[bytes, str] = {}
    for file in list_sources(place, [] if b"" in named else sorted(named)) if named else ():
        name = file.path.decode("utf-8", "surrogateescape")
        # Patterns say which files are wanted; another repository's files are left to it, whatever it is called.
        wanted = not excluded(name) and (included(name) or file.state in OTHER_REPOSITORY)
        # What came from standard input is there to be a document.
        wanted = wanted or name.startswith(STDIN)
        if file.path not in named and not wanted and not is_document(file.path):
            continue
        if file.state == worktree.DELETED:
            continue
        if (reason := REASONS.get(file.state)) is not None:
            skipped[file.path] = reason
            continue
        if (size := _size(place, file)) > config.max_file_bytes:
            skipped[file.path] = f"it has {size} bytes; sources.max_file_bytes is {config.max_file_bytes}"
            continue
        found[file.path] = file
    for typed, inside, is_directory in resolved:
        if not is_directory and inside not in skipped and inside not in found:
            _refuse(place, typed, inside)
    return [found[p] for p in sorted(found)], sorted(skipped.items())


def _size(place: Place, file: SourceFile) -> int:
    try:
        return os.lstat(os.path.join(os.fsencode(place.work_tree or ""), file.path)).st_size
    except OSError:
        return 0


def _refuse(place: Place, typed: str, inside: bytes) -> None:
    if check_ignored(place, [inside]):
        raise NoSuchSource(typed, "git ignores it", "track it with 'git add -f', then ingest it")
    raise NoSuchSource(typed, "git does not list it")


def resolve_path(place: Place, typed: str) -> tuple[bytes, bool]:
    """Return (repository path, is it a directory) of a path as typed. Links in the path are followed, but not
    out of the work tree.

    Raises NoSuchSource.
    """
    if "://" in typed:
        raise NoSuchSource(typed, "this version takes files and directories only")
    assert place.work_tree is not None
    top = os.path.realpath(os.fsencode(place.work_tree))
    full = os.path.join(os.fsencode(place.cwd), os.fsencode(typed))
    if not os.path.lexists(full):
        raise NoSuchSource(typed, "no such file or directory")
    real = os.path.realpath(full)
    if real != top and not real.startswith(top + b"/"):
        raise NoSuchSource(typed, "it is outside of this repository", "copy it into the repository first")
    if not os.path.exists(real):
        raise NoSuchSource(typed, "it is a symbolic link to nothing")
    inside = real[len(top) + 1 :]
    if inside.split(b"/")[0].lower() == b".git":
        raise NoSuchSource(typed, "it belongs to git itself")
    return inside, os.path.isdir(real)


def inside_path(place: Place, typed: str) -> bytes | None:
    """Return the repository path of a path as typed, whether it exists or not.

    empty for the top, None when it is outside or a URL.
    """
    if "://" in typed or place.work_tree is None:
        return None
    top = os.path.realpath(os.fsencode(place.work_tree))
    full = os.path.normpath(os.path.join(os.path.realpath(os.fsencode(place.cwd)), os.fsencode(typed)))
    if full == top:
        return b""
    return full[len(top) + 1 :] if full.startswith(top + b"/") else None


class _Known:
    """What the manifests say, read as needed: heads of those that the index was made of, the others whole.

    Of what was read whole it keeps the facts alone, and what is damaged. newer: manifests of a later format, by file name.
    """

    def __init__(self, place: Place, warn: Warn):
        self.place, self.warn = place, warn
        self.newer: dict[str, NewerFormat] = {}
        self._indexed = Indexed(place)
        self._stamps: dict[str, bytes | None] = {}
        self._facts: dict[str, tuple[str, str, int]] = {}
        self._unusable: dict[str, tuple[Manifest | None, bool]] = {}

    def has(self, path: bytes) -> bool:
        """Return whether there is a document of this source."""
        name = docid_of_path(path) + SUFFIX
        if self._stamp(name) is None:
            return False
        origin = self._origin(name)
        # What cannot be read stands where the manifest of this source belongs.
        return origin is None or path_of_source(origin[0]) == path

    def covered(self, docid: str, blob: str) -> int | None:
        """Return how many bytes of a blob the rows of its manifest cover; None when it is not of that blob, or cannot be used."""
        name = docid + SUFFIX
        origin = self._origin(name)
        if origin is None or origin[1] != blob:
            return None
        indexed = self._indexed.get(name)
        if indexed is not None and indexed[0] == self._stamp(name) and indexed[1]:
            return indexed[1]
        if name not in self._facts:
            self.manifest(docid)
        return self._facts[name][2] if name in self._facts else None

    def source(self, name: str) -> str:
        origin = self._origin(name)
        return origin[0] if origin else ""

    def manifest(self, docid: str) -> tuple[Manifest | None, bool]:
        """Return (a whole manifest, None without one; is it damaged?), as `Source` has them. The warning comes once."""
        name = docid + SUFFIX
        if name in self._unusable:
            return self._unusable[name]
        if self._stamp(name) is None:
            return None, False
        manifest, damaged = self._read_whole(name)
        if manifest is None or damaged:
            self._unusable[name] = manifest, damaged
        else:
            self._facts[name] = manifest.source, manifest.blob, sum(row.n_bytes for row in manifest.sections)
        return manifest, damaged

    def close(self) -> None:
        self._indexed.close()

    def _stamp(self, name: str) -> bytes | None:
        if name not in self._stamps:
            self._stamps[name] = manifest_stamp(self.place, name)
        return self._stamps[name]

    def _origin(self, name: str) -> tuple[str, str] | None:
        """Return (source, blob): by a look at the head of the manifest, or, where that does not tell, from the whole of it."""
        if name in self._facts:
            return self._facts[name][:2]
        if self._stamp(name) is None:
            return None
        for _, data in read_manifests(self.place, [name]):
            if (origin := read_origin(data)) is not None:
                return origin
        manifest, _ = self.manifest(name.removesuffix(SUFFIX))
        return (manifest.source, manifest.blob) if manifest else None

    def _read_whole(self, name: str) -> tuple[Manifest | None, bool]:
        for _, data in read_manifests(self.place, [name]):
            text = ""
            try:
                text = decode_manifest(data, name)
                return parse_manifest(text, name), False
            except NewerFormat as e:
                self.newer[name] = e
                return None, False
            except DamagedManifest as e:
                self.warn(str(e))
                return salvage_manifest(text, name), True
        return None, False


def _vanished(place: Place, paths: list[str], known: _Known, listed: set[bytes]) -> list[Manifest]:
    """Return the manifests of sources below the given directories that are neither on disk nor kept away by a
    sparse checkout.
    """
    scopes = [inside for inside, is_directory in (resolve_path(place, p) for p in paths) if is_directory]
    if not scopes:
        return []
    gone: list[Manifest] = []
    expected = {docid_of_path(p) + SUFFIX for p in listed}
    raw = RAW.encode() + b"/"
    for name in manifest_names(place):
        if name in expected:
            continue
        path = path_of_source(known.source(name))
        if path is None or path in listed or (path.startswith(raw) and not path.startswith(STDIN.encode())):
            continue
        if any(not s or path == s or path.startswith(s + b"/") for s in scopes) and _is_gone(place, path):
            manifest, _ = known.manifest(name.removesuffix(SUFFIX))
            gone += [manifest] if manifest is not None else []
    return gone


def _is_gone(place: Place, path: bytes) -> bool:
    if os.path.lexists(os.path.join(os.fsencode(place.work_tree or ""), path)):
        return False
    return all(f.state != worktree.SKIP_WORKTREE for f in list_sources(place, [path]))
