"""Which files there are, and their bytes as git would store them. Git answers; nothing here reads the index or walks the disk."""

from __future__ import annotations

import os
import stat

from git_kb.errors import KbError
from git_kb.repo.discover import NeedsWorkTree, Place
from git_kb.repo.process import CatFile, git_at
from git_kb.repo.regular import kind, read_regular
from git_kb.repo.spawn import run_git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

FILE, EXECUTABLE, SYMLINK_MODE, GITLINK_MODE = 0o100644, 0o100755, 0o120000, 0o160000

# States, the first that fits:
GITLINK = "gitlink"  # a submodule's commit; its files are not ours
UNMERGED = "unmerged"  # in conflict: there is no one blob
DELETED = "deleted"  # tracked, gone from disk
SKIP_WORKTREE = "skip-worktree"  # tracked, kept off the disk by a sparse checkout; the index counts
INTENT_TO_ADD = "intent-to-add"  # `git add -N`: tracked, no blob yet
SYMLINK = "symlink"  # the bytes are the link's text; never followed
ASSUME_UNCHANGED = "assume-unchanged"  # git was told not to look at the disk; the index counts
MODIFIED = "modified"  # tracked; the disk differs, or only the file's times do
CLEAN = "clean"  # tracked; the disk has what the index has
NESTED = "nested-repository"  # an untracked directory with a repository of its own; its files are not ours
UNTRACKED = "untracked"

# What has no bytes to read.
UNREADABLE = {
    GITLINK: "it is a submodule",
    UNMERGED: "it has a merge conflict",
    DELETED: "it is deleted",
    NESTED: "it is a repository",
}

LITERAL = {"GIT_LITERAL_PATHSPECS": "1"}
# Longer lists of paths do not surely fit on a command line.
MAX_ARGUMENT_BYTES = 60_000
WINDOW_FILES, WINDOW_BYTES = 256, 32 << 20


class UnreadableSource(KbError):
    """A file's clean bytes cannot be had. `path` counts from the top of the work tree."""

    def __init__(self, path: bytes, why: str):
        self.path, self.why = path, why
        super().__init__(f"cannot read '{os.fsdecode(path)}': {why}")


class OddFile(KbError):
    """A file that git reads is a pipe, a socket or a device: git would wait for it, or never come to its end."""

    hint = "move it away"

    def __init__(self, path: str, what: str):
        self.path, self.what = path, what
        super().__init__(f"'{path}' is {what}, not a file")


class SourceFile:
    """One file of the work tree.

    path: bytes, from the top, "/" between parts. mode: as in `git ls-tree` (on disk where that differs from the index).
    oid: the blob in the index; None when there is none. tracked: whether the index knows it. state: see above.
    changed: whether the disk may differ from `oid`, so that the disk has to be read.
    """

    __slots__ = ("changed", "mode", "oid", "path", "state", "tracked")

    def __init__(self, path: bytes, mode: int, oid: str | None, tracked: bool, state: str, changed: bool):
        self.path, self.mode, self.oid, self.tracked, self.state, self.changed = path, mode, oid, tracked, state, changed

    def __repr__(self) -> str:
        return f"SourceFile({self.path!r}, {self.mode:o}, {self.oid!r}, {self.state!r})"


def list_sources(place: Place, pathspecs: Sequence[bytes] = ()) -> Iterator[SourceFile]:
    """Yield tracked files, and untracked ones that no ignore rule excludes, in order of path.

    pathspecs: literal files or directories from the top; none means all. Raises NeedsWorkTree, GitFailed.
    """
    _need_work_tree(place)
    specs = {spec.strip(b"/") or b"." for spec in pathspecs} - {b"."} if b"." not in pathspecs else set()
    arguments = sorted(specs) if sum(map(len, specs)) + len(specs) < MAX_ARGUMENT_BYTES else []
    found = {file.path: file for file in _untracked(place, arguments)}
    found.update((file.path, file) for file in _tracked(place, arguments))
    for path in sorted(found):
        if not specs or arguments or _is_below(path, specs):
            yield found[path]


def hash_files(
    place: Place, paths: Iterable[bytes], refused: dict[bytes, str] | None = None, store: bool = False
) -> dict[bytes, str]:
    """Return the blob id that `git add` would give each file: of its clean form, after filters and line end conversion.

    Symbolic links give the id of their text. Paths that are no files, cannot be read, or lie beyond a symbolic link are left out.
    `refused` takes path -> git's reason for files that are there, but that git cannot read or clean (a required filter that fails).
    With `store`, the blobs of regular files are written.
    """
    _need_work_tree(place)
    ids: dict[bytes, str] = {}
    regular = []
    for path, mode in _modes(place, paths):
        if stat.S_ISREG(mode):
            regular.append(path)
        elif stat.S_ISLNK(mode):
            ids[path] = _blob_id(os.readlink(_on_disk(place, path)), place)
    ids.update(_hash_objects(place, regular, ["-w"] if store else [], refused=refused))
    return ids


def blob_sizes(place: Place, oids: Iterable[str]) -> dict[str, int]:
    """Return blob id -> size in bytes of those blobs that are stored."""
    asked = "".join(f"{oid}\n" for oid in dict.fromkeys(oids)).encode()
    if not asked:
        return {}
    _, out = git_at(place, ["cat-file", "--batch-check"], asked)
    rows = [row.split(b" ") for row in out.splitlines()]
    return {row[0].decode(): int(row[2]) for row in rows if len(row) == 3 and row[2].isdigit()}


def check_ignored(place: Place, paths: Iterable[bytes]) -> set[bytes]:
    """Return those paths that an ignore rule excludes. Tracked files never are; nor what lies beyond a symbolic link."""
    _need_work_tree(place)
    links: dict[bytes, bool] = {}
    asked = [path for path in paths if path and not _is_beyond_link(place, path, links)]
    if not asked:
        return set()
    # This command refuses GIT_LITERAL_PATHSPECS; after "./" a colon has no meaning either.
    lines = b"".join(b"./%s\0" % path for path in asked)
    _, out = git_at(place, ["check-ignore", "-z", "--stdin"], lines, ok=(0, 1), env={"GIT_LITERAL_PATHSPECS": "0"})
    return {path[2:] for path in _split(out)}


def read_sources(
    place: Place, files: Iterable[SourceFile], on_unreadable: Callable[[UnreadableSource], None] | None = None
) -> Iterator[tuple[SourceFile, bytes]]:
    """Yield (file, clean bytes) in the order given; the file's `oid` is then the id of just these bytes.

    Unchanged files come from the object database, in a stream; changed and untracked ones from disk, through git's clean filters
    where those make a difference. A file without bytes (deleted, unmerged, gone meanwhile, ...) goes to `on_unreadable`, or
    raises UnreadableSource when there is none. Memory: a window of 256 files or 32 MB.
    """
    _need_work_tree(place)
    refuse = on_unreadable or _raise
    with CatFile.at(place) as cat_file:
        for window in _windows(place, files):
            yield from _read_window(place, window, cat_file, refuse)


def _tracked(place: Place, arguments: list[bytes]) -> Iterator[SourceFile]:
    changes = _changes(place, arguments)
    previous = None
    for row in _git_list(place, ["ls-files", "-z", "-s", "-v"], arguments):
        head, _, path = row.partition(b"\t")
        tag, mode_text, oid, stage = head.split(b" ")
        if path == previous:
            continue
        previous = path
        status, disk_mode = changes.get(path, (b"", 0))
        mode = disk_mode or int(mode_text, 8)
        state = _tracked_state(tag, mode, stage, status)
        has_blob = state not in (UNMERGED, INTENT_TO_ADD)
        yield SourceFile(path, mode, oid.decode() if has_blob else None, True, state, bool(status) or not has_blob)


def _tracked_state(tag: bytes, mode: int, stage: bytes, status: bytes) -> str:
    if mode == GITLINK_MODE:
        return GITLINK
    if stage != b"0":
        return UNMERGED
    if status == b"D":
        return DELETED
    if tag in b"Ss":
        return SKIP_WORKTREE
    if status == b"A":
        return INTENT_TO_ADD
    if mode == SYMLINK_MODE:
        return SYMLINK
    if tag.islower():
        return ASSUME_UNCHANGED
    return MODIFIED if status else CLEAN


def _changes(place: Place, arguments: list[bytes]) -> dict[bytes, tuple[bytes, int]]:
    """Return path -> (status letter, mode on disk or 0) of what differs between index and disk."""
    fields = _git_list(place, ["diff-files", "-z", "--raw", "--no-renames", "--ignore-submodules=all"], arguments)
    changes: dict[bytes, tuple[bytes, int]] = {}
    for head, path in zip(fields[::2], fields[1::2], strict=True):
        # ":100644 100755 <oid> <oid> M"; an unmerged path may have a second row, which compares its stage 2.
        words = head.split(b" ")
        changes.setdefault(path, (words[4], int(words[1], 8)))
    return changes


def _untracked(place: Place, arguments: list[bytes]) -> Iterator[SourceFile]:
    for path in _git_list(place, ["ls-files", "-z", "--others", "--exclude-standard"], arguments):
        if path.endswith(b"/"):
            yield SourceFile(path.rstrip(b"/"), GITLINK_MODE, None, False, NESTED, True)
            continue
        try:
            mode = os.lstat(_on_disk(place, path)).st_mode
        except OSError:
            # Gone since git saw it.
            continue
        if stat.S_ISLNK(mode):
            yield SourceFile(path, SYMLINK_MODE, None, False, SYMLINK, True)
        elif stat.S_ISREG(mode):
            yield SourceFile(path, EXECUTABLE if mode & 0o100 else FILE, None, False, UNTRACKED, True)


def _git_list(place: Place, command: list[str], arguments: list[bytes]) -> list[bytes]:
    _, out = git_at(place, [*command, "--", *map(os.fsdecode, arguments)], env=LITERAL)
    return _split(out)


def _windows(place: Place, files: Iterable[SourceFile]) -> Iterator[list[SourceFile]]:
    window: list[SourceFile] = []
    n_bytes = 0
    for file in files:
        size = _size_on_disk(place, file.path) if _is_read_from_disk(file) else 0
        if window and (len(window) == WINDOW_FILES or n_bytes + size > WINDOW_BYTES):
            yield window
            window, n_bytes = [], 0
        window.append(file)
        n_bytes += size
    if window:
        yield window


def _read_window(
    place: Place, window: list[SourceFile], cat_file: CatFile, refuse: Callable[[UnreadableSource], None]
) -> Iterator[tuple[SourceFile, bytes]]:
    from_disk = _read_clean(place, [file for file in window if _is_read_from_disk(file)])
    stored = cat_file.read_many(file.oid.encode() for file in window if file.oid and _is_stored(file))
    for file in window:
        if file.state in UNREADABLE:
            refuse(UnreadableSource(file.path, UNREADABLE[file.state]))
        elif file.oid and _is_stored(file):
            _, _, kind, data = next(stored)
            if kind == "blob":
                yield file, data
            else:
                refuse(UnreadableSource(file.path, f"its object '{file.oid}' is {kind}"))
        else:
            found = from_disk[file.path]
            if isinstance(found, str):
                refuse(UnreadableSource(file.path, found))
            else:
                oid, data = found
                yield SourceFile(file.path, file.mode, oid, file.tracked, file.state, file.changed), data
    for _ in stored:
        raise AssertionError("more objects than were asked for")


def _is_stored(file: SourceFile) -> bool:
    return file.tracked and not file.changed and file.state not in UNREADABLE


def _is_read_from_disk(file: SourceFile) -> bool:
    return not _is_stored(file) and file.state not in UNREADABLE


def _read_clean(place: Place, files: list[SourceFile]) -> dict[bytes, tuple[str, bytes] | str]:
    """Return path -> (blob id, clean bytes), or why there are none."""
    links: dict[bytes, bool] = {}
    found: dict[bytes, tuple[str, bytes] | str] = {}
    raw: dict[bytes, bytes] = {}
    for file in files:
        try:
            if _is_beyond_link(place, file.path, links):
                found[file.path] = "it lies beyond a symbolic link"
            elif file.mode == SYMLINK_MODE:
                text = _read_link(_on_disk(place, file.path))
                found[file.path] = _blob_id(text, place), text
            else:
                raw[file.path] = read_regular(_on_disk(place, file.path))
        except OSError as e:
            found[file.path] = e.strerror or str(e)
    refused: dict[bytes, str] = {}
    ids = hash_files(place, raw, refused)
    filtered = []
    for path, data in raw.items():
        if path not in ids:
            found[path] = refused.get(path, "git cannot hash it")
        elif _blob_id(data, place) == ids[path]:
            found[path] = ids[path], data
        else:
            filtered.append(path)
    clean = _clean_forms(place, filtered, refused)
    found.update((path, clean.get(path) or refused.get(path, "git cannot clean it")) for path in filtered)
    return found


def _clean_forms(place: Place, paths: list[bytes], refused: dict[bytes, str]) -> dict[bytes, tuple[str, bytes]]:
    """Return path -> (blob id, bytes) as git's clean filters make them: git writes the blobs to a scratch object directory."""
    if not paths:
        return {}
    import tempfile

    with tempfile.TemporaryDirectory(prefix="git-kb-") as scratch:
        quoted = [os.fsdecode(_quote(os.fsencode(path), b":")) for path in (place.objects_dir, *place.alternates)]
        env = {"GIT_OBJECT_DIRECTORY": scratch, "GIT_ALTERNATE_OBJECT_DIRECTORIES": os.pathsep.join(quoted)}
        ids = _hash_objects(place, paths, ["-w"], env, refused)
        with CatFile.at(place, env) as cat_file:
            answers = cat_file.read_many(oid.encode() for oid in ids.values())
            return {path: (ids[path], data) for path, (_, _, kind, data) in zip(ids, answers, strict=True) if kind == "blob"}


def _hash_objects(
    place: Place,
    paths: list[bytes],
    options: list[str],
    env: Mapping[str, str] | None = None,
    refused: dict[bytes, str] | None = None,
) -> dict[bytes, str]:
    """Return path -> blob id through `git hash-object`. Git gives up at the first file it cannot read; we go on after it.

    `refused` takes path -> why, of such files.
    """
    ids: dict[bytes, str] = {}
    while paths:
        args = ["hash-object", *options, "--stdin-paths"]
        lines = b"".join(_quote(path) + b"\n" for path in paths)
        status, out, err = run_git(args, place.git_cwd, lines, place.git_env(env))
        done = out.decode().split()
        ids.update(zip(paths, done, strict=False))
        if status == 0:
            break
        if refused is not None and len(done) < len(paths):
            refused[paths[len(done)]] = _why_refused(paths[len(done)], err)
        paths = paths[len(done) + 1 :]
    return ids


def _why_refused(path: bytes, err: bytes) -> str:
    """Return git's last words about a file, as a reason: "fatal: a.md: clean filter 'f' failed"."""
    words = os.fsdecode(err).strip().rpartition("\n")[2].removeprefix("fatal: ").removeprefix(os.fsdecode(path) + ": ")
    return f"git cannot read it: {words}" if words else "git cannot read it"


def _quote(path: bytes, also: bytes = b"") -> bytes:
    """Return a path as git reads it: C-style in double quotes where it holds what would end or change the line."""
    odd = [byte for byte in path if byte < 0x20 or byte in b'"\\\x7f' or byte in also]
    if not odd:
        return path
    return b'"' + b"".join(b"\\%03o" % byte if byte < 0x20 or byte in b'"\\\x7f' else bytes([byte]) for byte in path) + b'"'


def _modes(place: Place, paths: Iterable[bytes]) -> Iterator[tuple[bytes, int]]:
    """Yield (path, mode from lstat) of those that are there and not beyond a symbolic link."""
    links: dict[bytes, bool] = {}
    for path in paths:
        try:
            if path and b"\0" not in path and not _is_beyond_link(place, path, links):
                yield path, os.lstat(_on_disk(place, path)).st_mode
        except OSError:
            continue


def _is_beyond_link(place: Place, path: bytes, links: dict[bytes, bool]) -> bool:
    """Return whether a directory on the way to `path` is a symbolic link (or the path leaves the work tree): git does not go there.

    `links` remembers the directories seen.
    """
    parts = path.split(b"/")
    if not path or path.startswith(b"/") or b".." in parts:
        return True
    for n in range(1, len(parts)):
        directory = b"/".join(parts[:n])
        if directory not in links:
            links[directory] = os.path.islink(_on_disk(place, directory))
        if links[directory]:
            return True
    return False


def _is_below(path: bytes, specs: set[bytes]) -> bool:
    """Return whether the path, or a directory it is in, is one of `specs`."""
    while path not in specs:
        path, slash, _ = path.rpartition(b"/")
        if not slash:
            return False
    return True


def _read_link(name: bytes) -> bytes:
    """Return a link's text. With core.symlinks=false (Windows) git keeps the text in an ordinary file."""
    if stat.S_ISLNK(os.lstat(name).st_mode):
        return os.readlink(name)
    return read_regular(name)


def _size_on_disk(place: Place, path: bytes) -> int:
    try:
        return os.lstat(_on_disk(place, path)).st_size
    except OSError:
        return 0


def _on_disk(place: Place, path: bytes) -> bytes:
    return os.path.join(os.fsencode(place.work_tree or place.git_dir), path)


def _need_work_tree(place: Place) -> None:
    """Raise NeedsWorkTree where there is none, OddFile where git would wait for ever for one of its own files."""
    if place.work_tree is None:
        raise NeedsWorkTree(place.git_dir)
    own = [os.path.join(place.work_tree, name) for name in (".gitattributes", ".gitignore")]
    for path in (*own, *(os.path.join(place.common_dir, "info", name) for name in ("attributes", "exclude"))):
        try:
            mode = os.stat(path).st_mode
        except OSError:
            continue
        # What git says of a directory is clear enough.
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise OddFile(path, kind(mode))


def _blob_id(data: bytes, place: Place) -> str:
    from git_kb.repo.objects import object_id

    return object_id("blob", data, place.object_format)


def _split(out: bytes) -> list[bytes]:
    return out.split(b"\0")[:-1]


def _raise(error: UnreadableSource) -> None:
    raise error
