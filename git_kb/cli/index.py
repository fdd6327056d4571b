"""git kb index: bring the index up to date.

Searches do this by themselves; hooks and scripts call it to have it done before. The index is a cache under
the git directory: --rebuild drops it and makes it again from the pool, or from the sources where the pool
lacks a section.
"""

from __future__ import annotations

import argparse

from git_kb.cli.env import Env

SUMMARY = "bring the index up to date"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from git_kb.cli.parser import add_jobs_argument, add_view_arguments

    add_view_arguments(parser)
    parser.add_argument("--rebuild", action="store_true", help="drop all segments and make them again")
    add_jobs_argument(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing but errors and warnings")
    parser.add_argument("--progress", action=argparse.BooleanOptionalAction, default=None, help="show progress on standard error")


def run(args: argparse.Namespace, env: Env) -> int:
    from git_kb.cli.progress import Progress
    from git_kb.store.freshness import fresh_view
    from git_kb.store.state import default_state

    env.quiet = args.quiet
    progress = Progress(env, args.progress)
    state = default_state(env.place, args.at, args.cached)
    view, segments = fresh_view(env.repo, state, env.hooks("index", progress, args.jobs), rebuild=args.rebuild)
    progress.clear()
    n_segments = len(segments.segments)
    env.note(
        f"{view.n_live} sections of {view.n_documents} documents are indexed, in {n_segments} segment{'s' * (n_segments != 1)}"
    )
    return 1 if view.n_missing else 0
