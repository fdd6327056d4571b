"""What `git kb fsck --repair` does: makes again what follows from the sources, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterator

from git_kb.errors import NewerFormat
from git_kb.ingest.ingest import Options, ingest
from git_kb.ingest.select import NoSuchSource, Selection, select_sources
from git_kb.model.document import docid_of_path
from git_kb.model.source import path_of_source
from git_kb.repo.process import GitFailed
from git_kb.repo.protocol import Repository
from git_kb.repo.regular import read_regular
from git_kb.repo.worktree import list_sources
from git_kb.store.again import Origin, cut_again
from git_kb.store.check import Finding, missing_sections
from git_kb.store.config import BadConfig, Config
from git_kb.store.documents import Documents, decode_manifest, worktree_documents
from git_kb.store.freshness import Hooks, fresh_view
from git_kb.store.manifest import SUFFIX, DamagedManifest, parse_manifest, read_origin
from git_kb.store.pool import Pool, PoolWriter
from git_kb.store.reachable import all_manifests
from git_kb.store.root import DOCUMENTS
from git_kb.store.state import StateName, open_documents, worktree_config

OF_MANIFESTS = ("damaged_manifest", "wrong_tiling", "wrong_range", "wrong_key")
OF_THE_INDEX = ("damaged_segment", "damaged_view", "damaged_references", "damaged_signatures", "damaged_dates", "odd_file")


def repair(repo: Repository, state: StateName, findings: list[Finding], hooks: Hooks, dry_run: bool = False) -> list[Finding]:
    """Mend what can be mended, and return what was, or with `dry_run` would be: kind and entity of the finding, how it was done.

    Manifests first: what they say then is what the pool has to have.
    """
    done: list[Finding] = []
    is_work_tree = not state.rev and not state.cached and repo.place.work_tree is not None
    if is_work_tree and (wrong := [f for f in findings if f.kind in OF_MANIFESTS]):
        done += _mend_manifests(repo, wrong, hooks, dry_run)
    damaged = {f.entity for f in findings if f.kind == "checksum_mismatch"}
    if damaged or any(f.kind == "orphan_document" for f in findings):
        done += _mend_pool(repo, state, damaged, hooks, dry_run)
    if wrong := [f for f in findings if f.kind in OF_THE_INDEX]:
        if not dry_run:
            fresh_view(repo, state, hooks, rebuild=True)
        done += [Finding(f.kind, f.entity, "the index is made anew") for f in wrong]
    return done


def _mend_pool(repo: Repository, state: StateName, damaged: set[str], hooks: Hooks, dry_run: bool) -> Iterator[Finding]:
    """Put sections that are damaged, or that documents of the state name and the pool lacks, back from their sources."""
    wanted = damaged | missing_sections(repo, state)
    sources: dict[str, str] = {}
    objects: dict[str, bytes] = {}
    for origins in (_origins_of_state(repo, state), _origins_in_history(repo, hooks)):
        left = wanted - objects.keys()
        if not left:
            break
        for source, blob, kbids in origins:
            if here := kbids & (wanted - objects.keys()):
                for made in cut_again(repo, [(source, blob, here)]):
                    objects.update(made)
                    sources.update(dict.fromkeys(made, source))
    if objects and not dry_run:
        with hooks.lock():
            writer = PoolWriter(Pool(repo))
            for kbid in sorted(objects):
                writer.add(kbid, objects[kbid])
            n = len(objects)
            writer.commit(f"repair {n} section{'s' * (n != 1)}\n\nKb-Operation: fsck\n")
    for kbid in sorted(objects):
        kind = "checksum_mismatch" if kbid in damaged else "orphan_document"
        yield Finding(kind, kbid, f"made again from '{sources[kbid]}'")


def _origins_of_state(repo: Repository, state: StateName) -> Iterator[Origin]:
    documents = open_documents(repo, state, lambda error: None)
    for manifest in documents.load_all(lambda message: None):
        yield manifest.source, manifest.blob, {row.kbid for row in manifest.sections}


def _origins_in_history(repo: Repository, hooks: Hooks) -> Iterator[Origin]:
    """Yield where sections stood in any manifest that the repository has."""
    try:
        for name, data in all_manifests(repo):
            try:
                manifest = parse_manifest(decode_manifest(data, name), name)
            except (DamagedManifest, NewerFormat):
                continue
            yield manifest.source, manifest.blob, {row.kbid for row in manifest.sections}
    except GitFailed as e:
        hooks.warn(f"history cannot be walked for older sources: {e}")


def _mend_manifests(repo: Repository, findings: list[Finding], hooks: Hooks, dry_run: bool) -> Iterator[Finding]:
    """Write manifests again from their sources, as ingest would."""
    place = repo.place
    try:
        config = worktree_config(place)
    except BadConfig as e:
        hooks.warn(f"manifests are left: {e}")
        return
    documents = worktree_documents(place)
    wrong = {f.entity.removesuffix(SUFFIX): f for f in findings}
    paths = _paths_of(repo, documents, wrong, hooks)
    selection = _select(repo, paths, config, hooks)
    kept = _keep_old(repo, [f.entity for f in findings if f.kind == "damaged_manifest"], dry_run)
    with hooks.lock():
        summary = ingest(repo, selection, config, Options(force=True, dry_run=dry_run))
    for path, why in summary.skipped:
        hooks.warn(f"manifest of '{os.fsdecode(path)}' is left: {why}")
    for path in sorted({*summary.new, *summary.changed}):
        finding = wrong[docid_of_path(path)]
        old = f"; what it said is kept as blob {kept[finding.entity]}" if finding.entity in kept else ""
        yield Finding(finding.kind, finding.entity, f"written again from '{os.fsdecode(path)}'{old}")


def _select(repo: Repository, paths: dict[str, bytes], config: Config, hooks: Hooks) -> Selection:
    """Return what ingesting these sources, by docid, has to do."""
    typed = {docid: os.path.join(repo.place.work_tree or "", os.fsdecode(path)) for docid, path in sorted(paths.items())}

    def select(names: list[str]) -> Selection:
        return select_sources(repo.place, names, config, lambda message: None, force=True)

    try:
        selection = select(list(typed.values()))
    except NoSuchSource:
        # One that is gone, or ignored, must not keep the others from being mended.
        selection = Selection()
        for docid, name in typed.items():
            try:
                one = select([name])
            except NoSuchSource as e:
                hooks.warn(f"manifest '{docid}{SUFFIX}' is left: {e}")
                continue
            selection.work += one.work
            selection.skipped += one.skipped
    # A link stands for what it points to, which has a manifest of its own.
    selection.work = [source for source in selection.work if docid_of_path(source.path) in paths]
    return selection


def _paths_of(repo: Repository, documents: Documents, wrong: dict[str, Finding], hooks: Hooks) -> dict[str, bytes]:
    """Return docid -> path of the source, of those that have one in the work tree."""
    found: dict[str, bytes] = {}
    for name, data in documents.read([docid + SUFFIX for docid in wrong]):
        docid = name.removesuffix(SUFFIX)
        origin = read_origin(data)
        path = path_of_source(origin[0]) if origin else None
        # A manifest of another document's name would have its source ingested in vain.
        if path is not None and docid_of_path(path) == docid:
            found[docid] = path
    if wrong.keys() - found.keys():
        for file in list_sources(repo.place):
            docid = docid_of_path(file.path)
            if docid in wrong:
                found.setdefault(docid, file.path)
    for docid in sorted(wrong.keys() - found.keys()):
        hooks.warn(f"manifest '{docid}{SUFFIX}' is left: no source of that name is here")
    return found


def _keep_old(repo: Repository, names: list[str], dry_run: bool) -> dict[str, str]:
    """Store the bytes of manifests that cannot be read, since nobody knows what they held. Returns file name -> blob id."""
    kept = {}
    for name in names:
        try:
            data = read_regular(os.path.join(repo.place.work_tree or "", DOCUMENTS, name))
        except OSError:
            continue
        if data and not dry_run:
            kept[name] = repo.write_blob(data)
    return kept
