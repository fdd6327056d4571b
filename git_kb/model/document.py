"""Documents: their names, their manifests as data. docs/format-manifest.md."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple
from unicodedata import category, normalize

FORMAT = 1
FRONT_MATTER = "front-matter"
# Both sides of a merge changed the section, and both stand here; one side deleted what the other changed, and it stands here.
CONFLICTS = ("changed", "deleted")
# The language of documents whose manifest names none.
ENGLISH = "en"
MAX_DOCID_BYTES = 150
RESERVED_FIRST = ("url", "stdin", "generated")
# What came from standard input. Their docids leave RAW out: "stdin--note.md".
RAW = "kb/raw/"
STDIN = "kb/raw/stdin/"
# Documents made of given sections: section files (docs/format-manifest.md).
SECTION_FILES = "kb/raw/stdin/sections/"
_PLAIN_ASCII = re.compile(r"[A-Za-z0-9._+/-]+")
WINDOWS_NAMES = frozenset(["con", "prn", "aux", "nul", *(f"com{i}" for i in range(1, 10)), *(f"lpt{i}" for i in range(1, 10))])


class SectionRow(NamedTuple):
    """One `[[sections]]` table. Lines and bytes are lengths; `Manifest.spans` gives positions.

    conflict: what a merge could not settle, one of CONFLICTS, else "".
    """

    kbid: str
    chunk: str
    source_key: str
    n_lines: int
    n_bytes: int
    heading: tuple[str, ...] = ()
    type: str = ""
    role: str = ""
    part: int = 1
    supersedes: str = ""
    conflict: str = ""
    extra: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Manifest:
    """One document. `language`: a code, "" for English. `extra` holds keys this version does not know, in file order.

    A `blob` of zeros: the sections come from a merge, and belong to no one source (docs/format-merge.md).
    """

    docid: str
    title: str
    source: str
    blob: str
    type: str
    sections: tuple[SectionRow, ...]
    moved_from: str = ""
    encoding: str = ""
    chunker: str = ""
    language: str = ""
    tier: str = ""
    tags: tuple[str, ...] = ()
    extra: tuple[tuple[str, Any], ...] = field(default=())

    def spans(self) -> list[tuple[int, int, int]]:
        """Return (first line from 1, first byte, byte after the last) of each section row, in order."""
        line, offset, spans = 1, 0, []
        for row in self.sections:
            spans.append((line, offset, offset + row.n_bytes))
            line += row.n_lines
            offset += row.n_bytes
        return spans

    def row_type(self, row: SectionRow) -> str:
        """Return the MIME type of a row's section."""
        return row.type or self.type


def is_language(code: str) -> bool:
    """Return whether a text has the form of a language code (ISO 639): two or three small letters."""
    return 2 <= len(code) <= 3 and code.isascii() and code.isalpha() and code.islower()


def docid_of_path(path: bytes) -> str:
    """Return the docid of a repository path. Depends on the path alone; docs/format-manifest.md, "docid"."""
    try:
        text = path.decode()
        exact = True
    except UnicodeDecodeError:
        text = path.decode("utf-8", "replace")
        exact = False
    of_stdin = text.startswith(STDIN)
    if of_stdin:
        text = text.removeprefix(RAW)
    parts = text.split("/")
    # Nearly all paths are plain ASCII; looking at each character is thirty times as slow.
    plain = _PLAIN_ASCII.fullmatch(text) is not None
    exact = exact and (of_stdin or parts[0] not in RESERVED_FIRST) and not any(map(_ambiguous, parts))
    if plain:
        slug = "--".join(parts)
    else:
        exact = exact and normalize("NFC", text) == text and all(c == "/" or _plain(c) for c in text)
        slug = "--".join("".join(c if _plain(c) else "_" for c in normalize("NFC", p)) for p in parts)
    if exact and len(slug.encode()) <= MAX_DOCID_BYTES:
        return slug
    if slug.startswith("-"):
        slug = "_" + slug[1:]
    digest = "~" + sha256(path).hexdigest()[:8]
    cut = slug.encode()[: MAX_DOCID_BYTES - len(digest)].decode("utf-8", "ignore")
    return cut + digest


def _plain(char: str) -> bool:
    return char in "._-+" or category(char)[0] in "LNM"


def is_section_file(path: str) -> bool:
    """Return whether the file at a repository path is a section file, by its name alone."""
    return path.startswith(SECTION_FILES) and path.endswith(".md")


def _ambiguous(part: str) -> bool:
    """Return whether a path component of plain characters cannot be told from others once it stands in a docid."""
    return "--" in part or part[:1] in ("-", "") or part[-1:] in ("-", ".") or part.partition(".")[0].lower() in WINDOWS_NAMES
