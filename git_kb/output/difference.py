"""What differs between two states, as text in git's manner and as data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from git_kb.output.hits import DIM, RESET
from git_kb.output.jsontext import json_text
from git_kb.output.terminal import quote_path, visible_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from git_kb.model.document import Manifest
    from git_kb.store.difference import DocumentChange, SectionChange, Spot

# The words and letters of git diff --name-status. A section that moved has the letter of a rename, as git knows no other.
LETTERS = {"added": "A", "removed": "D", "changed": "M", "renamed": "R", "moved": "R"}
GREEN, RED, YELLOW, CYAN, STRONG = "\x1b[32m", "\x1b[31m", "\x1b[33m", "\x1b[36m", "\x1b[1m"
COLOURS = {"added": GREEN, "removed": RED, "changed": YELLOW, "renamed": CYAN, "moved": CYAN}
VERSION = 1
Name = Callable[[str], str]


def source_name(quote_all: bool = True) -> Name:
    """Return what names a source as git names a path: quoted where it has odd characters. URLs are left as they are."""

    def name(source: str) -> str:
        return source if "://" in source and source.isprintable() else quote_path(_path_bytes(source), quote_all)

    return name


def _path_bytes(source: str) -> bytes:
    from git_kb.model.source import path_of_source

    return path_of_source(source) or source.encode("utf-8", "surrogatepass")


def render_difference(changes: Iterable[DocumentChange], name: Name, colour: bool = False) -> Iterator[str]:
    """Yield each document for people: what happened to it, and a line a section that differs."""
    for change in changes:
        paint = _painter(colour)
        yield paint(STRONG, _headline(change, name)) + "\n"
        for key, old, new in change.fields:
            yield f"  {key}: {_value(old)} -> {_value(new)}\n"
        for section in change.sections:
            yield _section_line(change, section, paint) + "\n"
        yield "\n"


def _headline(change: DocumentChange, name: Name) -> str:
    if change.status == "renamed" and change.old is not None and change.new is not None:
        return f"renamed {name(change.old.source)} -> {name(change.new.source)} ({_percent(change)}% of its sections stayed)"
    return f"{change.status} {name(change.manifest.source)}"


def _section_line(change: DocumentChange, section: SectionChange, paint: Callable[[str, str], str]) -> str:
    old, new = section.old, section.new
    if section.status == "changed" and old is not None and new is not None:
        chunks = f"{old.row.chunk} -> {new.row.chunk}"
    else:
        chunks = section.spot.row.chunk
    here = change.new or change.old
    letter, notes, spot = LETTERS[section.status], [], section.spot
    if old is not None and new is not None and old.manifest is not change.old:
        notes.append(f"from {old.citation}, line {old.line}")
    elif old is not None and new is not None and new.manifest is not here:
        notes.append(f"now in {new.citation}, line {new.line}")
        spot = old
    elif section.has_moved and old is not None and new is not None:
        notes.append(f"was at line {old.line}" + (f", {_heading(old)}" if old.row.heading != new.row.heading else ""))
    if spot.row.part > 1:
        notes.append(f"part {spot.row.part}")
    tail = f" {paint(DIM, '(' + visible_line('; '.join(notes)) + ')')}" if notes else ""
    return f"  {paint(COLOURS[section.status], letter)} {spot.line:6}  {chunks:24}  {visible_line(_heading(spot))}{tail}"


def _heading(spot: Spot) -> str:
    return " > ".join(spot.row.heading) or ("(front matter)" if spot.row.role else spot.manifest.title)


def _value(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return visible_line(", ".join(map(str, value))) or "(none)"
    return visible_line(str(value)) if value not in ("", None) else "(none)"


def render_name_status(changes: Iterable[DocumentChange], name: Name, status: bool = True, nul: bool = False) -> Iterator[str]:
    """Yield the documents in the form of `git diff --name-status`, or of --name-only without `status`; with `nul` that of -z."""
    gap, end = ("\0", "\0") if nul else ("\t", "\n")
    for change in changes:
        words = []
        if status:
            words.append(LETTERS[change.status] + (f"{_percent(change):03}" if change.status == "renamed" else ""))
        if status and change.status == "renamed" and change.old is not None:
            words.append(_plain(change.old) if nul else name(change.old.source))
        words.append(_plain(change.manifest) if nul else name(change.manifest.source))
        yield gap.join(words) + end


def _plain(manifest: Manifest) -> str:
    return _path_bytes(manifest.source).decode("utf-8", "surrogateescape")


def _percent(change: DocumentChange) -> int:
    # As git has it, 100 is kept for what has not changed at all.
    return int(change.similarity * 100)


def render_stat(changes: Sequence[DocumentChange], name: Name, colour: bool = False) -> Iterator[str]:
    """Yield one line a document with the number of sections that differ, and the sums."""
    paint = _painter(colour)
    names = [_stat_name(change, name) for change in changes]
    width = max((len(n) for n in names), default=0)
    for change, shown in zip(changes, names, strict=True):
        counts = _counts([change])
        marks = "".join(
            paint(COLOURS[status], mark * min(counts[status], 20))
            for status, mark in (("added", "+"), ("removed", "-"), ("changed", "~"), ("moved", "="))
        )
        yield f" {shown:{width}} | {sum(counts.values()):4} {marks}\n"
    yield render_shortstat(changes)


def _stat_name(change: DocumentChange, name: Name) -> str:
    if change.status == "renamed" and change.old is not None:
        return f"{name(change.old.source)} => {name(change.manifest.source)}"
    return name(change.manifest.source) + {"added": " (new)", "removed": " (gone)"}.get(change.status, "")


def render_shortstat(changes: Sequence[DocumentChange]) -> str:
    """Return the sums on one line; nothing when nothing differs."""
    if not changes:
        return ""
    counts = _counts(changes)
    words = ("added", "removed", "changed", "moved")
    parts = [f"{counts[w]} section{'s' * (counts[w] != 1)} {w}" for w in words if counts[w]]
    n = len(changes)
    return ", ".join([f" {n} document{'s' * (n != 1)} changed", *parts]) + "\n"


def _counts(changes: Iterable[DocumentChange]) -> dict[str, int]:
    """Return how many sections were added, removed, changed and moved. A move between two documents counts once, where it went."""
    counts = {"added": 0, "removed": 0, "changed": 0, "moved": 0}
    for change in changes:
        for section in change.sections:
            if not _went_elsewhere(change, section):
                counts[section.status] += 1
    return counts


def _went_elsewhere(change: DocumentChange, section: SectionChange) -> bool:
    return section.new is not None and section.new.manifest is not change.new


def difference_data(changes: Sequence[DocumentChange], old: object, new: object) -> dict[str, object]:
    """Return all of it as data: docs/history.md."""
    return {
        "version": VERSION,
        "from": old,
        "to": new,
        "documents": [_document_data(change) for change in changes],
        "sections": _counts(changes),
    }


def difference_json(changes: Sequence[DocumentChange], old: object, new: object) -> str:
    """Return it as JSON text. old, new: what the two states are called."""
    return json_text(difference_data(changes, old, new), indent=1) + "\n"


def _document_data(change: DocumentChange) -> dict[str, object]:
    return {
        "status": change.status,
        "similarity": round(change.similarity, 4),
        "old": _manifest_data(change.old),
        "new": _manifest_data(change.new),
        "fields": [{"key": key, "old": _plain_value(old), "new": _plain_value(new)} for key, old, new in change.fields],
        "sections": [
            {"status": s.status, "has_moved": s.has_moved, "old": _spot_data(s.old), "new": _spot_data(s.new)}
            for s in change.sections
        ],
    }


def _manifest_data(manifest: Manifest | None) -> dict[str, object] | None:
    if manifest is None:
        return None
    return {"docid": manifest.docid, "source": manifest.source, "title": manifest.title, "blob": manifest.blob}


def _spot_data(spot: Spot | None) -> dict[str, object] | None:
    if spot is None:
        return None
    return {
        "kbid": spot.row.kbid,
        "citation": spot.citation,
        "source": spot.manifest.source,
        "line": spot.line,
        "last_line": spot.line + max(spot.row.n_lines - 1, 0),
        "source_key": spot.row.source_key,
        "heading": list(spot.row.heading),
        "part": spot.row.part,
    }


def _plain_value(value: object) -> object:
    if isinstance(value, (list, tuple)):
        return [_plain_value(v) for v in value]
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)


def _painter(colour: bool) -> Callable[[str, str], str]:
    return (lambda code, text: f"{code}{text}{RESET}" if text else "") if colour else (lambda code, text: text)
