"""git kb rm-section: take a section out of the documents that have it.

A kbid stands for the section in every document that has it; a citation <docid>#c-xxxxxxxx, a line <path>:<line> or a heading
<path>#<heading> for that place alone, and --document for one document. The text goes from section files and, in the work
tree, from ordinary sources, which have to be what the document was made of. Nothing is staged or committed, and the pool keeps
the section. Exit status 1 when no document has it.
"""

from __future__ import annotations

import argparse

from git_kb.cli.env import Env

SUMMARY = "take a section out of the documents that have it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from git_kb.cli.changes import add_common_arguments

    parser.add_argument("section", help="kbid, citation, <path>:<line> or <path>#<heading>")
    parser.add_argument("-d", "--document", metavar="DOCUMENT", default="", help="only from this document")
    add_common_arguments(parser, index=False)


def run(args: argparse.Namespace, env: Env) -> int:
    from git_kb.cli.changes import Timer, change, section_name, sources, write_json
    from git_kb.ingest.operations import remove_section

    timer = Timer()
    name = section_name(args.section, env)
    changed = change(args, env, "rm-section", lambda work: remove_section(work, name, args.document, args.dry_run))
    if args.json:
        write_json(
            {
                "removed": not args.dry_run,
                "elapsed_ms": timer.ms,
                "kbid": changed.kbid,
                "docids": list(changed.docids),
                "sources": sources(changed),
            },
            env,
        )
    return 0
