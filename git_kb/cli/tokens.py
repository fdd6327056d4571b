"""git kb tokens: show what the tokenizer makes of text.

Reads standard input, or the files named, and prints one line a term: field, word as written, term. With
--type the text is taken apart as a section of that type would be, with --language as in a document in that language; a query
goes through the same steps.
"""

from __future__ import annotations

import argparse

from git_kb.cli.env import Env

SUMMARY = "show what the tokenizer makes of text"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-t", "--type", metavar="MIME", default="text/markdown", help="MIME type (default: text/markdown)")
    parser.add_argument("--language", metavar="CODE", default="en", help="language of the document, such as 'de' (default: en)")
    parser.add_argument("--heading", default="", help="heading text that goes with it")
    parser.add_argument("file", nargs="*", help="files to read (default: standard input)")


def run(args: argparse.Namespace, env: Env) -> int:
    from git_kb.index.segment import FIELD_NAMES
    from git_kb.model.section import canonical_text, normalise_mime
    from git_kb.output.terminal import visible
    from git_kb.text.fields import fields
    from git_kb.text.languages import rules_of
    from git_kb.text.words import word_terms, words

    mime = normalise_mime(args.type)
    rules = rules_of(args.language)
    for name in args.file or ["-"]:
        if name == "-":
            data = env.stdin.read()
        else:
            data = env.read_file(name)
        text = canonical_text(data.decode("utf-8", "replace"))
        for field, part in zip(FIELD_NAMES, fields(mime, text, args.heading), strict=True):
            for word in words(part):
                for term in word_terms(word, rules):
                    env.out.write(visible(f"{field}\t{word}\t{term}") + "\n")
    return 0
