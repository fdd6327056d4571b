"""reStructuredText: one section per title. A line scanner that follows docutils' state machine where it decides on titles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple
from unicodedata import category, east_asian_width

from git_kb.text.lines import split_lines
from git_kb.text.plain import FINER, Cut, Limits, Piece, paragraphs, parts_of, without_blank_pieces


class Title(NamedTuple):
    """A section title: offset of its first line (the overline, if any), level from 1, raw text."""

    start: int
    level: int
    text: str


_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1* *\Z")
# What begins another construct than a paragraph at the start of a block, in docutils' order; the rest of it is indented.
_MARKED = re.compile(
    r"[-+*\u2022\u2023\u2043](?: |\Z)"
    r"|:(?![: ])(?:[^:\\]|\\.|:(?!(?:[ `]|\Z)))*(?<! ):(?: |\Z)"
    r"|\|(?: |\Z)|\.\.(?: |\Z)|__(?: |\Z)"
)
_OPTION = r"(?:(?:-|\+)[a-zA-Z0-9](?: ?(?:[a-zA-Z][\w-]*|<[^<>]+>))?|(?:--|/)[a-zA-Z0-9][\w-]*(?:[ =](?:[a-zA-Z][\w-]*|<[^<>]+>))?)"
_OPTIONS = re.compile(rf"{_OPTION}(?:, {_OPTION})*(?:  | ?\Z)")
_DOCTEST = re.compile(r">>>(?: |\Z)")
_GRID_TABLE = re.compile(r"\+-[-+]+-\+ *\Z")
_SIMPLE_TABLE = re.compile(r"=+(?: +=+)+ *\Z")
_SIMPLE_BORDER = re.compile(r"=+[ =]*\Z")
_ENUMERATOR = re.compile(r"(\(?)([0-9]+|[a-zA-Z]|[ivxlcdm]+|[IVXLCDM]+|#)([.)])(?: |\Z)")


def cut_rst(text: str, limits: Limits) -> Cut:
    """Cut a reStructuredText document at its titles; a section over the ceiling between paragraphs, else lines, else words."""
    titles = scan_titles(text)
    path: list[tuple[int, str]] = []
    starts = [t.start for t in titles]
    pieces = parts_of(text, 0, starts[0] if starts else len(text), (paragraphs, *FINER), limits)
    for title, end in zip(titles, [*starts[1:], len(text)][: len(starts)], strict=True):
        path = [t for t in path if t[0] < title.level]
        path.append((title.level, plain_title(title.text)))
        pieces += parts_of(text, title.start, end, (paragraphs, *FINER), limits, tuple(t for _, t in path))
    pieces = without_blank_pieces(text, [p for p in pieces if p.end > p.start] or [Piece(0, len(text))])
    return Cut(pieces, plain_title(titles[0].text) if titles else "")


def scan_titles(text: str) -> list[Title]:
    """Return the section titles of a document, in order. Levels go by the order in which styles are first used."""
    lines = list(_lines(text))
    styles: list[str] = []
    titles = []
    i = 0
    while i < len(lines):
        found, i_next = _block(lines, i)
        if found:
            style, content = found
            if style not in styles:
                styles.append(style)
            titles.append(Title(lines[i][0], styles.index(style) + 1, content))
        i = i_next
    return titles


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield (offset, line without its end and trailing blanks, tabs expanded)."""
    for at, line in split_lines(text, 1 if text.startswith("\ufeff") else 0):
        yield at, line.rstrip().expandtabs(8)


_Lines = list[tuple[int, str]]
_Found = tuple[str, str] | None  # style and text of a title


def _block(lines: _Lines, i: int) -> tuple[_Found, int]:
    """Return the title in the block at line i, if it is one, and the line after the block."""
    line = lines[i][1]
    if not line or line[0] == " ":
        return None, i + 1
    if _MARKED.match(line) or _is_list_item(lines, i) or _is_option(lines, i):
        return None, i + 1
    if _DOCTEST.match(line):
        return None, _next_blank(lines, i)
    if _GRID_TABLE.match(line):
        while _line_at(lines, i)[:1] in ("+", "|"):
            i += 1
        return None, i
    if _SIMPLE_TABLE.match(line):
        return None, _after_simple_table(lines, i)
    if _ADORNMENT.match(line):
        return _overlined(lines, i)
    return _underlined(lines, i)


def _line_at(lines: _Lines, i: int) -> str:
    return lines[i][1] if i < len(lines) else ""


def _is_list_item(lines: _Lines, i: int) -> bool:
    """Return whether line i is an item of an enumerated list: the next line is blank, indented, or an item as well."""
    m = _ENUMERATOR.match(lines[i][1])
    if not m or (m[1] and m[3] == "."):
        return False
    after = _line_at(lines, i + 1)
    if not after or after[0] == " ":
        return True
    return any(after.startswith(f"{m[1]}{number}{m[3]} ") for number in ("#", _successor(m[2])))


def _successor(number: str) -> str:
    """Return what counts after an enumerator. Of the Roman ones only the first: others do not begin a list."""
    if number.isdigit():
        return str(int(number) + 1)
    return {"i": "ii", "I": "II", "#": "#"}.get(number) or chr(ord(number[0]) + 1)


def _is_option(lines: _Lines, i: int) -> bool:
    """Return whether line i is an item of an option list: there is a description, on the line or indented below it."""
    m = _OPTIONS.match(lines[i][1])
    if not m or m.end() < len(lines[i][1]):
        return bool(m)
    i += 1
    while i < len(lines) and not lines[i][1]:
        i += 1
    return _line_at(lines, i).startswith(" ")


def _next_blank(lines: _Lines, i: int) -> int:
    while _line_at(lines, i):
        i += 1
    return i


def _after_simple_table(lines: _Lines, i: int) -> int:
    """Return the line after the table: its second border of `=`, or the first one that a blank line follows or that does not fit.

    A table without an end is taken as a paragraph (docutils gives up on the rest of the document).
    """
    n_borders = 0
    for j in range(i + 1, len(lines)):
        if _SIMPLE_BORDER.match(lines[j][1]):
            n_borders += 1
            if n_borders == 2 or not _line_at(lines, j + 1) or len(lines[j][1]) != len(lines[i][1]):
                return j + 1
    return _next_blank(lines, i)


def _overlined(lines: _Lines, i: int) -> tuple[_Found, int]:
    """A line of punctuation: overline of a title, transition, or, when it is short, text."""
    overline, title, underline = lines[i][1], _line_at(lines, i + 1), _line_at(lines, i + 2)
    if not title:
        return (None, i + 1) if len(overline) >= 4 else _paragraph(lines, i)
    if _ADORNMENT.match(title):
        return (None, i + 2) if len(overline) >= 4 else _underlined(lines, i)
    if len(overline) < 4 and (overline != underline or _width(title) > len(overline)):
        return _paragraph(lines, i)
    if overline != underline:
        return None, i + 3
    return (overline[0] * 2, title.strip()), i + 3


def _underlined(lines: _Lines, i: int) -> tuple[_Found, int]:
    """A line of text: a title when a line of punctuation follows that is as long, or four characters at least."""
    title, underline = lines[i][1], _line_at(lines, i + 1)
    if not _ADORNMENT.match(underline) or (_width(title) > len(underline) and len(underline) < 4):
        return _paragraph(lines, i)
    return (underline[0], title), i + 2


def _paragraph(lines: _Lines, i: int) -> tuple[_Found, int]:
    """A paragraph ends before a blank or indented line; `::` at its end makes a quoted literal block of what comes then."""
    while (line := _line_at(lines, i)) and line[0] != " ":
        i += 1
    if line or not lines[i - 1][1].endswith("::"):
        return None, i
    j = i
    while j < len(lines) and not lines[j][1]:
        j += 1
    quote = _line_at(lines, j)[:1]
    return None, _next_blank(lines, j) if quote and _ADORNMENT.match(quote) else i


def _width(text: str) -> int:
    """Return the columns that text takes, as docutils counts them: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum((2 if east_asian_width(c) in "WF" else 1) for c in text if category(c) != "Mn")


_INLINE = re.compile(
    r"\\(?P<escaped>\S)|\\\s|``(?P<code>.+?)``(?!\w)"
    r"|(?::[a-zA-Z][\w.+:-]*:)?`(?P<text>[^`<]*[^`<\s])(?:\s*<(?P<target>[^`<>]*)>)?`(?P<role>:[a-zA-Z][\w.+:-]*:)?_{0,2}"
    r"|\*\*(?=\S)(?P<strong>.+?)(?<=\S)\*\*(?!\w)|(?<![\w*])\*(?=\S)(?P<emphasis>[^*]+?)(?<=\S)\*(?![\w*])"
    r"|(?<![\w|])\|(?=\S)(?P<substitution>[^|]+?)(?<=\S)\|_{0,2}(?!\w)|(?<!\w)(?P<reference>[^\W_]+(?:[-._+:][^\W_]+)*)__?(?!\w)"
)


def plain_title(raw: str) -> str:
    """Return the text of a title without inline markup: roles, references, emphasis and literals give their text."""
    return " ".join(_INLINE.sub(_inline_text, raw).split())


def _inline_text(m: re.Match[str]) -> str:
    return next((group for name, group in m.groupdict().items() if group is not None and name not in ("target", "role")), "")
