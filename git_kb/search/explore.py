"""What to ask next: queries made of headings near an answer, each tried before it is named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from git_kb.index.segments import Segments
from git_kb.index.view import View, ViewRow
from git_kb.model.section import kbid_of_entry
from git_kb.repo.discover import Place
from git_kb.search.find import Found, origins
from git_kb.search.passages import sentence_spans
from git_kb.search.query import CLOSING, OPENING, parse_query
from git_kb.search.question import content_terms
from git_kb.search.rank import search
from git_kb.store.content import read_contents
from git_kb.text.words import terms

N_SUGGESTIONS = 5
N_TRIED = 8
# Sections read to try queries, beside those that the answer itself has read.
N_READ = 10
# An answer is made of the best so many sections.
N_ANSWER_SECTIONS = 4
MAX_QUERY = 80
_NO_QUOTES = str.maketrans(dict.fromkeys(OPENING + CLOSING, " "))


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A query that has an answer, why it is named, and the section it was taken from."""

    question: str
    reason: str
    citation: str


def suggest(
    place: Place,
    view: View,
    segments: Segments,
    question: str,
    hits: Sequence[Found],
    used: Sequence[Found],
    gaps: Sequence[tuple[str, ViewRow]],
) -> tuple[Suggestion, ...]:
    """Return up to N_SUGGESTIONS queries about what stands near an answer, without what was asked or has been answered.

    hits: what the question found, best first; used: those that the answer cites; gaps: words that the answer lacks, each with
    a row that has it.
    """
    candidates = []
    rules = view.rules
    tried: list[set[str]] = [content_terms(question, rules)]
    for candidate in _candidates(view, hits, used, gaps):
        asked = content_terms(candidate.question, rules)
        if asked and asked not in tried:
            tried.append(asked)
            candidates.append((candidate, asked))
        if len(candidates) == N_TRIED:
            break
    results = [_best_entries(view, segments, candidate.question) for candidate, _ in candidates]
    contents = {f.kbid: f.content for f in hits if f.content is not None}
    unread = [k for k in dict.fromkeys(kbid_of_entry(e) for r in results for e in r[:2]) if k not in contents][:N_READ]
    wanted = (e for r in results for e in r[:2] if kbid_of_entry(e) in unread)
    for kbid, section in read_contents(place, unread, lambda: origins(view, wanted)).items():
        contents[kbid] = section.content.decode("utf-8", "replace")
    answered = {f.hit.entry_id for f in used}
    titles = {f.row.heading[-1:] for f in used}
    kept: list[Suggestion] = []
    for (candidate, asked), entries in zip(candidates, results, strict=True):
        if len(kept) == N_SUGGESTIONS:
            break
        best = view.rows_of(entries[0]) if entries else []
        if not best or entries[0] in answered or best[0].heading[-1:] in titles:
            continue
        if any(_answers(contents.get(kbid_of_entry(e)) or "", asked, rules) for e in entries):
            answered.add(entries[0])
            titles.add(best[0].heading[-1:])
            kept.append(candidate)
    return tuple(kept)


def _candidates(
    view: View, hits: Sequence[Found], used: Sequence[Found], gaps: Sequence[tuple[str, ViewRow]]
) -> Iterator[Suggestion]:
    for word, row in gaps:
        query = _query(view, row, word)
        yield Suggestion(query, f"it has '{word}', which this answer lacks", _citation(view, row))
    neighbours = [pair for found in used[:2] for pair in _neighbours(view, found)]
    related = [(h.row, "it matches too") for h in hits if h not in used]
    # In turns, so that neither kind crowds out the other.
    for i in range(max(len(neighbours), len(related))):
        for row, reason in neighbours[i : i + 1] + related[i : i + 1]:
            yield Suggestion(_query(view, row), reason, _citation(view, row))


def _neighbours(view: View, found: Found) -> Iterator[tuple[ViewRow, str]]:
    """Yield the sections after and before a hit in its document, under other headings than its own."""
    numbers = found.document.rows
    here = next((n for n in numbers if view.row(n).start == found.row.start), -1)
    if here < 0:
        return
    for step, reason in ((1, "it comes after {}"), (-1, "it comes before {}")):
        at = here + step
        while at in numbers and view.row(at).heading == found.row.heading:
            at += step
        if at in numbers:
            yield view.row(at), reason.format(found.citation)


def _query(view: View, row: ViewRow, word: str = "") -> str:
    """Return a query from the heading of a section, with what stands above it where the heading says little.

    It has no syntax of queries in it, and begins with no dash. word: has to be in it.
    """
    title = view.document(row.doc).title
    path = [title, *row.heading] if row.heading[:1] != (title,) else list(row.heading)
    query = path.pop()
    while path and len(content_terms(query)) < 2:
        query = f"{path.pop()} {query}"
    if word and not set(terms(word)) <= set(terms(query)):
        query = f"{word} {query}"
    pieces = [p.lstrip("-").rstrip("*") for p in query.translate(_NO_QUOTES).split()]
    short = ""
    for piece in filter(None, pieces):
        if short and len(short) + len(piece) >= MAX_QUERY:
            break
        short = f"{short} {piece}" if short else piece
    return short


def _best_entries(view: View, segments: Segments, query: str) -> list[bytes]:
    return [hit.entry_id for hit in search(segments, view, parse_query(query, view.rules), N_ANSWER_SECTIONS).hits]


def _answers(content: str, asked: set[str], rules: Sequence[str]) -> bool:
    """Whether a section has a sentence with a word of the query: then there is something to answer it with."""
    return any(not asked.isdisjoint(terms(content[start:end], r)) for start, end in sentence_spans(content) for r in rules)


def _citation(view: View, row: ViewRow) -> str:
    return f"{view.document(row.doc).docid}#{row.chunk}"
