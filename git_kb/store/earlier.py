"""Which sections a revision had, seen from a view of another state: what `git kb search --since` leaves out."""

from __future__ import annotations

import os
from collections.abc import Callable

from git_kb.index.view import View
from git_kb.model.section import RAW_SIZE, kbid_bytes
from git_kb.repo.process import git_at
from git_kb.repo.protocol import Repository, UnknownRevision
from git_kb.store.root import DOCUMENTS, NoKnowledgeBase
from git_kb.store.state import StateName, open_documents


def sections_at(
    repo: Repository, rev: str, view: View, state: StateName, warn: Callable[[str], None], note: Callable[[str], None]
) -> frozenset[bytes]:
    """Return the raw kbids (16 bytes) of all sections of a revision; none, and a note, where it had no knowledge base.

    view: of `state`. Most manifests are the same in both, so their sections are read off the view, and only the others are parsed.
    Raises UnknownRevision.
    """
    if not rev:
        raise UnknownRevision(rev, "the name is empty")
    try:
        documents = open_documents(repo, StateName(rev))
    except NoKnowledgeBase:
        note(f"there was no knowledge base at '{rev}': all sections are new since")
        return frozenset()
    changed = _changed_manifests(repo, repo.resolve(rev), state)
    ids = view.part(0, view.n_documents).entry_ids()
    found: set[bytes] = set()
    left = dict.fromkeys(documents.stamps)
    for document in view.documents():
        if document.name in left and document.name not in changed:
            del left[document.name]
            found.update([ids[number][:RAW_SIZE] for number in document.rows])
    found.update(kbid_bytes(row.kbid) for manifest in documents.load(left, warn) for row in manifest.sections)
    return frozenset(found)


def _changed_manifests(repo: Repository, rev: str, state: StateName) -> set[str]:
    """Return the file names of the manifests that are not the same in a revision and in a state, without untracked ones."""
    # A work tree is compared with one revision, the index too.
    states = [rev, repo.resolve(state.rev)] if state.rev else ["--cached", rev] if state.cached else [rev]
    arguments = ["diff", "--name-only", "--no-renames", "--no-ext-diff", "-z", *states, "--", DOCUMENTS]
    _, out = git_at(repo.place, arguments, env={"GIT_LITERAL_PATHSPECS": "1"})
    return {os.path.basename(os.fsdecode(path)) for path in out.split(b"\0")[:-1]}
