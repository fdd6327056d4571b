"""git kb chunk: show how a file would be cut.

Prints one JSON object a line: heading path, 1-based first and last line, byte range, type, role, part, and
the kbid and chunk id the section would have. Needs no repository and writes nothing.
"""

from __future__ import annotations

import argparse
import os

from git_kb.cli.env import Env

SUMMARY = "show how a file would be cut, one JSON line a chunk"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from git_kb.cli.parser import number

    parser.add_argument("file", nargs="+", help="files to cut; '-' is standard input")
    parser.add_argument("--name", help="cut as if the file had this name (standard input without it: plain text)")
    parser.add_argument("--target", type=number, default=4000, metavar="BYTES", help="a part closes here (default: 4000)")
    parser.add_argument(
        "--ceiling", type=number, default=8000, metavar="BYTES", help="and is never longer than this (default: 8000)"
    )


def run(args: argparse.Namespace, env: Env) -> int:
    from git_kb.cli.parser import BadArguments
    from git_kb.output.jsontext import json_text
    from git_kb.store.cut import Limits, cut_source
    from git_kb.text.chunk import Unusable

    if not 0 < args.target <= args.ceiling:
        raise BadArguments("--target must be positive and not over --ceiling")
    code = 0
    for name in args.file:
        if name == "-":
            data = env.stdin.read()
        else:
            data = env.read_file(name)
        try:
            cut = cut_source(os.fsencode(args.name or name), data, Limits(args.target, args.ceiling))
        except Unusable as e:
            env.warn(f"'{name}': {e.reason}")
            code = 1
            continue
        for warning in cut.source.warnings:
            env.warn(f"'{name}': {warning}")
        line, offset = 1, 0
        for row in cut.rows:
            body = data[offset : offset + row.n_bytes]
            shown = {
                "file": name,
                "kbid": row.kbid,
                "chunk": row.chunk,
                "heading": list(row.heading),
                "first_line": line,
                "last_line": line + row.n_lines - (1 if body[-1:] in b"\r\n" and row.n_lines else 0),
                "start": offset,
                "end": offset + row.n_bytes,
                "type": row.type or cut.source.type,
                "role": row.role,
                "part": row.part,
            }
            env.out.write(json_text(shown) + "\n")
            line += row.n_lines
            offset += row.n_bytes
    return code
