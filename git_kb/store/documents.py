"""All manifests of one state: the work tree, the index, or a tree.

Each state gives its manifests as `(name, stamp)` pairs first: the stamp changes whenever the manifest may
have. That is enough to see whether a cached view is current; contents are read only for what changed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from git_kb.errors import NewerFormat
from git_kb.model.document import Manifest
from git_kb.repo.discover import Place
from git_kb.repo.process import git_at
from git_kb.repo.protocol import EXECUTABLE, FILE, Repository
from git_kb.repo.regular import read_regular
from git_kb.store.manifest import SUFFIX, DamagedManifest, parse_manifest, tracked_text
from git_kb.store.root import DOCUMENTS
from git_kb.store.stamps import stamp, stamp_directory

Warn = Callable[[str], None]


class Documents:
    """The manifests of one state. `stamps`: file name -> opaque stamp, sorted by name. `load` reads some of them.

    `key` is equal for two states with equal stamps. `stored`: they are blobs, and their stamps the blobs' ids.
    """

    def __init__(
        self, stamps: dict[str, bytes], key: bytes, read: Callable[[list[str]], Iterator[tuple[str, bytes]]], stored: bool
    ):
        self.stamps, self.key, self.read, self.stored = stamps, key, read, stored

    def load(self, names: Iterable[str], warn: Warn) -> Iterator[Manifest]:
        """Yield the manifests of these files in order. A damaged one is skipped, with a warning that names it."""
        for manifest, _ in self.load_with_bytes(names, warn):
            yield manifest

    def load_with_bytes(self, names: Iterable[str], warn: Warn) -> Iterator[tuple[Manifest, bytes]]:
        """`load`, with the bytes of each manifest's file."""
        for name, data in self.read(list(names)):
            try:
                yield parse_manifest(decode_manifest(data, name), name), data
            except (DamagedManifest, NewerFormat) as e:
                warn(str(e))

    def load_all(self, warn: Warn) -> Iterator[Manifest]:
        """Yield all manifests, sorted by file name."""
        return self.load(self.stamps, warn)


class Unreadable(bytes):
    """Stands for the bytes of a manifest that cannot be read. `why` says why not."""

    def __new__(cls, why: str) -> Unreadable:
        made = super().__new__(cls)
        made.why = why
        return made

    why: str


def decode_manifest(data: bytes, name: str) -> str:
    """Return a manifest's text. Raises DamagedManifest."""
    if isinstance(data, Unreadable):
        raise DamagedManifest(name, f"it cannot be read: {data.why.lower()}")
    try:
        return tracked_text(data)
    except UnicodeDecodeError as e:
        raise DamagedManifest(name, f"it is not UTF-8 (byte {e.start})") from None


def worktree_documents(place: Place) -> Documents:
    """Return the manifests on disk. `place` has a work tree."""
    return _worktree_documents(place, *stamp_directory(manifest_directory(place)))


def manifest_directory(place: Place) -> str:
    """Return where the manifests of a work tree are."""
    return os.path.join(place.work_tree or "", DOCUMENTS)


def manifest_names(place: Place) -> list[str]:
    """Return the file names of the manifests on disk, sorted, without a look at the files."""
    try:
        return sorted(name for name in os.listdir(manifest_directory(place)) if name.endswith(SUFFIX))
    except (FileNotFoundError, NotADirectoryError):
        return []


def manifest_stamp(place: Place, name: str) -> bytes | None:
    """Return the stamp of one manifest on disk, as `worktree_documents` has it; None where there is none."""
    try:
        return stamp(os.lstat(os.path.join(manifest_directory(place), name)))
    except (FileNotFoundError, NotADirectoryError):
        return None


def read_manifests(place: Place, names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Yield (file name, bytes) of manifests on disk; `Unreadable` for what cannot be read, nothing for what is gone."""
    directory = manifest_directory(place)
    for name in names:
        try:
            yield name, read_regular(os.path.join(directory, name))
        except FileNotFoundError:
            continue  # gone since it was listed: as if it had gone before
        except OSError as e:
            yield name, Unreadable(e.strerror or str(e))


def some_documents(repo: Repository, stamps: dict[str, bytes], stored: bool) -> Documents:
    """Return some documents of a state again, given what that state knows of them. Its `key` is empty."""
    if stored:
        return _stored_documents(repo, {name: stamp.hex() for name, stamp in stamps.items()}, b"")
    return _worktree_documents(repo.place, stamps, b"")


def _worktree_documents(place: Place, stamps: dict[str, bytes], key: bytes) -> Documents:
    return Documents(stamps, key, partial(read_manifests, place), stored=False)


def tree_documents(repo: Repository, tree: str | None) -> Documents:
    """Return the manifests of a `kb/documents` tree; None is the empty one."""
    entries = {
        os.fsdecode(e.name): e.oid
        for e in (repo.read_tree(tree) if tree else [])
        if e.mode in (FILE, EXECUTABLE) and _is_manifest_name(os.fsdecode(e.name))
    }
    return _stored_documents(repo, entries, b"tree " + (tree or "").encode())


def index_documents(repo: Repository) -> Documents:
    """Return the manifests that are staged."""
    _, out = git_at(repo.place, ["ls-files", "-s", "-z", "--", DOCUMENTS])
    entries = {}
    for row in out.split(b"\0")[:-1]:
        meta, _, path = row.partition(b"\t")
        mode, oid, stage = meta.split()
        name = os.fsdecode(path[len(DOCUMENTS) + 1 :])
        if stage == b"0" and mode in (b"100644", b"100755") and _is_manifest_name(name):
            entries[name] = oid.decode()
    from hashlib import sha256

    digest = sha256("".join(f"{name}\0{oid}\n" for name, oid in sorted(entries.items())).encode("utf-8", "surrogateescape"))
    return _stored_documents(repo, entries, b"index " + digest.hexdigest().encode())


def _stored_documents(repo: Repository, entries: dict[str, str], key: bytes) -> Documents:
    def read(names: list[str]) -> Iterator[tuple[str, bytes]]:
        for name in names:
            yield name, repo.read_blob(entries[name])

    return Documents({n: bytes.fromhex(entries[n]) for n in sorted(entries)}, key, read, stored=True)


def _is_manifest_name(name: str) -> bool:
    return name.endswith(SUFFIX) and "/" not in name
