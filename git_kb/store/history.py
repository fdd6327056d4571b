"""The change log of a knowledge base: commits of the pool, and commits on the branch that touch `kb/`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import merge

from git_kb.repo.discover import Place
from git_kb.repo.process import git_at
from git_kb.repo.protocol import Repository
from git_kb.store.pool import pool_commit
from git_kb.store.root import POOL_REF

FORMAT = "%H%x00%ct%x00%an%x00%ae%x00%s%x00%(trailers:key=Kb-Source,valueonly,separator=%x01)"
FIELDS = 6
# More paths do not fit on a command line for sure.
MAX_PATHS = 1000


@dataclass(frozen=True, slots=True)
class Operation:
    """One entry of the log.

    `where`: "pool" or "branch". `when_s`: committer date, seconds since 1970. `sources`: as recorded.
    """

    oid: str
    when_s: int
    author: str
    email: str
    subject: str
    where: str
    sources: tuple[str, ...] = ()


def kb_operations(
    repo: Repository, rev: str, path: str | None = None, source: str | None = None, kbids: Iterable[str] = ()
) -> Iterator[Operation]:
    """Yield operations, newest first. `path` restricts branch commits to one file below kb/, `source` pool
    commits to one source.

    With one of the two, only what it restricts is looked at, unless both are given. Raises UnknownRevision.
    """
    streams = []
    if source is not None or path is None:
        streams.append(_pool(repo, source, kbids))
    if path is not None or source is None:
        streams.append(_branch(repo, rev, path or "kb"))
    return merge(*streams, key=lambda operation: -operation.when_s)


def _pool(repo: Repository, source: str | None, kbids: Iterable[str]) -> Iterator[Operation]:
    """Yield pool commits; with a source, those that name it or brought one of its sections in (a large ingest names only some)."""
    if pool_commit(repo) is None:
        return
    paths = [f"{kbid[:2]}/{kbid[2:]}" for kbid in kbids][:MAX_PATHS]
    brought = {o.oid for o in _log(repo, ["--no-merges", "--full-history", POOL_REF, "--", *paths], "pool")} if paths else set()
    for operation in _log(repo, ["--no-merges", "--full-history", POOL_REF], "pool"):
        if source is None or source in operation.sources or operation.oid in brought:
            yield operation


def _branch(repo: Repository, rev: str, path: str) -> Iterator[Operation]:
    if rev == "HEAD" and repo.read_ref("HEAD") is None:
        return
    repo.resolve(rev)
    yield from _log(repo, ["--end-of-options", rev, "--", path], "branch")


def _log(repo: Repository, arguments: list[str], where: str) -> Iterator[Operation]:
    _, out = git_at(
        repo.place,
        ["log", "-z", "--no-show-signature", "--encoding=UTF-8", f"--format={FORMAT}", *arguments],
        env={"GIT_LITERAL_PATHSPECS": "1"},
    )
    fields = out.split(b"\0")
    for at in range(0, len(fields) - FIELDS + 1, FIELDS):
        oid, when, author, email, subject, sources = (os.fsdecode(f) for f in fields[at : at + FIELDS])
        named = tuple(s.strip() for s in sources.split("\x01") if s.strip())
        yield Operation(oid, int(when) if when.lstrip("-").isdigit() else 0, author, email, subject, where, named)


def pool_dates(place: Place, kbids: list[str]) -> dict[str, str]:
    """Return when each section came into the pool, ISO 8601.

    the committer date of the first pool commit that has it.
    """
    if not kbids:
        return {}
    paths = {f"{kbid[:2]}/{kbid[2:]}": kbid for kbid in kbids}
    status, out = git_at(
        place,
        [
            "log",
            "-z",
            "--format=%x01%cI",
            "--name-only",
            "--diff-filter=A",
            "--no-merges",
            "--full-history",
            POOL_REF,
            "--",
            *paths,
        ],
        ok=(0, 128),
        env={"GIT_LITERAL_PATHSPECS": "1"},
    )
    dates: dict[str, str] = {}
    when = ""
    for item in os.fsdecode(out).split("\0") if status == 0 else ():
        for line in item.split("\n"):
            if line.startswith("\x01"):
                when = line[1:]
            elif line in paths:
                dates[paths[line]] = when
    return dates
