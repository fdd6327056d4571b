"""git kb export: write a self-contained snapshot of the knowledge base.

PATH becomes a directory with manifests, sections and sources (docs/format-export.md): the same state gives the same
bytes everywhere. A PATH that ends in .bundle becomes a git bundle of a commit (HEAD, or that of --at) and of refs/kb/sections.
'git kb import' brings both back. Nothing is overwritten.
"""

from __future__ import annotations

import argparse
import os

from git_kb.cli.env import Env

SUMMARY = "write a self-contained snapshot of the knowledge base"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from git_kb.cli.parser import add_view_arguments

    add_view_arguments(parser)
    parser.add_argument("path", help="directory or .bundle file to make")
    parser.add_argument("--no-sources", action="store_true", help="leave the sources out; manifests have their blob ids")
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing but errors and warnings")
    parser.add_argument("--json", action="store_true", help="what was written, as one JSON object")
    parser.add_argument("--progress", action=argparse.BooleanOptionalAction, default=None, help="show progress on standard error")


def run(args: argparse.Namespace, env: Env) -> int:
    from git_kb.cli.parser import BadArguments
    from git_kb.store.bundle import SUFFIX
    from git_kb.store.state import default_state

    env.quiet = args.quiet or args.json
    started_s = env.now()
    path = os.path.join(env.cwd, args.path)
    if not args.path.strip("/"):
        raise BadArguments("the path is empty")
    path = path.rstrip("/")
    data: dict[str, object] = {"path": args.path}
    if path.endswith(SUFFIX):
        if args.cached or args.no_sources:
            raise BadArguments(f"a bundle holds commits: {'--cached' if args.cached else '--no-sources'} is for a directory")
        data |= _bundle(args, env, path)
    else:
        data |= _directory(args, env, path, default_state(env.place, args.at, args.cached))
    if args.json:
        from git_kb.output.jsontext import json_text

        env.out.write(json_text({**data, "elapsed_ms": round((env.now() - started_s) * 1000)}) + "\n")
    return 0


def _bundle(args: argparse.Namespace, env: Env, path: str) -> dict[str, object]:
    from git_kb.store.bundle import write_bundle
    from git_kb.store.pool import Pool
    from git_kb.store.state import default_state

    rev = default_state(env.place, args.at, False).rev or "HEAD"
    n_documents, size = write_bundle(env.repo, rev, path)
    n_sections = len(Pool(env.repo))
    env.note(f"exported {n_documents} documents of '{rev}' and {n_sections} sections as a bundle of {size} bytes")
    return {"kind": "bundle", "sections_exported": n_sections, "documents_exported": n_documents}


def _directory(args: argparse.Namespace, env: Env, path: str, state: object) -> dict[str, object]:
    from git_kb.cli.progress import Progress
    from git_kb.store.snapshot import write_snapshot
    from git_kb.store.state import StateName

    assert isinstance(state, StateName)
    progress = Progress(env, args.progress)
    written = write_snapshot(env.repo, state, path, not args.no_sources, progress)
    progress.clear()
    for source in written.without_source[:10]:
        env.warn(f"source '{source}' is not at hand as it was ingested; its sections are exported")
    if len(written.without_source) > 10:
        env.warn(f"and {len(written.without_source) - 10} more sources")
    env.note(f"exported {written.n_documents} documents, {written.n_sections} sections and {written.n_sources} sources of {state}")
    return {
        "kind": "directory",
        "sections_exported": written.n_sections,
        "documents_exported": written.n_documents,
        "sources_exported": written.n_sources,
        "without_source": written.without_source,
    }
