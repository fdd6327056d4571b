"""Hits grouped by document, and the numbers of a search, as text and as data."""

from __future__ import annotations

from git_kb.output.hits import DIM, RESET, place_text, shown_snippet, source_mark
from git_kb.output.terminal import visible_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from git_kb.output.links import Link
    from git_kb.search.find import Answer, Found
    from git_kb.search.modes import FoundDocument, TermStats


def render_documents(
    documents: list[FoundDocument], prefix: bytes = b"", colour: bool = False, offset: int = 0, link: Link | None = None
) -> str:
    """Return documents for people, each with its best sections. prefix, link: as in `hits.render_hits`."""
    lines = []
    for number, found in enumerate(documents, offset + 1):
        place = place_text(found.sections[0], prefix, colour, link, with_line=False)
        lines.append(f"{number}. {place}  {visible_line(found.document.title)}{source_mark(found.sections[0].source_state)}\n")
        tail = f"{found.document.docid}  score {found.score:.2f}, {found.n_matching} section{'s' * (found.n_matching != 1)}"
        lines.append(f"   {DIM}{visible_line(tail)}{RESET}\n" if colour else f"   {visible_line(tail)}\n")
        for section in found.sections:
            heading = " > ".join(section.row.heading) or section.document.title
            part = f" (part {section.row.part})" if section.row.part > 1 else ""
            lines.append(f"   {section.row.line:5}: {visible_line(heading)}{part}\n")
            if section.snippet is not None:
                lines.append(f"          {shown_snippet(section.snippet, colour)}\n")
    return "".join(lines)


def documents_data(answer: Answer, documents: list[FoundDocument]) -> dict[str, object]:
    """Return documents as seed-3 data."""
    return {"results": [_document_data(found) for found in documents], **_about(answer, answer.total)}


def render_stats(answer: Answer, stats: list[TermStats]) -> str:
    """Return the numbers of a search for people."""
    if not answer.total:
        return ""
    lines = [f"{answer.total} section{'s' * (answer.total != 1)} match{'es' * (answer.total == 1)}\n"]
    if stats:
        lines.append("  frequency  sections  term\n")
    lines += [f"  {s.frequency:9}  {s.n_sections:8}  {visible_line(s.term)}\n" for s in stats]
    return "".join(lines)


def stats_data(answer: Answer, stats: list[TermStats]) -> dict[str, object]:
    """Return the numbers of a search as seed-3 data."""
    terms = [{"term": s.term, "frequency": s.frequency, "sections_matched": s.n_sections} for s in stats]
    about = _about(answer, answer.total)
    del about["total"], about["total_is_exact"]
    return {"total_matches": answer.total, "top_terms": terms, **about}


def _about(answer: Answer, total: int) -> dict[str, object]:
    from git_kb.output.hits import answer_data

    return {"total": total, **answer_data(answer)}


def _document_data(found: FoundDocument) -> dict[str, object]:
    return {
        "docid": found.document.docid,
        "title": found.document.title,
        "source": found.document.source,
        "source_state": found.sections[0].source_state or None,
        "score": round(found.score, 6),
        "sections_matched": found.n_matching,
        "matching_sections": [_section_data(section) for section in found.sections],
    }


def _section_data(found: Found) -> dict[str, object]:
    return {
        "kbid": found.kbid,
        "type": found.row.type or found.document.type,
        "heading": found.row.heading[-1] if found.row.heading else found.document.title,
        "heading_path": list(found.row.heading),
        "score": round(found.hit.score, 6),
        "snippet": found.snippet.text if found.snippet else None,
        "matched_terms": [*found.hit.terms, *found.hit.literals],
        "matched_fields": found.hit.fields,
        "citation": found.citation,
        "line": found.row.line,
    }
