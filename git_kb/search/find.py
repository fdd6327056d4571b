"""Search: from a view and a query string to hits with their place in a document, content and snippet.

On the search path.
"""

from __future__ import annotations

from time import perf_counter

from git_kb.errors import shortened
from git_kb.model.section import RAW_SIZE, cut_section, kbid_of_entry
from git_kb.search.query import MAX_SHOWN, Atom, parse_query
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
    from git_kb.search.explain import Explanation
    from git_kb.search.listing import Listed
    from git_kb.search.literal import Scanned
    from git_kb.search.query import Query
    from git_kb.search.rank import Hit, Result
    from git_kb.search.score import Parameters
    from git_kb.search.snippet import Snippet
    from git_kb.search.spelling import Correction
    from git_kb.search.written import Allowed

    States = Callable[[list[ViewDocument]], dict[str, str]]

# Of a hit that stands in many documents, the sources of so many are looked at.
MAX_PLACES = 5
PARTLY = "only a part of the sections could be looked through for it"
# Ranking takes so many terms, and beginnings of terms, at its full speed.
MAX_TERMS, MAX_PREFIXES = 64, 4


class Scope:
    """What a search is about, besides its text and filters.

    rev: whose history says when a document changed. without: raw kbids (16 bytes) of sections that are no hits; None where nobody
    asked for that. query: what is asked, in the place of the text. corrects: whether words that no section has are corrected.
    lists: whether what filters and `without` choose is listed when there is no word to look for.
    """

    __slots__ = ("corrects", "lists", "query", "rev", "without")

    def __init__(
        self,
        rev: str = "HEAD",
        without: frozenset[bytes] | None = None,
        query: Query | None = None,
        corrects: bool = False,
        lists: bool = False,
    ):
        self.rev, self.without, self.query, self.corrects, self.lists = rev, without, query, corrects, lists


class Filters:
    """What a hit's document has to be. Empty arguments allow all.

    path: the source or a directory above it; type: how the MIME type begins; docid: how the docid begins.
    conditions: further (name, value, negative), as in a query; of `before` and `after`, the value is in seconds since 1970.
    changes: document name -> when it changed, for those two; a document that is not in it changed before all dates asked for.
    """

    __slots__ = ("changes", "conditions")

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
        self.changes: dict[str, float] = {}

    def __bool__(self) -> bool:
        return bool(self.conditions)

    def takes(self, document: ViewDocument) -> bool:
        """Return whether a document passes, as far as that does not depend on the section."""
        return all(self._passes(name, value, document) != negative for name, value, negative in self.conditions if name != "type")

    def takes_row(self, document: ViewDocument, row: ViewRow) -> bool:
        """Return whether a section of a document that passes does so too."""
        mime = row.type or document.type
        return all(mime.startswith(value) != negative for name, value, negative in self.conditions if name == "type")

    def _passes(self, name: str, value: str, document: ViewDocument) -> bool:
        if name == "tag":
            return value in document.tags
        if name == "tier":
            return value == document.tier
        if name == "doc":
            return document.docid.startswith(value)
        if name in ("before", "after"):
            changed = self.changes.get(document.name, float("-inf"))
            return changed < float(value) if name == "before" else changed >= float(value)
        return document.source == value or document.source.startswith(value.rstrip("/") + "/")


class Found:
    """One hit: where it stands, what it says. `also`: further documents' ids.

    confidence: the share of the highest possible score that the hit has, 0 to 1 (docs/ranking.md). explanation: the parts of the
    score, when asked for. placed: all rows that have it, each with its document. row, document: the one shown, the first whose
    source is as it was ingested, else the first. source_state: whether that is so (store/sourcestate.py), "" when that was not
    looked at.
    """

    __slots__ = (
        "also",
        "confidence",
        "content",
        "document",
        "explanation",
        "hit",
        "kbid",
        "placed",
        "row",
        "snippet",
        "source_state",
    )

    def __init__(self, hit: Hit, kbid: str, placed: list[tuple[ViewRow, ViewDocument]], confidence: float):
        self.hit, self.kbid, self.placed, self.confidence = hit, kbid, placed, confidence
        self.content: str | None = None
        self.snippet: Snippet | None = None
        self.explanation: Explanation | None = None
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
    corrections: words near those that no section has. answered: the corrected query that these are the hits of, "" when they are
    those of the query itself. listed: there is no word to look for, and this is what the filters choose (listing.py).
    """

    __slots__ = ("answered", "corrections", "found", "listed", "loosened", "query", "time_s", "total", "total_is_exact", "warnings")

    def __init__(self, found: list[Found], query: str, total: int, total_is_exact: bool, time_s: float):
        self.found, self.query, self.total, self.total_is_exact, self.time_s = found, query, total, total_is_exact, time_s
        self.warnings: list[str] = []
        self.loosened = False
        self.corrections: list[Correction] = []
        self.answered = ""
        self.listed = False


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
    scope: Scope | None = None,
    explain: bool = False,
) -> Answer:
    """Return the best hits of a query, with `explain` the parts of their scores too. Raises DamagedSegment.

    states: tells whether the hits' sources are as they were. sources: the bytes of those that are, which `states` may fill in;
    sections are cut from them where they can be, and read from the pool otherwise.
    """
    asked = Asked(place, view, segments, text, parameters, filters, scope)
    result = asked.rank(limit, offset)
    found = asked.place_hits(result)
    if explain:
        from git_kb.search.explain import explain_hit

        for f in found:
            f.explanation = explain_hit(f.hit, result)
    show(place, view, found, states, sources)
    return asked.answer(result, found, result.total, result.total_is_exact)


class Asked:
    """One search being done: what is asked for, worked out once, and what became of it.

    query: what was asked in the end, when what was asked first had no hit. listed: all that the filters choose, where there is no
    word to look for.
    """

    __slots__ = (
        "allows", "answered", "corrections", "filters", "listed", "loosened", "memo", "only", "parameters", "place", "query",
        "scanned", "scope", "segments", "start", "text", "view", "warnings",
    )  # fmt: skip

    def __init__(
        self,
        place: Place,
        view: View,
        segments: Segments,
        text: str,
        parameters: Parameters = DEFAULTS,
        filters: Filters | None = None,
        scope: Scope | None = None,
    ):
        self.start = perf_counter()
        self.place, self.view, self.segments, self.text, self.parameters = place, view, segments, text, parameters
        self.scope = scope or Scope()
        if self.scope.query is not None:
            # Its terms stand in no order that says anything.
            self.parameters = parameters.changed({"proximity": 0.0})
        self.query = self.scope.query or parse_query(text, view.rules)
        self.warnings = self.query.warnings
        self.filters = Filters(conditions=[*(filters.conditions if filters else ()), *self.query.filters])
        if any(name in ("before", "after") for name, _, _ in self.filters.conditions):
            _date(self)
        self._shorten()
        self.only: set[bytes] | None = None
        self.listed: list[Listed] | None = None
        if self._is_listing():
            from git_kb.search.listing import list_entries

            self.listed = list_entries(view, segments, self.query, self.filters, self.scope.without or frozenset())
        elif self.filters or self.scope.without:
            self.only = _chosen(view, self.filters, self.scope.without or frozenset())
        if self.filters and not (self.only if self.listed is None else self.listed):
            from git_kb.search.listing import unmatched

            self.warnings += unmatched(view, self.filters)
        self.loosened = False
        self.corrections: list[Correction] | None = None
        self.answered = ""
        self.scanned: Scanned | None = None
        # Literal -> ids of the entries where a scan found it.
        self.memo: dict[str, set[bytes]] = {}
        # A query -> which entries have what it demands as it is written, and not what it excludes so.
        self.allows: tuple[Query, Allowed] | None = None

    def rank(self, limit: int, offset: int) -> Result:
        """Return the best entries. What has no hit is asked again, with fewer demands, then with words that do occur."""
        result = self._rank(limit, offset)
        if not result.total and self.scanned is None:
            # Where what is demanded is symbols alone, words beside it only rank.
            if any(not one.negative and not one.readings for one in self.query.written):
                result = self._rank_scanned(limit, offset)
            if not result.total and self.query.demands:
                query, implied = self.query, self.query.implied
                self.query, self.scanned, self.memo = query.loosened(), None, {}
                result = self._rank(limit, offset)
                if not result.total and self.query.literals:
                    result = self._rank_scanned(limit, offset)
                self.loosened = bool(result.total) and not implied
            elif not result.total and self.query.literals and self.scanned is None:
                result = self._rank_scanned(limit, offset)
        if not result.total and self.corrections is None and self.scope.corrects:
            self._correct(set())
            from git_kb.search.spelling import corrected

            if text := corrected(self.query.text, self.corrections or []):
                self.answered, self.query, self.scanned, self.loosened = text, parse_query(text, self.view.rules), None, False
                self._shorten()
                result = self.rank(limit, offset)
        return result

    def _rank_scanned(self, limit: int, offset: int) -> Result:
        """Return the best entries that have the symbols of the query in their text."""
        from git_kb.search.literal import scan

        symbols = [literal for literal, terms in self.query.literals.items() if not terms]
        self.scanned = scan(self.place, self.view, self.segments, symbols, self.allowed())
        if not self.scanned.complete and PARTLY not in self.warnings:
            self.warnings.append(PARTLY)
        return self._rank(limit, offset)

    def allowed(self) -> set[bytes] | None:
        """Return the ids of the entries that may be hits: `only`, of these what `Query.written` allows. None for all."""
        query = self.query
        if not query.written or not (query or query.literals or self.listed):
            return self.only
        if self.allows is None or self.allows[0] is not query:
            from git_kb.search.written import allowed

            among = self.only if self.listed is None else {one[0] for one in self.listed}
            self.allows = query, allowed(self.place, self.view, self.segments, query, among)
            if not self.allows[1].complete and PARTLY not in self.warnings:
                self.warnings.append(PARTLY)
        return self.allows[1].of(self.view, self.only)

    def rank_again(self, limit: int) -> Result:
        """Return the best entries of what was asked in the end, nothing loosened any more; `only` may be another by now."""
        return self._rank(limit, 0)

    def _is_listing(self) -> bool:
        """Return whether there is something to choose by, and no word to look for."""
        query = self.query
        if self.scope.query is not None or query or query.literals or query.root.must:
            return False
        if self.scope.lists and (self.filters or self.scope.without is not None):
            return True
        if query.root.must_not or query.written:
            self.warnings.append("it only excludes: nothing says what to look for")
        return False

    def _rank(self, limit: int, offset: int) -> Result:
        if self.listed is not None:
            from git_kb.search.listing import page

            return page(self.listed, limit, offset, self.allowed())
        if self.scanned is not None:
            from git_kb.search.rank import Result

            whole = self.scanned.result
            return Result(whole.hits[offset : offset + limit], whole.total, True, whole.best_possible)
        if self.query and self.query.literals:
            from git_kb.search.literal import rank_literally

            return rank_literally(
                self.place, self.view, self.segments, self.query, limit, offset, self.parameters, self.allowed(), self.memo
            )
        return search(self.segments, self.view, self.query, limit, offset, self.parameters, self.allowed())

    def _shorten(self) -> None:
        if len(self.query.weights) > MAX_TERMS or len(self.query.prefixes) > MAX_PREFIXES:
            from git_kb.search.telling import shorten

            shorten(self.view, self.segments, self.query)

    def _correct(self, held: set[str]) -> None:
        from git_kb.search.spelling import corrections

        self.corrections = corrections(self.place, self.view, self.segments, self.query, held)

    def place_hits(self, result: Result) -> list[Found]:
        """Return hits with their places."""
        found = []
        for hit in result.hits:
            hit.explain()
            rows = self.rows_of(hit.entry_id)
            if rows:
                confidence = min(1.0, hit.score / result.best_possible) if result.best_possible else 0.0
                placed = [(row, self.view.document(row.doc)) for row in rows]
                found.append(Found(hit, kbid_of_entry(hit.entry_id), placed, confidence))
        return found

    def rows_of(self, entry_id: bytes) -> list[ViewRow]:
        """Return the rows of a hit that pass the filters."""
        rows = self.view.rows_of(entry_id)
        if self.filters:
            rows = [r for r in rows if self.filters.takes(d := self.view.document(r.doc)) and self.filters.takes_row(d, r)] or rows
        return rows

    def answer(self, result: Result, found: list[Found], total: int, total_is_exact: bool) -> Answer:
        """Return the answer that shows some of a result, with what became of the query."""
        if self.corrections is None and self.scope.corrects:
            held = {term for hit in result.hits for term in hit.terms}
            if not held.issuperset(self.query.weights):
                self._correct(held)
        answer = Answer(found, self.text, total, total_is_exact, perf_counter() - self.start)
        answer.corrections = self.corrections or []
        answer.listed = self.listed is not None
        answer.warnings, answer.loosened, answer.answered = self.warnings, self.loosened, self.answered if result.total else ""
        return answer


def show(
    place: Place, view: View, found: list[Found], states: States | None = None, sources: Mapping[str, bytes] | None = None
) -> None:
    """Choose of each hit the place to show, and read what it says. states, sources: as in `find`."""
    known = states([document for f in found for _, document in f.placed[:MAX_PLACES]]) if states else {}
    for f in found:
        f.choose(known)
    contents = _contents(place, view, found, sources or {})
    for f in found:
        if (section := contents.get(f.kbid)) is not None:
            # Base64 is nothing to read: an image is shown by its headings.
            f.content = section.content.decode("utf-8", "replace") if shows_text(section.mime) else ""
            f.snippet = make_snippet(f.content, f.hit.terms, f.hit.literals)
            if f.hit.literals and not f.hit.fields:
                from git_kb.search.literal import fields_with

                f.hit.fields = fields_with(f.row.type or f.document.type, f.content, f.hit.literals)


def _date(asked: Asked) -> None:
    """Turn dates into seconds, and what is none into words; find out when documents changed."""
    from git_kb.store.dates import changes_since, parse_date
    from git_kb.text.words import terms

    conditions = []
    dates = []
    for name, value, negative in asked.filters.conditions:
        if name in ("before", "after"):
            seconds = parse_date(asked.place, value)
            if seconds is None:
                asked.query.warnings.append(
                    f"'{shortened(value, MAX_SHOWN)}' is no date that git understands: it is looked for as a word"
                )
                readings = [found for r in asked.view.rules if (found := terms(value, r))]
                if readings and not negative:
                    asked.query.ask(Atom(readings))
                continue
            dates.append(seconds)
            value = str(seconds)
        conditions.append((name, value, negative))
    asked.filters.conditions = conditions
    if dates:
        asked.filters.changes = changes_since(asked.place, asked.scope.rev, asked.view.documents(), min(dates))


def shows_text(mime: str) -> bool:
    """Return whether the content of a section of this type is something to read."""
    return not mime.startswith("image/") or mime.endswith("+xml")


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
            yield kbid_of_entry(entry_id), document.source, document.blob


def _chosen(view: View, filters: Filters, without: frozenset[bytes]) -> set[bytes]:
    """Return the ids of the entries that stand in a document that passes."""
    if not filters:
        return {id_ for id_ in view.part(0, view.n_documents).entry_ids() if id_[:RAW_SIZE] not in without}
    chosen = set()
    for document in view.documents():
        if filters.takes(document):
            for number in document.rows:
                row = view.row(number)
                if filters.takes_row(document, row) and row.entry_id[:RAW_SIZE] not in without:
                    chosen.add(row.entry_id)
    return chosen
