"""git kb diff: say what differs between two states of the knowledge base, by document and section.

Without a revision: the work tree against HEAD; with one, against it; <rev> <rev> or <rev>..<rev> compares two, and
<rev>...<rev> the second with the merge base of both. With --cached, the staged state stands in for the work tree. Behind
-- (or where they can be nothing else) come sources, directories of sources, docids or files below kb/, and only what is
about them is told. A document is the same under another name when ingest saw it move, or when half of its sections stayed.
A section is changed (M) when its content is another under the same heading, moved (R) when the same content stands at
another place or in another document, else added (A) or removed (D). The text of the change is what 'git diff' shows of
the sources. Goes through git's pager on a terminal. docs/history.md describes --json.
"""

from __future__ import annotations

import argparse
import os

from git_kb.cli.env import Env
from git_kb.errors import KbError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from git_kb.store.difference import DocumentChange
    from git_kb.store.state import StateName

SUMMARY = "say what differs between two states, by document and section"


class AmbiguousArgument(KbError):
    """A word before `--` is not clearly a revision, nor clearly a path. The message is git's."""

    def __init__(self, word: str, why: str):
        self.word = word
        self.hint = "use '--' to separate paths from revisions: git kb diff [<rev>...] -- [<path>...]"
        super().__init__(f"ambiguous argument '{word}': {why}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from git_kb.cli.parser import add_colour_arguments

    parser.add_argument("--cached", "--staged", action="store_true", help="the staged state in place of the work tree")
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument(
        "--stat",
        action="store_true",
        help="one line a document, with the number of sections: +++ added, --- removed, ~~~ changed, === moved",
    )
    forms.add_argument("--shortstat", action="store_true", help="only the sums")
    forms.add_argument("--name-status", action="store_true", help="only the sources, as git diff --name-status")
    forms.add_argument("--name-only", action="store_true", help="only the sources that changed")
    forms.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument(
        "-z",
        dest="nul",
        action="store_true",
        help="with --name-status and --name-only: NUL between names, which are printed as they are",
    )
    parser.add_argument("--no-renames", dest="renames", action="store_false", help="tell a renamed document as removed and added")
    parser.add_argument("--exit-code", action="store_true", help="end with 1 when something differs")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing, and end with 1 when something differs")
    add_colour_arguments(parser)
    parser.add_argument("--only", action="append", default=[], help=argparse.SUPPRESS)
    parser.add_argument("what", nargs="*", metavar="REV|PATH", help="revisions, then sources, directories or docids")


def prepare(arguments: list[str]) -> list[str]:
    """Return the command line with what stands behind `--` as values of an option: those are paths whatever they look like."""
    if "--" not in arguments:
        return arguments
    at = arguments.index("--")
    # Whether there was a "--" counts also where nothing follows.
    return [*arguments[:at], "--only=", *(f"--only={path}" for path in arguments[at + 1 :])]


def run(args: argparse.Namespace, env: Env) -> int:
    from git_kb.cli.parser import BadArguments
    from git_kb.output.difference import (
        difference_json,
        render_difference,
        render_name_status,
        render_shortstat,
        render_stat,
        source_name,
    )
    from git_kb.repo.pager import paged
    from git_kb.store.difference import difference

    if args.nul and not (args.name_status or args.name_only):
        raise BadArguments("-z needs --name-status or --name-only")
    env.quiet = args.quiet or args.json
    separated = bool(args.only)
    revs, paths = _split(args.what, separated, env)
    old, new = _states(revs, args.cached, env)
    changes = difference(env.repo, old, new, env.warn, env.note, args.renames)
    wanted = _filter(paths + args.only[1:], env)
    changes = [change for change in changes if wanted(change)]
    name = source_name(_quotes_all(env))
    colour = not (args.json or args.quiet) and env.colour(args.color)
    parts: Iterable[str]
    if args.quiet:
        parts = ()
    elif args.json:
        parts = [difference_json(changes, _state_data(old, env), _state_data(new, env))]
    elif args.stat:
        parts = render_stat(changes, name, colour)
    elif args.shortstat:
        parts = [render_shortstat(changes)]
    elif args.name_status or args.name_only:
        parts = render_name_status(changes, name, args.name_status, args.nul)
    else:
        parts = render_difference(changes, name, colour)
    if parts:
        with paged(env.place, env.out) as out:
            for part in parts:
                out.write(part)
    return 1 if changes and (args.exit_code or args.quiet) else 0


def _split(words: list[str], separated: bool, env: Env) -> tuple[list[str], list[str]]:
    """Return (revisions, paths) of the words before `--`, by git's rules. Raises AmbiguousArgument, UnknownRevision."""
    from git_kb.repo.protocol import UnknownRevision

    for number, word in enumerate(words):
        try:
            for rev in _ends(word):
                env.repo.resolve(rev)
        except UnknownRevision:
            if separated:
                raise
            paths = words[number:]
            for path in paths:
                if not _is_there(path, env):
                    raise AmbiguousArgument(path, "unknown revision or path not in the work tree") from None
            return words[:number], paths
        if not separated and os.path.lexists(os.path.join(env.cwd, word)):
            raise AmbiguousArgument(word, "both revision and filename")
    return words, []


def _ends(word: str) -> list[str]:
    """Return the revisions that a word names: one, or those of a range. Nothing stands for HEAD there, as in git."""
    # Two dots alone are the directory above.
    if ".." not in word or word == "..":
        return [word]
    left, _, right = word.partition("..")
    return [left or "HEAD", right.removeprefix(".") or "HEAD"]


def _is_there(path: str, env: Env) -> bool:
    from git_kb.store.manifest import SUFFIX
    from git_kb.store.root import DOCUMENTS

    manifest = os.path.join(env.place.work_tree or "", DOCUMENTS, path + SUFFIX)
    return bool(path) and (
        os.path.lexists(os.path.join(env.cwd, path)) or (env.place.work_tree is not None and os.path.lexists(manifest))
    )


def _states(revs: list[str], cached: bool, env: Env) -> tuple[StateName, StateName]:
    """Return the two states to compare. Raises BadArguments, NeedsWorkTree, UnknownRevision."""
    from git_kb.cli.parser import BadArguments
    from git_kb.repo.discover import NeedsWorkTree
    from git_kb.store.state import StateName

    if len(revs) == 1 and len(ends := _ends(revs[0])) == 2:
        left, right = ends
        if "..." in revs[0]:
            left = _merge_base(left, right, env)
        revs = [left, right]
    if len(revs) > 2 or any(".." in rev for rev in revs):
        raise BadArguments("two revisions can be compared, or one range")
    if len(revs) == 2:
        if cached:
            raise BadArguments("--cached compares the staged state with one revision")
        return StateName(revs[0]), StateName(revs[1])
    if env.place.work_tree is None:
        raise NeedsWorkTree(env.place.git_dir)
    return StateName(revs[0] if revs else "HEAD"), StateName(cached=cached)


def _merge_base(left: str, right: str, env: Env) -> str:
    from git_kb.repo.process import git_at
    from git_kb.repo.protocol import UnknownRevision

    oids = [env.repo.resolve(left), env.repo.resolve(right)]
    status, out = git_at(env.place, ["merge-base", *oids], ok=(0, 1))
    if status:
        raise UnknownRevision(f"{left}...{right}", "no merge base")
    return out.split()[0].decode()


def _state_data(state: StateName, env: Env) -> dict[str, object]:
    if not state.rev:
        return {"state": "index" if state.cached else "work tree"}
    unborn = state.rev == "HEAD" and env.repo.read_ref("HEAD") is None
    return {"state": "revision", "rev": state.rev, "oid": None if unborn else env.repo.resolve(state.rev)}


def _filter(typed: list[str], env: Env) -> Callable[[DocumentChange], bool]:
    """Return what tells whether a change is about one of the paths; all changes are about none."""
    from git_kb.ingest.select import inside_path
    from git_kb.model.source import path_of_source
    from git_kb.store.manifest import SUFFIX
    from git_kb.store.root import DOCUMENTS

    paths = [inside_path(env.place, word) if env.place.work_tree is not None else os.fsencode(word.strip("/")) for word in typed]
    names = set(typed)

    def about(change: DocumentChange) -> bool:
        for manifest in (change.old, change.new):
            if manifest is None:
                continue
            if manifest.docid in names or manifest.source in names:
                return True
            own = f"{DOCUMENTS}/{manifest.docid}{SUFFIX}".encode("utf-8", "surrogateescape")
            for path in (path_of_source(manifest.source), own):
                if path is not None and any(p is not None and (not p or path == p or path.startswith(p + b"/")) for p in paths):
                    return True
        return not typed

    return about


def _quotes_all(env: Env) -> bool:
    """Return what core.quotePath says: whether bytes above 0x7f are escaped in names."""
    from git_kb.repo.process import git_at

    _, out = git_at(env.place, ["config", "--type=bool", "--default", "true", "--get", "core.quotePath"])
    return out.strip() == b"true"
