"""git kb add-section: add a section to a document, or make a document of it.

Reads the content from standard input, brings it into canonical form, and prints its kbid. Without --document it gets a document of
its own, a section file below kb/raw/stdin/sections/, unless a document has the same section already: then nothing is done. With
--document, it goes to the end of that document, or where --before or --after say. The document is named by docid, path, or
the name of a section file, which is made where there is none of that name. A document that has the section stays as it is.
In a section file any text, code or image (the file's bytes, or base64) can be a section; an image needs a title. In an
ordinary source, the section is text of the source's own type, which is written into the file in the work tree; it has to be what
the document was made of. Nothing is staged or committed.
--replace puts the content in the place of the section of the document that has the same heading, here and in all documents that
have that section; the row of the new one names the old one, which stays in the pool.
Exit status 0 also when nothing had to be done. docs/write-operations.md has the JSON.
"""

from __future__ import annotations

import argparse

from git_kb.cli.env import Env

SUMMARY = "add a section to a document, or make a document of it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from git_kb.cli.changes import add_common_arguments, tag

    parser.add_argument("-t", "--type", metavar="MIME", default="text/markdown", help="MIME type (default: text/markdown)")
    parser.add_argument("-d", "--document", metavar="DOCUMENT", default="", help="docid, path, or name of a section file")
    parser.add_argument("--title", default="", help="title of the section, which is its own heading")
    parser.add_argument(
        "--heading", action="append", default=[], help="a heading that it stands under, the outermost first (repeatable)"
    )
    parser.add_argument("--description", default="", help="a longer description, for section files")
    position = parser.add_mutually_exclusive_group()
    position.add_argument("--before", metavar="SECTION", default="", help="put it before this section of the document")
    position.add_argument("--after", metavar="SECTION", default="", help="put it after this section of the document")
    position.add_argument("--append", action="store_true", help="put it at the end (default)")
    parser.add_argument("--replace", action="store_true", help="replace the section of the document with the same heading")
    parser.add_argument(
        "--tag", action="append", default=[], type=tag, metavar="TAG", help="add a tag to the document (repeatable)"
    )
    add_common_arguments(parser)


def run(args: argparse.Namespace, env: Env) -> int:
    from git_kb.cli.changes import Timer, change, n_terms, near_duplicates, section_name, sources, write_json
    from git_kb.cli.parser import BadArguments
    from git_kb.ingest.operations import add_section, new_section

    if not args.document and (args.before or args.after or args.replace):
        raise BadArguments("--before, --after and --replace are about a document: name it with --document")
    timer = Timer()
    before, after = section_name(args.before, env), section_name(args.after, env)
    new = new_section(args.type, env.stdin.read(), args.heading, args.title, args.description)
    changed = change(
        args,
        env,
        "add-section",
        lambda work: add_section(work, new, args.document, before, after, args.replace, tuple(args.tag), args.dry_run),
    )
    near = near_duplicates(changed, args, env)
    if not args.json:
        if changed.skipped:
            env.note(f"document '{changed.docid}' has it already")
        for warning in changed.warnings:
            env.warn(f"{warning}: headings weigh most in a search; give it one with --title")
        env.out.write(changed.kbid + "\n")
        return 0
    write_json(
        {
            "kbid": changed.kbid,
            "type": changed.type,
            "title": changed.title or None,
            "description": changed.description or None,
            "indexed_terms_count": n_terms(changed),
            "elapsed_ms": timer.ms,
            "attached": changed.attached,
            "skipped": changed.skipped,
            "superseded": changed.superseded or None,
            "warnings": list(changed.warnings),
            "near_duplicates": near,
            "docid": changed.docid,
            "sources": sources(changed),
        },
        env,
    )
    return 0
