"""A commit and the pool as a git bundle: writer and reader. docs/format-export.md, "Bundle"."""

from __future__ import annotations

import os
import re
import secrets
import shutil

from git_kb.errors import Damaged, KbError
from git_kb.repo.lockfile import CannotWrite
from git_kb.repo.objects import is_oid
from git_kb.repo.process import GitFailed, git_at
from git_kb.repo.protocol import EXECUTABLE, FILE, Repository, UnknownRevision
from git_kb.repo.regular import open_regular
from git_kb.store.again import cut_again
from git_kb.store.catalog import check_catalog
from git_kb.store.documents import decode_manifest, tree_documents
from git_kb.store.manifest import MAX_TEXT, DamagedManifest, parse_manifest
from git_kb.store.pool import pool_commit, pool_path
from git_kb.store.root import CATALOG, CONFIG, DOCUMENTS, POOL_REF
from git_kb.store.snapshot import DamagedExport, InPlace, Snapshot
from git_kb.store.state import documents_tree

SUFFIX = ".bundle"
SIGNATURES = (b"# v2 git bundle\n", b"# v3 git bundle\n")
MAX_HEADER = 1 << 20
_REF = re.compile(rb"([0-9a-f]{40}|[0-9a-f]{64}) ([^\x00-\x20\x7f]+)")


class NotWhole(KbError):
    """A bundle of a shallow clone would lack what is behind its boundary."""

    hint = "'git fetch --unshallow' first, or export a directory"

    def __init__(self) -> None:
        super().__init__("this clone is shallow: a bundle of it would not be whole")


def write_bundle(repo: Repository, rev: str, path: str) -> tuple[int, int]:
    """Write a commit and the pool into the new file `path`. Returns the number of documents and of bytes.

    Raises InPlace, NotWhole, UnknownRevision, NoKnowledgeBase, CannotWrite.
    """
    place = repo.place
    if os.path.lexists(path):
        raise InPlace(path)
    if place.is_shallow:
        raise NotWhole
    commit = repo.resolve(rev)
    if repo.read_object(commit)[0] != "commit":
        raise UnknownRevision(rev, "it names a tree, and a bundle holds commits")
    n_documents = len(tree_documents(repo, documents_tree(repo, rev)).stamps)
    refs = {b"HEAD": commit}
    if name := _ref_of(repo, rev, commit):
        refs[name] = commit
    if pool := pool_commit(repo):
        refs[POOL_REF.encode()] = pool
    signature = SIGNATURES[1] + b"@object-format=sha256\n" if place.object_format == "sha256" else SIGNATURES[0]
    header = signature + b"".join(b"%s %s\n" % (oid.encode(), name) for name, oid in sorted(refs.items())) + b"\n"
    temporary = f"{os.path.dirname(os.path.abspath(path))}/.{os.path.basename(path)[:100]}.{secrets.token_hex(6)}.tmp"
    try:
        os.mkdir(temporary)
        try:
            wanted = "".join(f"{oid}\n" for oid in sorted({*refs.values()})).encode()
            args = ["pack-objects", "--revs", "--quiet", "--delta-base-offset", os.path.join(temporary, "pack")]
            _, out = git_at(place, args, wanted)
            whole = os.path.join(temporary, "bundle")
            with open(whole, "xb") as file, open(os.path.join(temporary, f"pack-{out.decode().strip()}.pack"), "rb") as pack:
                file.write(header)
                shutil.copyfileobj(pack, file)
                file.flush()
                os.fsync(file.fileno())
                size = file.tell()
            # Unlike a rename, this never replaces what came into being meanwhile.
            os.link(whole, path)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    except FileExistsError:
        raise InPlace(path) from None
    except OSError as e:
        raise CannotWrite(path, e) from None
    return n_documents, size


def _ref_of(repo: Repository, rev: str, commit: str) -> bytes:
    """Return the branch or tag that a revision names, b"" when it is none of the commit's."""
    name = repo.read_symref("HEAD") if rev == "HEAD" else None
    if name is None:
        args = ["rev-parse", "--symbolic-full-name", "--verify", "--quiet", "--end-of-options", rev]
        _, out = git_at(repo.place, args, ok=(0, 1, 128))
        name = os.fsdecode(out).strip().removeprefix("--end-of-options").strip()
    return os.fsencode(name) if name.startswith(("refs/heads/", "refs/tags/")) and repo.read_ref(name) == commit else b""


def is_bundle(path: str) -> bool:
    """Return whether a file begins as a git bundle does. Raises OSError."""
    with open(open_regular(path, follow=True), "rb") as file:
        return file.read(len(SIGNATURES[0])) in SIGNATURES


def read_bundle(repo: Repository, path: str) -> Snapshot:
    """Take a bundle's objects into the repository, and return the state that its commit has. No ref is written.

    Raises DamagedExport.
    """
    refs, object_format = _read_header(path)
    if object_format != repo.place.object_format:
        why = f"it is of a {object_format} repository, and this one is {repo.place.object_format}; export a directory instead"
        raise DamagedExport(path, why)
    heads = sorted({oid for name, oid in refs.items() if name.startswith(b"refs/heads/")})
    commit = refs.get(b"HEAD") or (heads[0] if len(heads) == 1 else None)
    if commit is None:
        raise DamagedExport(path, "it has no HEAD, and not just one branch")
    try:
        git_at(repo.place, ["bundle", "unbundle", os.path.abspath(path)])
    except GitFailed as e:
        raise DamagedExport(path, str(e)) from None
    try:
        return _state_of(repo, path, commit, refs.get(POOL_REF.encode()))
    except (Damaged, UnknownRevision) as e:
        raise e if isinstance(e, DamagedExport) else DamagedExport(path, str(e)) from None


def _state_of(repo: Repository, path: str, commit: str, pool: str | None) -> Snapshot:
    tree = repo.tree_of(commit)
    catalog = repo.entry_at(tree, CATALOG.encode())
    if catalog is None or catalog.mode not in (FILE, EXECUTABLE):
        raise DamagedExport(path, f"its commit has no '{CATALOG}'")
    check_catalog(repo.read_blob(catalog.oid))
    entry = repo.entry_at(tree, DOCUMENTS.encode())
    stored = tree_documents(repo, entry.oid if entry else None)
    documents = {name: data for name, data in stored.read(list(stored.stamps)) if len(data) <= MAX_TEXT}
    config = repo.entry_at(tree, CONFIG.encode())
    pool_tree = repo.tree_of(pool) if pool else None
    origins: dict[str, tuple[str, str]] | None = None

    def read_section(kbid: str) -> bytes | None:
        nonlocal origins
        found = repo.entry_at(pool_tree, pool_path(kbid)) if pool_tree else None
        if found is not None:
            return repo.read_blob(found.oid)
        if origins is None:
            origins = _origins(documents)
        for objects in cut_again(repo, [(*origins[kbid], {kbid})]):
            if kbid in objects:
                return objects[kbid]
        return None

    def read_source(blob: str) -> bytes | None:
        return repo.read_blob(blob) if is_oid(blob, repo.place.oid_hex_length) and repo.has_object(blob) else None

    config_bytes = repo.read_blob(config.oid) if config is not None and config.mode in (FILE, EXECUTABLE) else None
    return Snapshot(path, repo.place.object_format, documents, config_bytes, read_section, read_source)


def _origins(documents: dict[str, bytes]) -> dict[str, tuple[str, str]]:
    """Return kbid -> (source, blob) of a place of each section."""
    origins: dict[str, tuple[str, str]] = {}
    for name, data in documents.items():
        try:
            manifest = parse_manifest(decode_manifest(data, name), name)
        except DamagedManifest:
            continue  # whoever reads the manifests says so
        for row in manifest.sections:
            origins.setdefault(row.kbid, (manifest.source, manifest.blob))
    return origins


def _read_header(path: str) -> tuple[dict[bytes, str], str]:
    """Return (ref -> oid, object format). Raises DamagedExport."""
    with open(open_regular(path, follow=True), "rb") as file:
        head, end, _ = file.read(MAX_HEADER).partition(b"\n\n")
    lines = head.split(b"\n")
    if not end or lines[0] + b"\n" not in SIGNATURES:
        raise DamagedExport(path, "its header is cut off")
    object_format = "sha1"
    refs: dict[bytes, str] = {}
    for line in lines[1:]:
        if line.startswith(b"@object-format="):
            object_format = line[15:].decode("ascii", "replace")
        elif line.startswith(b"@"):
            continue  # git knows whether it can do without
        elif line.startswith(b"-"):
            raise DamagedExport(path, "it holds only what came after another commit; a whole one is needed")
        elif match := _REF.fullmatch(line):
            refs[match[2]] = match[1].decode()
        else:
            raise DamagedExport(path, "its header makes no sense")
    return refs, object_format
