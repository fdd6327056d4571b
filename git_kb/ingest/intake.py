"""Foreign files into the knowledge base: written below `kb/raw/imported/<name>/`, then ingested as any source. docs/import.md."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from git_kb.errors import KbError
from git_kb.ingest.foreign import Carried, File
from git_kb.ingest.ingest import Options, ingest
from git_kb.ingest.restore import InTheWayOfSource, check_way, clear_leftovers, write_below
from git_kb.ingest.select import select_sources
from git_kb.model.document import docid_of_path
from git_kb.model.reference import Reference
from git_kb.model.section import decode_section
from git_kb.repo.protocol import Repository
from git_kb.repo.regular import NotRegular, read_regular
from git_kb.repo.worktree import check_ignored
from git_kb.store.config import Config
from git_kb.store.cut import Limits, cut_source
from git_kb.store.markers import markers_in
from git_kb.store.root import RAW
from git_kb.text.chunk import Unusable

IMPORTED = f"{RAW}/imported"
TIERS = ("", "S", "A", "B")


class Ignored(KbError):
    """Git ignores the place where imported files go, so they would never be tracked."""

    hint = "take kb/raw out of .gitignore"

    def __init__(self, path: str):
        self.path = path
        super().__init__(f"git ignores '{path}'")


@dataclass(slots=True)
class Taken:
    """What came in. files: (what it was, repository path, docid or "" for what is no source). changed: kbids that are no more."""

    files: list[tuple[str, str, str]] = field(default_factory=list)
    not_carried: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[tuple[str, str]] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    n_documents: int = 0
    n_sections: int = 0
    n_sections_new: int = 0
    n_same: int = 0
    changed: list[str] = field(default_factory=list)


def take_in(
    repo: Repository,
    carried: Carried,
    name: str,
    config: Config,
    force: bool = False,
    dry_run: bool = False,
    beat: Callable[[], None] = lambda: None,
) -> Taken:
    """Write and ingest what was carried, as import `name`. The caller holds the writer's lock.

    Where there are conflicts, and no `force`, nothing is written. Raises InTheWayOfSource, Ignored; then nothing was either.
    """
    place = repo.place
    taken = Taken(not_carried=list(carried.not_carried), warnings=list(carried.warnings))
    usable = list(_usable(carried, name, config, taken))
    paths = {os.fsencode(f"{IMPORTED}/{name}/{file.path}"): file for file in usable}
    if ignored := check_ignored(place, paths):
        raise Ignored(os.fsdecode(min(ignored)))
    to_write = {}
    for path, file in paths.items():
        check_way(place, path)
        try:
            same = read_regular(os.path.join(os.fsencode(place.work_tree or ""), path)) == file.data
        except FileNotFoundError:
            to_write[path] = file
            continue
        except NotRegular as e:
            raise InTheWayOfSource(os.fsdecode(path), (e.strerror or "").removeprefix("not a regular file but ")) from None
        if not same:
            taken.conflicts.append(os.fsdecode(path))
            to_write[path] = file
    taken.conflicts.sort()
    if not dry_run and (force or not taken.conflicts):
        clear_leftovers(place, to_write)
        for n, (path, file) in enumerate(sorted(to_write.items())):
            if n % 1000 == 999:
                beat()
            write_below(place, path, file.data)
        _ingest(repo, paths, config, taken, beat)
    skipped = {what for what, _ in taken.not_carried}
    for path, file in sorted(paths.items()):
        if file.origin not in skipped or file.media:
            taken.files.append((file.origin, os.fsdecode(path), "" if file.media else docid_of_path(path)))
    taken.n_documents = sum(1 for _, _, docid in taken.files if docid)
    return taken


def _usable(carried: Carried, name: str, config: Config, taken: Taken) -> Iterator[File]:
    """Yield the files that can be sources, and media; note the others, and which kbids stay."""
    limits = Limits(config.chunk_target, config.chunk_ceiling, config.detect_language)
    kept: set[str] = set()
    marked: list[tuple[str, Reference]] = []
    for file in carried.files:
        if file.media:
            yield file
            continue
        try:
            cut = cut_source(os.fsencode(f"{IMPORTED}/{name}/{file.path}"), file.data, limits)
        except Unusable as e:
            taken.not_carried.append((file.origin, e.reason))
            continue
        taken.n_sections += cut.n_sections
        kept |= cut.objects.keys()
        if carried.kbids:
            for kbid, data in cut.objects.items():
                section = decode_section(data, kbid, verify=False)
                marked += [(file.origin, marker) for marker in markers_in(section.mime, section.content)]
        taken.warnings += [(file.origin, warning) for warning in cut.source.warnings]
        yield file
    # Pictures are no sections here, which has been said.
    media = {file.path for file in carried.files if file.media}
    named = {kbid for kbid, path in carried.kbids.items() if path not in media}
    taken.n_same = len(named & kept)
    taken.changed = sorted(named - kept)
    for origin, marker in marked:
        target = marker.target.strip()
        if path := carried.docids.get(target) if marker.kind in ("document", "doc-link") else None:
            now = docid_of_path(os.fsencode(f"{IMPORTED}/{name}/{path}"))
            taken.warnings.append((origin, f"$({marker.kind}: {target}) names a document that is '{now}' here"))
        elif target in carried.kbids and target not in kept:
            where = carried.kbids[target]
            taken.warnings.append((origin, f"$({marker.kind}: {target}) names a section that has another kbid here, in '{where}'"))


def _ingest(repo: Repository, paths: dict[bytes, File], config: Config, taken: Taken, beat: Callable[[], None]) -> None:
    """Ingest the files, those of a tier at a time."""
    place = repo.place
    origins = {path: file.origin for path, file in paths.items()}
    for tier in TIERS:
        typed = [
            os.path.join(place.work_tree or "", os.fsdecode(path))
            for path, file in sorted(paths.items())
            if file.tier == tier and not file.media
        ]
        if not typed:
            continue
        selection = select_sources(place, typed, config, lambda message: None, force=bool(tier))
        summary = ingest(repo, selection, config, Options(tier=tier), beat=beat)
        taken.n_sections_new += summary.n_sections_new
        taken.not_carried += [(origins.get(path, os.fsdecode(path)), why) for path, why in summary.skipped]
