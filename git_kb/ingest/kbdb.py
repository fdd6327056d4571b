"""A `.kbdb` folder: sections with TOML heads, documents that list them. docs/import.md."""

from __future__ import annotations

import base64
import binascii
import os
import re
import tomllib
from dataclasses import dataclass
from typing import Any

from git_kb.ingest.foreign import Carried, DamagedImport, File, Names, files_below, front_matter, is_real_directory, read_bounded
from git_kb.model.section import BadMime, EmptyContent, NotText, encode_section, is_kbid, make_section, normalise_mime, section_id
from git_kb.store.manifest import one_line

FOLDER, CATALOG, SECTIONS, DOCUMENTS = ".kbdb", "catalog.toml", "sections", "documents"
MAX_TOML, MAX_HEAD = 16 << 20, 1 << 20
KNOWN_VERSION = 1
MARKDOWN = "text/markdown"
_HEADING = re.compile(r"#{1,6}[ \t]+\S")
_SEPARATOR, _SEPARATOR_CRLF = b"\n---\n", b"\r\n---\r\n"
_ENDINGS = {
    MARKDOWN: "md", "text/plain": "txt", "text/html": "html", "text/css": "css", "text/csv": "csv", "application/json": "json",
    "text/typescript": "ts", "text/x-typescript": "ts", "text/javascript": "js", "text/python": "py", "text/x-python": "py",
    "text/rust": "rs", "text/x-rust": "rs", "text/go": "go", "text/x-go": "go", "text/java": "java", "text/x-java": "java",
    "text/yaml": "yaml", "text/x-yaml": "yaml", "text/x-shellscript": "sh", "text/x-sh": "sh", "text/xml": "xml", "text/sql": "sql",
    "text/x-c": "c", "text/x-c++": "cpp",
    "image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp", "image/svg+xml": "svg",
}  # fmt: skip
# Of a section's head, what goes into front matter: it has no place of its own here.
_KEPT = ("title", "description", "source_path", "source_mtime", "source_key", "created_at", "updated_at", "supersedes")


@dataclass(frozen=True, slots=True)
class _Section:
    kbid: str
    mime: str
    body: bytes
    head: dict[str, Any]

    def text(self, key: str) -> str:
        value = self.head.get(key)
        return value if isinstance(value, str) else ""

    @property
    def tags(self) -> list[str]:
        tags = self.head.get("tags", [])
        return [t for t in tags if isinstance(t, str)] if isinstance(tags, list) else []

    @property
    def is_image(self) -> bool:
        return self.mime.startswith("image/")


def find_kbdb(path: str) -> str | None:
    """Return the folder, which may be `.kbdb` below the one given."""
    for top in (path, os.path.join(path, FOLDER)):
        if is_real_directory(top) and os.path.isfile(os.path.join(top, CATALOG)) and os.path.isdir(os.path.join(top, SECTIONS)):
            return top
    return None


def read_kbdb(top: str, max_file_bytes: int) -> Carried:
    """Return what a folder gives: a Markdown file a document; a file each for code, for what has no heading, for pictures, and
    for what no document lists. Raises DamagedImport."""
    carried = Carried("kbdb")
    _check_version(top)
    for path, why in files_below(top, skip=frozenset({CATALOG, SECTIONS, DOCUMENTS})):
        reason = why or ("it is an index, a cache" if path.startswith("indexes/") else "it is no part of what is stored")
        carried.not_carried.append((path, reason))
    sections = _read_sections(top, max_file_bytes, carried)
    names = Names()
    placed: set[str] = set()
    for docid, document in _read_documents(top, carried):
        _carry_document(docid, document, sections, names, placed, carried)
    for kbid in sorted(sections.keys() - placed):
        section = sections[kbid]
        _carry_alone(section, names, "sections", kbid, carried)
        carried.warnings.append((f"section {kbid}", "no document lists it; it has a file of its own"))
    return carried


def _check_version(top: str) -> None:
    data = _toml(read_bounded(os.path.join(top, CATALOG), MAX_TOML), os.path.join(top, CATALOG))
    database = data.get("database")
    version = database.get("version") if isinstance(database, dict) else None
    if version != KNOWN_VERSION:
        raise DamagedImport(os.path.join(top, CATALOG), f"its version is {str(version)[:40]}; {KNOWN_VERSION} is known")


def _toml(data: bytes, path: str) -> dict[str, Any]:
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
        if any(len(line.partition("=")[0]) > 1000 for line in text.split("\n")):
            raise DamagedImport(path, "a key is too long")
        return tomllib.loads(text)
    except UnicodeDecodeError as e:
        raise DamagedImport(path, f"it is not UTF-8 (byte {e.start})") from None
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as e:
        raise DamagedImport(path, f"it is not TOML: {e}") from None


def _read_sections(top: str, max_file_bytes: int, carried: Carried) -> dict[str, _Section]:
    sections: dict[str, _Section] = {}
    directory = os.path.join(top, SECTIONS)
    if not is_real_directory(directory):
        raise DamagedImport(directory, "it is no directory")
    for path, why in files_below(directory):
        origin = f"{SECTIONS}/{path}"
        try:
            if why:
                raise DamagedImport(origin, why)
            section = _read_section(os.path.join(directory, path), path, max_file_bytes)
        except DamagedImport as e:
            carried.not_carried.append((origin, e.why))
            continue
        if section.kbid in sections:
            carried.not_carried.append((origin, "another file has that section"))
            continue
        sections[section.kbid] = section
        if (was := _kbid_of(section)) != section.kbid:
            carried.warnings.append((origin, f"its content is not what its name says (it is {was or 'nothing'}); carried as it is"))
    return sections


def _read_section(full: str, path: str, max_file_bytes: int) -> _Section:
    # Pictures are base64, a third longer than they are.
    data = read_bounded(full, max_file_bytes * 4 // 3 + MAX_HEAD)
    head_bytes, separator, body = data.partition(_SEPARATOR_CRLF if _SEPARATOR_CRLF in data[:MAX_HEAD] else _SEPARATOR)
    if not separator or len(head_bytes) > MAX_HEAD:
        raise DamagedImport(path, "it has no head that '---' ends")
    head = _toml(head_bytes, path)
    kbid, mime = head.get("kbid"), head.get("type")
    named = path.replace("/", "").removesuffix(".sec")
    kbid = kbid if isinstance(kbid, str) else named
    # Other letters and digits have been seen; as a name in reports they will do.
    if not is_kbid(kbid) and not (kbid.isascii() and kbid.isalnum() and len(kbid) <= 64):
        raise DamagedImport(path, "it has no kbid")
    try:
        mime = normalise_mime(mime) if isinstance(mime, str) else ""
    except BadMime:
        mime = ""
    if not mime:
        raise DamagedImport(path, "its type is no MIME type")
    if not mime.startswith("image/"):
        try:
            body.decode()
        except UnicodeDecodeError as e:
            raise DamagedImport(path, f"its content is not UTF-8 (byte {e.start})") from None
    if not body.strip():
        raise DamagedImport(path, "it is empty")
    return _Section(kbid, mime, body, head)


def _kbid_of(section: _Section) -> str:
    body = section.body.strip() if section.is_image else section.body
    try:
        return section_id(encode_section(make_section(section.mime, body)))
    except (EmptyContent, NotText):
        return ""


def _read_documents(top: str, carried: Carried) -> list[tuple[str, dict[str, Any]]]:
    directory = os.path.join(top, DOCUMENTS)
    found = []
    if not os.path.lexists(directory):
        return []
    if not is_real_directory(directory):
        raise DamagedImport(directory, "it is no directory")
    for path, why in files_below(directory):
        origin = f"{DOCUMENTS}/{path}"
        try:
            if why:
                raise DamagedImport(origin, why)
            if not path.endswith(".toml") or "/" in path:
                raise DamagedImport(origin, "it is no document")
            data = _toml(read_bounded(os.path.join(directory, path), MAX_TOML), path)
            head, rows = data.get("document"), data.get("sections", [])
            if not isinstance(head, dict) or not isinstance(rows, list) or not all(isinstance(r, dict) for r in rows):
                raise DamagedImport(origin, "it has no [document] and [[sections]]")
        except DamagedImport as e:
            carried.not_carried.append((origin, e.why))
            continue
        docid = head.get("docid")
        found.append((docid if isinstance(docid, str) and docid else path.removesuffix(".toml"), {"head": head, "rows": rows}))
    return found


def _carry_document(
    docid: str, document: dict[str, Any], sections: dict[str, _Section], names: Names, placed: set[str], carried: Carried
) -> None:
    """Make the files of one document."""
    path = names.take("documents", docid, ".md")
    beside = path.removesuffix(".md")
    members = []
    for row in sorted(document["rows"], key=_position):
        kbid = row.get("kbid")
        if not isinstance(kbid, str) or kbid not in sections:
            carried.not_carried.append((f"section {str(kbid)[:64]} of document {docid}", "the folder does not have it"))
            continue
        members.append(sections[kbid])
    pieces: list[str] = []
    for n, section in enumerate(members, 1):
        first = section.kbid not in placed
        placed.add(section.kbid)
        piece = _markdown_piece(section)
        if piece is None:
            # A section in several documents has its file beside the first one.
            if first:
                _carry_alone(section, names, beside, f"{n:03}-{section.kbid}", carried)
            target = carried.kbids.get(section.kbid, "")
            piece = _link_to(section, target, path) if target else ""
        else:
            carried.kbids.setdefault(section.kbid, path)
        if piece:
            pieces.append(piece)
    head = document["head"]
    title = one_line(_str(head.get("title"))) or docid
    values: dict[str, object] = {"title": title}
    if tags := sorted({tag for s in members for tag in s.tags}):
        values["tags"] = tags
    about: dict[str, object] = {"docid": docid}
    if created := _str(head.get("created_at")):
        about["created_at"] = created
    about["sections"] = [_about(s) for s in members]
    values["kbdb"] = about
    if not pieces:
        carried.not_carried.append((f"document {docid}", "none of its sections is there"))
        return
    text = front_matter(values) + "\n" + "\n\n".join(pieces) + "\n"
    carried.docids[docid] = path
    carried.add(File(path, text.encode(), f"document {docid}"))


def _markdown_piece(section: _Section) -> str | None:
    """Return what stands for a section in its document's file, None when it needs a file of its own.

    A section that begins with a heading goes in as it is, and will be cut out again as it was, with the same kbid.
    """
    if section.mime != MARKDOWN:
        return None
    text = section.body.decode().strip("\n")
    if _HEADING.match(text):
        return text
    title = one_line(section.text("title"))
    return f"## {title}\n\n{text}" if title else None


def _carry_alone(section: _Section, names: Names, directory: str, name: str, carried: Carried) -> None:
    ending = _ENDINGS.get(section.mime) or _plain_ending(section.mime)
    path = names.take(directory, name, f".{ending}")
    origin = f"section {section.kbid}"
    if not section.is_image:
        carried.add(File(path, section.body, origin))
        carried.kbids[section.kbid] = path
        return
    try:
        data = base64.b64decode(b"".join(section.body.split()), validate=True)
    except (binascii.Error, ValueError) as e:
        carried.not_carried.append((origin, f"its picture is not base64: {e}"))
        return
    carried.add(File(path, data, origin, media=True))
    carried.kbids[section.kbid] = path
    carried.warnings.append((origin, "a picture is kept as a file; it is no section here, its title and description are"))
    if directory == "sections":
        about = names.take(directory, name, ".md")
        text = front_matter({"title": one_line(section.text("title")) or name, "tags": section.tags, "kbdb": _about(section)})
        carried.add(File(about, f"{text}\n{_link_to(section, path, about)}\n".encode(), origin))


def _link_to(section: _Section, target: str, path: str) -> str:
    """Return the Markdown that stands for a section with a file of its own."""
    relative = os.path.relpath(target, os.path.dirname(path) or ".")
    title = one_line(section.text("title")) or section.kbid
    label = title.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    description = section.text("description").strip()
    return f"{'!' * section.is_image}[{label}](<{relative}>)" + (f"\n\n{description}" if description else "")


def _about(section: _Section) -> dict[str, str]:
    values = {"kbid": section.kbid, "type": section.mime}
    values.update({key: section.text(key) for key in _KEPT if section.text(key)})
    return values


def _position(row: dict[str, Any]) -> int:
    position = row.get("position")
    return position if isinstance(position, int) else 0


def _str(value: object) -> str:
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    return value if isinstance(value, str) else ""


def _plain_ending(mime: str) -> str:
    last = mime.rpartition("/")[2].removeprefix("x-")
    return last if last.isascii() and last.isalnum() and len(last) <= 8 else "txt"
