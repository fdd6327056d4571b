"""git kb init: make a knowledge base in this repository.

Writes kb.config.json, kb/catalog.toml, kb/AGENTS.md and a marked block in .gitattributes into the work
tree. What is there already is left as it is, so that running it again is harmless. Nothing is staged or
committed.
"""

from __future__ import annotations

import argparse
import os

from git_kb.cli.env import Env

SUMMARY = "make a knowledge base in this repository"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", help="name of the knowledge base (default: that of the directory)")
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing but errors")


def run(args: argparse.Namespace, env: Env) -> int:
    from git_kb.store.create import create_root, is_left_out

    env.quiet = args.quiet
    written = create_root(env.place, args.name, env.now())
    where = os.path.join(env.place.work_tree or "", "kb")
    if not written:
        env.note(f"knowledge base in {where} is complete already; nothing to do")
        return 0
    env.note(f"knowledge base in {where}: wrote {', '.join(written)}")
    if os.path.isdir(os.path.join(env.place.work_tree or "", ".obsidian")):
        env.note("this is an Obsidian vault: notes are ingested like any Markdown, .obsidian/ is left alone")
    if is_left_out(env.place):
        env.warn("kb/ is outside of this sparse checkout, so 'git add' refuses it; 'git sparse-checkout add kb' brings it in")
    env.note("next: git kb ingest <path>...; then git add kb kb.config.json .gitattributes && git commit")
    return 0
