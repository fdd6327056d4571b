"""git kb fsck: verify sections, manifests and the index, and that they fit together.

Each section of the pool is hashed again; kb.config.json is read; each manifest is read, its sections looked up, its
byte ranges compared with the source where that is at hand; content markers are followed; each page of the index (segments,
views, references, signatures, dates) is checked. docs/fsck.md has all kinds of findings.

As with git fsck, a warning does not change the exit status, unless --strict is given: sections that no document
names (orphan_section, what git calls dangling), and sections of one origin that say different things (divergent_content). For
anything else it is 1.

--repair makes again what follows from the sources: sections of the pool, manifests as ingest would write them, the
index. It invents nothing, and deletes nothing that could not be made again; what it cannot mend it leaves, and says so. Manifests
are mended in the work tree alone: with --at or --cached they are left.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict

from git_kb.cli.env import Env

TYPE_CHECKING = False
if TYPE_CHECKING:
    from git_kb.store.check import Counts, Finding
    from git_kb.store.state import StateName

SUMMARY = "verify sections, manifests and the index"
OF_THE_INDEX = ("damaged_segment", "damaged_view", "damaged_references", "damaged_signatures", "damaged_dates")
OF_SOURCES = ("checksum_mismatch", "orphan_document")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from git_kb.cli.parser import add_view_arguments

    add_view_arguments(parser)
    parser.add_argument("--strict", action="store_true", help="warnings count as errors")
    parser.add_argument(
        "--dangling",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="tell sections that no document names (the default); looking for them walks the whole history",
    )
    parser.add_argument("--repair", action="store_true", help="make again what follows from the sources")
    parser.add_argument("-n", "--dry-run", action="store_true", help="with --repair: say what would be done, write nothing")
    parser.add_argument("--json", action="store_true", help="one JSON document")


def run(args: argparse.Namespace, env: Env) -> int:
    from git_kb.cli.parser import BadArguments
    from git_kb.store.check import Counts
    from git_kb.store.state import default_state

    if args.dry_run and not args.repair:
        raise BadArguments("--dry-run is for --repair")
    started_s = env.now()
    state = default_state(env.place, args.at, args.cached)
    counts = Counts()
    findings = _look(env, state, counts, args.dangling)
    repaired: list[Finding] = []
    if args.repair and findings:
        from git_kb.ingest.repair import repair

        env.quiet = args.json
        repaired = repair(env.repo, state, findings, env.hooks("fsck"), args.dry_run)
        env.quiet = False
        if repaired and not args.dry_run:
            counts = Counts()
            findings = _look(env, state, counts, args.dangling)
    errors = [f for f in findings if args.strict or not f.is_warning]
    warnings = [f for f in findings if not (args.strict or not f.is_warning)]
    if args.json:
        from git_kb.output.jsontext import json_text

        data = {
            "ok": not errors,
            "errors": _data(errors),
            "warnings": _data(warnings),
            **({"would_repair" if args.dry_run else "repaired": _data(repaired)} if args.repair else {}),
            **{f"{k}_checked": v for k, v in asdict(counts).items()},
            "elapsed_ms": round((env.now() - started_s) * 1000),
        }
        env.out.write(json_text(data, indent=1) + "\n")
    else:
        _print(env, args, counts, errors, warnings, repaired)
    return 1 if errors else 0


def _look(env: Env, state: StateName, counts: Counts, dangling: bool) -> list[Finding]:
    from git_kb.repo.process import GitFailed
    from git_kb.store.check import check, orphan_sections

    findings = list(check(env.repo, state, counts))
    if dangling:
        try:
            findings += orphan_sections(env.repo, state)
        except GitFailed as e:
            env.warn(f"history cannot be walked, so sections that no document names are not told: {e}")
    return findings


def _data(findings: list[Finding]) -> list[dict[str, str]]:
    return [{"type": f.kind, "entity": f.entity, "detail": f.detail} for f in findings]


def _print(
    env: Env, args: argparse.Namespace, counts: Counts, errors: list[Finding], warnings: list[Finding], repaired: list[Finding]
) -> None:
    from git_kb.output.terminal import visible_line

    for title, findings in (("would repair " if args.dry_run else "repaired ", repaired), ("", errors), ("warning: ", warnings)):
        for finding in findings:
            env.out.write(visible_line(f"{title}{finding.kind} {finding.entity}: {finding.detail}") + "\n")
    looked_at = ", ".join(f"{n} {what}{'s' * (n != 1)}" for what, n in _numbers(counts))
    also = f", {len(warnings)} warning{'s' * (len(warnings) != 1)}" if warnings else ""
    left = " left" if args.repair and not args.dry_run else ""
    env.note(f"checked {looked_at}: {len(errors)} finding{'s' * (len(errors) != 1)}{also}{left}")
    if args.repair:
        return
    if any(f.kind in OF_SOURCES for f in errors):
        env.note("hint: 'git kb ingest -f' makes sections again from their sources")
    if any(f.kind in OF_THE_INDEX for f in errors):
        env.note("hint: 'git kb index --rebuild' makes the index again")
    if any(f.kind in ("damaged_manifest", "wrong_tiling", "wrong_range", "wrong_key") for f in errors):
        env.note("hint: 'git kb fsck --repair' writes manifests again from their sources")


def _numbers(counts: Counts) -> list[tuple[str, int]]:
    """Return (what, how many were looked at)."""
    numbers = [
        ("section", counts.sections),
        ("document", counts.documents),
        ("segment", counts.segments),
        ("other index file", counts.caches),
    ]
    return [*numbers, ("content marker", counts.references)] if counts.references else numbers
