"""git kb status: count what there is, and say what is stale, gone or not indexed.

Sections are counted wherever they stand, without front matter, which 'git kb ls-sections' lists too. The pool has each
once, those of other revisions included; the index has one entry for each section under each heading.
Of a directory in which nothing is ingested, only its name is listed; --json names all sources.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable

from git_kb.cli.env import Env

# Longer lists are for --json.
MAX_NAMED = 100
SUMMARY = "counts, and what is stale, gone or not indexed"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from git_kb.cli.parser import add_view_arguments

    add_view_arguments(parser)
    parser.add_argument(
        "--exit-code", action="store_true", help="exit with 1 when a document is not as its source is, or cannot be read"
    )
    parser.add_argument("--json", action="store_true", help="one JSON document")


def run(args: argparse.Namespace, env: Env) -> int:
    from git_kb.ingest.select import new_sources
    from git_kb.model.source import source_of_path
    from git_kb.store.drivers import unconfigured_drivers
    from git_kb.store.freshness import read_view
    from git_kb.store.pool import Pool
    from git_kb.store.staleness import stale_sources
    from git_kb.store.state import default_state, worktree_config

    state = default_state(env.place, args.at, args.cached)
    view, segments = read_view(env.repo, state, env.hooks("status"))
    stale, gone = stale_sources(env.repo, state, view.documents())
    new: list[str] = []
    if not state.rev and not state.cached:
        new = [source_of_path(p) for p in new_sources(env.place, worktree_config(env.place), {d.docid for d in view.documents()})]
    drivers = unconfigured_drivers(env.place) if env.place.work_tree is not None else []
    pool = Pool(env.repo)
    remote = _remote(env)
    kb_dir = env.place.kb_dir
    data: dict[str, object] = {
        "root": env.place.work_tree or env.place.git_dir,
        "state": str(state),
        "documents": view.n_documents,
        "sections": view.n_rows,
        "stale": stale,
        "gone": gone,
        "new": new,
        "not_indexed": view.n_missing,
        "pool": {"sections": len(pool), "commit": pool.commit, "remote": remote},
        "index": {"segments": len(segments.segments), "entries": segments.n_entries, "size_bytes": _size(kb_dir)},
        "damaged_segments": [name for name, _ in segments.damaged],
        "unconfigured_drivers": drivers,
    }
    code = 1 if args.exit_code and (stale or gone or env.n_warnings) else 0
    if args.json:
        from git_kb.output.jsontext import json_text

        env.out.write(json_text(data, indent=1) + "\n")
        return code
    from git_kb.output.terminal import visible, visible_line

    n_segments = len(segments.segments)
    lines = [
        f"knowledge base in {data['root']}, {state}",
        f"  {view.n_documents} document{'s' * (view.n_documents != 1)}, {view.n_rows} section{'s' * (view.n_rows != 1)}",
        f"  pool: {len(pool)} sections",
        *_of_remote(remote),
        f"  index: {segments.n_entries} entries in {n_segments} segment{'s' * (n_segments != 1)}, {_size(kb_dir) / 1e6:.1f} MB",
    ]
    if view.n_missing:
        lines.append(f"  {view.n_missing} sections are not indexed yet; the next search does it, or 'git kb index'")
    if drivers:
        lines.append(f"  .gitattributes names merge drivers that this clone lacks ({', '.join(drivers)}); run 'git kb init'")
    for title, names, advice in (
        ("changed since they were ingested", stale, "git kb ingest"),
        ("gone", gone, "git kb ingest --prune"),
        ("not ingested yet", by_directory(new, (d.source for d in view.documents())), "git kb ingest"),
    ):
        if names:
            lines += ["", f"sources {title} (use '{advice}'):", *(f"\t{visible_line(n)}" for n in names[:MAX_NAMED])]
        if len(names) > MAX_NAMED:
            lines.append(f"\tand {len(names) - MAX_NAMED} more")
    if not stale and not gone and not env.n_warnings:
        lines.append("  every document is as its source is")
    env.out.write(visible("\n".join(lines)) + "\n")
    return code


def _remote(env: Env) -> dict[str, object] | None:
    """Return how our pool and that of the default remote differ as of the last sync; None without a remote."""
    from git_kb.repo.remotes import NoRemote, default_remote
    from git_kb.store.sync import known_differences

    try:
        name = default_remote(env.place)
    except NoRemote:
        return None
    known = known_differences(env.repo, name)
    return {"name": name, "ahead": known[0] if known else None, "behind": known[1] if known else None}


def _of_remote(remote: dict[str, object] | None) -> list[str]:
    if remote is None:
        return []
    name, ahead, behind = remote["name"], remote["ahead"], remote["behind"]
    if ahead is None:
        return [f"    not synced with '{name}' yet (use 'git kb sync')"]
    if not ahead and not behind:
        return [f"    the same as that of '{name}' when last synced"]
    parts = [f"{n} {where} '{name}'" for n, where in ((ahead, "not on"), (behind, "only on")) if n]
    return [f"    {', '.join(parts)}, when last synced (use 'git kb sync')"]


def by_directory(new: list[str], known: Iterable[str]) -> list[str]:
    """Return `new` sources with, in place of those below a directory that has no document, the directory and a slash.

    known: the sources of all documents.
    """
    held = {source[:at] for source in known for at in _slashes(source)}
    return list(dict.fromkeys(next((s[: at + 1] for at in _slashes(s) if s[:at] not in held), s) for s in new))


def _slashes(source: str) -> list[int]:
    return [at for at, char in enumerate(source) if char == "/"]


def _size(directory: str) -> int:
    return sum(os.lstat(os.path.join(top, name)).st_size for top, _, names in os.walk(directory) for name in names)
