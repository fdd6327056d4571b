"""Search results by document, and in numbers."""

from __future__ import annotations

from itertools import compress

from git_kb.index.segments import Segments
from git_kb.index.view import View, ViewDocument
from git_kb.repo.discover import Place
from git_kb.search.find import Answer, Asked, Filters, Found, Scope, show
from git_kb.search.match import Lists, candidates, make_check
from git_kb.search.query import Query
from git_kb.search.rank import MAX_EXPANSIONS, Result
from git_kb.search.score import DEFAULTS, Parameters

TYPE_CHECKING = False
if TYPE_CHECKING:
    from git_kb.search.find import States

# Sections shown of each document.
N_SHOWN = 3
MAX_TERMS_SHOWN = 20


class FoundDocument:
    """A document with hits. score: that of its best section; sections: its best ones, best first; n_matching: how many it has."""

    __slots__ = ("document", "n_matching", "score", "sections")

    def __init__(self, document: ViewDocument, score: float, sections: list[Found], n_matching: int):
        self.document, self.score, self.sections, self.n_matching = document, score, sections, n_matching


class TermStats:
    """A term of the query: how often it stands in the sections that match, and in how many of these."""

    __slots__ = ("frequency", "n_sections", "term")

    def __init__(self, term: str, frequency: int, n_sections: int):
        self.term, self.frequency, self.n_sections = term, frequency, n_sections


def find_documents(
    place: Place,
    view: View,
    segments: Segments,
    text: str,
    limit: int = 10,
    offset: int = 0,
    parameters: Parameters = DEFAULTS,
    filters: Filters | None = None,
    states: States | None = None,
    scope: Scope | None = None,
) -> tuple[Answer, list[FoundDocument]]:
    """Return the best documents: in order of their best sections, as the score of a document is that of its best section.

    (MaxP: Callan 1994, "Passage-level evidence in document retrieval", doi:10.1007/978-1-4471-2099-5_31.) A section that stands in
    several documents counts for each. The answer's `total` counts documents. Raises DamagedSegment.
    """
    asked = Asked(place, view, segments, text, parameters, filters, scope)
    n_wanted = offset + limit
    # A section that stands in several documents is listed with the first, so only all of them give the order of documents.
    n_sections = 4 * n_wanted if asked.listed is None else len(asked.listed) + 1
    while True:
        result = asked.rank(n_sections, 0)
        order = _documents_of(asked, result)
        complete = len(result.hits) < n_sections
        if complete or len(order) >= n_wanted:
            break
        n_sections *= 4
    found = [(number, *_best_in(asked, number)) for number in list(order)[offset:n_wanted]]
    show(place, view, [f for _, sections, _ in found for f in sections], states)
    documents = [FoundDocument(view.document(number), order[number], sections, n) for number, sections, n in found]
    return asked.answer(result, [f for d in documents for f in d.sections], len(order), complete), documents


def _documents_of(asked: Asked, result: Result) -> dict[int, float]:
    """Return number -> score of the documents that have hits, in order of their best one, then of number; listed ones by source."""
    order: dict[int, float] = {}
    for hit in result.hits:
        for row in asked.rows_of(hit.entry_id):
            order.setdefault(row.doc, hit.score)
    if asked.listed is not None:
        return dict(sorted(order.items(), key=lambda item: (asked.view.document(item[0]).source, item[0])))
    return order


def _best_in(asked: Asked, number: int) -> tuple[list[Found], int]:
    """Return (the best sections of a document, how many match). What is found does not depend on the page it is shown on."""
    document = asked.view.document(number)
    ids = {asked.view.row(n).entry_id for n in document.rows}
    everything = asked.only
    asked.only = ids if everything is None else ids & everything
    whole = asked.scanned
    if whole is not None:
        hits = [hit for hit in whole.result.hits if hit.entry_id in ids]
        asked.scanned = whole._replace(result=Result(hits, len(hits), True, whole.result.best_possible))
    result = asked.rank_again(len(ids))
    asked.only, asked.scanned = everything, whole
    n_matching = len(result.hits)
    if asked.listed is not None:
        lines = {asked.view.row(n).entry_id: n for n in reversed(document.rows)}
        result.hits.sort(key=lambda hit: lines[hit.entry_id])
    result.hits = result.hits[:N_SHOWN]
    found = asked.place_hits(result)
    for f in found:
        f.placed = [(row, d) for row, d in f.placed if row.doc == number] or f.placed
    return found, n_matching


def find_stats(
    place: Place,
    view: View,
    segments: Segments,
    text: str,
    parameters: Parameters = DEFAULTS,
    filters: Filters | None = None,
    scope: Scope | None = None,
) -> tuple[Answer, list[TermStats]]:
    """Return the numbers of all sections that match: the answer's `total`, and of each term of the query, the most frequent first.

    Looks at every match, so it takes longer than a search. Raises DamagedSegment.
    """
    asked = Asked(place, view, segments, text, parameters, filters, scope)
    result = asked.rank(1, 0)
    total, stats = result.total, list[TermStats]()
    if asked.scanned is not None:
        hits = asked.scanned.result.hits
        total = len(hits)
        stats = [TermStats(t, n, sum(t in hit.literals for hit in hits)) for t, n in asked.scanned.frequencies.items()]
    elif asked.listed is None:
        total, stats = _count(asked)
    answer = asked.answer(result, [], total, True)
    stats.sort(key=lambda s: (-s.frequency, -s.n_sections, s.term))
    return answer, [s for s in stats if s.n_sections][:MAX_TERMS_SHOWN]


def _count(asked: Asked) -> tuple[int, list[TermStats]]:
    """Return (entries that match, numbers of the terms), by looking at each."""
    total = 0
    frequency: dict[str, int] = {}
    sections: dict[str, int] = {}
    names = _names(asked.segments, asked.query)
    only = asked.allowed()
    for segment in asked.segments:
        postings = {name: p for name in names if (p := segment.postings(name)) is not None}
        lists = Lists(segment, postings)
        checks = [make_check(node, lists) for node in asked.query.root.must]
        if not postings or None in checks:
            continue
        bans = [ban for node in asked.query.root.must_not if (ban := make_check(node, lists)) is not None]
        listed = {o for p in postings.values() for o in p.ordinals}
        if asked.query.root.must:
            listed = set.intersection(*[candidates(node, lists) for node in asked.query.root.must])
        mask = asked.view.mask(segment.name)
        live = listed if mask is None else listed & set(compress(range(segment.n_entries), mask))
        for ordinal in live:
            if only is not None and segment.entry_id(ordinal) not in only:
                continue
            stored = segment.token_bytes(ordinal)
            if not all(check is not None and check(stored) for check in checks) or any(ban(stored) for ban in bans):
                continue
            total += 1
            string = segment.token_string(ordinal)
            for name, p in postings.items():
                if n := string.count(p.char):
                    frequency[name] = frequency.get(name, 0) + n
                    sections[name] = sections.get(name, 0) + 1
    return total, [TermStats(name, n, sections[name]) for name, n in frequency.items()]


def _names(segments: Segments, query: Query) -> list[str]:
    """Return the terms that a query scores, as ranking has them."""
    names = dict.fromkeys([*query.weights, *query.completions])
    for prefix in query.prefixes:
        found = sorted({name for s in segments for name in s.prefix_terms(prefix, MAX_EXPANSIONS)})
        names.update(dict.fromkeys(found[:MAX_EXPANSIONS]))
    return list(names)
