"""Caches in `.git/kb` that nothing uses any more: found by `git kb gc`, which removes them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from git_kb.errors import NewerFormat
from git_kb.index import references, signatures
from git_kb.index.pagefile import DamagedSegment, OtherFeature, PageFile
from git_kb.index.references import open_files, write_references
from git_kb.index.segments import DIRECTORY, is_segment_name, read_current
from git_kb.index.signatures import signature_path
from git_kb.index.view import VIEWS, View, is_view_name
from git_kb.model.section import kbid_text
from git_kb.repo.lockfile import is_leftover
from git_kb.repo.protocol import Repository
from git_kb.store import datefile
from git_kb.store.viewfile import worktree_view_name


def unused_caches(repo: Repository, cutoff: int) -> list[str]:
    """Return the paths of our files in `.git/kb` that no command would read again, or that are older than the cutoff and can be
    made again: views of work trees that are gone, of revisions that nobody asked for since, signatures of segments that are gone,
    dates of commits that are gone, what a killed process left, and what another version of git-kb wrote.
    """
    kb_dir = repo.place.kb_dir
    kinds: tuple[tuple[str, Callable[[str, str], bool]], ...] = (
        (DIRECTORY, _is_dead_segment(kb_dir)),
        (VIEWS, _is_dead_view(repo, cutoff)),
        (signatures.DIRECTORY, _is_dead_signature(kb_dir)),
        (references.DIRECTORY, _is_dead_reference),
        (datefile.DIRECTORY, _is_dead_date(repo)),
    )
    return [path for directory, is_dead in kinds for path in _dead(os.path.join(kb_dir, directory), is_dead)]


def forget_references(kb_dir: str, dropped: set[str]) -> None:
    """Take what is known of dropped sections out of the files of references. The caller holds the lock."""
    files, _ = open_files(kb_dir)
    try:
        for file in files:
            try:
                records = dict(file.all_records())
                kept = {raw: lines for raw, lines in records.items() if kbid_text(raw) not in dropped}
                if len(kept) == len(records):
                    continue
                name = write_references(kb_dir, kept) if kept else ""
            except (DamagedSegment, ValueError):
                continue  # `git kb fsck` tells, and the next command makes it again
            if name != file.name:
                _unlink(os.path.join(kb_dir, references.DIRECTORY, file.name))
    finally:
        for file in files:
            file.close()


def remove(paths: list[str]) -> tuple[int, int]:
    """Delete files, and return how many went and their bytes. One that is in use elsewhere (on Windows) stays."""
    n = n_bytes = 0
    for path in paths:
        try:
            size = os.lstat(path).st_size
            os.unlink(path)
        except OSError:
            continue
        n, n_bytes = n + 1, n_bytes + size
    return n, n_bytes


def _dead(directory: str, is_dead: Callable[[str, str], bool]) -> Iterator[str]:
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return
    for name in names:
        path = os.path.join(directory, name)
        if os.path.isfile(path) and not os.path.islink(path) and (is_leftover(name) or is_dead(path, name)):
            yield path


def _is_dead_segment(kb_dir: str) -> Callable[[str, str], bool]:
    live = set(read_current(kb_dir))
    # Without a list, or with one of another version, who knows.
    return lambda path, name: bool(live) and is_segment_name(name) and name not in live


def _is_dead_view(repo: Repository, cutoff: int) -> Callable[[str, str], bool]:
    place = repo.place
    directory = os.path.join(place.common_dir, "worktrees")
    ids = {"", *(os.listdir(directory) if os.path.isdir(directory) else ())}
    live = {f"{kind}{'-' + id_ if id_ else ''}.kbv" for kind in ("worktree", "index") for id_ in ids}
    live |= {worktree_view_name(place, cached) for cached in (False, True)}

    def is_dead(path: str, name: str) -> bool:
        if not is_view_name(name):
            return False
        if _is_useless(lambda: View(path).file):
            return True
        if not name.startswith("tree-"):
            return name not in live
        tree = name.removeprefix("tree-").removesuffix(".kbv")
        return os.stat(path).st_mtime <= cutoff or (bool(tree) and not repo.has_object(tree))

    return is_dead


def _is_dead_signature(kb_dir: str) -> Callable[[str, str], bool]:
    live = {os.path.basename(signature_path(kb_dir, name)) for name in read_current(kb_dir)}
    return lambda path, name: signatures.is_signature_name(name) and name not in live


def _is_dead_reference(path: str, name: str) -> bool:
    return references.is_reference_name(name) and _is_useless(lambda: references.ReferenceFile(path, name).file)


def _is_dead_date(repo: Repository) -> Callable[[str, str], bool]:
    def is_dead(path: str, name: str) -> bool:
        if not datefile.is_date_name(name):
            return False
        return not repo.has_object(name.removesuffix(datefile.SUFFIX)) or _is_useless(
            lambda: PageFile(path, datefile.MAGIC, datefile.GENERATION)
        )

    return is_dead


def _is_useless(open_file: Callable[[], PageFile]) -> bool:
    """Return whether a cache is damaged or of an older version, and so is passed over. One of a later version is left to that."""
    try:
        open_file().close()
    except (DamagedSegment, OtherFeature):
        return True
    except (OSError, NewerFormat):
        return False
    return False


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass  # gone already, or (on Windows) still open; the next merge of files tries again
