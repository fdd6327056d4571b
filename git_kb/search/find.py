"""Search: from a view and a query string to hits with their place in a document, content and snippet.

On the search path.
"""

from __future__ import annotations

from time import perf_counter

from git_kb.model.section import cut_section, kbid_text
from git_kb.search.query import parse_query
from git_kb.search.rank import search
from git_kb.search.score import DEFAULTS
from git_kb.search.snippet import make_snippet
from git_kb.store.content import read_contents
from git_kb.store.sourcestate import CURRENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from git_kb.index.segments import Segments
    from git_kb.index.view import View, ViewDocument, ViewRow
    from git_kb.model.section import Section
    from git_kb.repo.discover import Place
    from git_kb.search.rank import Hit
    from git_kb.search.score import Parameters
    from git_kb.search.snippet import Snippet

    States = Callable[[list[ViewDocument]], dict[str, str]]

ID_SIZE = 16
# Of a hit that stands in many documents, the sources of so many are looked at.
MAX_PLACES = 5


class Filters:
    """What a hit's document has to be. Empty arguments allow all.

    path: the source or a directory above it; type: how the MIME type begins; docid: how the docid begins.
    conditions: further (name, value, negative), as in a query.
    """

    __slots__ = ("conditions",)

    def __init__(
        self,
        tags: tuple[str, ...] = (),
        type: str = "",
        path: str = "",
        docid: str = "",
        conditions: Iterable[tuple[str, str, bool]] = (),
    ):
        given = [*(("tag", tag) for tag in tags), ("type", type), ("path", path), ("doc", docid)]
        self.conditions = [*((name, value, False) for name, value in given if value), *conditions]

    def __bool__(self) -> bool:
        return bool(self.conditions)

    def takes(self, document: ViewDocument) -> bool:
        """Return whether a document passes, as far as that does not depend on the section."""
        return all(_passes(name, value, document) != negative for name, value, negative in self.conditions if name != "type")

    def takes_row(self, document: ViewDocument, row: ViewRow) -> bool:
        """Return whether a section of a document that passes does so too."""
        mime = row.type or document.type
        return all(mime.startswith(value) != negative for name, value, negative in self.conditions if name == "type")


def _passes(name: str, value: str, document: ViewDocument) -> bool:
    if name == "tag":
        return value in document.tags
    if name == "tier":
        return value == document.tier
    if name == "doc":
        return document.docid.startswith(value)
    return document.source == value or document.source.startswith(value.rstrip("/") + "/")


class Found:
    """One hit: where it stands, what it says. `also`: further documents' ids.

    placed: all rows that have it, each with its document. row, document: the one shown, the first whose source is as it was
    ingested, else the first. source_state: whether that is so (store/sourcestate.py), "" when that was not looked at.
    """

    __slots__ = ("also", "confidence", "content", "document", "hit", "kbid", "placed", "row", "snippet", "source_state")

    def __init__(self, hit: Hit, kbid: str, placed: list[tuple[ViewRow, ViewDocument]], confidence: float):
        self.hit, self.kbid, self.placed, self.confidence = hit, kbid, placed, confidence
        self.content: str | None = None
        self.snippet: Snippet | None = None
        self.choose({})

    def choose(self, states: Mapping[str, str]) -> None:
        """Choose what to show, given what is known of sources."""
        current = (i for i, (_, document) in enumerate(self.placed) if states.get(document.source) == CURRENT)
        chosen = next(current, 0)
        self.row, self.document = self.placed[chosen]
        self.also = [document.docid for i, (_, document) in enumerate(self.placed) if i != chosen]
        self.source_state = states.get(self.document.source, "")

    @property
    def rules(self) -> str:
        """The rules by which the terms of its document are made."""
        if not self.document.language:
            return ""
        from git_kb.text.languages import rules_of

        return rules_of(self.document.language)

    @property
    def citation(self) -> str:
        """`<docid>#<chunk id>`."""
        return f"{self.document.docid}#{self.row.chunk}"


class Answer:
    """What a search found. time_s: how long it took, without opening the index.

    warnings: what in the query was no syntax. loosened: nothing holds all that the query requires, so these hold some of its words.
    """

    __slots__ = ("found", "loosened", "query", "time_s", "total", "total_is_exact", "warnings")

    def __init__(self, found: list[Found], query: str, total: int, total_is_exact: bool, time_s: float):
        self.found, self.query, self.total, self.total_is_exact, self.time_s = found, query, total, total_is_exact, time_s
        self.warnings: list[str] = []
        self.loosened = False


def find(
    place: Place,
    view: View,
    segments: Segments,
    text: str,
    limit: int = 10,
    offset: int = 0,
    parameters: Parameters = DEFAULTS,
    filters: Filters | None = None,
    states: States | None = None,
    sources: Mapping[str, bytes] | None = None,
) -> Answer:
    """Return the best hits of a query. Raises DamagedSegment.

    states: tells whether the hits' sources are as they were. sources: the bytes of those that are, which `states` may fill in;
    sections are cut from them where they can be, and read from the pool otherwise.
    """
    start = perf_counter()
    query = parse_query(text, view.rules)
    filters = Filters(conditions=[*(filters.conditions if filters else ()), *query.filters])
    only = _chosen(view, filters) if filters else None
    result = search(segments, view, query, limit, offset, parameters, only)
    loosened = not result.total and bool(query.root.must)
    if loosened:
        result = search(segments, view, query.loosened(), limit, offset, parameters, only)
    found = []
    for hit in result.hits:
        rows = view.rows_of(hit.entry_id)
        if filters:
            rows = [r for r in rows if filters.takes(d := view.document(r.doc)) and filters.takes_row(d, r)] or rows
        if rows:
            confidence = min(1.0, hit.score / result.best_possible) if result.best_possible else 0.0
            placed = [(row, view.document(row.doc)) for row in rows]
            found.append(Found(hit, kbid_text(hit.entry_id[:ID_SIZE]), placed, confidence))
    known = states([document for f in found for _, document in f.placed[:MAX_PLACES]]) if states else {}
    for f in found:
        f.choose(known)
    contents = _contents(place, view, found, sources or {})
    for f in found:
        if (section := contents.get(f.kbid)) is not None:
            f.content = section.content.decode("utf-8", "replace")
            f.snippet = make_snippet(f.content, f.hit.terms)
    answer = Answer(found, text, result.total, result.total_is_exact, perf_counter() - start)
    answer.warnings, answer.loosened = query.warnings, loosened and bool(found)
    return answer


def _contents(place: Place, view: View, found: list[Found], sources: Mapping[str, bytes]) -> dict[str, Section]:
    """Return kbid -> section of the hits, from their sources or the pool."""
    contents = {}
    for f in found:
        if (source := sources.get(f.document.source)) is not None:
            section = cut_section(source, f.row.start, f.row.end, f.row.type or f.document.type, f.kbid)
            if section is not None:
                contents[f.kbid] = section
    unread = [f for f in found if f.kbid not in contents]
    kbids = list(dict.fromkeys(f.kbid for f in unread))
    return (
        {**contents, **read_contents(place, kbids, lambda: origins(view, [f.hit.entry_id for f in unread]))} if kbids else contents
    )


def origins(view: View, entry_ids: Iterable[bytes]) -> Iterator[tuple[str, str, str]]:
    """Yield (kbid, source, blob) of the documents that have these entries."""
    for entry_id in entry_ids:
        for row in view.rows_of(entry_id):
            document = view.document(row.doc)
            yield kbid_text(entry_id[:ID_SIZE]), document.source, document.blob


def _chosen(view: View, filters: Filters) -> set[bytes]:
    """Return the ids of the entries that stand in a document that passes."""
    chosen = set()
    for document in view.documents():
        if filters.takes(document):
            for number in document.rows:
                row = view.row(number)
                if filters.takes_row(document, row):
                    chosen.add(row.entry_id)
    return chosen
