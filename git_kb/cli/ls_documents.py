"""git kb ls-documents: list the documents of a state, one a line.

The default format is "docid TAB source". --format takes any of {docid} {title} {source} {blob} {type}
{language} {tier} {tags} {sections}. For a TAB between them, let the shell write it: --format
$'{docid}\\t{title}'. -z ends records with NUL.
"""

from __future__ import annotations

import argparse

from git_kb.cli.env import Env

SUMMARY = "list documents"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from git_kb.cli.parser import add_view_arguments

    add_view_arguments(parser)
    parser.add_argument("--format", default="{docid}\t{source}", help="what to print of each (default: {docid} TAB {source})")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("-z", dest="nul", action="store_true", help="end records with NUL, and print names as they are")


def run(args: argparse.Namespace, env: Env) -> int:
    from git_kb.cli.records import Records
    from git_kb.model.document import ENGLISH
    from git_kb.store.state import default_state, open_documents

    records = Records(env, args)
    for manifest in open_documents(env.repo, default_state(env.place, args.at, args.cached)).load_all(env.warn):
        records.write(
            {
                "docid": manifest.docid,
                "title": manifest.title,
                "source": manifest.source,
                "blob": manifest.blob,
                "type": manifest.type,
                "language": manifest.language or ENGLISH,
                "tier": manifest.tier,
                "tags": list(manifest.tags),
                "sections": len(manifest.sections),
            }
        )
    return 0
