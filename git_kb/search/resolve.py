"""What a reference leads to in one view. docs/format-references.md, "What a reference leads to"."""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left, bisect_right
from typing import NamedTuple
from unicodedata import category, normalize
from urllib.parse import unquote

from git_kb.index.references import References, key_of_target, path_of, wiki_parts
from git_kb.index.view import View, ViewDocument, ViewRow
from git_kb.model.document import docid_of_path
from git_kb.model.reference import ANCHOR, BEFORE, DEFINITION, LABEL, MARKERS, NAME, REF, TARGET, WIKI, Reference
from git_kb.model.section import RAW_SIZE, is_kbid_prefix, kbid_bounds
from git_kb.model.source import path_of_source, source_of_path
from git_kb.store.manifest import SUFFIX

EXTENSIONS = (".md", ".markdown", ".mdx", ".rst", ".txt")
WEB_EXTENSIONS = (".html", ".htm")
INDEX_FILES = ("README.md", "index.md", "_index.md", "readme.md", "README.rst", "index.rst")
URL_DOCIDS = "url--"
_SECTION_MARKERS = ("image", "code", "text", "link")
_LINE = re.compile(r"L([1-9][0-9]{0,8})(?:C[0-9]+)?(?:-L?[0-9C]+)?\Z")

# How a reference came out: it leads to something; to a document that lacks the fragment; to several things; out of the knowledge
# base; to nothing.
RESOLVED, NO_FRAGMENT, AMBIGUOUS, EXTERNAL, DANGLING = "resolved", "no-fragment", "ambiguous", "external", "dangling"


class Target(NamedTuple):
    """What a reference leads to. doc: number of a document of the view, -1 for none. row: of its section, None for the document."""

    state: str
    doc: int = -1
    row: ViewRow | None = None

    @property
    def kbid(self) -> bytes | None:
        """The 16 bytes of the section's kbid."""
        return None if self.row is None else self.row.entry_id[:RAW_SIZE]


NOTHING = Target(DANGLING)


class Resolver:
    """Follows references within one view. May raise DamagedSegment."""

    def __init__(self, view: View, references: References):
        self.view, self.references = view, references
        self._documents: dict[int, ViewDocument] = {}
        self._rows: dict[int, list[ViewRow]] = {}
        self._at: dict[str, int] = {}
        self._anchors: dict[int, _Anchors] = {}
        self._definitions: dict[int, dict[str, str]] = {}
        self._stems: dict[str, list[int]] | None = None
        self._urls: dict[str, int] | None = None
        self._labels: dict[str, Target] = {}

    def document(self, number: int) -> ViewDocument:
        if number not in self._documents:
            self._documents[number] = self.view.document(number)
        return self._documents[number]

    def rows(self, number: int) -> list[ViewRow]:
        """Return the sections of a document, in order."""
        if number not in self._rows:
            self._rows[number] = [self.view.row(n) for n in self.document(number).rows]
        return self._rows[number]

    def references_of(self, row: ViewRow) -> list[Reference]:
        return self.references.of(row.entry_id[:RAW_SIZE])

    def resolve(self, doc: int, reference: Reference) -> Target | None:
        """Return what a reference in a section of document number `doc` leads to; None when it turns out to be text."""
        kind, target = reference.kind, reference.target
        if kind in MARKERS:
            return self._marker(kind, target.strip())
        if kind == WIKI:
            return self._wiki(doc, *wiki_parts(target))
        if kind == LABEL:
            return self._link(doc, self.destination(doc, reference)) if target in self.definitions(doc) else None
        if kind == NAME:
            return self._name(doc, target)
        if kind == REF:
            return self._label(target)
        if kind in (DEFINITION, ANCHOR, TARGET, BEFORE):
            return None
        return self._link(doc, target)

    def destination(self, doc: int, reference: Reference) -> str:
        """Return what a reference in document number `doc` says: its target, of a label that of the definition."""
        if reference.kind == NAME:
            return self.definitions(doc).get(reference.target, reference.target)
        return self.definitions(doc).get(reference.target, "") if reference.kind == LABEL else reference.target

    def definitions(self, doc: int) -> dict[str, str]:
        """Return label -> destination of the definitions in a document. The first of a label counts."""
        if doc not in self._definitions:
            found: dict[str, str] = {}
            for row in self.rows(doc):
                for reference in self.references_of(row):
                    if reference.kind == DEFINITION:
                        label, _, destination = reference.target.partition("\t")
                        found.setdefault(label, destination)
            self._definitions[doc] = found
        return self._definitions[doc]

    def _link(self, doc: int, destination: str) -> Target:
        fragment = unquote(destination.partition("#")[2], errors="replace")
        if destination.startswith("#"):
            return self._with_fragment(doc, fragment)
        if destination.lower().startswith(("http://", "https://")):
            number = self._url(destination.partition("#")[0])
            return Target(EXTERNAL) if number is None else self._with_fragment(number, fragment)
        path = path_of(destination)
        if not path:
            return self._with_fragment(doc, fragment)
        number = self._path(doc, path)
        return NOTHING if number is None else self._with_fragment(number, fragment)

    def _name(self, doc: int, name: str) -> Target | None:
        """Return what a name means in its document: a destination, a target or a title; None when it is text."""
        if name in self.definitions(doc):
            return self._link(doc, self.definitions(doc)[name])
        row = self.anchors(doc).named(name)
        return None if row is None else Target(RESOLVED, doc, row)

    def _label(self, label: str) -> Target:
        """Return the target of this name, in whichever document: the first of them, should there be several."""
        if label not in self._labels:
            kbids = self.references.sections_with(key_of_target(label))
            docs = sorted({row.doc for kbid in kbids for row in self.view.rows_of_section(kbid)})
            rows = ((doc, self.anchors(doc).targets.get(label)) for doc in docs)
            self._labels[label] = next((Target(RESOLVED, doc, row) for doc, row in rows if row is not None), NOTHING)
        return self._labels[label]

    def _path(self, doc: int, path: str) -> int | None:
        source = self.document(doc).source
        directory = "" if "://" in source else posixpath.dirname(source)
        if not path.startswith("/"):
            return self._below(directory, path)
        above = directory.split("/") if directory else []
        for n in range(len(above) + 1):
            if (number := self._below("/".join(above[:n]), path.lstrip("/"))) is not None:
                return number
        return None

    def _below(self, directory: str, path: str) -> int | None:
        """Return the document that a path below a directory means."""
        whole = posixpath.normpath(posixpath.join(directory, path)) if path or directory else ""
        if whole.startswith(("../", "/")) or whole == "..":
            return None
        whole = "" if whole == "." else whole
        for form in _forms(whole):
            for candidate in _candidates(form):
                if (number := self.at(candidate)) is not None:
                    return number
        return None

    def at(self, source: str) -> int | None:
        """Return the number of the document with this source path."""
        if source not in self._at:
            self._at[source] = self._look_up(source)
        number = self._at[source]
        return None if number < 0 else number

    def _look_up(self, source: str) -> int:
        raw = source.encode("utf-8", "surrogateescape")
        # Links come from anybody: what cannot be a source's path is none.
        if len(raw) > 4096 or path_of_source(name := source_of_path(raw)) is None:
            return -1
        number = self.by_docid(docid_of_path(raw))
        return number if number is not None and self.document(number).source == name else -1

    def by_docid(self, docid: str) -> int | None:
        """Return the number of a document; they are in order of file name."""
        name = docid + SUFFIX
        at = self._first_from(name)
        return at if at < self.view.n_documents and self.document(at).name == name else None

    def _first_from(self, name: str) -> int:
        """Return the number of the first document whose file is called `name`, or something that comes after it."""
        return bisect_left(range(self.view.n_documents), name, key=lambda n: self.document(n).name)

    def _url(self, url: str) -> int | None:
        if self._urls is None:
            self._urls = {}
            # Documents of URLs have docids of their own, so they stand together.
            number = self._first_from(URL_DOCIDS)
            while number < self.view.n_documents and (document := self.document(number)).name.startswith(URL_DOCIDS):
                self._urls.setdefault(document.source.partition("#")[0].rstrip("/"), number)
                number += 1
        return self._urls.get(url.rstrip("/"))

    def _wiki(self, doc: int, page: str, heading: str) -> Target:
        if not page:
            return self._with_fragment(doc, heading)
        path = page.strip("/")
        number = self._below("", path)
        if number is None:
            number = self._path(doc, path)
        if number is None:
            number = self._named(path)
        return NOTHING if number is None else self._with_fragment(number, heading)

    def _named(self, path: str) -> int | None:
        """Return the document whose source ends with this path, in any directory, without extension, case not counting."""
        if self._stems is None:
            self._stems = {}
            for number, document in enumerate(self.view.documents()):
                self._stems.setdefault(_wiki_name(document.source), []).append(number)
        wanted = _wiki_form(path)
        fits = [
            (self.document(n).source.count("/"), n)
            for n in self._stems.get(_wiki_name(path), ())
            if f"/{_wiki_form(self.document(n).source)}".endswith(f"/{wanted}")
        ]
        return min(fits)[1] if fits else None

    def _marker(self, kind: str, target: str) -> Target:
        docid, sharp, chunk = target.partition("#")
        if sharp:
            number = self.by_docid(docid)
            rows = [] if number is None else [row for row in self.rows(number) if row.chunk == chunk]
            return Target(RESOLVED, number or 0, rows[0]) if rows else NOTHING
        if kind not in _SECTION_MARKERS:
            number = self.by_docid(docid)
            return NOTHING if number is None else Target(RESOLVED, number)
        return self._kbid(target.lower())

    def _kbid(self, prefix: str) -> Target:
        if not is_kbid_prefix(prefix):
            return NOTHING
        rows = self.view.rows_between(*kbid_bounds(prefix))
        if len({row.entry_id[:RAW_SIZE] for row in rows}) > 1:
            return Target(AMBIGUOUS)
        return Target(RESOLVED, rows[0].doc, rows[0]) if rows else NOTHING

    def _with_fragment(self, doc: int, fragment: str) -> Target:
        if not fragment or fragment.startswith((":~:", "^")) or fragment.lower() == "top":
            return Target(RESOLVED, doc)
        row = self.section_at(doc, fragment)
        return Target(NO_FRAGMENT, doc) if row is None else Target(RESOLVED, doc, row)

    def section_at(self, doc: int, fragment: str) -> ViewRow | None:
        """Return the section of a document that a fragment names."""
        return self.anchors(doc).find(fragment)

    def anchors(self, doc: int) -> _Anchors:
        if doc not in self._anchors:
            self._anchors[doc] = _Anchors(self.rows(doc), self.references_of)
        return self._anchors[doc]


def section_named(rows: list[ViewRow], fragment: str) -> ViewRow | None:
    """Return the section of a document that a heading or line (`L12`) names, `rows` being its sections; no look at references."""
    return _Anchors(rows, lambda row: ()).find(fragment)


class _Anchors:
    """The fragments of one document."""

    def __init__(self, rows: list[ViewRow], references_of: object):
        self.rows = rows
        self.names: dict[str, ViewRow] = {}
        self.slugs: dict[str, ViewRow] = {}
        self.letters: dict[str, ViewRow] = {}
        self.targets: dict[str, ViewRow] = {}
        counts: dict[str, int] = {}
        for number, row in enumerate(rows):
            for reference in references_of(row):  # type: ignore[operator]
                if reference.kind == ANCHOR:
                    self.names.setdefault(reference.target, row)
                elif reference.kind in (TARGET, BEFORE):
                    named = rows[min(number + (reference.kind == BEFORE), len(rows) - 1)]
                    self.names.setdefault(reference.target, named)
                    self.targets.setdefault(reference.target, named)
            if row.part > 1 or not row.heading:
                continue
            slug = slug_of(row.heading[-1])
            n = counts.get(slug, 0)
            counts[slug] = n + 1
            self.slugs.setdefault(f"{slug}-{n}" if n else slug, row)
            self.letters.setdefault(_letters(slug), row)

    def named(self, name: str) -> ViewRow | None:
        """Return the section that has a target or title of this name of reStructuredText."""
        return self.targets.get(name) or self.slugs.get(slug_of(name))

    def find(self, fragment: str) -> ViewRow | None:
        fragment = normalize("NFC", fragment)
        if row := self.names.get(fragment) or self.slugs.get(fragment) or self.slugs.get(slug_of(fragment)):
            return row
        if (m := _LINE.match(fragment)) and self.rows:
            at = bisect_right(self.rows, int(m[1]), key=lambda row: row.line)
            return self.rows[max(at - 1, 0)]
        letters = _letters(fragment)
        return self.letters.get(letters) if letters else None


def slug_of(heading: str) -> str:
    """Return GitHub's slug of a heading."""
    kept = []
    for char in normalize("NFC", heading).lower():
        if char in "_-" or char.isalnum() or category(char)[0] == "M":
            kept.append(char)
        elif char in " \t":
            kept.append("-")
    return "".join(kept)


def _letters(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def _forms(path: str) -> list[str]:
    """Return a path as it is written and in both normal forms."""
    if path.isascii():
        return [path]
    return list(dict.fromkeys([path, normalize("NFC", path), normalize("NFD", path)]))


def _candidates(path: str) -> list[str]:
    """Return the sources that a path may mean, in order."""
    if not path:
        return list(INDEX_FILES)
    stem, dot, extension = path.rpartition(".")
    found = [path, *(path + e for e in EXTENSIONS)]
    if dot and "." + extension.lower() in WEB_EXTENSIONS:
        found += [stem + e for e in EXTENSIONS]
    return [*found, *(f"{path}/{name}" for name in INDEX_FILES)]


def _wiki_form(path: str) -> str:
    path = normalize("NFC", path).casefold()
    for extension in EXTENSIONS:
        if path.endswith(extension):
            return path.removesuffix(extension)
    return path


def _wiki_name(path: str) -> str:
    return _wiki_form(path).rpartition("/")[2]
