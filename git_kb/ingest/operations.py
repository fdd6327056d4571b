"""Operations on single sections and documents: add, update, remove. docs/write-operations.md.

The caller holds the writer's lock. Order, as everywhere: sections into the pool, then sources, each before its manifest.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from git_kb.errors import KbError, NewerFormat, NotFound
from git_kb.ingest.draft import CannotEdit, Draft, NewSection, check_way
from git_kb.ingest.ingest import Options, write_manifest
from git_kb.ingest.select import inside_path
from git_kb.model.document import SECTION_FILES, STDIN, Manifest, SectionRow, docid_of_path
from git_kb.model.section import EmptyContent, NotText, canonical_text, is_kbid, is_kbid_prefix, normalise_mime
from git_kb.model.source import path_of_source, source_of_path
from git_kb.repo.lockfile import atomic_write, remove_leftovers, sync_directory
from git_kb.repo.protocol import Repository
from git_kb.repo.worktree import check_ignored, hash_files
from git_kb.store.again import read_or_cut
from git_kb.store.config import Config
from git_kb.store.documents import Documents, Warn, decode_manifest, worktree_documents
from git_kb.store.manifest import SUFFIX, DamagedManifest, one_line, parse_manifest, render_manifest
from git_kb.store.pool import Pool, PoolWriter
from git_kb.store.root import DOCUMENTS
from git_kb.text.mime import is_text
from git_kb.text.sectionfile import MARKDOWN, Properties, holds_separator, new_section_file

HEADING_MISSING = "heading_missing"
MAX_SLUG = 60
# So many times the manifests are read to find a section. Then it is noted where each one is.
MAX_LOOKS = 3
_KBID = re.compile(rb"(?<![a-z2-7])[a-z2-7]{26}(?![a-z2-7])")
_NAME = re.compile(r"[^\W_](?:[\w.+-]*[\w+])?\Z")


class TitleNeeded(KbError):
    """An image has no words of its own."""

    hint = "give it a title with --title"

    def __init__(self) -> None:
        super().__init__("an image section needs a title")


class BadType(KbError):
    """Sections are text, code, data as text, or images."""

    def __init__(self, mime: str):
        self.mime = mime
        super().__init__(f"a section cannot be of type '{mime}': it is neither text nor an image")


class HoldsSeparator(KbError):
    """Content has a line that would begin another section of the file that it is to be stored in."""

    hint = "replace the character (U+001E, the record separator) at the start of that line"

    def __init__(self) -> None:
        super().__init__("the content has a line that begins with U+001E, which begins a section in section files")


class NoSuchSection(NotFound):
    """No document has that section."""

    hint = "'git kb ls-sections' lists them"

    def __init__(self, name: str, docid: str = ""):
        self.name, self.docid = name, docid
        super().__init__(f"no section '{name}'" + (f" in document '{docid}'" if docid else " in any document"))


class AmbiguousName(KbError):
    """A name fits several sections."""

    def __init__(self, name: str, candidates: Sequence[str]):
        self.name, self.candidates = name, tuple(candidates)
        super().__init__(f"'{name}' is ambiguous: {', '.join(candidates[:5])}{', …' if len(candidates) > 5 else ''}")


class NoSuchDocument(NotFound):
    """No document has that name."""

    hint = "'git kb ls-documents' lists them"

    def __init__(self, name: str, why: str = "", hint: str = ""):
        self.name = name
        self.hint = hint or self.hint
        super().__init__(f"no document '{name}'{': ' + why if why else ''}")


class DocumentExists(KbError):
    """There is a document of that name, and it is another one."""

    hint = "'git kb add-section --document' adds to it, 'git kb rm-document' removes it"

    def __init__(self, docid: str):
        self.docid = docid
        super().__init__(f"there is a document '{docid}' already")


class NotSaved(KbError):
    """A file that exists nowhere else would be lost."""

    hint = "commit it, 'git add' it, or use --force"

    def __init__(self, path: bytes):
        self.path = path
        super().__init__(f"git does not have what '{os.fsdecode(path)}' says, and removing the document removes the file")


class Unchangeable(KbError):
    """A document's source is nothing that can be changed here."""

    def __init__(self, docid: str, why: str):
        self.docid = docid
        super().__init__(f"document '{docid}' cannot be changed: {why}")


@dataclass(frozen=True, slots=True)
class Change:
    """What an operation did, or would do.

    kbid, docid: of the section and the document in question. sources: paths of the files that changed. superseded: kbids that were
    replaced. n_sections: of the document. attached, skipped: as in docs/write-operations.md.
    """

    kbid: str = ""
    docid: str = ""
    type: str = ""
    title: str = ""
    description: str = ""
    content: str = ""
    language: str = ""
    sources: tuple[bytes, ...] = ()
    docids: tuple[str, ...] = ()
    superseded: str = ""
    attached: bool = False
    skipped: bool = False
    n_sections: int = 0
    warnings: tuple[str, ...] = ()


def new_section(type: str, data: bytes, heading: Sequence[str] = (), title: str = "", description: str = "") -> NewSection:
    """Return the section of what was given. title: the last one of its headings; an image needs one.

    An image comes as its file's bytes or as base64. Raises BadType, BadMime, NotText, EmptyContent, TitleNeeded.
    """
    mime = normalise_mime(type)
    is_image = mime.startswith("image/") and not is_text(mime)
    if not is_image and not is_text(mime):
        raise BadType(mime)
    path = tuple(filter(None, (one_line(canonical_text(h)) for h in [*heading, title])))
    if mime.startswith("image/") and not path:
        raise TitleNeeded
    content = _base64(data) if is_image else _text(data)
    if not content:
        raise EmptyContent("standard input")
    said = one_line(canonical_text(description))
    return NewSection(mime, content, Properties(path, "" if mime == MARKDOWN else mime, said))


def _text(data: bytes) -> str:
    try:
        return canonical_text(data.decode("utf-8"))
    except UnicodeDecodeError as e:
        raise NotText("standard input", e.start) from None


def _base64(data: bytes) -> str:
    """Return an image as base64: as it was given, without blanks around it, or made of the image's own bytes."""
    try:
        text = canonical_text(data.decode("ascii"))
        if base64.b64decode("".join(text.split()), validate=True):
            return text
    except (UnicodeDecodeError, binascii.Error, ValueError):
        pass
    return base64.b64encode(data).decode()


class Work:
    """One operation in the making: the documents it looks at and those it changes. Nothing is written before `publish`."""

    def __init__(self, repo: Repository, config: Config, warn: Warn):
        self.repo, self.config, self.warn = repo, config, warn
        self.documents: Documents = worktree_documents(repo.place)
        self.drafts: dict[str, Draft] = {}
        self._manifests: dict[str, Manifest] = {}
        # Kbid -> file names of the manifests that have it, once it has been asked for often.
        self._words: dict[str, list[str]] = {}
        self._n_asked = 0
        self.pool = Pool(repo)
        # The document that is written last: killed before that, an operation still has it all to do.
        self.last = ""

    def manifest(self, docid: str) -> Manifest:
        """Return a manifest of the work tree. Raises NoSuchDocument, DamagedManifest, NewerFormat."""
        if docid not in self._manifests:
            for name, data in self.documents.read([docid + SUFFIX]) if docid + SUFFIX in self.documents.stamps else ():
                self._manifests[docid] = parse_manifest(decode_manifest(data, name), name)
        if docid not in self._manifests:
            raise NoSuchDocument(docid)
        return self._manifests[docid]

    def document(self, name: str) -> str | None:
        """Return the docid of the document that a name means: a docid, a path, or the name of a section file; None without one."""
        if name + SUFFIX in self.documents.stamps:
            return name
        inside = inside_path(self.repo.place, name)
        for path in ([inside] if inside else []) + [os.fsencode(name), section_file_path(name)]:
            docid = docid_of_path(path)
            if docid + SUFFIX in self.documents.stamps and self.manifest(docid).source == source_of_path(path):
                return docid
        return None

    def draft(self, docid: str, options: Options | None = None) -> Draft:
        """Return the document to be changed. Raises StaleSource, CannotEdit, Unchangeable."""
        if docid not in self.drafts:
            manifest = self.manifest(docid)
            path = path_of_source(manifest.source)
            if path is None or docid_of_path(path) != docid:
                raise Unchangeable(docid, f"its source is '{manifest.source}', which is no file of this repository under that name")
            self.drafts[docid] = Draft(self.repo, path, manifest, self.config, options or Options())
        elif options is not None:
            self.drafts[docid].options = options
        return self.drafts[docid]

    def new_draft(self, path: bytes, title: str, tags: Sequence[str]) -> Draft:
        """Return a section file to be made. One that is there without a manifest, from an operation that was killed, is taken over.

        Raises CannotEdit.
        """
        place = self.repo.place
        check_way(place.work_tree or "", path)
        if check_ignored(place, [path]):
            raise CannotEdit(path, "git ignores it, so it would never be committed", "change .gitignore: kb/raw has to be tracked")
        docid = docid_of_path(path)
        if os.path.lexists(os.path.join(os.fsencode(place.work_tree or ""), path)):
            self.drafts[docid] = Draft(self.repo, path, None, self.config, Options(tags=tuple(tags)))
        else:
            data = new_section_file(title, tags).encode()
            self.drafts[docid] = Draft(self.repo, path, None, self.config, Options(), data)
        return self.drafts[docid]

    def places(self, name: str, within: str = "") -> list[tuple[str, int]]:
        """Return (docid, number of the section) of each place of the one section that a name means: a kbid or a citation.

        within: only in this document. Raises NoSuchSection, AmbiguousName.
        """
        docid, mark, chunk = name.rpartition("#")
        if mark:
            found = self.document(docid)
            rows = self.sections(found) if found is not None else []
            fits = [n for n, row in enumerate(rows) if row.chunk == chunk]
            if found is None or not fits or (within and found != within):
                raise NoSuchSection(name, within)
            return [(found, fits[0])]
        prefix = name.lower()
        if within and name.startswith("c-"):
            fits = [n for n, row in enumerate(self.sections(within)) if row.chunk == name]
            if fits:
                return [(within, fits[0])]
        if not is_kbid_prefix(prefix):
            raise NoSuchSection(name, within)
        places = self.with_kbid(prefix, within)
        kbids = sorted({self.sections(docid)[n].kbid for docid, n in places})
        if len(kbids) > 1:
            raise AmbiguousName(name, kbids)
        if not places:
            raise NoSuchSection(name, within)
        return places

    def with_kbid(self, prefix: str, within: str = "") -> list[tuple[str, int]]:
        """Return the places of the sections whose kbids begin with `prefix`."""
        found = []
        names = {within + SUFFIX} if within else {*self._names_with(prefix), *(docid + SUFFIX for docid in self.drafts)}
        for name in sorted(names & self.documents.stamps.keys()):
            docid = name.removesuffix(SUFFIX)
            try:
                rows = self.sections(docid)
            except (DamagedManifest, NewerFormat) as e:
                self.warn(str(e))
                continue
            found += [(docid, n) for n, row in enumerate(rows) if row.kbid.startswith(prefix)]
        return found

    def _names_with(self, prefix: str) -> list[str]:
        """Return the file names of the manifests in which some word begins with `prefix`. Many questions need one look at all."""
        self._n_asked += 1
        if self._n_asked > MAX_LOOKS and not self._words:
            for name, data in self.documents.read(list(self.documents.stamps)):
                for word in set(_KBID.findall(data)):
                    self._words.setdefault(word.decode(), []).append(name)
        if not self._words:
            return [name for name, data in self.documents.read(list(self.documents.stamps)) if prefix.encode() in data]
        if is_kbid(prefix):
            return self._words.get(prefix, [])
        return [name for word, names in self._words.items() if word.startswith(prefix) for name in names]

    def sections(self, docid: str) -> list[SectionRow]:
        """Return the sections of a document, as they will be where it is being changed."""
        if docid in self.drafts:
            return self.drafts[docid].sections()
        return [row for row in self.manifest(docid).sections if not row.role]

    def open_all(self, places: Iterable[tuple[str, int]]) -> None:
        """Open the documents of some places. Section files that were edited are then as they are now: look for places again."""
        for docid in sorted({docid for docid, _ in places}):
            self.draft(docid)

    def replace_everywhere(self, kbid: str, new: NewSection, within: str = "") -> None:
        """Replace a section by another one of the same type in every document that has it, or in one. Raises what edits do."""
        self.open_all(self.with_kbid(kbid, within))
        for docid, at in self.with_kbid(kbid, within):
            draft = self.draft(docid)
            if draft.is_section_file and holds_separator(new.content):
                raise HoldsSeparator
            draft.replace(at, new)

    def publish(self, operation: str, dry_run: bool, refresh: Callable[[], None] = lambda: None) -> tuple[bytes, ...]:
        """Write what has changed, and return the paths of its sources."""
        order = sorted(self.drafts, key=lambda docid: (docid == self.last, docid))
        changed = [self.drafts[docid] for docid in order if self.drafts[docid].changed]
        ready = [(draft, draft.disk_bytes(), draft.manifest()) for draft in changed]
        if dry_run or not ready:
            return tuple(draft.path for draft in changed)
        place = self.repo.place
        top = os.fsencode(place.work_tree or "")
        for near in {os.fsencode(DOCUMENTS), *(os.path.dirname(draft.path) for draft in changed)}:
            remove_leftovers(os.path.join(place.work_tree or "", os.fsdecode(near)))
        refresh()
        writer = PoolWriter(self.pool)
        # What is replaced stays in the pool, too.
        objects = {kbid: data for draft in changed for kbid, data in (*draft.before.items(), *draft.cut.objects.items())}
        for kbid, data in objects.items():
            if not writer.has(kbid):
                writer.add(kbid, data)
        if len(writer):
            names = "".join(f"Kb-Source: {draft.source}\n" for draft in changed)
            writer.commit(f"{operation.replace('-', ' ')} in {len(changed)} document{'s' * (len(changed) != 1)}\n\n"
                          f"Kb-Operation: {operation}\n{names}")  # fmt: skip
        directory = os.path.join(place.work_tree or "", DOCUMENTS)
        os.makedirs(directory, exist_ok=True)
        for draft, data, manifest in ready:
            full = os.path.join(top, draft.path)
            if draft.on_disk != data:
                os.makedirs(os.path.dirname(full), exist_ok=True)
                check_way(place.work_tree or "", draft.path)
                atomic_write(os.fsdecode(full), data)
            write_manifest(directory, draft.docid, render_manifest(manifest).encode())
        sync_directory(directory)
        return tuple(draft.path for draft in changed)


def add_section(
    work: Work,
    new: NewSection,
    document: str = "",
    before: str = "",
    after: str = "",
    supersede: bool = False,
    tags: Sequence[str] = (),
    dry_run: bool = False,
) -> Change:
    """Add a section to a document, or make a document of it.

    What a document has already stays as it is; without a document, what any document has. supersede: a section of the document with
    the same heading is replaced, in all documents. before, after: sections of the document.
    Raises TitleNeeded, HoldsSeparator, NoSuchDocument, NoSuchSection, CannotEdit, StaleSource.
    """
    if not document:
        if places := work.with_kbid(new.kbid):
            docid, _ = places[0]
            return _told(new, work.manifest(docid), work.sections(docid), skipped=True)
        path = _own_path(new)
        own = work.document(os.fsdecode(path))
        # It is there, though without the section, when that was updated or removed since.
        draft = work.draft(own) if own is not None else work.new_draft(path, _title(new), tags)
    else:
        known = work.document(document)
        if known is not None:
            draft = work.draft(known, Options(tags=tuple(tags)) if tags else None)
        else:
            draft = work.new_draft(_new_path(work, document), document, tags)
    new = draft.placed(new)
    if draft.is_section_file and holds_separator(new.content):
        raise HoldsSeparator
    elsewhere = any(docid != draft.docid for docid, _ in work.with_kbid(new.kbid))
    superseded = ""
    attached = False
    if not draft.has(new.kbid):
        same = _same_heading(draft, new) if supersede else None
        if same is not None:
            old = draft.sections()[same]
            if draft.manifest().row_type(old) != new.type:
                raise CannotEdit(draft.path, f"the section to replace is {draft.manifest().row_type(old)}, not {new.type}")
            superseded, work.last = old.kbid, draft.docid
            had = draft.properties(same)
            said = new.properties.description or had.description
            draft.replace(same, new, new.properties._replace(description=said, others=had.others))
            work.replace_everywhere(superseded, new)
        else:
            draft.insert(_position(work, draft, before, after), new)
        attached = elsewhere
    elif tags and not set(tags) <= set(draft.manifest().tags):
        draft.changed = True
    sources = work.publish("add-section", dry_run)
    told = _told(new, draft.manifest(), draft.sections(), attached=attached)
    return replace(told, sources=sources, superseded=superseded)


def update_section(work: Work, name: str, content: bytes, document: str = "", dry_run: bool = False) -> Change:
    """Give a section other content, in every document that has it, or in one. Its place, type and properties stay.

    Raises NoSuchSection, AmbiguousName, StaleSource, CannotEdit, HoldsSeparator.
    """
    within = _document(work, document) if document else ""
    work.open_all(work.places(name, within))
    docid, at = work.places(name, within)[0]
    draft = work.draft(docid)
    old = draft.sections()[at]
    mime = draft.manifest().row_type(old)
    is_image = mime.startswith("image/") and not is_text(mime)
    text = _base64(content) if is_image else _text(content)
    if not text:
        raise EmptyContent("standard input")
    new = NewSection(mime, text, draft.properties(at))
    if new.kbid != old.kbid:
        if "#" in name:
            if draft.is_section_file and holds_separator(new.content):
                raise HoldsSeparator
            draft.replace(at, new)
        else:
            work.replace_everywhere(old.kbid, new, within)
    sources = work.publish("update-section", dry_run)
    told = _told(new, draft.manifest(), draft.sections())
    docids = tuple(sorted(docid for docid, one in work.drafts.items() if one.has(new.kbid)))
    return replace(told, sources=sources, superseded=old.kbid, docids=docids)


def remove_section(work: Work, name: str, document: str = "", dry_run: bool = False) -> Change:
    """Take a section out of every document that has it, or of one. The pool keeps it.

    Raises NoSuchSection, AmbiguousName, StaleSource, CannotEdit.
    """
    within = _document(work, document) if document else ""
    work.open_all(work.places(name, within))
    places = work.places(name, within)
    kbid = work.drafts[places[0][0]].sections()[places[0][1]].kbid
    for docid, at in sorted(places, reverse=True):
        work.drafts[docid].remove(at)
    sources = work.publish("rm-section", dry_run)
    return Change(kbid=kbid, docids=tuple(sorted({docid for docid, _ in places})), sources=sources)


def make_document(
    work: Work, name: str, ids: Sequence[str], title: str = "", tags: Sequence[str] = (), dry_run: bool = False
) -> Change:
    """Make a document of given sections, in that order. The same again changes nothing.

    ids: kbids or citations; a section that is in the pool alone will do. Raises DocumentExists, NoSuchSection.
    """
    sections = [_copied(work, id_) for id_ in ids]
    for one in sections:
        if holds_separator(one.content):
            raise HoldsSeparator
    docid = work.document(name)
    if docid is not None:
        draft = work.draft(docid)
        wanted = [(s.kbid, s.heading) for s in sections]
        same = draft.is_section_file and [(r.kbid, r.heading) for r in draft.sections()] == wanted
        if not same or (title and one_line(title) != draft.manifest().title):
            raise DocumentExists(docid)
    else:
        draft = work.new_draft(_new_path(work, name), one_line(title) or name, tags)
        if draft.sections() and [row.kbid for row in draft.sections()] != [s.kbid for s in sections]:
            raise DocumentExists(draft.docid)
        if not draft.sections():
            draft.append_all(map(draft.placed, sections))
    sources = work.publish("mk-document", dry_run)
    manifest = draft.manifest()
    return Change(docid=draft.docid, title=manifest.title, n_sections=len(draft.sections()), sources=sources)


def remove_document(work: Work, name: str, force: bool = False, dry_run: bool = False) -> Change:
    """Remove a document. What came from standard input goes with its file, any other source stays where it is.

    Raises NoSuchDocument, NotSaved.
    """
    docid = _document(work, name)
    manifest = work.manifest(docid)
    path = path_of_source(manifest.source)
    place = work.repo.place
    sources: tuple[bytes, ...] = ()
    if path is not None and path.startswith(STDIN.encode()) and docid_of_path(path) == docid:
        full = os.path.join(os.fsencode(place.work_tree or ""), path)
        check_way(place.work_tree or "", path)
        if os.path.lexists(full):
            blob = hash_files(place, [path]).get(path)
            if not force and (blob is None or not work.repo.has_object(blob)):
                raise NotSaved(path)
            sources = (path,)
            if not dry_run:
                remove_leftovers(os.path.dirname(os.fsdecode(full)))
                # First the file: killed between the two, the document is there still, and so is its name.
                os.unlink(full)
    if not dry_run:
        os.unlink(os.path.join(place.work_tree or "", DOCUMENTS, docid + SUFFIX))
        sync_directory(os.path.join(place.work_tree or "", DOCUMENTS))
    return Change(docid=docid, n_sections=sum(not row.role for row in manifest.sections), sources=sources)


def section_file_path(name: str) -> bytes:
    """Return the path of the section file of this name."""
    return os.fsencode(SECTION_FILES + name.removesuffix(".md") + ".md")


def slug(text: str) -> str:
    """Return words of a text as part of a file's name, "" when there are none."""
    words = re.findall(r"\w+", canonical_text(text).lower().replace("_", " "))
    found = ""
    for word in words:
        if len((found + word).encode()) >= MAX_SLUG:
            break
        found += ("-" if found else "") + word
    return found


def _own_path(new: NewSection) -> bytes:
    """Return the path of the document of one section. Two branches give one section the same name, and two sections two."""
    digest = sha256(new.encoded).hexdigest()[:8]
    words = slug((new.heading or ("section",))[-1]) or "section"
    return section_file_path(f"{words}-{digest}")


def _title(new: NewSection) -> str:
    first = new.content.partition("\n")[0] if not new.type.startswith("image/") else "image"
    return one_line((new.heading or (first,))[-1], 80) or "section"


def _new_path(work: Work, name: str) -> bytes:
    """Return the path of a new document of this name. Raises NoSuchDocument for what cannot be one."""
    path = section_file_path(name)
    inside = inside_path(work.repo.place, name)
    if inside and os.path.lexists(os.path.join(os.fsencode(work.repo.place.work_tree or ""), inside)):
        shown = os.fsdecode(inside)
        raise NoSuchDocument(name, "there is such a file, but it is not ingested", f"run 'git kb ingest {shown}' first")
    if not _NAME.match(name) or "~" in docid_of_path(path):
        why = "and a new one cannot be called so"
        raise NoSuchDocument(
            name, why, "names have letters, digits and . _ + - between them; 'git kb ls-documents' lists those there are"
        )
    return path


def _document(work: Work, name: str) -> str:
    docid = work.document(name)
    if docid is None:
        raise NoSuchDocument(name)
    return docid


def _position(work: Work, draft: Draft, before: str, after: str) -> int | None:
    """Return the number of the section to insert before; None for the end."""
    if not before and not after:
        return None
    # The draft may have been made just now, so it is looked in itself.
    name = (before or after).rpartition("#")[2]
    rows = draft.sections()
    fits = [
        n for n, row in enumerate(rows) if row.chunk == name or (is_kbid_prefix(name.lower()) and row.kbid.startswith(name.lower()))
    ]
    if not fits:
        raise NoSuchSection(before or after, draft.docid)
    if len({rows[n].kbid for n in fits}) > 1:
        raise AmbiguousName(before or after, [rows[n].kbid for n in fits])
    if before:
        return fits[0]
    return fits[-1] + 1 if fits[-1] + 1 < len(rows) else None


def _same_heading(draft: Draft, new: NewSection) -> int | None:
    """Return the number of the section with the heading of a new one, None without one. Raises CannotEdit for one in parts."""
    heading = new.heading
    rows = draft.sections()
    own = heading[-1:]
    fits = [n for n, row in enumerate(rows) if row.heading[-1:] == own and row.part == 1]
    if not fits:
        return None
    best = next((n for n in fits if rows[n].heading == heading), fits[0])
    if best + 1 < len(rows) and rows[best + 1].part > 1:
        raise CannotEdit(draft.path, f"the section '{' > '.join(heading)}' stands there in several parts")
    return best


def _copied(work: Work, name: str) -> NewSection:
    """Return a section that is in a document, with what is said of it there, or in the pool. Raises NoSuchSection."""
    pool = work.pool
    try:
        places = work.places(name)
    except NoSuchSection:
        if not is_kbid_prefix(name.lower()):
            raise
        section = pool.read(pool.find(name.lower()))
        type = "" if section.mime == MARKDOWN else section.mime
        return NewSection(section.mime, section.content.decode(), Properties((), type))
    docid, at = places[0]
    row = work.sections(docid)[at]
    origins = [(m.source, m.blob) for m in (work.manifest(d) for d, _ in places)]
    section = read_or_cut(pool, row.kbid, origins)
    type = "" if section.mime == MARKDOWN else section.mime
    content = section.content.decode()
    alone = NewSection(section.mime, content, Properties((), type))
    return alone if row.heading == alone.heading else replace(alone, properties=Properties(row.heading, type))


def _told(
    new: NewSection, manifest: Manifest, sections: Sequence[SectionRow], attached: bool = False, skipped: bool = False
) -> Change:
    """Return what there is to tell of a section where it stands now."""
    heading = next((row.heading for row in sections if row.kbid == new.kbid), new.heading)
    return Change(
        kbid=new.kbid,
        docid=manifest.docid,
        type=new.type,
        title=heading[-1] if heading else "",
        description=new.properties.description,
        content=new.content,
        language=manifest.language,
        docids=(manifest.docid,),
        attached=attached,
        skipped=skipped,
        n_sections=len(sections),
        warnings=() if heading else (HEADING_MISSING,),
    )
