"""When documents last changed, by git's history; and dates as people write them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from git_kb.index.view import ViewDocument
from git_kb.model.source import path_of_source
from git_kb.repo.discover import Place
from git_kb.repo.process import git_at
from git_kb.repo.spawn import run_git
from git_kb.store.datefile import Dates, keep_dates, kept_commits, may_keep, read_dates

MAX_DATE = 100
# More paths do not fit on a command line for sure.
MAX_PATHS = 500
FOREVER = float("inf")
# What `_commits` reads, whatever is configured. The format follows: a byte of 1 before each commit.
RAW_LOG = ("log", "--raw", "--no-abbrev", "--no-renames", "--no-show-signature", "--no-color", "-z")
# So many commits that something is kept of are looked at for one that a new commit comes after.
MAX_BASES = 3


def parse_date(place: Place, text: str) -> float | None:
    """Return the seconds since 1970 of a date, None for what is none.

    A year, a month (2025-03) and a day mean their first moment in the local time zone; all else is what git makes of it, as in
    `git log --since`: "2 weeks ago", yesterday, 2025-03-01T10:00Z.
    """
    text = text.strip()
    if not text or len(text) > MAX_DATE or not text.isprintable():
        return None
    parts = text.split("-")
    if all(part.isdecimal() and part.isascii() for part in parts) and len(text) < 11:
        if len(parts[0]) != 4 and len(text) < 9:
            return None
        if len(parts[0]) == 4:
            if len(parts) > 3 or not all(1 <= int(p) <= most for p, most in zip(parts[1:], (12, 31), strict=False)):
                return None
            text = "-".join([*parts, "01", "01"][:3]) + " 00:00:00"
    # Of git's commands, this one refuses what is no date. The setting that it is asked for exists nowhere.
    arguments = ["config", "--file", os.devnull, "--type=expiry-date", f"--default={text}", "--get", "kb.date"]
    status, out, _ = run_git(arguments, place.git_cwd, env=place.git_env())
    if status != 0 or not out.strip().isdigit():
        return None
    seconds = int(out)
    return FOREVER if seconds >= 1 << 63 else float(seconds)


def changes_since(place: Place, rev: str, documents: Iterable[ViewDocument], since: float) -> dict[str, float]:
    """Return document name -> when its source last changed, of those that did at `since` or later. Seconds since 1970.

    That is the committer date of the commit that `git log -1 <rev> -- <source>` names; for a document made of an older version of
    its source, of the newest commit that brought that version. What no commit has counts as changed just now: FOREVER. The history
    is walked as far back as `since` (as `git log --since` goes) and what it gave is kept, so that the next time only newer commits
    are; and once more for the few documents whose source is another at `rev`.
    """
    wanted: dict[tuple[bytes, str], list[str]] = {}
    found: dict[str, float] = {}
    for document in documents:
        path = path_of_source(document.source)
        if path is None:
            found[document.name] = FOREVER
        else:
            wanted.setdefault((path, document.blob), []).append(document.name)
    status, out = git_at(place, ["rev-parse", "-q", "--verify", "--end-of-options", f"{rev}^{{commit}}"], ok=(0, 1, 128))
    if status != 0:
        # There is no commit yet, or `rev` is a tree.
        return {**found, **{name: FOREVER for names in wanted.values() for name in names}}
    known = _dates_at(place, out.strip().decode(), since)
    others = {(path, blob) for path, blob in wanted if known.blobs.get(path) != blob}
    dated = {(path, blob): known.dates[path] for path, blob in wanted.keys() - others if path in known.dates}
    old: set[tuple[bytes, str]] = set()
    paths = sorted({os.fsdecode(path) for path, _ in others})
    for at in range(0, len(paths), MAX_PATHS):
        some = _walk(place, others, ["--end-of-options", rev, "--", *paths[at : at + MAX_PATHS]])
        dated.update(some)
        old |= some.keys()
    dated.update(dict.fromkeys(others - old, FOREVER))
    found.update({name: when for key, when in dated.items() for name in wanted[key]})
    return {name: when for name, when in found.items() if when >= since}


def _dates_at(place: Place, commit: str, since: float) -> Dates:
    """Return when the files of a commit last changed, of those that did at `since` or later."""
    keeps = since != FOREVER and may_keep(place)
    if keeps and (kept := read_dates(place, commit)) is not None and kept.floor <= since:
        return kept
    blobs = _tree(place, commit)
    for older in kept_commits(place)[:MAX_BASES] if keeps else ():
        base = read_dates(place, older)
        if base is None or base.floor > since:
            continue
        if git_at(place, ["merge-base", "--is-ancestor", older, commit], ok=(0, 1, 128))[0] != 0:
            continue
        if (dates := _follow_to(place, commit, blobs, older, base)) is not None:
            known = Dates(base.floor, blobs, dates)
            keep_dates(place, commit, known)
            return known
    known = Dates(since, blobs, {path: when for (path, _), when in _follow(place, commit, blobs, since).items()})
    if keeps:
        keep_dates(place, commit, known)
    return known


def _follow_to(place: Place, commit: str, blobs: dict[bytes, str], older: str, base: Dates) -> dict[bytes, float] | None:
    """Return path -> date as `_follow` does, by the commits since an older one that all is known of.

    None where a path leads to another commit of that one's history: by a merge of a branch that began before it.
    """
    found, followed, merged = _go(place, commit, blobs, [commit, f"^{older}"])
    dates = {path: when for (path, _), when in found.items()}
    for path in followed.pop(older.encode(), ()):
        if base.blobs.get(path) == blobs[path]:
            if path in base.dates:
                dates[path] = base.dates[path]
        elif path in merged:
            dates[path] = merged[path]
        else:
            return None
    return None if any(followed.values()) else dates


def _follow(place: Place, commit: str, blobs: dict[bytes, str], since: float) -> dict[tuple[bytes, str], float]:
    """Return (path, blob) -> date of the commit that `git log -1 <commit> -- <path>` names, for all not older than `since`."""
    first = max(0, int(since)) if since != FOREVER else 1 << 40
    found, followed, merged = _go(place, commit, blobs, [f"--since=@{first} +0000", "--end-of-options", commit])
    # Where the walk ended before it came to what the merged branch had.
    for oid, paths in followed.items():
        unsure = {(path, blobs[path]) for path in paths if path in merged}
        found.update({key: merged[key[0]] for key in _not_at(place, oid.decode(), unsure)})
    return found


def _go(
    place: Place, commit: str, blobs: dict[bytes, str], which: list[str]
) -> tuple[dict[tuple[bytes, str], float], dict[bytes, set[bytes]], dict[bytes, float]]:
    """Follow paths from a commit back. which: the arguments for `git log` that say how far.

    Return (path, blob) -> date; commit -> the paths that are still followed where the walk ended; path -> date of the merge through
    which it came from another parent than the first.

    One walk, children before parents, in which each commit has the paths that are followed through it. Of a merge, a path goes on
    to the first parent where that has the same blob, else to the second; where the commit found there brought another blob, it
    was the merge itself that changed the path.
    """
    arguments = ["--date-order", "--diff-merges=first-parent", "--format=%x01%H %ct %P", *which, "--"]
    _, out = git_at(place, ["-c", "log.showRoot=true", *RAW_LOG, *arguments])
    followed: dict[bytes, set[bytes]] = {commit.encode(): set(blobs)}
    merged: dict[bytes, float] = {}
    found: dict[tuple[bytes, str], float] = {}
    for (oid, date, *parents), changes in _commits(out):
        here = followed.pop(oid, None)
        if not here:
            continue
        when = float(date)
        for path, blob in changes:
            if path not in here:
                continue
            here.discard(path)
            if len(parents) > 1 and blob == blobs[path]:
                merged[path] = when
                followed.setdefault(parents[1], set()).add(path)
            else:
                found[path, blobs[path]] = when if blob == blobs[path] else merged.get(path, when)
        if parents and here:
            below = followed.get(parents[0])
            if below is None:
                followed[parents[0]] = here
            else:
                # The smaller into the larger: a side branch joins the main line again and again.
                small, large = sorted((below, here), key=len)
                large |= small
                followed[parents[0]] = large
    return found, followed, merged


def _walk(place: Place, wanted: Iterable[tuple[bytes, str]], arguments: list[str]) -> dict[tuple[bytes, str], float]:
    """Return (path, blob) -> committer date of the newest commit that brought it in, of those wanted."""
    left = set(wanted)
    _, out = git_at(place, [*RAW_LOG, "-c", "--format=%x01%ct", *arguments], env={"GIT_LITERAL_PATHSPECS": "1"})
    found: dict[tuple[bytes, str], float] = {}
    for (date, *_), changes in _commits(out):
        for key in changes:
            if key in left:
                left.discard(key)
                found[key] = float(date)
    return found


def _commits(out: bytes) -> Iterator[tuple[list[bytes], list[tuple[bytes, str]]]]:
    """Yield (words of the header, (path, its blob) of each change) of what `git log -z --raw --format=%x01...` says."""
    header: list[bytes] = []
    changes: list[tuple[bytes, str]] = []
    about = b""
    for item in out.split(b"\0"):
        if about:
            # Modes and ids of the parents (one, or of a merge several), the same of the commit, and how it changed.
            n_parents = len(about) - len(about.lstrip(b":"))
            changes.append((item, about.split(b" ")[2 * n_parents + 1].decode("ascii", "replace")))
            about = b""
        elif (item := item.lstrip(b"\n")).startswith(b":"):
            about = item
        elif item:
            if header:
                yield header, changes
            header, changes = item[1:].split(), []
    if header:
        yield header, changes


def _not_at(place: Place, rev: str, wanted: Iterable[tuple[bytes, str]]) -> set[tuple[bytes, str]]:
    """Return those of (path, blob) that are not in the tree of a revision."""
    left = set(wanted)
    return left - _tree(place, rev).items() if left else left


def _tree(place: Place, rev: str) -> dict[bytes, str]:
    """Return path -> blob id of all files at a revision."""
    _, out = git_at(place, ["ls-tree", "-r", "-z", "--full-tree", rev])
    found = {}
    for row in out.split(b"\0")[:-1]:
        meta, _, path = row.partition(b"\t")
        found[path] = meta.split()[2].decode()
    return found
