"""git kb ls-sections: list the sections of a state in document order, one a line.

The default format is "kbid TAB citation TAB source:line TAB heading". --format takes any of {kbid} {chunk}
{citation} {docid} {source} {source_key} {heading} {type} {role} {part} {line} {last_line} {start} {end}
{supersedes}. For a TAB between them, let the shell write it: --format $'{kbid}\\t{line}'. -z ends records
with NUL.
"""

from __future__ import annotations

import argparse

from git_kb.cli.env import Env

SUMMARY = "list sections"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from git_kb.cli.parser import add_view_arguments

    add_view_arguments(parser)
    default = "{kbid}\t{citation}\t{source}:{line}\t{heading}"
    parser.add_argument("--format", default=default, help="what to print of each")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("-z", dest="nul", action="store_true", help="end records with NUL, and print names as they are")
    parser.add_argument("document", nargs="*", metavar="DOCUMENT", help="only these documents, by docid or path of the source")


def run(args: argparse.Namespace, env: Env) -> int:
    from git_kb.cli.records import Records
    from git_kb.output.show import UnknownDocument
    from git_kb.store.manifest import SUFFIX
    from git_kb.store.state import default_state, open_documents

    records = Records(env, args)
    documents = open_documents(env.repo, default_state(env.place, args.at, args.cached))
    names = []
    for name in args.document:
        fits = [docid + SUFFIX for docid in _docids(name, env) if docid + SUFFIX in documents.stamps]
        if not fits:
            raise UnknownDocument(name)
        names.append(fits[0])
    for manifest in documents.load(names or documents.stamps, env.warn):
        for row, (line, start, end) in zip(manifest.sections, manifest.spans(), strict=True):
            records.write(
                {
                    "kbid": row.kbid,
                    "chunk": row.chunk,
                    "citation": f"{manifest.docid}#{row.chunk}",
                    "docid": manifest.docid,
                    "source": manifest.source,
                    "source_key": row.source_key,
                    "heading": list(row.heading) if args.json else " > ".join(row.heading),
                    "type": manifest.row_type(row),
                    "role": row.role,
                    "part": row.part,
                    "line": line,
                    "last_line": line + max(row.n_lines - 1, 0),
                    "start": start,
                    "end": end,
                    "supersedes": row.supersedes,
                }
            )
    return 0


def _docids(name: str, env: Env) -> list[str]:
    """Return the docids that a name may stand for: itself, or that of the source at this path."""
    from git_kb.ingest.select import inside_path
    from git_kb.model.document import docid_of_path

    inside = inside_path(env.place, name)
    return [name, docid_of_path(inside)] if inside else [name]
