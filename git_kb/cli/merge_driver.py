"""git kb merge-driver: merge three versions of a file below kb/, for git.

Git runs it where two branches changed the same manifest, page or index page; 'git kb init' sets it up, with plain
'git merge-file' behind it should it fail. The result replaces OURS, at once and last of all.

Ends with 0 for a clean merge and with 3 when it has written markers of a conflict. Any other status says that OURS
is as it was. How each kind is merged: docs/format-merge.md.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from git_kb.cli.env import Env
    from git_kb.merge.order import TextMerge

SUMMARY = "merge three versions of a manifest, page or index page, for git"
KINDS = ("manifest", "page", "index")
# Not 1, with which a Python that cannot even start ends (docs/format-merge.md, "The driver's command").
CONFLICT_WRITTEN = 3
DEFAULT_MARKER_SIZE = 7
MAX_MARKER_SIZE = 1000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from git_kb.cli.parser import number

    parser.add_argument("kind", metavar="KIND", help="what it is: manifest, page or index")
    parser.add_argument("base", metavar="BASE", help="file with the version that both come from; empty for none")
    parser.add_argument("ours", metavar="OURS", help="file with our version, which the result replaces")
    parser.add_argument("theirs", metavar="THEIRS", help="file with their version")
    parser.add_argument(
        "--marker-size",
        type=number,
        default=DEFAULT_MARKER_SIZE,
        metavar="N",
        help="length of conflict markers (default: %(default)s)",
    )
    parser.add_argument("--path", default="", metavar="PATH", help="what is merged, for messages")


def run(args: argparse.Namespace, env: Env) -> int:
    from git_kb.cli.parser import BadArguments

    if args.kind not in KINDS:
        raise BadArguments(f"<kind>: '{args.kind}' is none of {', '.join(KINDS)}")
    if not 1 <= args.marker_size <= MAX_MARKER_SIZE:
        raise BadArguments(f"option '--marker-size': {args.marker_size} is not from 1 to {MAX_MARKER_SIZE}")
    return merge(env, args.kind, args.base, args.ours, args.theirs, args.marker_size)


def run_plain(arguments: list[str], env: Env) -> int | None:
    """Run a command line as git has it from 'git kb init', without argparse; None for any other."""
    if len(arguments) != 7 or arguments[0] not in KINDS or arguments[3] != "--":
        return None
    kind, size, path, _, base, ours, theirs = arguments
    digits = size.removeprefix("--marker-size=")
    if not (size != digits and digits.isascii() and digits.isdigit() and len(digits) < 4 and int(digits)) or not path.startswith(
        "--path="
    ):
        return None
    return merge(env, kind, base, ours, theirs, int(digits))


def merge(env: Env, kind: str, base: str, ours: str, theirs: str, marker_size: int) -> int:
    """Merge three files into the second. Returns 0, or CONFLICT_WRITTEN."""
    import os

    from git_kb.repo.regular import replace_file

    versions = [env.read_file(name) for name in (base, ours, theirs)]

    def merge_text(base: bytes, ours: bytes, theirs: bytes) -> tuple[bytes, bool]:
        from git_kb.repo.mergefile import merge_file

        return merge_file(base, ours, theirs, marker_size, env.cwd, env.environ)

    merged, in_conflict = _merge_kind(kind, versions, merge_text)
    replace_file(os.path.join(env.cwd, ours), merged)
    return CONFLICT_WRITTEN if in_conflict else 0


def _merge_kind(kind: str, versions: list[bytes], merge_text: TextMerge) -> tuple[bytes, bool]:
    if kind == "manifest":
        from git_kb.merge.manifest import merge_manifests

        return merge_manifests(versions[0], versions[1], versions[2], merge_text)
    from git_kb.merge.page import merge_indexes, merge_pages

    return (merge_pages if kind == "page" else merge_indexes)(versions[0], versions[1], versions[2], merge_text)
