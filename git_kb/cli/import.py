"""git kb import: bring an export, or another tool's knowledge base, into this one.

PATH is what 'git kb export' made (a directory or a .bundle): documents, sections and sources come back with the ids they
had (docs/format-export.md). Or it is of another kind (docs/import.md): a kb/ tree with a .kb-manifest.json, a .kbdb folder,
or rows of the tables kb_pages and kb_sources as CSV, TSV, JSON, JSON lines or SQLite (a file, or a directory of such). Each
page, document or row of those becomes a file below kb/raw/imported/<name>/ and is ingested like any source.

What is told: what came in, what could not be carried, and why. Where a file is there already and says something else, nothing is
written, unless --force is given; exit status 1. Nothing is staged or committed.
"""

from __future__ import annotations

import argparse
import os

from git_kb.cli.env import Env

TYPE_CHECKING = False
if TYPE_CHECKING:
    from git_kb.ingest.foreign import Carried
    from git_kb.ingest.intake import Taken
    from git_kb.ingest.restore import Restored
    from git_kb.store.snapshot import Snapshot

SUMMARY = "bring an export, or another tool's knowledge base, into this one"
SHOWN = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", help="what to import")
    parser.add_argument("--name", help="name below kb/raw/imported (default: that of PATH); not for exports")
    parser.add_argument("-f", "--force", action="store_true", help="overwrite what is there and says something else")
    parser.add_argument("-n", "--dry-run", action="store_true", help="say what would be done, write nothing")
    parser.add_argument("-v", "--verbose", action="store_true", help="name all that came in and all that did not")
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing but errors and warnings")
    parser.add_argument("--no-index", action="store_true", help="leave indexing to the next search")
    parser.add_argument("--json", action="store_true", help="the report as one JSON object")


def run(args: argparse.Namespace, env: Env) -> int:
    from git_kb.store.freshness import fresh_view
    from git_kb.store.state import StateName, check_root

    env.quiet = args.quiet or args.json
    check_root(env.place)
    # What the user names may be a link; what is found below is not followed.
    path = os.path.realpath(os.path.join(env.cwd, args.path))
    conflicts = _snapshot(args, env, path)
    if conflicts is None:
        conflicts = _foreign(args, env, path)
    if conflicts and not args.force:
        from git_kb.ingest.restore import Conflicts

        env.report(Conflicts(conflicts))
        return 1
    if not args.dry_run and not args.no_index:
        fresh_view(env.repo, StateName(), env.hooks("import"))
    return 0


def _snapshot(args: argparse.Namespace, env: Env, path: str) -> list[str] | None:
    """Bring an export back and return the conflicts; None when PATH is none."""
    from git_kb.cli.env import CannotRead
    from git_kb.cli.parser import BadArguments
    from git_kb.ingest.restore import restore
    from git_kb.store.bundle import is_bundle, read_bundle
    from git_kb.store.snapshot import is_snapshot, read_snapshot

    try:
        bundle = not os.path.isdir(path) and is_bundle(path)
    except OSError as e:
        raise CannotRead(args.path, e) from None
    if not bundle and not is_snapshot(path):
        return None
    if args.name:
        raise BadArguments("--name is not for exports: what they hold goes where it was")

    def work(snapshot: Snapshot) -> Restored:
        if args.dry_run:
            return restore(env.repo, snapshot, args.force, dry_run=True)
        with env.lock("import") as lock:
            return restore(env.repo, snapshot, args.force, beat=lock.refresh)

    restored = work(read_bundle(env.repo, path) if bundle else read_snapshot(path))
    _tell_restored(restored, "bundle" if bundle else "directory", args, env)
    return restored.conflicts


def _tell_restored(restored: Restored, kind: str, args: argparse.Namespace, env: Env) -> None:
    if args.json:
        from git_kb.output.jsontext import json_text

        data = {
            "kind": kind,
            "path": args.path,
            "documents": restored.documents,
            "documents_unchanged": restored.n_unchanged,
            "sources": restored.sources,
            "without_source": restored.without_source,
            "sections": restored.n_sections,
            "sections_new": restored.n_sections_new,
            "conflicts": restored.conflicts,
            "notes": restored.notes,
        }
        env.out.write(json_text(data) + "\n")
        return
    would = "would be " if args.dry_run or (restored.conflicts and not args.force) else ""
    for note in restored.notes:
        env.note(note)
    _list(env, args, "conflict", [(path, "it says something else here") for path in restored.conflicts], all_of_them=True)
    _list(env, args, "no source", [(source, "the export does not have it") for source in restored.without_source])
    env.note(
        f"documents: {len(restored.documents)} {would}imported, {restored.n_unchanged} unchanged; sources: {len(restored.sources)}"
        f" {would}written; sections: {restored.n_sections}, {restored.n_sections_new} {would}new"
    )


def _foreign(args: argparse.Namespace, env: Env, path: str) -> list[str]:
    """Take another tool's knowledge base in, and return the conflicts."""
    from git_kb.ingest.intake import take_in
    from git_kb.store.state import worktree_config

    config = worktree_config(env.place)
    carried, default_name = _read(path, args.path, config.max_file_bytes)
    from git_kb.ingest.foreign import safe_name

    name = safe_name(args.name or default_name)
    if args.dry_run:
        taken = take_in(env.repo, carried, name, config, args.force, dry_run=True)
    else:
        with env.lock("import") as lock:
            taken = take_in(env.repo, carried, name, config, args.force, beat=lock.refresh)
    _tell_taken(taken, carried, name, args, env)
    return taken.conflicts


def _read(path: str, typed: str, max_file_bytes: int) -> tuple[Carried, str]:
    """Return (what it gives, a name for it). Raises UnknownForm, DamagedImport."""
    from git_kb.ingest.foreign import DamagedImport, UnknownForm
    from git_kb.ingest.kbdb import find_kbdb, read_kbdb
    from git_kb.ingest.kbtree import find_kb_tree, read_kb_tree
    from git_kb.ingest.rows import is_sqlite, read_rows, tables_at

    name = os.path.basename(os.path.abspath(path))
    parent = os.path.basename(os.path.dirname(os.path.abspath(path)))
    try:
        if (top := find_kb_tree(path)) is not None:
            return read_kb_tree(top, max_file_bytes), parent if name == "kb" else name
        if (top := find_kbdb(path)) is not None:
            return read_kbdb(top, max_file_bytes), parent if name == ".kbdb" else name
        if os.path.isfile(path) and is_sqlite(path):
            return read_rows([path]), name.rpartition(".")[0] or name
        if tables := tables_at(path):
            return read_rows(tables), name if os.path.isdir(path) else name.rpartition(".")[0]
    except OSError as e:
        raise DamagedImport(typed, (e.strerror or str(e)).lower()) from None
    why = "it is no export, kb/ tree, .kbdb folder, or table" if os.path.isdir(path) else "it is no export, table or database"
    raise UnknownForm(typed, why)


def _tell_taken(taken: Taken, carried: Carried, name: str, args: argparse.Namespace, env: Env) -> None:
    if args.json:
        from git_kb.output.jsontext import json_text

        data = {
            "kind": carried.kind,
            "path": args.path,
            "name": name,
            "carried": [{"from": origin, "path": path, "docid": docid or None} for origin, path, docid in taken.files],
            "not_carried": [{"from": origin, "reason": why} for origin, why in taken.not_carried],
            "warnings": [{"from": origin, "warning": why} for origin, why in taken.warnings],
            "conflicts": taken.conflicts,
            "documents": taken.n_documents,
            "sections": taken.n_sections,
            "sections_new": taken.n_sections_new,
            "kbids_kept": taken.n_same,
            "kbids_changed": taken.changed,
        }
        env.out.write(json_text(data) + "\n")
        return
    would = "would be " if args.dry_run or (taken.conflicts and not args.force) else ""
    if args.verbose:
        for origin, path, _ in taken.files:
            env.note(f"{origin} -> {path}")
    _list(env, args, "conflict", [(path, "it says something else here") for path in taken.conflicts], all_of_them=True)
    _list(env, args, "", taken.warnings)
    _list(env, args, "not carried", taken.not_carried)
    ids = f"; of {taken.n_same + len(taken.changed)} kbids {taken.n_same} are the same here" if carried.kbids else ""
    env.note(
        f"{carried.kind} '{name}': {len(taken.files)} files {would}imported as {taken.n_documents} documents"
        f" with {taken.n_sections} sections, {len(taken.not_carried)} not carried{ids}"
    )


def _list(env: Env, args: argparse.Namespace, title: str, rows: list[tuple[str, str]], all_of_them: bool = False) -> None:
    """Warn of each row, of many without --verbose the first ones."""
    n_shown = len(rows) if args.verbose or all_of_them else SHOWN
    for what, why in rows[:n_shown]:
        env.warn(f"{title + ' ' if title else ''}'{what}': {why}")
    if len(rows) > n_shown:
        env.note(f"and {len(rows) - n_shown} more; --verbose names all")
