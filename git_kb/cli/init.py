"""git kb init: make a knowledge base in this repository.

Writes kb.config.json, kb/catalog.toml, kb/AGENTS.md and a marked block in .gitattributes into the work
tree, and the merge drivers that the block names into this clone's own configuration (.git/config). What is
there already is left as it is, so that running it again is harmless. Nothing is staged or committed.
With --ci, also a job that checks the knowledge base on a CI server; where its file is there already, the
job is printed instead, and the exit status is 1.

Files are shared by git, configuration is not: run it in each clone. Without it git merges manifests and pages as text.
"""

from __future__ import annotations

import argparse
import os

from git_kb.cli.env import Env

SUMMARY = "make a knowledge base in this repository"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", help="name of the knowledge base (default: that of the directory)")
    parser.add_argument("--check", action="store_true", help="write nothing; say what is missing, and end with 1 if anything is")
    parser.add_argument(
        "--ci",
        choices=["github", "gitlab"],
        help="also write a job that checks the knowledge base (docs/ci.md); no file is overwritten",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing but errors")


def run(args: argparse.Namespace, env: Env) -> int:
    from git_kb.store.create import create_root, is_left_out, missing_files
    from git_kb.store.drivers import install_drivers, missing_drivers

    env.quiet = args.quiet
    if args.check:
        return _say_missing([*missing_files(env.place), *(f"{key} in .git/config" for key in missing_drivers(env.place))], env)
    written = create_root(env.place, args.name, env.now())
    installed = install_drivers(env.place)
    where = os.path.join(env.place.work_tree or "", "kb")
    if not written:
        env.note(f"knowledge base in {where} is complete already; {'set its merge drivers' if installed else 'nothing to do'}")
        return _write_job(args.ci, env)
    env.note(
        f"knowledge base in {where}: wrote {', '.join(written)}" + ("; set the merge drivers of this clone" if installed else "")
    )
    if os.path.isdir(os.path.join(env.place.work_tree or "", ".obsidian")):
        env.note("this is an Obsidian vault: notes are ingested like any Markdown, .obsidian/ is left alone")
    if is_left_out(env.place):
        env.warn("kb/ is outside of this sparse checkout, so 'git add' refuses it; 'git sparse-checkout add kb' brings it in")
    env.note("next: git kb ingest <path>...; then git add kb kb.config.json .gitattributes && git commit")
    return _write_job(args.ci, env)


def _write_job(server: str | None, env: Env) -> int:
    """Write the job for a CI server, if one is asked for. One that is in the way stays, and ours is printed."""
    from git_kb.store.ci import ForeignJob, write_job

    if server is None:
        return 0
    try:
        written = write_job(env.place, server)
    except ForeignJob as e:
        env.report(e)
        env.out.write(e.text)
        return 1
    env.note(f"the job for {server}: wrote {written}" if written else f"the job for {server} is there already")
    return 0


def _say_missing(missing: list[str], env: Env) -> int:
    from git_kb.output.terminal import visible_line

    for what in missing:
        env.out.write(visible_line(f"missing or not up to date: {what}") + "\n")
    if missing:
        env.note("run 'git kb init'")
    return 1 if missing else 0
