"""Manifests as text: writer and reader of `kb/documents/<docid>.toml`. docs/format-manifest.md."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from git_kb.errors import Damaged, NewerFormat
from git_kb.model.document import CONFLICTS, FORMAT, FRONT_MATTER, Manifest, SectionRow, is_language
from git_kb.model.source import path_of_source

SUFFIX = ".toml"
MAX_TITLE = 300
MAX_COUNT = 0x7FFFFFFF
# No manifest of ours comes near these; a hostile one could keep the TOML parser busy for minutes.
MAX_TEXT = 32 << 20
MAX_KEY = 1000
# Escaped in strings: what TOML and JSON forbid raw, and what would confuse a terminal or a reviewer.
_ESCAPED = re.compile(r'["\\\x00-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+\Z")
_KBID = re.compile(r"[a-z2-7]{26}\Z")
_CHUNK = re.compile(r"c-[0-9a-f]{8,64}(?:-[1-9][0-9]*)?\Z")
_HEX = re.compile(r"[0-9a-f]+\Z")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_BLOB = re.compile(rb'\nblob = "([0-9a-f]{40}|[0-9a-f]{64})"(?:\n|\Z)')
_SOURCE = re.compile(rb'\nsource = ("(?:[^"\\\n]|\\.)*")(?:\n|\Z)')
_DOCUMENT_KEYS = (
    "format", "docid", "title", "source", "moved_from", "blob", "type", "encoding", "chunker", "language", "tier",
    "tags",
)  # fmt: skip
_ROW_KEYS = ("kbid", "chunk", "source_key", "heading", "type", "role", "part", "n_lines", "n_bytes", "supersedes", "conflict")
# One canonical row, its optional keys as groups that may be missing.
_STRING = r'"(?:[^"\\\n]|\\.)*"'
_ROW = re.compile(
    r'\n\[\[sections\]\]\nkbid = "([a-z2-7]{26})"\nchunk = "(c-[0-9a-f]{8,64}(?:-[1-9][0-9]*)?)"\nsource_key = "([0-9a-f]{16})"\n'
    rf"(?:heading = \[({_STRING}(?:, {_STRING})*)\]\n)?"
    r'(?:type = "([^"\\\n]*)"\n)?(?:role = "(front-matter)"\n)?(?:part = ([1-9][0-9]*)\n)?'
    r'n_lines = ([0-9]{1,10})\nn_bytes = ([0-9]{1,10})\n(?:supersedes = "([a-z2-7]{26})"\n)?'
    r'(?:conflict = "(changed|deleted)"\n)?'
)
_HEAD = re.compile(r'(?:[a-z_]+ = (?:"(?:[^"\\\n]|\\.)*"|[0-9]+|\[(?:"(?:[^"\\\n]|\\.)*"(?:, )?)*\])\n)*\Z')


class DamagedManifest(Damaged):
    """A manifest that cannot be used. `name` is its file, `why` what is wrong."""

    hint = "restore the file from git, or run 'git kb ingest' on its source again"

    def __init__(self, name: str, why: str):
        self.name, self.why = name, why
        super().__init__(f"manifest '{name}' is damaged: {why}")


def render_manifest(manifest: Manifest) -> str:
    """Return the canonical text of a manifest."""
    return render_head(manifest) + render_rows(manifest.sections)


def render_head(manifest: Manifest) -> str:
    """Return the document's own keys as text, which is what stands before the first section."""
    head: list[tuple[str, Any]] = [
        ("format", FORMAT),
        ("docid", manifest.docid),
        ("title", manifest.title),
        ("source", manifest.source),
        ("moved_from", manifest.moved_from),
        ("blob", manifest.blob),
        ("type", manifest.type),
        ("encoding", manifest.encoding),
        ("chunker", manifest.chunker),
        ("language", manifest.language),
        ("tier", manifest.tier),
        ("tags", list(manifest.tags)),
    ]
    optional = ("moved_from", "encoding", "chunker", "language", "tier", "tags")
    lines = [_line(k, v) for k, v in head if v or k not in optional]
    lines += [_line(k, v) for k, v in manifest.extra]
    return "".join(lines)


def render_rows(rows: Iterable[SectionRow]) -> str:
    """Return the section tables as text."""
    return "".join(map(_render_row, rows))


def _render_row(row: SectionRow) -> str:
    text = f'\n[[sections]]\nkbid = "{row.kbid}"\nchunk = "{row.chunk}"\nsource_key = "{row.source_key}"\n'
    if row.heading:
        text += _line("heading", list(row.heading))
    if row.type:
        text += _line("type", row.type)
    if row.role:
        text += _line("role", row.role)
    if row.part > 1:
        text += f"part = {row.part}\n"
    text += f"n_lines = {row.n_lines}\nn_bytes = {row.n_bytes}\n"
    if row.supersedes:
        text += _line("supersedes", row.supersedes)
    if row.conflict:
        text += _line("conflict", row.conflict)
    return text + "".join(_line(k, v) for k, v in row.extra)


def _line(key: str, value: Any) -> str:
    return f"{key if _BARE_KEY.match(key) else toml_string(key)} = {_value(value)}\n"


def toml_string(text: str) -> str:
    """Return text as a TOML basic string, which is also a JSON string."""
    return '"' + _ESCAPED.sub(lambda m: _SHORT.get(m[0]) or f"\\u{ord(m[0]):04x}", text) + '"'


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return toml_string(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(_line(k, v)[:-1] for k, v in value.items()) + "}"
    if isinstance(value, float):
        return "inf" if value == float("inf") else "-inf" if value == float("-inf") else "nan" if value != value else repr(value)
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def tracked_text(data: bytes) -> str:
    """Return the text of one of our tracked files. A checkout may have given it CRLF line ends or a byte order mark.

    Raises UnicodeDecodeError.
    """
    return data.decode("utf-8-sig").replace("\r\n", "\n")


def has_conflict(text: str) -> bool:
    """Return whether git has left the markers of a conflict in a text."""
    return "\n<<<<<<< " in text or text.startswith("<<<<<<< ")


def parse_manifest(text: str, name: str) -> Manifest:
    """Return the manifest in `text`. `name` is its file name, for errors and to check the docid.

    Canonical text takes a fast path; anything else goes through the TOML parser. Raises DamagedManifest,
    NewerFormat.
    """
    if len(text) > MAX_TEXT:
        raise DamagedManifest(name, f"it has {len(text)} characters")
    if has_conflict(text):
        raise DamagedManifest(
            name, "it has merge conflict markers; ingest its source again, which writes it anew, then 'git add' it"
        )
    try:
        manifest = _parse_canonical(text)
        canonical = manifest is not None
        if manifest is None:
            manifest = _parse_toml(text, name)
    except _WrongField as e:
        raise DamagedManifest(name, str(e)) from None
    except NewerFormat as e:
        raise NewerFormat(name, e.version) from None
    _check(manifest, name, canonical)
    return manifest


def salvage_manifest(text: str, name: str) -> Manifest | None:
    """Return what the head of a damaged manifest says, without sections; None when that is damaged or not canonical."""
    try:
        head = read_head(text)
        if head is None:
            return None
        manifest = _make(head, ())
        _check(manifest, name, True)
    except (_WrongField, DamagedManifest, NewerFormat):
        return None
    return manifest


def read_head(text: str) -> dict[str, Any] | None:
    """Return the document keys of a canonical manifest without looking at its rows; None when it is not canonical."""
    head = text.partition("\n[[sections]]\n")[0]
    if not head.endswith("\n"):
        head += "\n"
    if not _HEAD.match(head):
        return None
    found: dict[str, Any] = {}
    try:
        for line in head.split("\n")[:-1]:
            key, _, value = line.partition(" = ")
            if key in found:
                return None
            # The expression has seen to it that this is a whole string; what is not printable may be forbidden.
            plain = value[0] == '"' and "\\" not in value and value.isprintable()
            found[key] = value[1:-1] if plain else json.loads(value)
    except ValueError:
        return None
    return found


def read_origin(data: bytes) -> tuple[str, str] | None:
    """Return `source` and `blob` of a manifest's bytes, by a look at its head; None when only the whole reader can tell."""
    head = data.partition(b"\n[[sections]]\n")[0]
    source, blob = _SOURCE.search(head), _BLOB.search(head)
    plain = head.startswith(b"format = 1\n") and b'"""' not in head and b"'''" not in head
    if not (source and blob and plain):
        return None
    try:
        return json.loads(source[1]), blob[1].decode()
    except ValueError:
        return None


def _parse_canonical(text: str) -> Manifest | None:
    cut = text.find("\n[[sections]]\n")
    head = read_head(text if cut < 0 else text[:cut])
    if head is None:
        return None
    rows = parse_rows(text, len(text) if cut < 0 else cut)
    # JSON, which reads our strings, takes lone surrogates; TOML, which defines them, does not.
    if rows is None or _SURROGATE.search(text):
        return None
    return _make(head, rows)


def parse_rows(text: str, start: int = 0) -> tuple[SectionRow, ...] | None:
    """Return the rows of canonical text from `start` to its end; None when something else is there."""
    rows = []
    end = start
    for match in _ROW.finditer(text, start):
        if match.start() != end:
            return None
        kbid, chunk, key, heading, type_, role, part, n_lines, n_bytes, supersedes, conflict = match.groups()
        try:
            path = _headings(heading) if heading else ()
        except ValueError:
            return None
        rows.append(
            SectionRow(
                kbid,
                chunk,
                key,
                int(n_lines),
                int(n_bytes),
                path,
                type_ or "",
                role or "",
                int(part or 1),
                supersedes or "",
                conflict or "",
            )
        )
        end = match.end()
    return tuple(rows) if end == len(text) else None


def _headings(inside: str) -> tuple[str, ...]:
    """Return the strings of a canonical array, given what stands between its brackets. Raises ValueError for a bad escape."""
    if "\\" in inside:
        return tuple(json.loads(f"[{inside}]"))
    return tuple(inside[1:-1].split('", "'))


def _parse_toml(text: str, name: str) -> Manifest:
    import tomllib

    if any(len(line.partition("=")[0]) > MAX_KEY for line in text.split("\n")):
        raise DamagedManifest(name, "a key is too long")
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as e:
        raise DamagedManifest(name, f"it is not TOML: {e}") from None
    rows = []
    sections = data.pop("sections", [])
    if not isinstance(sections, list) or not all(isinstance(s, dict) for s in sections):
        raise DamagedManifest(name, "'sections' is not an array of tables")
    for n, table in enumerate(sections, 1):
        where = f"section {n}: "
        try:
            rows.append(
                SectionRow(
                    kbid=_typed(table, "kbid", str),
                    chunk=_typed(table, "chunk", str),
                    source_key=_typed(table, "source_key", str),
                    n_lines=_typed(table, "n_lines", int),
                    n_bytes=_typed(table, "n_bytes", int),
                    heading=tuple(_strings(table, "heading")),
                    type=_typed(table, "type", str, ""),
                    role=_typed(table, "role", str, ""),
                    part=_typed(table, "part", int, 1),
                    supersedes=_typed(table, "supersedes", str, ""),
                    conflict=_typed(table, "conflict", str, ""),
                    extra=tuple((k, v) for k, v in table.items() if k not in _ROW_KEYS),
                )
            )
        except _WrongField as e:
            raise DamagedManifest(name, where + str(e)) from None
    return _make(data, tuple(rows))


class _WrongField(Exception):
    pass


def _typed(table: dict[str, Any], key: str, kind: type, default: Any = None) -> Any:
    value = table.get(key, default)
    if value is None:
        raise _WrongField(f"'{key}' is missing")
    if not isinstance(value, kind) or isinstance(value, bool):
        raise _WrongField(f"'{key}' is not {'a string' if kind is str else 'an integer'}")
    return value


def _strings(table: dict[str, Any], key: str) -> Iterator[str]:
    values = table.get(key, [])
    if not isinstance(values, list) or not all(isinstance(v, str) for v in values):
        raise _WrongField(f"'{key}' is not an array of strings")
    yield from values


def _make(head: dict[str, Any], rows: tuple[SectionRow, ...]) -> Manifest:
    version = head.get("format")
    if isinstance(version, int) and version > FORMAT:
        raise NewerFormat(str(head.get("docid", "manifest")), version)
    if version != FORMAT:
        raise _WrongField("'format' is not 1")
    return Manifest(
        docid=_typed(head, "docid", str),
        title=_typed(head, "title", str),
        source=_typed(head, "source", str),
        blob=_typed(head, "blob", str),
        type=_typed(head, "type", str),
        sections=rows,
        moved_from=_typed(head, "moved_from", str, ""),
        encoding=_typed(head, "encoding", str, ""),
        chunker=_typed(head, "chunker", str, ""),
        language=_typed(head, "language", str, ""),
        tier=_typed(head, "tier", str, ""),
        tags=tuple(_strings(head, "tags")),
        extra=tuple((k, v) for k, v in head.items() if k not in _DOCUMENT_KEYS),
    )


def _check(manifest: Manifest, name: str, canonical: bool) -> None:
    """Raise DamagedManifest where a field breaks its grammar. `canonical`: rows are known to keep theirs."""
    if manifest.docid + SUFFIX != name:
        raise DamagedManifest(name, f"its docid is '{manifest.docid}'")
    if "://" not in manifest.source and path_of_source(manifest.source) is None:
        raise DamagedManifest(name, f"its source '{manifest.source}' leaves the repository")
    if not _HEX.match(manifest.blob) or len(manifest.blob) not in (40, 64):
        raise DamagedManifest(name, f"'{manifest.blob}' is not a blob id")
    if manifest.language and not is_language(manifest.language):
        raise DamagedManifest(name, f"'{manifest.language}' is not a language code")
    for n, row in enumerate(manifest.sections, 1):
        if max(row.n_bytes, row.n_lines, row.part) > MAX_COUNT:
            raise DamagedManifest(name, f"section {n}: a count is too large")
        if canonical:
            continue  # the rest is the expression's
        if not _KBID.match(row.kbid) or (row.supersedes and not _KBID.match(row.supersedes)):
            raise DamagedManifest(name, f"section {n}: '{row.kbid}' is not a kbid")
        if not _CHUNK.match(row.chunk):
            raise DamagedManifest(name, f"section {n}: '{row.chunk}' is not a chunk id")
        if row.n_bytes < 0 or row.n_lines < 0 or row.part < 1:
            raise DamagedManifest(name, f"section {n}: a count is negative")
        if row.role not in ("", FRONT_MATTER):
            raise DamagedManifest(name, f"section {n}: unknown role '{row.role}'")
        if row.conflict not in ("", *CONFLICTS):
            raise DamagedManifest(name, f"section {n}: unknown conflict '{row.conflict}'")


@lru_cache(maxsize=4096)
def one_line(text: str, limit: int = MAX_TITLE) -> str:
    """Return text with runs of blanks and control characters as one space, cut to `limit` characters."""
    if text.isprintable() and len(text) <= limit and "  " not in text and text.strip() == text:
        return text
    line = " ".join("".join(c if c.isprintable() or c == "\u200d" else " " for c in text).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"
