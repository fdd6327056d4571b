"""The supersession chain of a section: what stood under its source_key before and after, through the history of its manifest.

Renames are followed by what manifests say (`moved_from`), not by likeness.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

from git_kb.errors import Damaged, NewerFormat
from git_kb.model.document import Manifest, SectionRow, docid_of_path
from git_kb.model.source import path_of_source, source_keys
from git_kb.repo.process import CatFile, git_at
from git_kb.repo.protocol import Repository
from git_kb.store.documents import decode_manifest
from git_kb.store.manifest import SUFFIX, parse_manifest
from git_kb.store.root import DOCUMENTS
from git_kb.store.state import StateName, open_documents

FIELDS = ("%H", "%P", "%ct", "%an", "%ae", "%s")
SIGNED = ("%G?", "%GS")
# What is in no commit: a section that a later one says it superseded.
NEVER = ""


class Link(NamedTuple):
    """One section of the chain: what stood under a key from one commit on.

    oid: the commit that brought it, "" for what is in no commit: the newest one then is the work tree's or the index's, an older
    one is only known from `supersedes` (`row` is None). when_s: committer date. signature: git's %G? and the signer, where asked.
    """

    kbid: str
    docid: str
    source: str
    row: SectionRow | None
    line: int
    oid: str = NEVER
    when_s: int = 0
    author: str = ""
    email: str = ""
    subject: str = ""
    signature: tuple[str, str] | None = None
    is_gone: bool = False


class _Commit(NamedTuple):
    oid: str
    parents: tuple[str, ...]
    when_s: int
    author: str
    email: str
    subject: str
    signature: tuple[str, str] | None


def supersession_chain(
    repo: Repository, state: StateName, manifest: Manifest, key: str, warn: Callable[[str], None], signatures: bool = False
) -> Iterator[Link]:
    """Yield what stood under a source_key of a document, newest first: a link for each commit that changed it.

    manifest: as it is in `state`, or as it was when the document was last there. A commit that took the section away is a link with
    `is_gone`. Raises UnknownRevision.
    """
    rev = state.rev or ("HEAD" if repo.read_ref("HEAD") is not None else "")
    with CatFile.at(repo.place) as cat_file:
        history = _History(repo, cat_file, warn, signatures)
        last: Link | None = None
        current = state_manifest(repo, state, manifest.docid, warn) if not state.rev else None
        first_found = _find(current, key) if current is not None else None
        if current is not None and first_found is not None:
            committed = history.manifest(repo.resolve(rev), manifest.docid) if rev else None
            known = _find(committed, key) if committed is not None else None
            if known is None or known[0].kbid != first_found[0].kbid:
                last = _link(current, first_found, None)
                # A move that is not committed: the rest of the chain is the old document's.
                yield last
                if committed is None and (older := _older_name(manifest, key, history, rev)) is not None:
                    manifest, key = older
        for link in _walk(history, rev, manifest.docid, key) if rev else ():
            if last is not None and not last.is_gone and last.row is not None and last.row.supersedes not in ("", link.kbid):
                yield Link(last.row.supersedes, last.docid, last.source, None, 0)
            last = link
            yield link
        if last is not None and last.row is not None and last.row.supersedes:
            yield Link(last.row.supersedes, last.docid, last.source, None, 0)


def latest_holder(repo: Repository, rev: str, prefix: str, warn: Callable[[str], None]) -> tuple[Manifest, list[str]] | None:
    """Return (manifest, source_keys) of the newest commit up to `rev` in which a document had a section whose kbid begins so."""
    if rev == "HEAD" and repo.read_ref("HEAD") is None:
        return None
    options = ["-z", "--format=%H", "--name-only", "--no-renames", "--no-show-signature", f'-Gkbid = "{prefix}']
    _, out = git_at(repo.place, ["log", "-1", *options, repo.resolve(rev), "--", DOCUMENTS], env={"GIT_LITERAL_PATHSPECS": "1"})
    words = out.replace(b"\n", b"\0").split(b"\0")
    names = [os.fsdecode(w)[len(DOCUMENTS) + 1 :] for w in words if w.startswith(DOCUMENTS.encode() + b"/")]
    if not names:
        return None
    oid = words[0].decode()
    with CatFile.at(repo.place) as cat_file:
        history = _History(repo, cat_file, warn, False)
        for commit in (oid, f"{oid}^"):
            for name in names:
                manifest = history.manifest(commit, name.removesuffix(SUFFIX))
                keys = [row.source_key for row in manifest.sections if row.kbid.startswith(prefix)] if manifest else []
                if manifest is not None and keys:
                    return manifest, keys
    return None


def newest_name(
    repo: Repository, state: StateName, manifest: Manifest, key: str, warn: Callable[[str], None]
) -> tuple[Manifest, str]:
    """Return (manifest, key) of a section of old under the name that its document has in a state, as given where it has none."""
    documents = open_documents(repo, state)
    if (now := state_manifest(repo, state, manifest.docid, warn)) is not None:
        return now, key
    row = _find(manifest, key)
    for now in documents.load_all(lambda message: None):
        if now.moved_from == manifest.source and row is not None:
            keys = source_keys(now.source, [r.heading for r in manifest.sections])
            return now, keys[manifest.sections.index(row[0])]
    return manifest, key


def state_manifest(repo: Repository, state: StateName, docid: str, warn: Callable[[str], None]) -> Manifest | None:
    """Return one manifest of a state; None where it is not there or damaged, which `warn` is told."""
    documents = open_documents(repo, state)
    return next(documents.load([docid + SUFFIX], warn), None) if docid + SUFFIX in documents.stamps else None


class _History:
    """Manifests by commit, and the commits that touched one."""

    def __init__(self, repo: Repository, cat_file: CatFile, warn: Callable[[str], None], signatures: bool):
        self.repo, self.cat_file, self.warn, self.signatures = repo, cat_file, warn, signatures

    def manifest(self, commit: str, docid: str) -> Manifest | None:
        name = docid + SUFFIX
        _, kind, data = self.cat_file.read(f"{commit}:{DOCUMENTS}/{name}".encode("utf-8", "surrogateescape"))
        if kind != "blob":
            return None
        try:
            return parse_manifest(decode_manifest(data, name), name)
        except (Damaged, NewerFormat) as e:
            self.warn(f"in {commit[:10]}: {e}")
            return None

    def commits(self, rev: str, docid: str) -> list[_Commit]:
        """Return the commits that touched a manifest, newest first, each with those before it in this very history."""
        fields = FIELDS + (SIGNED if self.signatures else ())
        path = f"{DOCUMENTS}/{docid}{SUFFIX}"
        _, out = git_at(
            self.repo.place,
            ["log", "-z", "--parents", "--topo-order", "--no-show-signature", "--encoding=UTF-8", f"--format={'%x00'.join(fields)}",
             "--end-of-options", rev, "--", path],
            env={"GIT_LITERAL_PATHSPECS": "1"},
        )  # fmt: skip
        words = [w.decode("utf-8", "replace") for w in out.split(b"\0")]
        found = []
        for at in range(0, len(words) - len(fields) + 1, len(fields)):
            oid, parents, when, author, email, subject, *signature = words[at : at + len(fields)]
            signed = (signature[0], signature[1]) if signature else None
            found.append(_Commit(oid, tuple(parents.split()), int(when) if when.isdigit() else 0, author, email, subject, signed))
        return found


def _walk(history: _History, rev: str, docid: str, key: str) -> Iterator[Link]:
    """Yield the links of one document, then those of the document that it was before it moved."""
    seen: set[str] = set()
    starts = rev
    while docid not in seen:
        seen.add(docid)
        commits = history.commits(starts, docid)
        manifests = {c.oid: history.manifest(c.oid, docid) for c in commits}
        kbids = {oid: found[0].kbid if m is not None and (found := _find(m, key)) else "" for oid, m in manifests.items()}
        older: tuple[str, Manifest, str] | None = None
        for commit in commits:
            manifest, kbid = manifests[commit.oid], kbids[commit.oid]
            before = {kbids.get(parent, "") for parent in commit.parents}
            if manifest is not None and manifest.moved_from and not any(manifests.get(p) for p in commit.parents) and older is None:
                former = _older_name(manifest, key, history, f"{commit.oid}^")
                if former is not None:
                    older = f"{commit.oid}^", *former
                    row = _find(older[1], older[2])
                    before.add(row[0].kbid if row is not None else "")
            if kbid and kbid not in before:
                found = _find(manifest, key) if manifest is not None else None
                if manifest is not None and found is not None:
                    yield _link(manifest, found, commit)
            elif not kbid and before - {""}:
                was = next((m for p in commit.parents if (m := manifests.get(p)) is not None), None)
                if was is not None:
                    yield Link(
                        next(iter(before - {""})), docid, was.source, None, 0,
                        commit.oid, commit.when_s, commit.author, commit.email, commit.subject, commit.signature, is_gone=True,
                    )  # fmt: skip
        if older is None:
            return
        starts, former_manifest, key = older
        docid = former_manifest.docid


def _older_name(manifest: Manifest, key: str, history: _History, rev: str) -> tuple[Manifest, str] | None:
    """Return (manifest before a move, the same section's key there), as far as there is one at `rev`."""
    path = path_of_source(manifest.moved_from) if manifest.moved_from else None
    if path is None or not rev:
        return None
    old = history.manifest(rev, docid_of_path(path))
    if old is None:
        return None
    # The keys that the old rows would have under the new name.
    keys = source_keys(manifest.source, [row.heading for row in old.sections])
    at = next((i for i, k in enumerate(keys) if k == key), None)
    return (old, old.sections[at].source_key) if at is not None else None


def _find(manifest: Manifest, key: str) -> tuple[SectionRow, int] | None:
    """Return (row, first line) of a source_key."""
    for row, (line, _, _) in zip(manifest.sections, manifest.spans(), strict=True):
        if row.source_key == key:
            return row, line
    return None


def _link(manifest: Manifest, found: tuple[SectionRow, int], commit: _Commit | None) -> Link:
    row, line = found
    link = Link(row.kbid, manifest.docid, manifest.source, row, line)
    if commit is None:
        return link
    return link._replace(
        oid=commit.oid,
        when_s=commit.when_s,
        author=commit.author,
        email=commit.email,
        subject=commit.subject,
        signature=commit.signature,
    )
