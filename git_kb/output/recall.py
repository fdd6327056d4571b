"""References out of and into a section or document, as text and as data."""

from __future__ import annotations

from git_kb.model.section import kbid_of_entry
from git_kb.output.hits import DIM, PATH, RESET, shown_source
from git_kb.output.terminal import visible, visible_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from git_kb.index.view import ViewDocument, ViewRow
    from git_kb.search.recall import Shown

_STATES = {
    "dangling": "leads nowhere",
    "no-fragment": "no such heading",
    "ambiguous": "fits several sections",
    "external": "not in the knowledge base",
}


def render_references(shown: list[Shown], direction: str, total: int, prefix: bytes = b"", colour: bool = False) -> str:
    """Return references of one direction ("out" or "in") for people. total: how many there are."""
    title = "refers to" if direction == "out" else "referred to by"
    lines = [f"{title}: {total or 'nothing'}"]
    for one in shown:
        place = f"{shown_source(one.document.source, prefix)}:{one.line}"
        if colour:
            place = f"{PATH}{place}{RESET}"
        row = one.edge.row
        if direction == "out":
            lines.append(f"  {place} -> {_target(one, prefix)}")
        else:
            state = one.edge.target.state
            note = f" ({_STATES[state]})" if state in _STATES else ""
            lines.append(f"  {place}  {visible_line(_heading(row, one.document))}{note}")
        if one.context:
            text = visible(one.context)
            lines.append(f"      {DIM}{text}{RESET}" if colour else f"      {text}")
    return "\n".join(lines) + "\n"


def render_subject(subject: dict[str, object], prefix: bytes = b"") -> str:
    """Return the line above the references: what they are those of."""
    place = shown_source(str(subject["source"]), prefix)
    if subject["kind"] == "document":
        return f"document {visible_line(str(subject['docid']))}  {place}\n"
    heading = visible_line(" > ".join(map(str, subject["heading"])))  # type: ignore[call-overload]
    return f"section {subject['kbid']}  {place}:{subject['line']}" + (f"  {heading}" if heading else "") + "\n"


def subject_data(name: str, document: ViewDocument, row: ViewRow | None) -> dict[str, object]:
    """Return what an id stands for, as plain data. row: the section, None for the document."""
    data: dict[str, object] = {"id": name, "kind": "document" if row is None else "section"}
    data |= {"docid": document.docid, "source": document.source, "title": document.title}
    if row is not None:
        data |= {
            "kbid": kbid_of_entry(row.entry_id),
            "citation": f"{document.docid}#{row.chunk}",
            "line": row.line,
            "heading": list(row.heading),
        }
    return data


def reference_data(one: Shown, direction: str) -> dict[str, object]:
    """Return one reference as seed-3 data (direction, source_kbid, target_id, marker_type, context_snippet) and more."""
    edge, document, found = one.edge, one.document, one.target_document
    row = edge.target.row
    kbid = None if row is None else kbid_of_entry(row.entry_id)
    return {
        "direction": "forward" if direction == "out" else "back",
        "source_kbid": kbid_of_entry(edge.row.entry_id),
        "target_id": kbid or (found.docid if found else None),
        "marker_type": edge.reference.kind,
        "context_snippet": one.context,
        "reference": edge.reference.target,
        "destination": one.destination,
        "state": edge.target.state,
        "source": document.source,
        "line": one.line,
        "docid": document.docid,
        "citation": f"{document.docid}#{edge.row.chunk}",
        "heading": list(edge.row.heading),
        "target_docid": found.docid if found else None,
        "target_source": found.source if found else None,
        "target_line": row.line if row else None,
        "target_citation": f"{found.docid}#{row.chunk}" if found and row else None,
        "target_heading": list(row.heading) if row else None,
    }


def _target(one: Shown, prefix: bytes) -> str:
    document, target = one.target_document, one.edge.target
    note = f" ({_STATES[target.state]})" if target.state in _STATES else ""
    if document is None:
        return f"{visible_line(one.destination)}{note}"
    place = shown_source(document.source, prefix)
    if target.row is None:
        return f"{place}  {visible_line(document.title)}" + (f"{note}: {visible_line(one.destination)}" if note else "")
    return f"{place}:{target.row.line}  {visible_line(_heading(target.row, document))}{note}"


def _heading(row: ViewRow, document: ViewDocument) -> str:
    return " > ".join(row.heading) or document.title
