"""Committing what an ingest wrote: the manifests, and nothing else that the user has changed or staged."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from git_kb.model.document import Manifest, docid_of_path
from git_kb.model.source import path_of_source
from git_kb.repo.commit import Made, commit_files
from git_kb.repo.protocol import Repository
from git_kb.store.create import AGENTS
from git_kb.store.difference import changed_manifests, documents_or_none
from git_kb.store.documents import Documents, worktree_documents
from git_kb.store.manifest import SUFFIX
from git_kb.store.root import CATALOG, DOCUMENTS, NoKnowledgeBase
from git_kb.store.state import StateName

MAX_TRAILERS = 50


def commit_manifests(
    repo: Repository, scopes: Iterable[bytes], sources: Iterable[str], message: str | None, warn: Callable[[str], None]
) -> tuple[Made, list[str]] | None:
    """Commit the manifests of all sources at or below the repository paths `scopes`, and of `sources`, as they are on disk.

    Those that HEAD has as they are need no commit, so what an earlier run could not commit is in this one. A document that moved
    takes along the end of its old manifest. While HEAD has no knowledge base, its catalog goes in, too. A damaged manifest is left
    out, and told. Returns what was made and the sources; None when there was nothing to commit. Raises what commit_files does.
    """
    missing: list[tuple[StateName, NoKnowledgeBase]] = []
    before = documents_or_none(repo, StateName("HEAD"), missing)
    after = worktree_documents(repo.place)
    names = changed_manifests(repo, StateName("HEAD"), StateName(), before, after)
    wanted = _selected(names, before, after, list(scopes), set(sources), warn)
    paths = [f"{DOCUMENTS}/{name}".encode("utf-8", "surrogateescape") for name in wanted]
    if missing or repo.read_ref("HEAD") is None:
        paths += [CATALOG.encode(), AGENTS.encode()]
    listed = sorted(wanted.values())
    made = commit_files(repo.place, paths, message or _message(listed)) if paths else None
    return (made, listed) if made is not None else None


def _selected(
    names: list[str], before: Documents, after: Documents, scopes: list[bytes], sources: set[str], warn: Callable[[str], None]
) -> dict[str, str]:
    """Return file name -> source of the manifests to commit."""
    here = [name for name in names if name in after.stamps]
    found = {m.docid + SUFFIX: m for m in after.load(here, warn)}
    found |= {m.docid + SUFFIX: m for m in before.load([name for name in names if name not in after.stamps], warn)}
    wanted = {name: m for name, m in found.items() if _is_meant(m, scopes, sources)}
    for manifest in list(wanted.values()):
        old = path_of_source(manifest.moved_from) if manifest.moved_from else None
        name = docid_of_path(old) + SUFFIX if old is not None else ""
        if name in found and name not in after.stamps:
            wanted[name] = found[name]
    return {name: m.source for name, m in wanted.items()}


def _is_meant(manifest: Manifest, scopes: list[bytes], sources: set[str]) -> bool:
    path = path_of_source(manifest.source)
    if manifest.source in sources:
        return True
    return path is not None and any(not scope or path == scope or path.startswith(scope + b"/") for scope in scopes)


def _message(sources: list[str]) -> str:
    if not sources:
        return "kb: start a knowledge base\n"
    what = sources[0] if len(sources) == 1 and len(sources[0]) <= 50 else f"{len(sources)} source{'s' * (len(sources) != 1)}"
    named = [f"Kb-Source: {source}" for source in sources[:MAX_TRAILERS]]
    return "\n".join([f"kb: ingest {what}", "", "Kb-Operation: ingest", *named]) + "\n"
