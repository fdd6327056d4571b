"""git kb rm-document: remove a document.

Its manifest goes; sections stay in the pool and in the other documents that have them. An ordinary source stays where it is (as
with git rm --cached). What came from standard input, below kb/raw/stdin/, goes with its file, so that nothing is left without a
document; a file that git does not have, committed or staged, is kept, and the document too, but for --force.
Nothing is staged or committed. Exit status 1 when there is no such document.
"""

from __future__ import annotations

import argparse

from git_kb.cli.env import Env

SUMMARY = "remove a document"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from git_kb.cli.changes import add_common_arguments

    parser.add_argument("-f", "--force", action="store_true", help="remove a file below kb/raw/stdin/ even if git does not have it")
    add_common_arguments(parser, index=False)
    parser.add_argument("document", help="docid, path, or name of a section file")


def run(args: argparse.Namespace, env: Env) -> int:
    from git_kb.cli.changes import Timer, change, sources, write_json
    from git_kb.ingest.operations import remove_document

    timer = Timer()
    changed = change(args, env, "rm-document", lambda work: remove_document(work, args.document, args.force, args.dry_run))
    if args.json:
        write_json(
            {
                "removed": not args.dry_run,
                "sections_ungrouped": changed.n_sections,
                "elapsed_ms": timer.ms,
                "docid": changed.docid,
                "sources": sources(changed),
            },
            env,
        )
    return 0
