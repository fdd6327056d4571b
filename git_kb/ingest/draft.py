"""A document that is being changed: its source's bytes, and the rows that cutting them gives.

Every edit is cut at once, and holds only when the sections that come out are those that were, but for the one that was meant: so an
operation on one section can never change another one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from git_kb.errors import KbError
from git_kb.ingest.ingest import Options, document_head, superseding
from git_kb.ingest.select import Source
from git_kb.model.document import Manifest, SectionRow, docid_of_path, is_section_file
from git_kb.model.section import TRIMMED, Section, canonical_text, encode_section, section_id
from git_kb.model.source import source_of_path
from git_kb.repo.objects import object_id
from git_kb.repo.process import git_at
from git_kb.repo.protocol import Repository
from git_kb.repo.regular import read_regular
from git_kb.repo.worktree import FILE, UNTRACKED, SourceFile, UnreadableSource, list_sources, read_sources
from git_kb.store.config import Config
from git_kb.store.cut import Cut, Limits, cut_source
from git_kb.store.manifest import one_line
from git_kb.text.chunk import Unusable
from git_kb.text.sectionfile import (
    MARKDOWN,
    Properties,
    given_sections,
    heading_of,
    insert_section,
    own_heading,
    remove_section,
    replace_section,
)


class StaleSource(KbError):
    """A source is no longer what its document was cut from."""

    def __init__(self, path: bytes, why: str, hint: str):
        self.path, self.why, self.hint = path, why, hint
        super().__init__(f"'{os.fsdecode(path)}' {why}")


class CannotEdit(KbError):
    """A source cannot be changed as asked. `why` says what is in the way."""

    def __init__(self, path: bytes, why: str, hint: str = ""):
        self.path, self.why = path, why
        self.hint = hint or f"edit '{os.fsdecode(path)}', then run 'git kb ingest' on it"
        super().__init__(f"cannot change '{os.fsdecode(path)}': {why}")


NO_PROPERTIES = Properties()


@dataclass(frozen=True, slots=True)
class NewSection:
    """A section to come: type, canonical content, and what is said of it beside."""

    type: str
    content: str
    properties: Properties = NO_PROPERTIES

    @property
    def encoded(self) -> bytes:
        """The object's bytes."""
        return encode_section(Section(self.type, self.content.encode()))

    @property
    def kbid(self) -> str:
        return section_id(self.encoded)

    @property
    def heading(self) -> tuple[str, ...]:
        """The heading path it would have in a section file, as manifests have it."""
        return _lines(heading_of(self.content, self.properties))


class Draft:
    """One document. `old`: its manifest, None for a new one. `rows`: as they will be. `data`: the source, as git would store it."""

    def __init__(self, repo: Repository, path: bytes, old: Manifest | None, config: Config, options: Options, data: bytes = b""):
        self.repo, self.path, self.old, self.config, self.options = repo, path, old, config, options
        self.docid = docid_of_path(path)
        self.source = source_of_path(path)
        self.is_section_file = is_section_file(os.fsdecode(path))
        self.limits = Limits(config.chunk_target, config.chunk_ceiling, config.detect_language)
        # What is there now, as it is and as git would store it.
        self.on_disk: bytes | None = None
        self._clean = b""
        self.data = data
        self.cut: Cut
        self.rows: tuple[SectionRow, ...] = ()
        self.changed = False
        # The sections as they were: kbid -> object.
        self.before: dict[str, bytes] = {}
        if data:
            self._set(data, [])
            self.changed = True
        else:
            self._read()

    def _read(self) -> None:
        """Take the source as it is on disk. A section file that was edited is cut anew; any other source has to be current."""
        place = self.repo.place
        shown = os.fsdecode(self.path)
        check_way(place.work_tree or "", self.path)
        refused: list[UnreadableSource] = []
        # As ingest reads it. A file that git ignores is not listed.
        listed = [file for file in list_sources(place, [self.path]) if file.path == self.path]
        files = listed or [SourceFile(self.path, FILE, None, tracked=False, state=UNTRACKED, changed=True)]
        found = list(read_sources(place, files, refused.append))
        back = f"'git restore {shown}' brings a file back that git has"
        if not found:
            raise StaleSource(self.path, f"cannot be read: {refused[0].why.lower()}", back)
        (file, self.data), old = found[0], self.old
        self._clean = self.data
        try:
            self.on_disk = read_regular(os.path.join(os.fsencode(place.work_tree or ""), self.path))
        except OSError as e:
            raise StaleSource(self.path, f"cannot be read: {(e.strerror or str(e)).lower()}", back) from None
        current = old is not None and old.blob == file.oid
        if not current and not self.is_section_file:
            raise StaleSource(self.path, "has changed since it was ingested", f"run 'git kb ingest {shown}' first")
        cut = self._cut(self.data)
        self.before = cut.objects
        if self.is_section_file:
            try:
                self.data.decode()
            except UnicodeDecodeError as e:
                raise CannotEdit(self.path, f"it is not UTF-8 (byte {e.start})") from None
        if current and old is not None:
            if [(r.kbid, r.role) for r in cut.rows] != [(r.kbid, r.role) for r in old.sections]:
                hint = f"run 'git kb ingest -f {shown}' first"
                raise StaleSource(self.path, "would be cut otherwise today (kb.config.json has changed, or git-kb)", hint)
            self.cut, self.rows = cut, old.sections
            return
        self.cut, self.rows = cut, superseding(cut.rows, old, self.source) if old is not None else cut.rows
        self.changed = True

    def _cut(self, data: bytes) -> Cut:
        try:
            return cut_source(self.path, data, self.limits)
        except Unusable as e:
            hint = "to drop the document, run 'git kb rm-document'" if e.reason == "it is empty" else e.hint
            raise CannotEdit(self.path, e.reason.removeprefix("it is ") + " is what it would be", hint) from None

    def sections(self) -> list[SectionRow]:
        """Return the rows that are sections, not front matter."""
        return [row for row in self.rows if not row.role]

    def has(self, kbid: str) -> bool:
        return any(row.kbid == kbid for row in self.sections())

    def properties(self, at: int) -> Properties:
        """Return what a section file says of its section number `at`; of another source, what its row does."""
        if self.is_section_file:
            return given_sections(self.data.decode())[at].properties
        row = self.sections()[at]
        type = row.type or self.cut.source.type
        return Properties(row.heading, "" if type == MARKDOWN else type)

    def placed(self, new: NewSection) -> NewSection:
        """Return a section as it would stand here. In an ordinary source, its heading is part of the text.

        Raises CannotEdit.
        """
        if self.is_section_file:
            heading = new.properties.heading
            alone = replace(new, properties=new.properties._replace(heading=()))
            return alone if heading == alone.heading else new
        if new.type != self.cut.source.type:
            raise CannotEdit(self.path, f"its sections are {self.cut.source.type}, not {new.type}", WANTS_ITS_OWN)
        if new.properties.description:
            raise CannotEdit(self.path, "there is no place for a description in it", WANTS_ITS_OWN)
        heading = new.properties.heading
        if not heading or (new.type == MARKDOWN and _lines(own_heading(new.content)) == heading[-1:]):
            return new
        if new.type != MARKDOWN:
            raise CannotEdit(self.path, f"a heading is part of the text in {new.type}", "begin the content with it")
        if len(heading) > 6:
            raise CannotEdit(self.path, "Markdown has six levels of headings")
        return replace(new, content=f"{'#' * len(heading)} {heading[-1]}\n\n{new.content}")

    def insert(self, at: int | None, new: NewSection) -> None:
        """Put a section before the one number `at`, or at the end. Raises CannotEdit."""
        before = self.sections()
        n = len(before) if at is None else at
        if self.is_section_file:
            data = insert_section(self.data.decode(), at, new.content, new.properties).encode()
        else:
            data = self._with_text(at, new.content)
        self._set(data, [*before[:n], self._row(new, ""), *before[n:]])

    def append_all(self, sections: Iterable[NewSection]) -> None:
        """Put sections at the end of a section file. It is cut once. Raises CannotEdit."""
        text, rows = self.data.decode(), self.sections()
        for new in sections:
            text = insert_section(text, None, new.content, new.properties)
            rows.append(self._row(new, ""))
        self._set(text.encode(), rows)

    def replace(self, at: int, new: NewSection, properties: Properties | None = None) -> None:
        """Give the section number `at` other content; it then supersedes what it was. Raises CannotEdit."""
        before = self.sections()
        old = before[at]
        if self.is_section_file:
            if properties is None:
                properties = self._kept_properties(at, new.content)
            data = replace_section(self.data.decode(), at, new.content, properties).encode()
        else:
            if old.heading and old.part == 1 and new.type == MARKDOWN and not own_heading(new.content):
                raise CannotEdit(self.path, "the section has a heading, so the content has to begin with one")
            start, end = self._span(at)
            text = self._decode(self.data[start:end])
            body = text.strip(TRIMMED)
            lead = text[: len(text) - len(text.lstrip(TRIMMED))]
            content = self._encode(lead + self._with_line_ends(new.content) + text[len(lead) + len(body) :])
            data = self.data[:start] + content + self.data[end:]
        superseded = old.supersedes if old.kbid == new.kbid else old.kbid
        self._set(data, [*before[:at], self._row(new, superseded, old.extra), *before[at + 1 :]])

    def _kept_properties(self, at: int, content: str) -> Properties | None:
        """Return the properties that the section number `at` of a section file gets with other content; None where they stay.

        Its own heading follows the content, where it stood there; content without one leaves it.
        """
        one = given_sections(self.data.decode())[at]
        kept, path = one.properties, self.sections()[at].heading
        if kept.type or not path:
            return None
        old = _lines(own_heading(canonical_text(self.data.decode()[one.body : one.end])))
        new = own_heading(content)
        if not new:
            return None if kept.heading else kept._replace(heading=path)
        if kept.heading and old == path[-1:]:
            return kept._replace(heading=(*path[:-1], *new) if len(path) > 1 else ())
        return None

    def remove(self, at: int) -> None:
        """Take the section number `at` out. Raises CannotEdit."""
        before = self.sections()
        if self.is_section_file:
            data = remove_section(self.data.decode(), at).encode()
        else:
            start, end = self._span(at)
            kept = self._decode(self.data[:start])
            if end == len(self.data) and kept.strip(TRIMMED):
                # Where it ended, the file ends, without the blank lines that came before it.
                kept = kept.rstrip("\r\n") + self._eol() * kept.endswith(("\r", "\n"))
            data = self._encode(kept) + self.data[end:]
        self._set(data, [*before[:at], *before[at + 1 :]])

    def manifest(self) -> Manifest:
        """Return the document as it will be."""
        blob = object_id("blob", self.data, self.repo.place.object_format)
        file = SourceFile(self.path, FILE, blob, tracked=False, state=UNTRACKED, changed=True)
        head = document_head(Source(file, blob, self.old), self.cut, self.old, "", self.options, self.config.language)
        return replace(head, sections=self.rows)

    def disk_bytes(self) -> bytes:
        """Return what to write, so that git's clean filters make `data` of it. Raises CannotEdit where that is not known."""
        if self.on_disk is None or self.on_disk == self._clean:
            found = self.data
        elif self.on_disk.replace(b"\r\n", b"\n") == self._clean:
            found = self.data.replace(b"\n", b"\r\n")
        else:
            raise CannotEdit(self.path, "git stores it in another form than it has on disk (a filter)")
        _, out = git_at(self.repo.place, ["hash-object", "--stdin", "--path", os.fsdecode(self.path)], found)
        if out.decode().strip() != object_id("blob", self.data, self.repo.place.object_format):
            raise CannotEdit(self.path, "git would store it in another form than it has on disk (a filter, or line ends)")
        return found

    def _set(self, data: bytes, expected: Sequence[SectionRow]) -> None:
        """Take new bytes, when cutting them gives the expected sections. Their rows keep what only they know."""
        if len(data) > self.config.max_file_bytes:
            raise CannotEdit(self.path, f"it would have {len(data)} bytes; sources.max_file_bytes is {self.config.max_file_bytes}")
        cut = self._cut(data)
        found = [row for row in cut.rows if not row.role]
        if [row.kbid for row in found] != [row.kbid for row in expected]:
            raise CannotEdit(self.path, _difference(found, expected))
        extra = {row.kbid: row.extra for row in self.rows if row.role}
        left = iter(expected)
        rows = []
        for row in cut.rows:
            if row.role:
                rows.append(row._replace(extra=extra.get(row.kbid, ())))
            else:
                was = next(left)
                rows.append(row._replace(supersedes=was.supersedes, extra=was.extra))
        self.data, self.cut, self.rows, self.changed = data, cut, tuple(rows), True

    def _row(self, new: NewSection, supersedes: str, extra: tuple[tuple[str, object], ...] = ()) -> SectionRow:
        return SectionRow(new.kbid, "", "", 0, 0, supersedes=supersedes, extra=extra)

    def _span(self, at: int) -> tuple[int, int]:
        """Return the byte range of the section number `at`."""
        offset, n = 0, -1
        for row in self.rows:
            n += not row.role
            if n == at:
                return offset, offset + row.n_bytes
            offset += row.n_bytes
        raise IndexError(at)

    def _with_text(self, at: int | None, content: str) -> bytes:
        """Return an ordinary source with a section's text before the one number `at`, or at the end; blank lines around it."""
        offset = len(self.data) if at is None else self._span(at)[0]
        before, after = self._decode(self.data[:offset]), self._decode(self.data[offset:])
        if not before.strip(TRIMMED) and after.startswith("\ufeff"):
            before, after = before + "\ufeff", after[1:]
        eol = self._eol()
        gap = ""
        if before.strip(TRIMMED):
            gap = eol * (not before.endswith(("\n", "\r"))) + eol * (not before.endswith((eol + eol, "\n\n")))
        text = before + gap + self._with_line_ends(content) + eol + (eol if after.strip(TRIMMED) else "") + after
        return self._encode(text)

    def _eol(self) -> str:
        return "\r\n" if "\r\n" in self._decode(self.data) else "\n"

    def _with_line_ends(self, content: str) -> str:
        return content.replace("\n", self._eol())

    def _decode(self, data: bytes) -> str:
        encoding = self.cut.source.encoding or "utf-8"
        return data.decode(encoding, "surrogateescape" if encoding == "utf-8" else "strict")

    def _encode(self, text: str) -> bytes:
        encoding = self.cut.source.encoding or "utf-8"
        try:
            return text.encode(encoding, "surrogateescape" if encoding == "utf-8" else "strict")
        except UnicodeEncodeError:
            raise CannotEdit(self.path, f"it is in {encoding}, which does not have all characters of the content") from None


def _lines(heading: Sequence[str]) -> tuple[str, ...]:
    """Return a heading path as manifests have it."""
    return tuple(map(one_line, heading))


WANTS_ITS_OWN = "leave the document out, and the section gets one of its own"


def check_way(top: str, path: bytes) -> None:
    """Raise CannotEdit when a directory on the way to a repository path is a link, or something else is at its end than a file."""
    import stat

    parts = path.split(b"/")
    for n in range(1, len(parts) + 1):
        inside = b"/".join(parts[:n])
        try:
            mode = os.lstat(os.path.join(os.fsencode(top), inside)).st_mode
        except OSError:
            return
        if stat.S_ISLNK(mode):
            raise CannotEdit(path, f"'{os.fsdecode(inside)}' is a symbolic link", "replace the link")
        if not (stat.S_ISREG(mode) if n == len(parts) else stat.S_ISDIR(mode)):
            raise CannotEdit(path, f"'{os.fsdecode(inside)}' is in the way", "move it away")


def _difference(found: Sequence[SectionRow], expected: Sequence[SectionRow]) -> str:
    """Return why the sections that cutting would give are not those that were meant."""
    more = len(found) - len(expected)
    if more > 0:
        return f"the content would be cut into {more + 1} sections"
    if more < 0:
        return "the section would become part of another one; in Markdown, begin it with a heading"
    return "another section would change with it"
