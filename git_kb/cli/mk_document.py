"""git kb mk-document: make a document of given sections.

Writes a section file kb/raw/stdin/sections/<name>.md with copies of the sections, in the order given, and its manifest, and
prints the docid. Sections are named by kbid (also such as are in the pool alone), citation, <path>:<line> or <path>#<heading>.
They keep type and headings, and stay in the documents they are in. The same again changes nothing; another document of that
name is refused. Nothing is staged or committed.
"""

from __future__ import annotations

import argparse

from git_kb.cli.env import Env

SUMMARY = "make a document of given sections"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from git_kb.cli.changes import add_common_arguments, tag

    parser.add_argument("--title", default="", help="title of the document (default: its name)")
    parser.add_argument("--tag", action="append", default=[], type=tag, metavar="TAG", help="add a tag (repeatable)")
    add_common_arguments(parser, index=False)
    parser.add_argument("name", help="name of the document: letters, digits, and . _ + - between them")
    parser.add_argument("section", nargs="+", help="kbid, citation, <path>:<line> or <path>#<heading>")


def run(args: argparse.Namespace, env: Env) -> int:
    from git_kb.cli.changes import Timer, change, section_name, sources, write_json
    from git_kb.ingest.operations import make_document

    timer = Timer()
    ids = [section_name(name, env) for name in args.section]
    changed = change(
        args, env, "mk-document", lambda work: make_document(work, args.name, ids, args.title, tuple(args.tag), args.dry_run)
    )
    if args.json:
        write_json(
            {
                "docid": changed.docid,
                "section_count": changed.n_sections,
                "elapsed_ms": timer.ms,
                "title": changed.title,
                "sources": sources(changed),
            },
            env,
        )
    else:
        env.out.write(changed.docid + "\n")
    return 0
