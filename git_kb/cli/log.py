"""git kb log: list what happened to the knowledge base, newest first.

Shows the commits of the section pool (ingests) and the commits on the branch that touch kb/. With a
document, a source path or a page, only those about it. Goes through git's pager on a terminal. -<N> is -n N.
"""

from __future__ import annotations

import argparse
import os

from git_kb.cli.env import Env

TYPE_CHECKING = False
if TYPE_CHECKING:
    from git_kb.model.document import Manifest

SUMMARY = "list what happened to the knowledge base"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from git_kb.cli.parser import number

    parser.add_argument("-n", "--max-count", type=number, metavar="N", help="show at most N operations")
    parser.add_argument("--at", metavar="REV", default="HEAD", help="branch history from here (default: HEAD)")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--oneline", action="store_true", help="one line an operation")
    parser.add_argument("what", nargs="?", help="a docid, a source path, or a file below kb/")


def prepare(arguments: list[str]) -> list[str]:
    """Return the command line with `-n N` for `-N`, as git has it."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    return [f"-n{a[1:]}" if a[:1] == "-" and a[1:].isdecimal() and a.isascii() else a for a in arguments[:end]] + arguments[end:]


def run(args: argparse.Namespace, env: Env) -> int:
    from itertools import islice

    from git_kb.repo.pager import paged
    from git_kb.store.history import kb_operations

    path, source = _restriction(args.what, env) if args.what else (None, None)
    operations = kb_operations(env.repo, args.at, path, source, _kbids(path, env))
    n_shown = 0
    with paged(env.place, env.out) as out:
        for operation in islice(operations, args.max_count if args.max_count is None or args.max_count >= 0 else None):
            out.write(_json(operation) if args.json else _text(operation, args.oneline))
            n_shown += 1
    if not n_shown and args.what:
        directory = os.path.isdir(os.path.join(env.cwd, args.what))
        env.note(f"no operation on '{args.what}'" + (": it is a directory; name a source or a document" if directory else ""))
        return 1
    return 0


def _restriction(what: str, env: Env) -> tuple[str | None, str | None]:
    """Return (path below kb/, source) that `what` means: a file in the tree, a docid, or a source path."""
    from git_kb.ingest.select import inside_path
    from git_kb.model.document import docid_of_path
    from git_kb.model.source import path_of_source, source_of_path
    from git_kb.store.manifest import SUFFIX
    from git_kb.store.root import DOCUMENTS

    inside = inside_path(env.place, what)
    if inside is not None and inside.startswith(b"kb/") and not inside.startswith(b"kb/raw/"):
        return os.fsdecode(inside), None
    head = (
        env.repo.entry_at(env.repo.tree_of("HEAD"), f"{DOCUMENTS}/{what}{SUFFIX}".encode()) if env.repo.read_ref("HEAD") else None
    )
    on_disk = os.path.lexists(os.path.join(env.place.work_tree or "", DOCUMENTS, what + SUFFIX))
    if "/" not in what and (head is not None or on_disk):
        return f"{DOCUMENTS}/{what}{SUFFIX}", _source_of(what, env)
    source = source_of_path(inside) if inside is not None else what
    raw = path_of_source(source)
    return (f"{DOCUMENTS}/{docid_of_path(raw)}{SUFFIX}" if raw else None), source


def _source_of(docid: str, env: Env) -> str | None:
    manifest = _manifest(docid, env)
    return manifest.source if manifest else None


def _kbids(path: str | None, env: Env) -> list[str]:
    """Return the sections of the document whose manifest is at `path`."""
    from git_kb.store.manifest import SUFFIX
    from git_kb.store.root import DOCUMENTS

    if path is None or not path.startswith(DOCUMENTS + "/"):
        return []
    manifest = _manifest(path[len(DOCUMENTS) + 1 :].removesuffix(SUFFIX), env)
    return [row.kbid for row in manifest.sections] if manifest else []


def _manifest(docid: str, env: Env) -> Manifest | None:
    from git_kb.store.documents import worktree_documents
    from git_kb.store.manifest import SUFFIX

    if env.place.work_tree is None:
        return None
    return next(worktree_documents(env.place).load([docid + SUFFIX], env.warn), None)


def _json(operation: object) -> str:
    from dataclasses import asdict

    from git_kb.output.jsontext import json_text
    from git_kb.store.history import Operation

    assert isinstance(operation, Operation)
    return json_text({**asdict(operation), "when": _when(operation.when_s)}) + "\n"


def _text(operation: object, oneline: bool) -> str:
    from git_kb.output.terminal import visible_line
    from git_kb.store.history import Operation

    assert isinstance(operation, Operation)
    subject = visible_line(operation.subject)
    if oneline:
        return f"{operation.oid[:10]} {_when(operation.when_s)[:10]} {operation.where:6} {subject}\n"
    lines = [
        f"commit {operation.oid} ({operation.where})",
        f"Author: {visible_line(operation.author)} <{visible_line(operation.email)}>",
        f"Date:   {_when(operation.when_s)}",
        "",
        f"    {subject}",
        *(f"    source: {visible_line(s)}" for s in operation.sources[:10]),
    ]
    if len(operation.sources) > 10:
        # The subject has the number; a large ingest does not name them all.
        lines.append("    and others")
    return "\n".join(lines) + "\n\n"


def _when(when_s: int) -> str:
    """Return a time in ISO 8601, UTC. Dates that the calendar cannot hold are given in seconds."""
    from datetime import UTC, datetime

    try:
        return datetime.fromtimestamp(when_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return f"@{when_s}"
