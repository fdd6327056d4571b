"""git kb fsck: verify sections, manifests and the index, and that they fit together.

Each section of the pool is hashed again; kb.config.json is read; each manifest is read, its sections looked up, its
byte ranges compared with the size of the source; each page of the index (segments, views, references, signatures, dates) is
checked. Exit status 1 when anything is wrong.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict

from git_kb.cli.env import Env

TYPE_CHECKING = False
if TYPE_CHECKING:
    from git_kb.store.check import Counts

SUMMARY = "verify sections, manifests and the index"
OF_THE_INDEX = ("damaged_segment", "damaged_view", "damaged_references", "damaged_signatures", "damaged_dates")


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
    looked_at = ", ".join(f"{n} {what}{'s' * (n != 1)}" for what, n in _numbers(counts))
    env.note(f"checked {looked_at}: {len(findings)} finding{'s' * (len(findings) != 1)}")
    if any(f.kind in ("checksum_mismatch", "orphan_document") for f in findings):
        env.note("hint: 'git kb ingest -f' makes sections again from their sources")
    if any(f.kind in OF_THE_INDEX for f in findings):
        env.note("hint: 'git kb index --rebuild' makes the index again")
    return 1 if findings else 0


def _numbers(counts: Counts) -> list[tuple[str, int]]:
    """Return (what, how many were looked at)."""
    return [
        ("section", counts.sections),
        ("document", counts.documents),
        ("segment", counts.segments),
        ("other index file", counts.caches),
    ]
