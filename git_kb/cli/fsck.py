"""git kb fsck: verify sections, manifests and segments, and that they fit together.

Each section of the pool is hashed again; kb.config.json is read; each manifest is read, its sections looked up, its
byte ranges compared with the size of the source; each page of the index is checked. Exit status 1 when anything is
wrong.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict

from git_kb.cli.env import Env

SUMMARY = "verify sections, manifests and segments"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from git_kb.cli.parser import add_view_arguments

    add_view_arguments(parser)
    parser.add_argument("--json", action="store_true", help="one JSON document")


def run(args: argparse.Namespace, env: Env) -> int:
    from git_kb.output.terminal import visible_line
    from git_kb.store.check import Counts, check
    from git_kb.store.state import default_state

    counts = Counts()
    findings = list(check(env.repo, default_state(env.place, args.at, args.cached), counts))
    if args.json:
        from git_kb.output.jsontext import json_text

        data = {
            "ok": not findings,
            "errors": [{"type": f.kind, "entity": f.entity, "detail": f.detail} for f in findings],
            **{f"{k}_checked": v for k, v in asdict(counts).items()},
        }
        env.out.write(json_text(data, indent=1) + "\n")
        return 1 if findings else 0
    for finding in findings:
        env.out.write(visible_line(f"{finding.kind} {finding.entity}: {finding.detail}") + "\n")
    checked = ", ".join(_number(n, what.removesuffix("s")) for what, n in asdict(counts).items())
    env.note(f"checked {checked}: {_number(len(findings), 'finding')}")
    if any(f.kind in ("checksum_mismatch", "orphan_document") for f in findings):
        env.note("hint: 'git kb ingest -f' makes sections again from their sources")
    return 1 if findings else 0


def _number(n: int, what: str) -> str:
    return f"{n} {what}{'s' * (n != 1)}"
