"""What a query demands or excludes as it is written: `heading:C++`, `code:->`, `-.env`. docs/query-language.md, "Symbols".

The index has letters and digits, so it gives the entries that may have it; their text decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import compress

from git_kb.index.build import context_of, split_context
from git_kb.index.segments import Segments
from git_kb.index.view import View, ViewDocument, ViewRow
from git_kb.model.section import kbid_of_entry
from git_kb.repo.discover import Place
from git_kb.search import literal as literals
from git_kb.search.literal import contents_with, find_literal, fold, needle_of, size_of, sources
from git_kb.search.match import Lists, candidates, candidates_of_all
from git_kb.search.query import FIELDS, Atom, Query, Written
from git_kb.store.content import read_contents
from git_kb.text.fields import fields
from git_kb.text.words import word_terms, words

HEADING = FIELDS["heading"]
# Up to so many sections are read one by one; for more, going through all sources is faster.
MAX_READ = 4000


class Allowed:
    """Which entries may be hits. required: these alone, None for all; but for `excluded`. complete: all texts were looked at."""

    __slots__ = ("_all", "complete", "excluded", "required")

    def __init__(self, required: set[bytes] | None, excluded: set[bytes], complete: bool):
        self.required, self.excluded, self.complete = required, excluded, complete
        self._all: set[bytes] | None = None

    def of(self, view: View, only: set[bytes] | None) -> set[bytes] | None:
        """Return those of `only`, None for all, that may be hits."""
        if self.required is not None:
            return self.required if only is None else self.required & only
        if only is not None:
            return only - self.excluded
        if self.excluded and self._all is None:
            self._all = {*view.part(0, view.n_documents).entry_ids()} - self.excluded
        return self._all


def allowed(place: Place, view: View, segments: Segments, query: Query, among: set[bytes] | None) -> Allowed:
    """Return which of the entries in `among` (None for all) have in their text what the query demands, and not what it excludes.

    Looked at are those that the rest of the query can find, unless symbols without terms are demanded. When these are many, up to
    MAX_SCANNED bytes of sources are read. Raises DamagedSegment.
    """
    demanded = [one for one in query.written if not one.negative]
    excluded = [one for one in query.written if one.negative]
    chosen: set[bytes] = set()
    for segment in segments:
        chosen |= _candidates(view, Lists(segment, {}), query, demanded, excluded)
    if among is not None:
        chosen &= among
    if len(chosen) <= MAX_READ:
        read = _one_by_one
    else:
        read = _through_sources if any(one.field != HEADING for one in query.written) else _through_headings
    required, banned = set(), set()
    complete = True
    for row, document, content in read(place, view, query.written, chosen):
        if row is None or document is None:
            complete = False
            break
        holds = _Text(row, document, content).holds
        if any(map(holds, excluded)):
            banned.add(row.entry_id)
        elif all(map(holds, demanded)):
            required.add(row.entry_id)
    return Allowed(required if demanded else None, banned, complete)


def _candidates(view: View, lists: Lists, query: Query, demanded: list[Written], excluded: list[Written]) -> set[bytes]:
    """Return the ids of entries of one segment whose text has to be looked at."""
    segment = lists.segment
    mask = view.mask(segment.name)
    everything = range(segment.n_entries)
    live = set(everything) if mask is None else set(compress(everything, mask))
    if (query or query.root.must) and all(one.readings for one in demanded):
        live &= _matching(query, lists)
    if demanded:
        for one in demanded:
            live = _holding(one, view, lists, live)
    else:
        live = set().union(*(_holding(one, view, lists, live) for one in excluded))
    return {segment.entry_id(ordinal) for ordinal in live}


def _matching(query: Query, lists: Lists) -> set[int]:
    if query.root.must:
        return candidates_of_all(query.root.must, lists)
    words = [Atom([[term]]) for term in (*query.weights, *query.completions)] + [
        Atom([[start]], prefix=True) for start in query.prefixes
    ]
    return set().union(*(candidates(word, lists) for word in words))


def _holding(one: Written, view: View, lists: Lists, live: set[int]) -> set[int]:
    """Return those of the entries that have each word of a literal in one of the view's languages.

    Where the literal stands, its words do, whole, in whatever case: so of a word's terms the first one, which stands for all of it.
    """
    for word in words(one.literal):
        forms = {found[0] for w in (word, word.lower(), word.upper()) for r in view.rules if (found := word_terms(w, r))}
        if forms:
            live = live & candidates(Atom([[form] for form in sorted(forms)]), lists)
    return live


_Texts = Iterator[tuple[ViewRow | None, ViewDocument | None, str]]


def _one_by_one(place: Place, view: View, written: list[Written], chosen: set[bytes]) -> _Texts:
    """Yield (row, its document, content) of the chosen entries."""
    rows = {id_: found[0] for id_ in chosen if (found := view.rows_of(id_))}
    documents = {id_: view.document(row.doc) for id_, row in rows.items()}
    origins = ((kbid_of_entry(id_), document.source, document.blob) for id_, document in documents.items())
    contents = read_contents(place, list(dict.fromkeys(map(kbid_of_entry, rows))), lambda: origins)
    for id_, row in rows.items():
        if (section := contents.get(kbid_of_entry(id_))) is not None:
            yield row, documents[id_], section.content.decode("utf-8", "replace")


def _through_sources(place: Place, view: View, written: list[Written], chosen: set[bytes]) -> _Texts:
    """Yield those of the chosen entries that may have any of the literals; (None, None, "") where the scan breaks off."""
    needles = [needle_of(one.literal) for one in written]
    heads = [one.literal for one in written if not one.field]
    seen: set[bytes] = set()
    n_scanned = 0
    for document, data in sources(place, view, None):
        n_scanned += size_of(view, document, data)
        if n_scanned > literals.MAX_SCANNED:
            yield None, None, ""
            return
        also = _rows_below(view, document, heads) if heads else []
        for row, content in contents_with(place, view, document, data, needles, also):
            if row.entry_id in chosen and row.entry_id not in seen:
                seen.add(row.entry_id)
                yield row, document, content


def _through_headings(place: Place, view: View, written: list[Written], chosen: set[bytes]) -> _Texts:
    """Yield those of the chosen entries that may have any of the literals in their headings; their text does not matter."""
    heads = [one.literal for one in written]
    seen: set[bytes] = set()
    for document in view.documents():
        for row in _rows_below(view, document, heads):
            if row.entry_id in chosen and row.entry_id not in seen:
                seen.add(row.entry_id)
                yield row, document, ""


def _rows_below(view: View, document: ViewDocument, heads: list[str]) -> list[ViewRow]:
    """Return the rows of a document with any of the literals in their headings."""
    found = []
    known: dict[tuple[str, ...], bool] = {}
    for number in document.rows:
        row = view.row(number)
        if row.heading not in known:
            known[row.heading] = any(_has(_heading(row, document), head) for head in heads)
        if known[row.heading]:
            found.append(row)
    return found


class _Text:
    """The text of an entry, in which literals are looked for."""

    def __init__(self, row: ViewRow, document: ViewDocument, content: str):
        self.mime, self.content, self.heading = row.type or document.type, content, _heading(row, document)
        self._parts: tuple[str, str, str] | None = None

    def holds(self, one: Written) -> bool:
        """Return whether it has a literal in the field asked for; in the headings or the text where none is."""
        if one.field is None:
            return _has(self.content, one.literal) or _has(self.heading, one.literal)
        if self._parts is None:
            self._parts = fields(self.mime, self.content, self.heading)
        return _has(self._parts[one.field], one.literal)


def _has(text: str, literal: str) -> bool:
    # A phrase goes on over the end of a line.
    text = " ".join(text.split()) if " " in literal else text
    return any(find_literal(fold(text), literal))


def _heading(row: ViewRow, document: ViewDocument) -> str:
    return split_context(context_of(document.title, row.heading))[1]
