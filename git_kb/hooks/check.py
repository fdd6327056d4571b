"""What the pre-commit hook finds in the staged state: sources whose manifest is of another version, and faults in staged manifests.

Only what the commit changes is looked at. Nothing is staged, ever: with `git commit -- path`, what a hook stages goes into the
commit but not into the index, where it then looks deleted.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from git_kb.errors import KbError, NewerFormat
from git_kb.hooks.staged import Staged, staged_config
from git_kb.model.document import Manifest, docid_of_path
from git_kb.model.source import path_of_source, source_of_path
from git_kb.repo.process import git_at
from git_kb.repo.protocol import DIRECTORY, Repository
from git_kb.repo.worktree import LITERAL
from git_kb.store.check import Finding, check_manifest
from git_kb.store.config import BadConfig, Config, parse_config
from git_kb.store.documents import Documents, decode_manifest
from git_kb.store.manifest import SUFFIX, DamagedManifest, parse_manifest
from git_kb.store.pool import Pool
from git_kb.store.root import CATALOG, CONFIG, DOCUMENTS, NoKnowledgeBase
from git_kb.store.state import StateName, open_documents

# What stops a commit. The rest is said, and stops it with kb.hookStrict alone: a manifest that is behind its source is no fault,
# as the commit may be one of many.
STOPPING = frozenset(("damaged_catalog", "damaged_config", "damaged_manifest", "wrong_tiling", "wrong_key"))
# Manifests that one commit has looked into: the rest of a first import is for fsck.
MAX_MANIFESTS = 2_000
# New files that are looked into, whether they can be sources.
MAX_NEW = 200
_DOCUMENTS = os.fsencode(DOCUMENTS) + b"/"


@dataclass(slots=True)
class Report:
    """What was found. Sources as manifests name them.

    outdated: the manifest is of another version than the staged file. not_staged: so is a staged manifest, of a file that this
    commit leaves as it is. gone: the file is no longer in the index. missing: new files without a manifest. n_unchecked:
    manifests beyond MAX_MANIFESTS.
    """

    outdated: list[str] = field(default_factory=list)
    not_staged: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    n_unchecked: int = 0

    def __bool__(self) -> bool:
        return bool(self.outdated or self.not_staged or self.gone or self.missing or self.findings)

    def stops(self, strict: bool) -> bool:
        """Return whether the commit should not be made. `strict`: anything stops it."""
        return bool(self) if strict else any(f.kind in STOPPING for f in self.findings)


@dataclass(slots=True)
class StagedState:
    """What a check may look at. manifests: file name -> manifest, of those that this commit changes and that can be read."""

    repo: Repository
    pool: Pool
    changes: list[Staged]
    documents: Documents
    config: Config
    manifests: dict[str, Manifest]


def _manifests(state: StagedState) -> Iterator[Finding]:
    """Yield what `git kb fsck` finds in each manifest. That a clone which has no pool yet lacks all sections is no finding."""
    for manifest in state.manifests.values():
        for finding in check_manifest(state.repo, state.pool, manifest):
            if finding.kind != "orphan_document" or state.pool.commit:
                yield finding


# More checks of the staged state go here.
CHECKS: tuple[Callable[[StagedState], Iterable[Finding]], ...] = (_manifests,)


def check_staged(repo: Repository, changes: list[Staged], wanted: Callable[[Config, str], bool]) -> Report:
    """Return what there is to say of a commit of these changes. `wanted`: does the configuration take a path for a source?"""
    report = Report()
    config = _config(repo, changes, report)
    try:
        documents = open_documents(repo, StateName(cached=True), lambda e: report.findings.append(_fault(CATALOG, e)))
    except NoKnowledgeBase:
        return report
    except KbError as e:
        report.findings.append(_fault(CATALOG, e))
        return report
    staged = [_manifest_name(c.path) for c in changes if c.new and c.path.startswith(_DOCUMENTS)]
    names = [name for name in staged if name in documents.stamps]
    report.n_unchecked = max(0, len(names) - MAX_MANIFESTS)
    names = names[:MAX_MANIFESTS]
    state = StagedState(repo, Pool(repo), changes, documents, config, {})
    state.manifests = _read(documents, names, report)
    behind = {name: c for name, c in _of_changed_sources(changes) if name in documents.stamps and name not in staged}
    damaged = Report()
    _compare(state, {**state.manifests, **_read(documents, list(behind), damaged)}, report)
    # What cannot be read does not say what the file says either.
    damaged_names = [f.entity.rpartition("/")[2] for f in damaged.findings if f.kind == "damaged_manifest"]
    report.outdated += [source_of_path(behind[name].path) for name in damaged_names if behind[name].new]
    report.missing = _missing(state, wanted)
    for check in CHECKS:
        report.findings += check(state)
    return report


def _config(repo: Repository, changes: list[Staged], report: Report) -> Config:
    data = staged_config(repo.place)
    try:
        return parse_config(data) if data else Config()
    except BadConfig as e:
        # One that was there before is no news; fsck has it.
        if any(c.path == CONFIG.encode() for c in changes):
            report.findings.append(Finding("damaged_config", CONFIG, str(e)))
        return Config()


def _fault(entity: str, error: KbError) -> Finding:
    """Return the finding for what cannot be read. What a later git-kb wrote is sound."""
    kind = "newer_format" if isinstance(error, NewerFormat) else "damaged_catalog" if entity == CATALOG else "damaged_manifest"
    return Finding(kind, entity, str(error))


def _manifest_name(path: bytes) -> str:
    return os.fsdecode(path[len(_DOCUMENTS) :])


def _of_changed_sources(changes: list[Staged]) -> Iterator[tuple[str, Staged]]:
    """Yield (name of its manifest, change) for each changed file."""
    return ((docid_of_path(c.path) + SUFFIX, c) for c in changes if not c.path.startswith(_DOCUMENTS))


def _read(documents: Documents, names: list[str], report: Report) -> dict[str, Manifest]:
    """Return the manifests of these names. What cannot be read goes to the report's findings."""
    found = {}
    for name, data in documents.read(names):
        try:
            found[name] = parse_manifest(decode_manifest(data, name), name)
        except (DamagedManifest, NewerFormat) as e:
            report.findings.append(_fault(f"{DOCUMENTS}/{name}", e))
    return found


def _compare(state: StagedState, manifests: dict[str, Manifest], report: Report) -> None:
    """Compare what manifests say of their sources with the index. URLs, and files that git never had, have no say."""
    changed = {c.path: c for c in state.changes}
    paths = {m.source: path for m in manifests.values() if (path := path_of_source(m.source)) is not None}
    unchanged = _blobs(state.repo, [p for p in paths.values() if p not in changed])
    for manifest in manifests.values():
        path = paths.get(manifest.source)
        if path is None:
            continue
        change = changed.get(path)
        blob = change.new if change else unchanged.get(path)
        if blob == manifest.blob:
            continue
        if change is None:
            # An ignored file that was named on the command line is not in the index, and its manifest is as good as any.
            if blob is not None:
                report.not_staged.append(manifest.source)
        elif blob == "":
            report.gone.append(manifest.source)
        else:
            report.outdated.append(manifest.source)
    for names in (report.not_staged, report.gone, report.outdated):
        names.sort()


def _blobs(repo: Repository, paths: list[bytes]) -> dict[bytes, str]:
    """Return path -> blob in the index, of those that it has."""
    few = [os.fsdecode(p) for p in paths] if len(paths) <= MAX_NEW else []
    if not paths:
        return {}
    _, out = git_at(repo.place, ["ls-files", "-s", "-z", "--", *few], env=LITERAL)
    wanted, found = set(paths), {}
    for row in out.split(b"\0")[:-1]:
        head, _, path = row.partition(b"\t")
        if path in wanted:
            found[path] = head.split(b" ")[1].decode()
    return found


def _missing(state: StagedState, wanted: Callable[[Config, str], bool]) -> list[str]:
    """Return new files that an ingest would take, where files beside them have been ingested before."""
    names = sorted(state.documents.stamps)
    new = []
    for change in state.changes:
        if change.old or not change.is_file or docid_of_path(change.path) + SUFFIX in state.documents.stamps:
            continue
        if wanted(state.config, change.path.decode("utf-8", "surrogateescape")) and _is_ingested(state, change.path, names):
            new.append(change)
    usable = new if len(new) > MAX_NEW else [c for c in new if _is_usable(state, c)]
    return sorted(source_of_path(c.path) for c in usable)


def _is_ingested(state: StagedState, path: bytes, names: list[str]) -> bool:
    """Return whether the nearest directory of a path that HEAD has is one from which something has been ingested.

    Of other directories somebody has decided that they give no documents; a new one is as the one it is in.
    """
    directory = os.path.dirname(path)
    while directory and not _had_directory(state.repo, directory):
        directory = os.path.dirname(directory)
    if not directory:
        return any("--" not in name for name in names)
    # The docid of a file in it, without the file.
    prefix = docid_of_path(directory + b"/x").rpartition("--x")[0] + "--"
    at = bisect_left(names, prefix)
    return at < len(names) and names[at].startswith(prefix)


def _had_directory(repo: Repository, directory: bytes) -> bool:
    if repo.read_ref("HEAD") is None:
        return False
    entry = repo.entry_at(repo.tree_of("HEAD"), directory)
    return entry is not None and entry.mode == DIRECTORY


def _is_usable(state: StagedState, change: Staged) -> bool:
    # The cutters take long to load, and new files are few.
    from git_kb.text.chunk import why_unusable

    data = state.repo.read_blob(change.new)
    return len(data) <= state.config.max_file_bytes and not why_unusable(os.fsdecode(change.path), data)
