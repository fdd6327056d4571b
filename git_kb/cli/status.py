"""git kb status: count what there is, and say what is stale, gone or not indexed."""

from __future__ import annotations

import argparse
import os

from git_kb.cli.env import Env

SUMMARY = "counts, and what is stale, gone or not indexed"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from git_kb.cli.parser import add_view_arguments

    add_view_arguments(parser)
    parser.add_argument("--json", action="store_true", help="one JSON document")


def run(args: argparse.Namespace, env: Env) -> int:
    from git_kb.store.freshness import read_view
    from git_kb.store.pool import Pool
    from git_kb.store.staleness import stale_sources
    from git_kb.store.state import default_state

    state = default_state(env.place, args.at, args.cached)
    view, segments = read_view(env.repo, state, env.hooks("status"))
    stale, gone = stale_sources(env.repo, state, view.documents())
    pool = Pool(env.repo)
    kb_dir = env.place.kb_dir
    data: dict[str, object] = {
        "root": env.place.work_tree or env.place.git_dir,
        "state": str(state),
        "documents": view.n_documents,
        "sections": view.n_rows,
        "stale": stale,
        "gone": gone,
        "not_indexed": view.n_missing,
        "pool": {"sections": len(pool), "commit": pool.commit},
        "index": {"segments": len(segments.segments), "entries": segments.n_entries, "size_bytes": _size(kb_dir)},
        "damaged_segments": [name for name, _ in segments.damaged],
    }
    if args.json:
        import json

        env.out.write(json.dumps(data, ensure_ascii=False, indent=1) + "\n")
        return 0
    from git_kb.output.terminal import visible, visible_line

    n_segments = len(segments.segments)
    lines = [
        f"knowledge base in {data['root']}, {state}",
        f"  {view.n_documents} documents, {view.n_rows} sections",
        f"  pool: {len(pool)} sections",
        f"  index: {segments.n_entries} entries in {n_segments} segment{'s' * (n_segments != 1)}, {_size(kb_dir) / 1e6:.1f} MB",
    ]
    if view.n_missing:
        lines.append(f"  {view.n_missing} sections are not indexed yet; the next search does it, or 'git kb index'")
    for title, names, advice in (
        ("changed since they were ingested", stale, "git kb ingest"),
        ("gone", gone, "git kb ingest --prune"),
    ):
        if names:
            lines += ["", f"sources {title} (use '{advice}'):", *(f"\t{visible_line(n)}" for n in names)]
    if not stale and not gone:
        lines.append("  every document is as its source is")
    env.out.write(visible("\n".join(lines)) + "\n")
    return 0


def _size(directory: str) -> int:
    return sum(os.lstat(os.path.join(top, name)).st_size for top, _, names in os.walk(directory) for name in names)
