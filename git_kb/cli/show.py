"""git kb show: print a section, a document or what a citation points to.

Takes a kbid (4 or more characters), a docid, a source path, a citation <docid>#c-xxxxxxxx, a line <path>:<line> or
a heading <path>#<heading>, as links name it. A document is shown with its sections. Of several ids, those that are
known are shown in the order given; the others are named on standard error, and the exit status is 1 (128 when one
is ambiguous or damaged). With --json, several ids give a list.
With --history, what stood in the place of a section before and after is listed, newest first: its supersession chain,
with commit, author and date, through all names that its document had. A kbid of old is found by git's history, too.
Signatures are checked with --show-signature, or where log.showSignature says so, and told as %G? of git log. Commits are
read up to --at, else HEAD; what the work tree has besides is told as not committed. docs/history.md describes --json.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from git_kb.cli.env import Env

TYPE_CHECKING = False
if TYPE_CHECKING:
    from git_kb.errors import KbError
    from git_kb.index.view import View
    from git_kb.store.pool import Pool
    from git_kb.store.state import StateName

SUMMARY = "print a section, a document or what a citation points to"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from git_kb.cli.parser import add_view_arguments

    add_view_arguments(parser)
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--history", action="store_true", help="list what stood in the place of a section, newest first")
    parser.add_argument(
        "--show-signature",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="with --history: check the commits' signatures",
    )
    parser.add_argument("id", nargs="+", help="kbid, docid, source path, citation, <path>:<line> or <path>#<heading>")


def run(args: argparse.Namespace, env: Env) -> int:
    from git_kb.store.freshness import with_fresh_view
    from git_kb.store.state import default_state

    env.quiet = args.json
    state = default_state(env.place, args.at, args.cached)
    if args.history:
        from git_kb.cli.section_history import show_history

        return show_history(args.id, state, env, args.json, args.show_signature)
    if args.show_signature is not None:
        from git_kb.cli.parser import BadArguments

        raise BadArguments("--show-signature is for --history")
    shown, errors = with_fresh_view(env.repo, state, env.hooks("show"), lambda view, _: _look_up(view, state, args.id, env))
    if args.json and (shown or len(args.id) > 1):
        from git_kb.output.jsontext import json_text

        env.out.write(json_text(shown if len(args.id) > 1 else shown[0], indent=1) + "\n")
    elif not args.json:
        for data in shown:
            env.out.write(_document_text(data) if "sections" in data else _section_text(data))
    for number, error in enumerate(errors, 1):
        # The same advice once.
        env.report(error, all(error.hint != e.hint for e in errors[number:]))
    return max((e.exit_code for e in errors), default=0)


def _look_up(view: View, state: StateName, names: list[str], env: Env) -> tuple[list[dict[str, object]], list[KbError]]:
    """Return (what the names stand for, why others stand for nothing). Raises DamagedSegment."""
    from git_kb.errors import KbError
    from git_kb.index.pagefile import DamagedSegment
    from git_kb.store.pool import Pool

    pool = Pool(env.repo)
    shown: list[dict[str, object]] = []
    errors: list[KbError] = []
    for name in names:
        try:
            shown.append(_look_up_one(view, state, name, pool, env))
        except DamagedSegment:
            raise
        except KbError as e:
            errors.append(e)
    return shown, errors


def _look_up_one(view: View, state: StateName, name: str, pool: Pool, env: Env) -> dict[str, object]:
    from git_kb.cli.names import find_named, front_matter
    from git_kb.errors import NotFound
    from git_kb.index.view import ViewDocument
    from git_kb.output.show import AmbiguousId

    try:
        found = find_named(view, name, env)
    except (NotFound, AmbiguousId):
        if not (found := front_matter(name, state, env)):
            raise
    return _document_data(view, found) if isinstance(found, ViewDocument) else _section_data(pool, found)


def _section_data(pool: object, places: Sequence[object]) -> dict[str, object]:
    from git_kb.output.show import Place
    from git_kb.store.again import read_or_cut
    from git_kb.store.pool import Pool

    assert isinstance(pool, Pool)
    first = places[0]
    assert isinstance(first, Place)
    documents = [p.document for p in places if isinstance(p, Place)]
    section = read_or_cut(pool, first.kbid, [(d.source, d.blob) for d in documents])
    return {
        "kbid": first.kbid,
        "type": section.mime,
        "size": len(section.content),
        "title": first.row.heading[-1] if first.row.heading else first.document.title,
        "places": [
            {
                "citation": p.citation,
                "docid": p.document.docid,
                "source": p.document.source,
                "line": p.row.line,
                "start": p.row.start,
                "end": p.row.end,
                "heading": list(p.row.heading),
                "part": p.row.part,
            }
            for p in places
            if isinstance(p, Place)
        ],
        "content": section.content.decode("utf-8", "replace"),
    }


def _document_data(view: object, document: object) -> dict[str, object]:
    from git_kb.index.view import View, ViewDocument
    from git_kb.output.show import Place

    assert isinstance(view, View)
    assert isinstance(document, ViewDocument)
    places = [Place(view.row(number), document) for number in document.rows]
    return {
        "docid": document.docid,
        "title": document.title,
        "source": document.source,
        "blob": document.blob,
        "type": document.type,
        "tier": document.tier,
        "tags": list(document.tags),
        "sections": [
            {"kbid": p.kbid, "citation": p.citation, "line": p.row.line, "heading": list(p.row.heading), "part": p.row.part}
            for p in places
        ],
    }


def _section_text(data: dict[str, object]) -> str:
    from git_kb.output.terminal import visible, visible_line

    lines = [f"section {data['kbid']}", f"Type:  {data['type']}, {data['size']} bytes"]
    for place in data["places"]:  # type: ignore[attr-defined]
        heading = " > ".join(place["heading"])
        lines.append(f"Cite:  {place['citation']}")
        lines.append(f"At:    {visible_line(place['source'])}:{place['line']}" + (f"  {heading}" if heading else ""))
    return visible("\n".join([*lines, "", str(data["content"])])) + "\n\n"


def _document_text(data: dict[str, object]) -> str:
    from git_kb.output.terminal import visible, visible_line

    lines = [
        f"document {data['docid']}",
        f"Title:  {data['title']}",
        f"Source: {visible_line(str(data['source']))} ({data['type']}, blob {data['blob']})",
    ]
    if data["tags"]:
        lines.append(f"Tags:   {', '.join(data['tags'])}")  # type: ignore[arg-type]
    if data["tier"]:
        lines.append(f"Tier:   {data['tier']}")
    lines.append("")
    for row in data["sections"]:  # type: ignore[attr-defined]
        part = f" (part {row['part']})" if row["part"] > 1 else ""
        lines.append(
            f"  {row['line']:6}  {row['kbid'][:10]}  {row['citation'].rpartition('#')[2]}  {' > '.join(row['heading'])}{part}"
        )
    return visible("\n".join(lines)) + "\n\n"
