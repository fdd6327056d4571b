"""References out of and into a section or a document, in one view."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from git_kb.index.references import References, key_of_kbid, key_of_label, keys_of_document
from git_kb.index.view import View, ViewDocument, ViewRow
from git_kb.model.reference import ANCHOR, BEFORE, DEFINITION, MARKERS, TARGET, Reference
from git_kb.model.section import RAW_SIZE, Section, kbid_text
from git_kb.search.resolve import EXTERNAL, Resolver, Target

CONTEXT = 150


@dataclass(frozen=True, slots=True)
class Subject:
    """What is asked about: a section by its kbid (16 bytes), or else a document by its number in the view."""

    kbid: bytes = b""
    doc: int = -1


@dataclass(frozen=True, slots=True)
class Edge:
    """A reference where it stands. `row` is its section in document number `row.doc`."""

    row: ViewRow
    reference: Reference
    target: Target


@dataclass(frozen=True, slots=True)
class Shown:
    """An edge with what is shown of it. line: 1-based in the source; target_document: None when it leads nowhere.

    destination: what the reference says, of a label what its definition says. context: about CONTEXT characters around
    the reference, blanks folded; "" where the section cannot be had.
    """

    edge: Edge
    document: ViewDocument
    line: int
    context: str
    target_document: ViewDocument | None
    destination: str


class Graph:
    """The references of a view, followed in both directions. May raise DamagedSegment."""

    def __init__(self, view: View, references: References):
        self.view, self.references = view, references
        self.resolver = Resolver(view, references)

    def out_of(self, subject: Subject, external: bool = False) -> list[Edge]:
        """Return the references in a section, at each of its places, or in all sections of a document; in order of place.

        external: those to URLs that are no document, too.
        """
        rows = self.resolver.rows(subject.doc) if subject.doc >= 0 else self._places(subject.kbid)
        return [edge for edge in self._edges(rows) if external or edge.target.state != EXTERNAL]

    def into(self, subject: Subject) -> list[Edge]:
        """Return the references that lead to a section, or to a document or any of its sections; by source and place."""
        if subject.doc >= 0:
            kbids = {row.entry_id[:RAW_SIZE] for row in self.resolver.rows(subject.doc)}
            found = [e for e in self._edges(self._candidates({subject.doc}, kbids)) if self._leads(e, subject.doc, kbids)]
        else:
            docs = {row.doc for row in self._places(subject.kbid)}
            found = [e for e in self._edges(self._candidates(docs, {subject.kbid})) if e.target.kbid == subject.kbid]
        return sorted(found, key=lambda e: (self.resolver.document(e.row.doc).source, e.row.start, e.row.part, e.reference.start))

    def _leads(self, edge: Edge, doc: int, kbids: set[bytes]) -> bool:
        # A marker names a section by its content, wherever that stands.
        return edge.target.doc == doc or (edge.reference.kind in MARKERS and edge.target.kbid in kbids)

    def _places(self, kbid: bytes) -> list[ViewRow]:
        return self.view.rows_of_section(kbid)

    def _edges(self, rows: Iterable[ViewRow]) -> Iterator[Edge]:
        for row in rows:
            for reference in self.resolver.references_of(row):
                if (
                    reference.kind not in (ANCHOR, DEFINITION, TARGET, BEFORE)
                    and (target := self.resolver.resolve(row.doc, reference)) is not None
                ):
                    yield Edge(row, reference, target)

    def _candidates(self, docs: set[int], kbids: set[bytes]) -> list[ViewRow]:
        """Return the places of sections that may refer to one of these documents or sections."""
        keys = {key for doc in docs for key in self._keys_of(doc)}
        sections = self._with_keys(keys | {key_of_kbid(kbid_text(kbid)) for kbid in kbids})
        # Labels are used in other sections than they are defined in; a fragment alone leads to its own document.
        whole = docs | {row.doc for kbid in self._with_keys({"[" + key for key in keys}) for row in self._places(kbid)}
        rows = [row for doc in whole for row in self.resolver.rows(doc)]
        return rows + [row for kbid in sections for row in self._places(kbid) if row.doc not in whole]

    def _keys_of(self, doc: int) -> list[str]:
        document = self.resolver.document(doc)
        kept = [r for row in self.resolver.rows(doc) for r in self.resolver.references_of(row) if r.kind in (TARGET, BEFORE)]
        return [*keys_of_document(document.docid, document.source), *(key_of_label(r.target) for r in kept)]

    def _with_keys(self, keys: set[str]) -> list[bytes]:
        return sorted({kbid for key in keys for kbid in self.references.sections_with(key)})

    def show(self, edges: list[Edge], read: Callable[[list[Edge]], dict[bytes, Section]]) -> list[Shown]:
        """Return edges with line and context. read: gives the sections that edges stand in, by kbid (16 bytes)."""
        sections = read(edges)
        shown = []
        for edge in edges:
            section = sections.get(edge.row.entry_id[:RAW_SIZE])
            text = "" if section is None else section.content.decode("utf-8", "replace")
            target = self.resolver.document(edge.target.doc) if edge.target.doc >= 0 else None
            line = edge.row.line + edge.reference.line
            document = self.resolver.document(edge.row.doc)
            around = context(text, edge.reference.start, edge.reference.end)
            shown.append(Shown(edge, document, line, around, target, self.resolver.destination(edge.row.doc, edge.reference)))
        return shown


def context(text: str, start: int, end: int, size: int = CONTEXT) -> str:
    """Return about `size` characters of a text around a range, from word to word, blanks folded; `…` where it was cut.

    Of a range longer than that, its beginning.
    """
    if not 0 <= start <= end <= len(text):
        return ""
    end = min(end, start + size)
    room = max(size - (end - start), 0)
    before = min(start, max(room // 2, room - (len(text) - end)))
    first = start - before
    last = min(len(text), end + room - before)
    if first > 0 and (blank := _blank_after(text, first, start)) >= 0:
        first = blank
    if last < len(text) and (blank := _blank_before(text, end, last)) >= 0:
        last = blank
    return ("… " if text[:first].strip() else "") + " ".join(text[first:last].split()) + (" …" if text[last:].strip() else "")


def _blank_after(text: str, start: int, end: int) -> int:
    return next((at for at in range(start, min(end, start + 30)) if text[at].isspace()), -1)


def _blank_before(text: str, start: int, end: int) -> int:
    return next((at for at in range(end, max(start, end - 30), -1) if text[at].isspace()), -1)
