"""git kb recall: list the references out of and into a section or document.

Takes a kbid (4 or more characters), a docid, a source path, a citation <docid>#c-xxxxxxxx, a line <path>:<line> or
a heading <path>#<heading>, as links name it. References are Markdown links (inline, by label, autolinks, <a href>),
those of reStructuredText, wiki links [[page]] and content markers $(image:) $(code:) $(text:) $(document:) $(link:)
$(doc-link:); they are
followed within the state that is read. Each is shown with its place and the text around it. What refers to any section
of a document refers to the document. A reference that leads to no document is listed as such; links to other sites
only with --external. docs/format-references.md tells what leads where.
"""

from __future__ import annotations

import argparse
import os

from git_kb.cli.env import Env

TYPE_CHECKING = False
if TYPE_CHECKING:
    from git_kb.index.references import References
    from git_kb.index.view import View, ViewDocument, ViewRow
    from git_kb.model.section import Section
    from git_kb.search.recall import Edge, Graph, Subject

SUMMARY = "list the references out of and into a section or document"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from git_kb.cli.parser import add_view_arguments, number

    add_view_arguments(parser)
    parser.add_argument("--direction", choices=["out", "in", "both"], default="both", help="which references (default: both)")
    parser.add_argument("--external", action="store_true", help="list links to other sites too")
    parser.add_argument("--limit", type=number, default=20, metavar="N", help="at most N in each direction (default: 20)")
    parser.add_argument("--offset", type=number, default=0, metavar="N", help="leave out the first N in each direction")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("-q", "--quiet", action="store_true", help="no notes on standard error")
    parser.add_argument("id", help="kbid, docid, source path, citation, <path>:<line> or <path>#<heading>")


def run(args: argparse.Namespace, env: Env) -> int:
    from git_kb.cli.parser import BadArguments
    from git_kb.output.recall import reference_data, render_references, render_subject, subject_data
    from git_kb.search.recall import Graph, Shown
    from git_kb.store.references import with_fresh_references
    from git_kb.store.state import default_state

    if args.limit < 1 or args.offset < 0:
        raise BadArguments("--limit must be at least 1 and --offset at least 0")
    env.quiet = args.quiet or args.json
    state = default_state(env.place, args.at, args.cached)
    directions = ("out", "in") if args.direction == "both" else (args.direction,)

    def look(view: View, references: References) -> tuple[dict[str, object], dict[str, tuple[int, list[Shown]]]]:
        graph = Graph(view, references)
        subject, document, row = find_subject(graph, args.id, env)
        found = {}
        for direction in directions:
            edges = graph.out_of(subject, args.external) if direction == "out" else graph.into(subject)
            page = edges[args.offset : args.offset + args.limit]
            found[direction] = (len(edges), graph.show(page, lambda some: _sections(graph, some, env)))
        return subject_data(args.id, document, row), found

    about, found = with_fresh_references(env.repo, state, env.hooks("recall"), look)
    if args.json:
        from git_kb.output.jsontext import json_text

        data = {d: {"total": total, "results": [reference_data(one, d) for one in shown]} for d, (total, shown) in found.items()}
        env.out.write(json_text({**about, **data}, indent=1) + "\n")
    else:
        env.out.write(render_subject(about, env.place.prefix))
        for direction, (total, shown) in found.items():
            env.out.write(render_references(shown, direction, total, env.place.prefix, env.colour()))
            if more := max(total - args.offset - len(shown), 0):
                env.note(f"{more} more {'out of' if direction == 'out' else 'into'} it; --limit and --offset show them")
    return 0 if any(shown for _, shown in found.values()) else 1


def find_subject(graph: Graph, name: str, env: Env) -> tuple[Subject, ViewDocument, ViewRow | None]:
    """Return (what `name` means, its document, its section or None). Raises NotFound, AmbiguousId."""
    from git_kb.errors import NotFound
    from git_kb.index.view import ViewDocument
    from git_kb.output.show import AmbiguousId, UnknownId, resolve_id
    from git_kb.search.recall import Subject

    # Without a look at every document, which `resolve_id` takes.
    for known in (graph.resolver.by_docid(name), graph.resolver.at(name)):
        if known is not None:
            return Subject(doc=known), graph.resolver.document(known), None
    try:
        found = resolve_id(graph.view, name)
    except (NotFound, AmbiguousId) as e:
        try:
            number, row = _by_path(graph, name, env)
        except UnknownId:
            raise e from None
        if row is not None:
            return Subject(kbid=row.entry_id[:16]), graph.resolver.document(number), row
        return Subject(doc=number), graph.resolver.document(number), None
    if isinstance(found, ViewDocument):
        known = graph.resolver.by_docid(found.docid)
        assert known is not None, "documents are in order of name"
        return Subject(doc=known), found, None
    return Subject(kbid=found[0].row.entry_id[:16]), found[0].document, found[0].row


def _by_path(graph: Graph, name: str, env: Env) -> tuple[int, ViewRow | None]:
    """Return (document, section) that a path as typed means, with a line or heading behind it. Raises UnknownId, NoSuchHeading."""
    from git_kb.cli.names import path_and_fragment
    from git_kb.output.show import NoSuchHeading, UnknownId

    whole = _document_at(graph, name, env)
    if whole is not None:
        return whole, None
    for path, fragment in path_and_fragment(name):
        if (number := _document_at(graph, path, env)) is not None:
            row = graph.resolver.section_at(number, fragment)
            if row is None:
                raise NoSuchHeading(name)
            return number, row
    raise UnknownId(name)


def _document_at(graph: Graph, name: str, env: Env) -> int | None:
    """Return the number of the document that has this docid or source, or whose path this is from here."""
    from git_kb.ingest.select import inside_path

    number = graph.resolver.by_docid(name)
    if number is None:
        number = graph.resolver.at(name)
    if number is None and (inside := inside_path(env.place, name)):
        number = graph.resolver.at(os.fsdecode(inside))
    return number


def _sections(graph: Graph, edges: list[Edge], env: Env) -> dict[bytes, Section]:
    """Return the sections that some references stand in, by the 16 bytes of their kbids."""
    from git_kb.model.section import kbid_bytes, kbid_text
    from git_kb.store.content import read_contents

    documents = {kbid_text(e.row.entry_id[:16]): graph.resolver.document(e.row.doc) for e in edges}
    found = read_contents(env.place, list(documents), lambda: ((k, d.source, d.blob) for k, d in documents.items()))
    return {kbid_bytes(kbid): section for kbid, section in found.items()}
