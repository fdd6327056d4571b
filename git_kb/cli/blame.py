"""git kb blame: say who last wrote each section of a document.

Takes what 'git kb show' takes: a document (docid, source path) or one section (kbid, citation, <path>:<line>,
<path>#<heading>). For each section: the commit that last wrote one of its lines, its author and date, the lines in the
source, the chunk and the heading; with --verbose every commit that wrote some of them, and how many. It is 'git blame' of
the source as it was ingested, moved files followed, so line numbers hold even where the file has changed since. Lines that
are in no commit are told as "not committed"; "^" before a commit says that the history of a shallow clone ends there.
Goes through git's pager on a terminal. docs/history.md describes --json.
"""

from __future__ import annotations

import argparse
import re

from git_kb.cli.env import Env

TYPE_CHECKING = False
if TYPE_CHECKING:
    from git_kb.index.view import View, ViewDocument, ViewRow
    from git_kb.store.blame import Blame, Hunk, Writer
    from git_kb.store.state import StateName

SUMMARY = "say who last wrote each section of a document"
VERSION = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from git_kb.cli.parser import add_view_arguments

    add_view_arguments(parser)
    parser.add_argument("-L", dest="lines", type=_lines, metavar="N,M", help="only these lines of the source: N,M or N,+COUNT or N")
    parser.add_argument("-w", dest="options", action="append_const", const="-w", help="ignore changes of blanks, as git blame")
    parser.add_argument(
        "-M", dest="options", action="append_const", const="-M", help="follow lines that moved in the file, as git blame"
    )
    parser.add_argument("-C", dest="options", action="append_const", const="-C", help="follow lines from other files, as git blame")
    parser.add_argument("-v", "--verbose", action="store_true", help="name every commit that wrote some of the lines")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("id", nargs="+", help="docid, source path, kbid, citation, <path>:<line> or <path>#<heading>")


def _lines(text: str) -> tuple[int, int]:
    """Return (first, last) of a range of lines. Raises argparse.ArgumentTypeError."""
    match = re.fullmatch(r"([0-9]{1,9})(?:,(\+?)([0-9]{1,9}))?", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"'{text}' is no range of lines: N,M or N,+COUNT or N")
    first = int(match[1])
    last = first if match[3] is None else first + int(match[3]) - 1 if match[2] else int(match[3])
    if first < 1 or last < first:
        raise argparse.ArgumentTypeError(f"'{text}' has no lines")
    return first, last


def run(args: argparse.Namespace, env: Env) -> int:
    from git_kb.repo.pager import paged
    from git_kb.store.blame import blame_source
    from git_kb.store.freshness import with_fresh_view
    from git_kb.store.state import default_state

    env.quiet = args.json
    state = default_state(env.place, args.at, args.cached)
    asked = with_fresh_view(env.repo, state, env.hooks("blame"), lambda view, _: _look_up(view, state, args.id, env))
    told = []
    for document, rows, is_whole in asked:
        spans = None if is_whole else [(row.start, row.end) for row in rows]
        blame = blame_source(env.repo, state, document.source, document.blob, spans, args.options or ())
        told.append(_told(document, rows, blame, args.lines))
    if args.json:
        from git_kb.output.jsontext import json_text

        env.out.write(json_text({"version": VERSION, "documents": [_data(*one) for one in told]}, indent=1) + "\n")
        return 0
    with paged(env.place, env.out) as out:
        for _, _, sections in told:
            out.write(_text(sections, args.verbose))
    if any(hunk.writer.is_boundary for _, _, sections in told for *_, hunks in sections for hunk in hunks):
        env.note("^: the history that is here ends at this commit; 'git fetch --unshallow' brings the rest")
    if args.lines and not any(sections for _, _, sections in told):
        env.note(f"no section has a line from {args.lines[0]} to {args.lines[1]}")
        return 1
    return 0


# A section with its document, first and last line, and hunks.
Section = tuple["ViewDocument", "ViewRow", int, int, "list[Hunk]"]


def _look_up(view: View, state: StateName, names: list[str], env: Env) -> list[tuple[ViewDocument, list[ViewRow], bool]]:
    """Return (document, rows, are they all?) of what the names mean, each document once."""
    from git_kb.cli.names import find_named, front_matter
    from git_kb.errors import NotFound
    from git_kb.index.view import ViewDocument
    from git_kb.output.show import AmbiguousId

    found: dict[str, tuple[ViewDocument, list[ViewRow], bool]] = {}
    for name in names:
        try:
            meant = find_named(view, name, env)
        except (NotFound, AmbiguousId):
            if not (meant := front_matter(name, state, env)):
                raise
        if isinstance(meant, ViewDocument):
            found[meant.docid] = meant, [view.row(number) for number in meant.rows], True
            continue
        for place in meant:
            _, rows, is_whole = found.setdefault(place.document.docid, (place.document, [], False))
            if not is_whole and all(row.start != place.row.start for row in rows):
                rows.append(place.row)
    return list(found.values())


def _told(
    document: ViewDocument, rows: list[ViewRow], blame: Blame, lines: tuple[int, int] | None
) -> tuple[ViewDocument, Blame, list[Section]]:
    sections: list[Section] = []
    for row in rows:
        first, last = blame.lines_of(row.start, row.end)
        if lines is not None:
            first, last = max(first, lines[0]), min(last, lines[1])
        if first <= last:
            sections.append((document, row, first, last, blame.within(first, last)))
    return document, blame, sections


def _writers(hunks: list[Hunk]) -> list[tuple[Writer, int]]:
    """Return (writer, number of lines), those of no commit first, then the newest."""
    counts: dict[Writer, int] = {}
    for hunk in hunks:
        counts[hunk.writer] = counts.get(hunk.writer, 0) + hunk.last - hunk.first + 1
    return sorted(counts.items(), key=lambda item: (bool(item[0].oid), -item[0].when_s, item[0].oid))


def _text(sections: list[Section], verbose: bool) -> str:
    from git_kb.output.terminal import visible_line

    table = [(section, _writers(section[-1])) for section in sections]
    names = [_name(writer) for _, writers in table for writer, _ in writers[: None if verbose else 1]]
    width = min(max(map(len, names), default=0), 30)
    lines = []
    for (document, row, first, last, _), writers in table:
        for number, (writer, n_lines) in enumerate(writers):
            who = f"{_short(writer):9} ({visible_line(_name(writer)):{width}} {_when(writer):25})"
            if not number:
                more = f"  and {len(writers) - 1} older" if len(writers) > 1 and not verbose else ""
                heading = " > ".join(row.heading) or document.title
                part = f" (part {row.part})" if row.part > 1 else ""
                place = f"{visible_line(document.source)}:{first}-{last}"
                lines.append(f"{who} {place}  {row.chunk}  {visible_line(heading)}{part}{more}\n")
            elif verbose:
                lines.append(f"{who}   {n_lines} of these lines\n")
    return "".join(lines)


def _short(writer: Writer) -> str:
    # As in git blame, the mark takes a place of the id.
    return f"^{writer.oid[:8]}" if writer.is_boundary else writer.oid[:9] or "0" * 9


def _name(writer: Writer) -> str:
    return writer.author if writer.oid else "not committed"


def _when(writer: Writer) -> str:
    """Return the author's date as git blame has it, at the author's place; seconds where no calendar has it."""
    from datetime import UTC, datetime, timedelta, timezone

    if not writer.oid:
        return ""
    tz = writer.tz
    sign = -1 if tz.startswith("-") else 1
    digits = tz.lstrip("+-")
    minutes = int(digits[:-2] or 0) * 60 + int(digits[-2:]) if digits.isdecimal() and len(digits) <= 4 else 0
    try:
        zone = timezone(sign * timedelta(minutes=minutes)) if minutes else UTC
        return datetime.fromtimestamp(writer.when_s, zone).strftime("%Y-%m-%d %H:%M:%S %z")
    except (ValueError, OverflowError, OSError):
        return f"@{writer.when_s}"


def _data(document: ViewDocument, blame: Blame, sections: list[Section]) -> dict[str, object]:
    from git_kb.model.section import RAW_SIZE, kbid_text

    return {
        "docid": document.docid,
        "source": document.source,
        "blob": document.blob,
        "start": blame.start or None,
        "sections": [
            {
                "kbid": kbid_text(row.entry_id[:RAW_SIZE]),
                "citation": f"{document.docid}#{row.chunk}",
                "heading": list(row.heading),
                "part": row.part,
                "line": first,
                "last_line": last,
                "commits": [_writer_data(writer, n_lines) for writer, n_lines in _writers(hunks)],
                "hunks": [{"line": h.first, "last_line": h.last, "oid": h.writer.oid or None} for h in hunks],
            }
            for _, row, first, last, hunks in sections
        ],
    }


def _writer_data(writer: Writer, n_lines: int) -> dict[str, object]:
    from git_kb.model.source import source_of_path

    if not writer.oid:
        return {"oid": None, "lines": n_lines}
    return {
        "oid": writer.oid,
        "author": writer.author,
        "email": writer.email,
        "date": _when(writer),
        "summary": writer.summary,
        "source": source_of_path(writer.path),
        "boundary": writer.is_boundary,
        "lines": n_lines,
    }
