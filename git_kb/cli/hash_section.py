"""git kb hash-section: print the kbid of content.

Reads files or standard input, brings the content into canonical form and prints its name, one per line.
With -w the section is stored in the pool too.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from git_kb.cli.env import Env

SUMMARY = "print the kbid of content, and store it with -w"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-w", dest="write", action="store_true", help="store the section in the pool")
    parser.add_argument("-t", dest="type", metavar="MIME", default="text/markdown", help="MIME type (default: text/markdown)")
    parser.add_argument("--stdin", action="store_true", help="read standard input")
    parser.add_argument("file", nargs="*", help="files to read; '-' is standard input")


def run(args: argparse.Namespace, env: Env) -> int:
    from git_kb.cli.parser import BadArguments
    from git_kb.model.section import encode_section, make_section, section_id

    if not args.stdin and not args.file:
        raise BadArguments("nothing to hash: name a file, or use --stdin")
    objects = []
    for name, data in _inputs(args, env):
        encoded = encode_section(make_section(args.type, data, what=f"'{name}'"))
        objects.append((section_id(encoded), encoded))
    if args.write:
        from git_kb.store.pool import Pool, PoolWriter

        with env.lock("hash-section"):
            writer = PoolWriter(Pool(env.repo))
            for kbid, encoded in objects:
                if not writer.has(kbid, verify=True):
                    writer.add(kbid, encoded)
            if len(writer):
                writer.commit(f"add {len(writer)} section{'s' * (len(writer) != 1)}\n\nKb-Operation: hash-section\n")
    for kbid, _ in objects:
        env.out.write(kbid + "\n")
    return 0


def _inputs(args: argparse.Namespace, env: Env) -> Iterator[tuple[str, bytes]]:
    for name in [*(["-"] if args.stdin else []), *args.file]:
        if name == "-":
            yield "standard input", env.stdin.read()
        else:
            yield name, env.read_file(name)
