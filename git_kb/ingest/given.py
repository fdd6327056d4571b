"""Standard input as a source: a file of its own below kb/raw/stdin/. docs/format-manifest.md, "Standard input"."""

from __future__ import annotations

import os
from dataclasses import dataclass
from hashlib import sha256

from git_kb.errors import KbError
from git_kb.ingest.draft import CannotEdit, check_way
from git_kb.ingest.ingest import Summary
from git_kb.ingest.operations import BadType, slug
from git_kb.model.document import STDIN
from git_kb.model.section import normalise_mime
from git_kb.repo.discover import Place
from git_kb.repo.lockfile import atomic_write
from git_kb.repo.protocol import Repository
from git_kb.repo.regular import read_regular
from git_kb.repo.worktree import check_ignored
from git_kb.store.config import Config
from git_kb.store.cut import Cut, Limits, cut_source
from git_kb.store.pool import Pool
from git_kb.text.chunk import Unusable
from git_kb.text.mime import ending_of, guess_type, is_text


class UnusableInput(KbError):
    """Standard input gives no document."""

    def __init__(self, reason: str, hint: str = ""):
        self.reason, self.hint = reason, hint
        super().__init__(f"cannot ingest standard input: {reason}")


@dataclass(frozen=True, slots=True)
class GivenSource:
    """Standard input, and the repository path of the file that it becomes."""

    path: bytes
    data: bytes
    cut: Cut

    def full_path(self, place: Place) -> str:
        return os.path.join(place.work_tree or "", os.fsdecode(self.path))

    def is_there(self, place: Place) -> bool:
        """Return whether the file is there. Raises CannotEdit for one that says something else: it was edited, and stays."""
        check_way(place.work_tree or "", self.path)
        try:
            if read_regular(self.full_path(place)).replace(b"\r\n", b"\n") == self.data.replace(b"\r\n", b"\n"):
                return True
        except FileNotFoundError:
            return False
        raise CannotEdit(self.path, "this very text was ingested there, and the file was edited since", "give it another --title")

    def write(self, place: Place) -> str:
        """Write the file where it is not there, and return its path. Raises CannotEdit, CannotWrite."""
        full = self.full_path(place)
        if not self.is_there(place):
            if check_ignored(place, [self.path]):
                raise CannotEdit(
                    self.path, "git ignores it, so it would never be committed", "kb/raw has to be tracked: see .gitignore"
                )
            os.makedirs(os.path.dirname(full), exist_ok=True)
            atomic_write(full, self.data)
        return full

    def would_be(self, repo: Repository, summary: Summary) -> None:
        """Add to a summary what writing and ingesting it would do."""
        pool = Pool(repo)
        summary.new.append(self.path)
        summary.n_sections += self.cut.n_sections
        summary.n_bytes += self.cut.n_bytes
        summary.new_sections.update(kbid for kbid in self.cut.objects if kbid not in pool)
        summary.n_sections_new = len(summary.new_sections)


def given_source(data: bytes, type: str, title: str, config: Config) -> GivenSource:
    """Return what standard input becomes. The same bytes with the same title have the same path.

    Raises BadMime, BadType, UnusableInput.
    """
    mime = normalise_mime(type)
    if not is_text(mime):
        raise BadType(mime)
    if len(data) > config.max_file_bytes:
        raise UnusableInput(f"it has {len(data)} bytes; sources.max_file_bytes is {config.max_file_bytes}")
    digest = sha256(data).hexdigest()[:8]
    ending = ending_of(mime)
    if not ending:
        raise UnusableInput(f"no file name ends so that it says '{mime}'", "say text/plain, or write it to a file and ingest that")
    limits = Limits(config.chunk_target, config.chunk_ceiling, config.detect_language)
    try:
        cut = cut_source(os.fsencode(f"{STDIN}note{ending}"), data, limits)
    except Unusable as e:
        raise UnusableInput(e.reason, e.hint) from None
    words = slug(title or cut.source.title) or "note"
    path = f"{STDIN}{words}-{digest}{ending}"
    if guess_type(path, data) != mime:
        raise UnusableInput(f"it is {guess_type(path, data)}, not {mime}")
    return GivenSource(os.fsencode(path), data, cut)
