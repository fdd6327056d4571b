"""git kb ls-segments: list the segments of the index, one a line.

The default format is "segment TAB entries TAB terms TAB bytes". --format takes any of {segment} {entries} {terms}
{bytes} {state}. For a TAB between them, let the shell write it: --format $'{segment}\\t{state}'. -z ends records with
NUL. The state is "ok", or what is wrong with the file; --verify checks every page of it, not only its head. Exit
status 1 when a segment is damaged or missing.
"""

from __future__ import annotations

import argparse
import os

from git_kb.cli.env import Env

SUMMARY = "list the segments of the index"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--verify", action="store_true", help="check every page of each segment")
    parser.add_argument(
        "--format",
        default="{segment}\t{entries}\t{terms}\t{bytes}",
        help="what to print of each (default: {segment} TAB {entries} TAB {terms} TAB {bytes})",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("-z", dest="nul", action="store_true", help="end records with NUL")


def run(args: argparse.Namespace, env: Env) -> int:
    from git_kb.cli.records import Records
    from git_kb.index.pagefile import DamagedSegment
    from git_kb.index.segments import DIRECTORY, Segments, read_current

    kb_dir = env.place.kb_dir
    records = Records(env, args)
    opened = Segments.open(kb_dir)
    segments = {segment.name: segment for segment in opened}
    damaged = dict(opened.damaged)
    n_bad = 0
    for name in read_current(kb_dir):
        path = os.path.join(kb_dir, DIRECTORY, name)
        segment = segments.get(name)
        state = "ok"
        if segment is None:
            state = "missing" if isinstance(damaged.get(name), FileNotFoundError) else str(damaged.get(name, "missing"))
        elif args.verify:
            try:
                segment.verify()
            except DamagedSegment as e:
                state = str(e)
        if state != "ok":
            n_bad += 1
            env.warn(f"segment '{name}': {state}")
        records.write(
            {
                "segment": name,
                "entries": segment.n_entries if segment else 0,
                "terms": segment.n_terms if segment else 0,
                "bytes": os.path.getsize(path) if os.path.exists(path) else 0,
                "state": state,
            }
        )
    if n_bad:
        env.note("hint: the index is only a cache; the next 'git kb index' or search makes it whole")
    return 1 if n_bad else 0
