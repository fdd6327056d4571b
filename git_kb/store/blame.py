"""Who last wrote the lines of a document's sections: `git blame` of the source, as it was when it was ingested.

The lines of a manifest are those of the blob that was cut, which need not be what the file says now. So blame starts at a commit
that has just this blob, or is given its text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from git_kb.errors import Damaged, KbError
from git_kb.model.source import path_of_source
from git_kb.repo.process import BrokenStream, git_at
from git_kb.repo.protocol import Repository
from git_kb.repo.worktree import FILE, UNTRACKED, SourceFile, read_sources
from git_kb.store.state import StateName

_ESCAPE = re.compile(rb'\\([abfnrtv"\\]|[0-7]{3})')
_SHORT = dict(zip(b"abfnrtv", b"\a\b\f\n\r\t\v", strict=True))


class NoBlame(KbError):
    """There is no history to look up the lines of a source in."""

    def __init__(self, source: str, why: str, hint: str = ""):
        self.source = source
        self.hint = hint
        super().__init__(f"cannot blame '{source}': {why}")


class Writer(NamedTuple):
    """Who wrote some lines. oid: the commit, "" where they are not committed. path: the file's name then, as bytes.

    when_s: the author's date, seconds since 1970; tz: "+hhmm". is_boundary: the history that is here ends at this commit (a
    shallow clone), so the lines may be older.
    """

    oid: str
    author: str
    email: str
    when_s: int
    tz: str
    summary: str
    path: bytes
    is_boundary: bool = False


class Hunk(NamedTuple):
    """A run of lines with one writer. first, last: lines from 1, as git counts them (LF)."""

    first: int
    last: int
    writer: Writer


@dataclass(slots=True)
class Blame:
    """The lines of one source. `start`: the commit that blame began at, "" where the text itself was given."""

    start: str
    data: bytes
    hunks: list[Hunk] = field(default_factory=list)

    def lines_of(self, start: int, end: int) -> tuple[int, int]:
        """Return the (first, last) line of a byte range, blank lines at its ends left out."""
        return line_range(self.data, start, end)

    def within(self, first: int, last: int) -> list[Hunk]:
        """Return what of the hunks lies within these lines."""
        return [Hunk(max(h.first, first), min(h.last, last), h.writer) for h in self.hunks if h.first <= last and h.last >= first]


def line_range(data: bytes, start: int, end: int) -> tuple[int, int]:
    """Return the (first, last) line, from 1, of the text in a byte range, blanks at its ends left out."""
    text = data[start:end]
    begin = start + len(text) - len(text.lstrip())
    stop = max(start + len(text.rstrip()), begin + 1)
    first = 1 + data.count(b"\n", 0, begin)
    return first, first + data.count(b"\n", begin, stop - 1)


def blame_source(
    repo: Repository,
    state: StateName,
    source: str,
    blob: str,
    spans: Iterable[tuple[int, int]] | None = None,
    options: Iterable[str] = (),
) -> Blame:
    """Return who wrote the lines of a source as it was ingested from `blob`. Starts git blame once.

    spans: the byte ranges that are asked for, None for all. options: -w, -M, -C as `git blame` has them. Raises NoBlame, GitFailed.
    """
    path = path_of_source(source)
    if path is None:
        raise NoBlame(source, "it is no file of this repository")
    data = _text(repo, path, source, blob)
    lines: list[tuple[int, int]] = []
    for first, last in sorted({line_range(data, *span) for span in spans or ()}):
        if lines and first <= lines[-1][1] + 1:
            lines[-1] = lines[-1][0], max(last, lines[-1][1])
        else:
            lines.append((first, last))
    arguments = ["blame", "--porcelain", "--no-textconv", "--encoding=UTF-8", *options, *(f"-L{a},{b}" for a, b in lines)]
    start = _start(repo, state, path, source, blob)
    if start:
        _, out = git_at(repo.place, [*arguments, start, "--", os.fsdecode(path)])
    elif _is_known(repo, path):
        _, out = git_at(repo.place, [*arguments, "--contents", "-", "--", os.fsdecode(path)], data)
    else:
        n_lines = data.count(b"\n") + (not data.endswith(b"\n"))
        nobody = Writer("", "", "", 0, "+0000", "", path)
        return Blame("", data, [Hunk(1, n_lines, nobody)])
    return Blame(start, data, _parse(out, _shallow(repo)))


def _text(repo: Repository, path: bytes, source: str, blob: str) -> bytes:
    """Return the bytes that were ingested: from the object database, or from a file that still has them."""
    try:
        if repo.has_object(blob):
            return repo.read_blob(blob)
    except Damaged:
        pass
    if repo.place.work_tree is not None:
        file = SourceFile(path, FILE, None, tracked=False, state=UNTRACKED, changed=True)
        for found, data in read_sources(repo.place, [file], lambda error: None):
            if found.oid == blob:
                return data
    raise NoBlame(source, "the text that was ingested is nowhere any more", "'git kb ingest' brings in what the file says now")


def _start(repo: Repository, state: StateName, path: bytes, source: str, blob: str) -> str:
    """Return a commit that has the blob at this path: of the state, or the newest before; "" where only uncommitted text has it."""
    if not state.rev and repo.read_ref("HEAD") is None:
        return ""
    commit = repo.resolve(state.rev or "HEAD")
    if repo.read_object(commit)[0] != "commit":
        raise NoBlame(source, f"'{state.rev}' is a tree, which has no history")
    if _blob_at(repo, commit, path) == blob:
        return commit
    if not state.rev:
        return ""
    _, out = git_at(
        repo.place,
        ["log", "--format=%H", f"--find-object={blob}", "--no-show-signature", commit, "--", os.fsdecode(path)],
        env={"GIT_LITERAL_PATHSPECS": "1"},
    )
    for candidate in out.decode().split():
        if _blob_at(repo, candidate, path) == blob:
            return candidate
    raise NoBlame(source, f"no commit up to '{state.rev}' has it as it was ingested")


def _blob_at(repo: Repository, commit: str, path: bytes) -> str | None:
    entry = repo.entry_at(repo.tree_of(commit), path)
    return entry.oid if entry is not None else None


def _is_known(repo: Repository, path: bytes) -> bool:
    """Return whether blame takes uncommitted text for this path: git has it in HEAD or, as after `git mv`, in the index."""
    if repo.read_ref("HEAD") is None:
        return False
    _, out = git_at(repo.place, ["ls-files", "-z", "--", os.fsdecode(path)], env={"GIT_LITERAL_PATHSPECS": "1"})
    return bool(out) or _blob_at(repo, repo.resolve("HEAD"), path) is not None


def _shallow(repo: Repository) -> frozenset[str]:
    """Return the commits at which a shallow clone was cut off."""
    if not repo.place.is_shallow:
        return frozenset()
    _, out = git_at(repo.place, ["rev-parse", "--path-format=absolute", "--git-path", "shallow"])
    try:
        with open(out.removesuffix(b"\n"), encoding="ascii") as file:
            return frozenset(file.read().split())
    except (OSError, ValueError):
        return frozenset()


def _parse(out: bytes, shallow: frozenset[str]) -> list[Hunk]:
    """Return the hunks in the output of `git blame --porcelain`, in the order of lines; equal neighbours are one."""
    writers: dict[str, Writer] = {}
    hunks: list[Hunk] = []
    oid, line, facts = "", 0, dict[bytes, bytes]()
    for row in out.split(b"\n")[:-1]:
        if not oid:
            words = row.split(b" ")
            if len(words) < 3 or not words[2].isdigit():
                raise BrokenStream(row)
            oid, line, facts = words[0].decode(), int(words[2]), {}
        elif not row.startswith(b"\t"):
            key, _, value = row.partition(b" ")
            facts[key] = value
        else:
            if oid not in writers or b"author" in facts:
                writers[oid] = _writer(oid, facts, shallow)
            writer = writers[oid]
            if b"filename" in facts:
                # One commit may have the lines from several files.
                writers[oid] = writer = writer._replace(path=_unquoted(facts[b"filename"]))
            if hunks and hunks[-1].writer == writer and hunks[-1].last == line - 1:
                hunks[-1] = hunks[-1]._replace(last=line)
            else:
                hunks.append(Hunk(line, line, writer))
            oid = ""
    return hunks


def _writer(oid: str, facts: dict[bytes, bytes], shallow: frozenset[str]) -> Writer:
    def text(key: bytes) -> str:
        return facts.get(key, b"").decode("utf-8", "replace")

    if not oid.strip("0"):
        return Writer("", "", "", 0, "+0000", "", b"")
    when = text(b"author-time")
    return Writer(
        oid,
        text(b"author"),
        text(b"author-mail").removeprefix("<").removesuffix(">"),
        int(when) if when.lstrip("-").isdigit() else 0,
        text(b"author-tz") or "+0000",
        text(b"summary"),
        b"",
        oid in shallow,
    )


def _unquoted(name: bytes) -> bytes:
    """Return a path as it is, from how git prints it."""
    if not (len(name) > 1 and name.startswith(b'"') and name.endswith(b'"')):
        return name

    def plain(found: re.Match[bytes]) -> bytes:
        escape = found[1]
        return bytes([int(escape, 8) & 255]) if len(escape) == 3 else bytes([_SHORT.get(escape[0], escape[0])])

    return _ESCAPE.sub(plain, name[1:-1])
