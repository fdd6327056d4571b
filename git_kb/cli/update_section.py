"""git kb update-section: give a section other content.

Reads the content from standard input and prints the new kbid. A kbid stands for the section in every document that has it;
a citation <docid>#c-xxxxxxxx, a line <path>:<line> or a heading <path>#<heading> for that place alone, and --document for one
document. Type, place and title stay. Section files are written anew in that place, and so are ordinary sources, in the
work tree: these have to be what the document was made of, and the content has to stay one section. Nothing is staged or
committed. The row of the new section names the old one, which stays in the pool.
"""

from __future__ import annotations

import argparse

from git_kb.cli.env import Env

SUMMARY = "give a section other content"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from git_kb.cli.changes import add_common_arguments

    parser.add_argument("section", help="kbid, citation, <path>:<line> or <path>#<heading>")
    parser.add_argument("-d", "--document", metavar="DOCUMENT", default="", help="only in this document")
    add_common_arguments(parser)


def run(args: argparse.Namespace, env: Env) -> int:
    from git_kb.cli.changes import Timer, change, n_terms, near_duplicates, section_name, sources, write_json
    from git_kb.ingest.operations import update_section

    timer = Timer()
    name = section_name(args.section, env)
    content = env.stdin.read()
    changed = change(args, env, "update-section", lambda work: update_section(work, name, content, args.document, args.dry_run))
    near = near_duplicates(changed, args, env)
    if not args.json:
        for warning in changed.warnings:
            env.warn(f"{warning}: headings weigh most in a search")
        env.out.write(changed.kbid + "\n")
        return 0
    write_json(
        {
            "old_kbid": changed.superseded,
            "new_kbid": changed.kbid,
            "reindexed_terms_count": n_terms(changed),
            "elapsed_ms": timer.ms,
            "warnings": list(changed.warnings),
            "near_duplicates": near,
            "docids": list(changed.docids),
            "sources": sources(changed),
        },
        env,
    )
    return 0
