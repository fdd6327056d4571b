"""Search: from a view and a query string to hits with their place in a document, content and snippet.

On the search path.
"""

from __future__ import annotations

from time import perf_counter

from git_kb.model.section import kbid_text
from git_kb.search.query import parse_query
from git_kb.search.rank import search
from git_kb.search.score import DEFAULTS
from git_kb.search.snippet import make_snippet
from git_kb.store.content import read_contents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from git_kb.index.segments import Segments
    from git_kb.index.view import View, ViewDocument, ViewRow
    from git_kb.repo.discover import Place
    from git_kb.search.rank import Hit
    from git_kb.search.score import Parameters
    from git_kb.search.snippet import Snippet
    from git_kb.store.content import ContentReader

    States = Callable[[list[ViewDocument]], dict[str, str]]

ID_SIZE = 16


class Filters:
    """What a hit's document has to be. Empty fields allow all. path: prefix of the source path."""

    __slots__ = ("docid", "path", "tags", "type")

    def __init__(self, tags: tuple[str, ...] = (), type: str = "", path: str = "", docid: str = ""):
        self.tags, self.type, self.path, self.docid = tags, type, path, docid

    def __bool__(self) -> bool:
        return bool(self.tags or self.type or self.path or self.docid)

    def takes(self, document: ViewDocument) -> bool:
        """Return whether the document passes."""
        return (
            all(tag in document.tags for tag in self.tags)
            and (not self.path or document.source == self.path or document.source.startswith(self.path.rstrip("/") + "/"))
            and (not self.docid or document.docid.startswith(self.docid))
        )


class Found:
    """One hit: where it stands (the first document that has it), what it says. `also`: further documents' ids.

    source_state: whether the document is as its source is (store/sourcestate.py), "" when that was not looked at.
    """

    __slots__ = ("also", "confidence", "content", "document", "hit", "kbid", "row", "snippet", "source_state")

    def __init__(
        self,
        hit: Hit,
        kbid: str,
        row: ViewRow,
        document: ViewDocument,
        also: list[str],
        content: str | None,
        snippet: Snippet | None,
        confidence: float,
    ):
        self.hit, self.kbid, self.row, self.document, self.also = hit, kbid, row, document, also
        self.content, self.snippet, self.confidence = content, snippet, confidence
        self.source_state = ""

    @property
    def citation(self) -> str:
        """`<docid>#<chunk id>`."""
        return f"{self.document.docid}#{self.row.chunk}"


class Answer:
    """What a search found. time_s: how long it took, without opening the index."""

    __slots__ = ("found", "query", "time_s", "total", "total_is_exact")

    def __init__(self, found: list[Found], query: str, total: int, total_is_exact: bool, time_s: float):
        self.found, self.query, self.total, self.total_is_exact, self.time_s = found, query, total, total_is_exact, time_s


def find(
    place: Place,
    view: View,
    segments: Segments,
    text: str,
    limit: int = 10,
    offset: int = 0,
    parameters: Parameters = DEFAULTS,
    filters: Filters | None = None,
    reader: ContentReader | None = None,
    states: States | None = None,
) -> Answer:
    """Return the best hits of a query. Raises DamagedSegment.

    reader: one already started, which is used up. states: tells whether their sources are as they were.
    """
    start = perf_counter()
    query = parse_query(text)
    only = _chosen(view, filters) if filters else None
    result = search(segments, view, query, limit, offset, parameters, only)
    kbids = [kbid_text(hit.entry_id[:ID_SIZE]) for hit in result.hits]
    unique = list(dict.fromkeys(kbids))

    def known_origins() -> Iterator[tuple[str, str, str]]:
        return origins(view, [hit.entry_id for hit in result.hits])

    if reader is not None and unique:
        contents = reader.read(unique, known_origins)
    else:
        contents = read_contents(place, unique, known_origins)
    found = []
    for hit, kbid in zip(result.hits, kbids, strict=True):
        rows = view.rows_of(hit.entry_id)
        if filters:
            rows = [r for r in rows if filters.takes(view.document(r.doc))] or rows
        if not rows:
            continue
        document = view.document(rows[0].doc)
        also = [view.document(row.doc).docid for row in rows[1:]]
        section = contents.get(kbid)
        content = section.content.decode("utf-8", "replace") if section is not None else None
        snippet = make_snippet(content, hit.terms) if content is not None else None
        confidence = min(1.0, hit.score / result.best_possible) if result.best_possible else 0.0
        found.append(Found(hit, kbid, rows[0], document, also, content, snippet, confidence))
    known = states([f.document for f in found]) if states else {}
    for f in found:
        f.source_state = known.get(f.document.source, "")
    return Answer(found, text, result.total, result.total_is_exact, perf_counter() - start)


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
                if not filters.type or (row.type or document.type).startswith(filters.type):
                    chosen.add(row.entry_id)
    return chosen
