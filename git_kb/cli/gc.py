"""git kb gc: drop sections that nothing names any more.

A section stays while a manifest names it that any ref or reflog reaches (branches, tags, stashes, remote branches), that
stands in an index or in a work tree, of this or another one; and while a section that stays refers to it by a content marker.
What nothing names goes when it came in before --prune (by default gc.pruneExpire, two weeks), from the pool alone: git gc
then drops the objects. Caches in the git directory that nothing uses go too, and loose objects of the pool are packed.
Reports sections that stand under headings which their source no longer has; they stay. A sync with a pool that still has
the dropped sections brings them back. docs/gc.md has the whole.
"""

from __future__ import annotations

import argparse
from contextlib import nullcontext

from git_kb.cli.env import Env

TYPE_CHECKING = False
if TYPE_CHECKING:
    from git_kb.store.gc import Collected

SUMMARY = "drop sections that nothing names any more"
# Longer lists are for --json.
MAX_NAMED = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-n", "--dry-run", action="store_true", help="say what would be done, change nothing")
    parser.add_argument(
        "--prune", metavar="DATE", help="drop what came in before then; 'now' drops all, 'never' nothing (default: gc.pruneExpire)"
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="name every section that goes")
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing but errors and warnings")
    parser.add_argument("--json", action="store_true", help="the outcome as one JSON object")


def run(args: argparse.Namespace, env: Env) -> int:
    import time

    from git_kb.store.gc import collect, expiry
    from git_kb.store.tidy import forget_references, remove, unused_caches

    env.quiet = args.quiet or args.json
    start = time.monotonic()
    prune = expiry(env.place, args.prune)
    with nullcontext() if args.dry_run else env.lock("gc") as lock:
        done = collect(env.repo, prune, args.dry_run, lock.refresh if lock else lambda: None)
        unused = unused_caches(env.repo, prune[1])
        caches = _sizes(unused)
        if not args.dry_run:
            forget_references(env.place.kb_dir, set(done.dropped))
            caches = remove(unused)
    stale = _stale(env)
    if args.json:
        from git_kb.output.jsontext import json_text

        data = {
            "dry_run": args.dry_run,
            "removed_sections": len(done.dropped),
            "removed_bytes": done.n_bytes,
            "removed": done.dropped,
            "on_remotes": done.n_on_remotes,
            "kept": done.n_named,
            "recent": done.n_recent,
            "manifests": done.n_manifests,
            "commit": done.commit,
            "packed_objects": done.n_packed,
            "removed_caches": caches[0],
            "removed_cache_bytes": caches[1],
            "stale_sources": sum(map(len, stale.values())),
            "stale": [{"source": source, "headings": headings} for source, headings in stale.items()],
            "elapsed_ms": round(1000 * (time.monotonic() - start)),
        }
        env.out.write(json_text(data) + "\n")
        return 0
    _report(done, caches, stale, args, env)
    return 0


def _stale(env: Env) -> dict[str, list[str]]:
    from git_kb.repo.protocol import UnknownRevision
    from git_kb.store.root import NoKnowledgeBase
    from git_kb.store.staleness import lost_headings
    from git_kb.store.state import default_state

    try:
        return lost_headings(env.repo, default_state(env.place, None, False), env.warn)
    except (NoKnowledgeBase, UnknownRevision):
        # A server has a pool, and perhaps no knowledge base on its first branch.
        return {}


def _sizes(paths: list[str]) -> tuple[int, int]:
    import os

    return len(paths), sum(os.lstat(path).st_size for path in paths if os.path.lexists(path))


def _report(done: Collected, caches: tuple[int, int], stale: dict[str, list[str]], args: argparse.Namespace, env: Env) -> None:
    would = "would be dropped" if args.dry_run else "dropped"
    env.note(f"sections: {len(done.dropped)} {would} ({_size(done.n_bytes)}), {done.n_named} kept, {done.n_recent} too new to drop")
    if args.verbose:
        for kbid in done.dropped:
            env.note(f"  {kbid}")
    if done.n_on_remotes:
        env.note(f"  {done.n_on_remotes} of them were on a remote when last synced: the next 'git kb sync' brings those back")
    if done.n_packed:
        env.note(f"objects: {done.n_packed} packed")
    if caches[0]:
        env.note(f"caches: {caches[0]} file{'s' * (caches[0] != 1)} {would} ({_size(caches[1])})")
    if stale:
        n = sum(map(len, stale.values()))
        env.note(f"stale: {n} section{'s' * (n != 1)} under headings that their source no longer has (use 'git kb ingest'):")
        for source, headings in list(stale.items())[:MAX_NAMED]:
            env.note(f"  {source}: {', '.join(h or '(no heading)' for h in headings)}")
        if len(stale) > MAX_NAMED:
            env.note(f"  and {len(stale) - MAX_NAMED} more sources; --json names all")


def _size(n_bytes: int) -> str:
    return (
        f"{n_bytes} bytes"
        if n_bytes < 10_000
        else f"{n_bytes / 1000:.1f} kB"
        if n_bytes < 10_000_000
        else f"{n_bytes / 1e6:.1f} MB"
    )
