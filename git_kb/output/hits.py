"""Hits as text and as data.

`render_hits` is on the search path.
"""

from __future__ import annotations

from git_kb.errors import shortened
from git_kb.output.terminal import visible, visible_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from git_kb.output.links import Link
    from git_kb.search.find import Answer, Found
    from git_kb.search.snippet import Snippet
    from git_kb.search.spelling import Correction

MAX_ECHO = 200
LISTED = "there is no word to look for: the sections that the filters choose are listed, by source and line"
BOLD, PATH, DIM, RESET = "\x1b[1;31m", "\x1b[35m", "\x1b[2m", "\x1b[m"


def render_hits(answer: Answer, prefix: bytes = b"", colour: bool = False, offset: int = 0, link: Link | None = None) -> str:
    """Return hits for people.

    `prefix`: the current directory within the work tree; paths are shown relative to it. link: gives the URL of a source at a line.
    """
    lines = []
    for number, found in enumerate(answer.found, offset + 1):
        place = place_text(found, prefix, colour, link)
        heading = " > ".join(found.row.heading) or found.document.title
        part = f" (part {found.row.part})" if found.row.part > 1 else ""
        lines.append(f"{number}. {place}  {visible(heading)}{part}{source_mark(found.source_state)}\n")
        if found.snippet is not None:
            lines.append(f"   {shown_snippet(found.snippet, colour)}\n")
        also = f", also in {len(found.also)} more" if found.also else ""
        tail = f"{found.citation}  {found.kbid[:10]}  score {found.hit.score:.2f}{also}"
        lines.append(f"   {DIM}{tail}{RESET}\n" if colour else f"   {tail}\n")
        if found.explanation is not None:
            from git_kb.output.explain import render_explanation

            lines.append(render_explanation(found.explanation))
    return "".join(lines)


def place_text(found: Found, prefix: bytes, colour: bool, link: Link | None, with_line: bool = True) -> str:
    """Return where a hit stands, `docs/guide.md:7`, coloured and linked as asked."""
    line = found.row.line
    place = shown_source(found.document.source, prefix) + (f":{line}" if with_line else "")
    if link is not None and found.source_state != "gone":
        from git_kb.output.links import linked

        place = linked(place, link(found.document.source, line))
    return f"{PATH}{place}{RESET}" if colour else place


def more_note(answer: Answer, offset: int = 0, n_shown: int | None = None) -> str:
    """Return what to say about hits that are not shown; "" when there are none. n_shown: when that is not all in the answer."""
    more = answer.total - offset - (len(answer.found) if n_shown is None else n_shown)
    if more <= 0 and answer.total_is_exact:
        return ""
    # Ranking stops counting when the rest cannot reach the top, so the number is known for some queries only.
    count = f"{more} more hit{'s' * (more != 1)}" if answer.total_is_exact else "more hits"
    return f"{count}; --limit and --offset show them"


def notes(answer: Answer) -> list[str]:
    """Return what the user should know of how the query was understood."""
    found = [f"in the query: {why}" for why in answer.warnings]
    if answer.corrections:
        found.append(_did_you_mean(answer.corrections, answer.answered))
    if answer.loosened:
        found.append("nothing holds all that the query requires; these hold some of its words")
    return found


def _did_you_mean(corrections: list[Correction], answered: str) -> str:
    """Say which words no section has, what may have been meant, and what was looked for in their place."""
    near: dict[str, list[str]] = {}
    for correction in corrections:
        near.setdefault(correction.word, []).append(f"'{correction.suggestion}'")
    said = "; ".join([f"no section has '{word}'; did you mean {' or '.join(words)}?" for word, words in near.items()])
    return f"{said} These are the hits for '{answered}'" if answered else said


def nothing_found(state: str, query: str | None, n_searched: int, total: int = 0) -> str:
    """Return what to say when there is no hit. query: None where there was none. total: how many there are before the offset."""
    wanted = "" if query is None else f" for '{shortened(query, MAX_ECHO)}'"
    if total:
        return f"no more hits in {state}{wanted}: there are {total}"
    if not n_searched:
        return f"nothing found{wanted}: there is no section in {state}; 'git kb ingest' brings documents in"
    return f"nothing found in {state}{wanted} ({n_searched} section{'s' * (n_searched != 1)} searched)"


def shown_source(source: str, prefix: bytes = b"") -> str:
    """Return a source as it is shown: a path relative to the current directory, or the URL."""
    if not prefix or "://" in source:
        return visible_line(source)
    above = prefix.decode("utf-8", "surrogateescape").rstrip("/").split("/")
    parts = source.split("/")
    while above and parts[:-1] and above[0] == parts[0]:
        del above[0], parts[0]
    return visible_line("/".join([".."] * len(above) + parts))


def source_mark(state: str) -> str:
    """Return what to say behind a place whose source is no longer what was ingested."""
    return {"changed": " (changed since ingest)", "gone": " (source gone)"}.get(state, "")


def shown_snippet(snippet: Snippet, colour: bool) -> str:
    """Return a snippet, its matches highlighted."""
    if not colour:
        return visible(snippet.text)
    out = []
    at = 0
    for start, end in snippet.ranges:
        out += [visible(snippet.text[at:start]), BOLD, visible(snippet.text[start:end]), RESET]
        at = end
    out.append(visible(snippet.text[at:]))
    return "".join(out)


def hits_data(answer: Answer, created: dict[str, str]) -> dict[str, object]:
    """Return hits as seed-3 data.

    keys kbid, docids, type, heading, score, ... `created`: kbid -> ISO time it came into the pool.
    """
    return {
        "results": [_hit_data(found, created.get(found.kbid)) for found in answer.found],
        "total": answer.total,
        **answer_data(answer),
    }


def answer_data(answer: Answer) -> dict[str, object]:
    """Return what is said of a search in every mode."""
    return {
        "total_is_exact": answer.total_is_exact,
        "query_time_ms": round(answer.time_s * 1000, 3),
        "query": answer.query,
        "warnings": answer.warnings,
        "loosened": answer.loosened,
        "listed": answer.listed,
        "suggestions": [
            {"word": c.word, "suggestion": c.suggestion, "distance": c.distance, "sections": c.n_sections}
            for c in answer.corrections
        ],
        "answered_query": answer.answered or None,
    }


def _hit_data(found: Found, created_at: str | None) -> dict[str, object]:
    explained: dict[str, object] = {}
    if found.explanation is not None:
        from git_kb.output.explain import explanation_data

        explained["explain"] = explanation_data(found.explanation)
    return {
        "kbid": found.kbid,
        "docids": [found.document.docid, *found.also],
        "type": found.row.type or found.document.type,
        "heading": found.row.heading[-1] if found.row.heading else found.document.title,
        "heading_path": list(found.row.heading),
        "title": found.document.title,
        "score": round(found.hit.score, 6),
        "confidence": round(found.confidence, 4),
        "snippet": found.snippet.text if found.snippet else None,
        "matched_terms": [*found.hit.terms, *found.hit.literals],
        "matched_fields": found.hit.fields,
        "created_at": created_at,
        "citation": found.citation,
        "source": found.document.source,
        "source_state": found.source_state or None,
        "line": found.row.line,
        "start": found.row.start,
        "end": found.row.end,
        **explained,
    }
