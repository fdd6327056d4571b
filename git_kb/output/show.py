"""What an id names: a section, a document, a citation."""

from __future__ import annotations

from dataclasses import dataclass

from git_kb.errors import KbError, NotFound
from git_kb.index.view import View, ViewDocument, ViewRow
from git_kb.model.section import is_kbid_prefix, kbid_bounds, kbid_of_entry


class UnknownDocument(NotFound):
    """No document has that name."""

    hint = "'git kb ls-documents' lists them"

    def __init__(self, name: str):
        self.name = name
        super().__init__(f"no document '{name}'")


class UnknownId(NotFound):
    """Nothing has that id."""

    hint = "give a kbid (4 or more characters), a docid, a source path, a citation, <path>:<line> or <path>#<heading>"

    def __init__(self, name: str):
        self.name = name
        super().__init__(f"nothing is called '{name}'")


class NoSuchHeading(NotFound):
    """A document has no such heading."""

    hint = "'git kb show <path>' lists the sections of a document"

    def __init__(self, name: str):
        self.name = name
        super().__init__(f"no section '{name}': its document has no such heading")


class AmbiguousId(KbError):
    """An abbreviation fits several things."""

    def __init__(self, name: str, candidates: list[str]):
        self.name, self.candidates = name, candidates
        super().__init__(f"'{name}' is ambiguous: {', '.join(candidates[:5])}{', …' if len(candidates) > 5 else ''}")


@dataclass(frozen=True, slots=True)
class Place:
    """A section where it stands."""

    row: ViewRow
    document: ViewDocument

    @property
    def kbid(self) -> str:
        return kbid_of_entry(self.row.entry_id)

    @property
    def citation(self) -> str:
        return f"{self.document.docid}#{self.row.chunk}"


def resolve_id(view: View, name: str) -> ViewDocument | list[Place]:
    """Return the document that `name` means, or the places of the one section it means.

    Tried in order: docid, source path, citation, kbid, abbreviated docid. Raises UnknownId, UnknownDocument, AmbiguousId.
    """
    documents = list(view.documents())
    for document in documents:
        if name in (document.docid, document.source, document.name):
            return document
    if "#" in name:
        docid, _, chunk = name.rpartition("#")
        return [_cited(view, docid, chunk, name)]
    if is_kbid_prefix(name.lower()) and (places := _sections(view, name.lower())):
        return places
    fits = [d for d in documents if d.docid.startswith(name)] if len(name) >= 2 else []
    if len(fits) > 1:
        raise AmbiguousId(name, [d.docid for d in fits])
    if not fits:
        raise UnknownId(name)
    return fits[0]


def _cited(view: View, docid: str, chunk: str, name: str) -> Place:
    fits = [d for d in view.documents() if d.docid == docid] or [d for d in view.documents() if docid and d.docid.startswith(docid)]
    if not fits:
        raise UnknownDocument(docid)
    if len(fits) > 1:
        raise AmbiguousId(docid, [d.docid for d in fits])
    rows = [view.row(number) for number in fits[0].rows]
    chosen = [r for r in rows if r.chunk == chunk] or [r for r in rows if len(chunk) >= 6 and r.chunk.startswith(chunk)]
    if not chosen:
        raise UnknownId(name)
    if len(chosen) > 1:
        raise AmbiguousId(name, [f"{fits[0].docid}#{r.chunk}" for r in chosen])
    return Place(chosen[0], fits[0])


def _sections(view: View, prefix: str) -> list[Place]:
    """Return the places of the section whose kbid begins with `prefix`; empty when there is none."""
    rows = view.rows_between(*kbid_bounds(prefix))
    kbids = sorted({kbid_of_entry(r.entry_id) for r in rows})
    if len(kbids) > 1:
        raise AmbiguousId(prefix, kbids)
    return [Place(r, view.document(r.doc)) for r in rows]
