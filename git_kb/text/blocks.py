"""Block structure of Markdown: CommonMark 0.31 with GFM tables, top-level blocks only.

A line scanner. Most lines are jumped over by one regular expression; what stands inside a quote or a list is looked
at only where it decides the end of that quote or list (a line that may continue a paragraph lazily).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain, islice
from typing import NamedTuple

from git_kb.text.inline import LABEL, WHITESPACE, after_destination
from git_kb.text.lines import lf_only, line_starts

# Whether a lazy line goes on with a paragraph is looked up this many quotes and lists deep; deeper, it always does.
MAX_DEPTH = 10


class Block(NamedTuple):
    """A top-level block.

    kind: heading, paragraph, fence, code, html, list, quote, table, rule or definition.
    line, end_line: lines from 0, end exclusive. start, end: the same as character offsets into the source; the last line's
    end belongs to the block. Blank lines belong to no block, save inside one (and at the end of an unclosed fence).
    level: 1 to 6 for headings, else 0. text: a heading's raw inline text; a fence's info string; else "".
    """

    kind: str
    line: int
    end_line: int
    start: int
    end: int
    level: int = 0
    text: str = ""


def scan_blocks(source: str, start: int = 0) -> list[Block]:
    """Return the top-level blocks of a Markdown document, in order. Lines end with LF, CRLF or CR, and nothing else.

    start: where the document begins in `source`, after front matter or a byte order mark; lines count from there.
    Agrees with markdown-it-py (commonmark preset and tables) but for its protective limits (nesting, cells of a table), for
    tabs after the second `>` of a line, whose columns it miscounts, and for lazy lines more than MAX_DEPTH containers deep.
    """
    text = source[start:] if start else source
    text = text.replace("\0", "\ufffd") if "\0" in text else text
    if "\r" not in text:
        return _number_lines(text, _scan(text, 0)[0], start)
    starts = [start + at for at in line_starts(text)]
    starts.append(len(source))
    text = lf_only(text)
    blocks = _number_lines(text, _scan(text, 0)[0], 0)
    return [b._replace(start=starts[b.line], end=starts[b.end_line]) for b in blocks]


def list_items(source: str, block: Block) -> list[int]:
    """Return the offsets at which the items of a `list` block of this source begin."""
    text = source[block.start : block.end]
    lf = lf_only(text.replace("\0", "\ufffd"))
    found = []
    m = _ITEM.match(lf)
    while m:
        found.append(lf.count("\n", 0, m.start()))
        m = _ITEM.match(lf, _end_of_item(lf, m, len(lf), 0))
    starts = line_starts(text)
    return [block.start + starts[line] for line in found]


Span = tuple[str, int, int, int, str]  # kind, start, end, level, text


def _number_lines(text: str, spans: list[Span], offset: int) -> list[Block]:
    blocks = []
    line = at = 0
    count = text.count
    for kind, start, end, level, content in spans:
        line += count("\n", at, start)
        end_line = line + count("\n", start, end)
        at = start
        if text[end - 1] != "\n":
            end_line += 1
        blocks.append(Block(kind, line, end_line, start + offset, end + offset, level, content))
    return blocks


# The scanner. `s` has LF line ends only. Inside containers, whose lines are copied out, a line that continues a paragraph
# lazily begins with NUL and a letter (NUL itself is gone from the text by then):
#   q  any such line of a quote; l  one of a list item; m  one of a list item that has a list marker, four or more columns in.

_BLANKS = re.compile(r"(?:[ \t]*\n)*")
_INDENTED = re.compile(r" {4}| {0,3}\t")
_CODE_RUN = re.compile(r"(?:(?: {4}| {0,3}\t)[ \t]*[^ \t\n][^\n]*\n?|[ \t]*\n)+")
_BLANK_LINE = re.compile(r"[ \t]*(?:\n|\Z)")
_BLANK_AFTER = re.compile(r"\n[ \t]*(?:\n|\Z)")
# Paragraph lines that neither end the paragraph nor can be anything else, wherever they stand.
_PLAIN_RUN = re.compile(r"(?:[ \t]*+[^\s\0#>*+\-_=~`<|:0-9][^\n]*(?:\n|\Z))*")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$", re.MULTILINE)
_RULE = re.compile(r" {0,3}([*_-])[ \t]*(?:\1[ \t]*){2,}$", re.MULTILINE)
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]([^\n]*))?(?:\n|\Z)")
_FENCE = re.compile(r" {0,3}(?:(`{3,})([^`\n]*)|(~{3,})([^\n]*))(?:\n|\Z)")
_QUOTE_RUN = re.compile(r"(?:[ \t]*>[^\n]*(?:\n|\Z))+")
_EMPTY_QUOTE = re.compile(r"[ \t]*>[ \t]*(?:\n|\Z)")
_ITEM = re.compile(r" {0,3}(?:[-+*]|[0-9]{1,9}[.)])(?=[ \t\n]|\Z)")
_MARKERS = re.compile(r"[ \t>*+\-0-9.)]*")
_TABS_AND_SPACES = re.compile(r"[ \t]*")
_DELIMITER_ROW = re.compile(
    r" {0,3}(?=[|:-][|:\- \t])(?!-[ \t])\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$", re.MULTILINE
)
_MAYBE_TABLE = re.compile(r"\n {0,3}[|:-][|:\- \t]+(?:\n|\Z)")
_PIPE = re.compile(r"(?<!\\)\|")
_PIPE_ROWS = re.compile(r"(?: {0,3}\|[^\n]*(?:\n|\Z))+")

_HTML_NAMES = (
    "address|article|aside|basefont|base|blockquote|body|caption|center|colgroup|col|dd|details|dialog|dir|div|dl|dt|fieldset"
    "|figcaption|figure|footer|form|frameset|frame|h[1-6]|header|head|hr|html|iframe|legend|link|li|main|menuitem|menu|nav|noframes|ol"
    "|optgroup|option|param|p|search|section|summary|table|tbody|td|tfoot|thead|th|title|track|tr|ul"
)
_HTML_RAW = r"<(?ai:script|pre|style|textarea)(?=[\s>]|\Z)"
_HTML_BLOCK = rf"</?(?ai:{_HTML_NAMES})(?=\s|/?>|\Z)"
_HTML_1_TO_6 = rf"(?:{_HTML_RAW}|<!--|<\?|<![A-Za-z]|<!\[CDATA\[|{_HTML_BLOCK})"
_HTML_VALUE = r"(?:[^\"'=<>`\x00-\x20]+|'[^'\n]*'|\"[^\"\n]*\")"
_HTML_OPEN = rf"<[A-Za-z][A-Za-z0-9-]*(?:\s+[a-zA-Z_:][a-zA-Z0-9:._-]*(?:\s*=\s*{_HTML_VALUE})?)*\s*/?>"
_HTML_CLOSE = r"</[A-Za-z][A-Za-z0-9-]*\s*>"
# In the order in which they are tried; the end of a kind is a pattern, or None for "before a blank line".
_HTML_KINDS: tuple[tuple[re.Pattern[str], re.Pattern[str] | None], ...] = (
    (re.compile(_HTML_RAW), re.compile(r"</(?ai:script|pre|style|textarea)>")),
    (re.compile(r"<!--"), re.compile(r"-->")),
    (re.compile(r"<\?"), re.compile(r"\?>")),
    (re.compile(r"<![A-Za-z]"), re.compile(r">")),
    (re.compile(r"<!\[CDATA\["), re.compile(r"\]\]>")),
    (re.compile(_HTML_BLOCK), None),
    (re.compile(rf"(?:{_HTML_OPEN}|{_HTML_CLOSE})\s*\Z"), None),
)

_RULE_HERE = r"(?:\*[ \t]*){3,}$|(?:_[ \t]*){3,}$|(?:-[ \t]*){3,}$"
_OPENERS = rf"`{{3,}}[^`\n]*$|~{{3,}}|>|{_RULE_HERE}|#{{1,6}}(?=[ \t\n]|\Z)|{_HTML_1_TO_6}"
_ANY_ITEM = r"(?:[-+*]|[0-9]{1,9}[.)])(?=[ \t\n]|\Z)"
# What ends a paragraph; what ends a quote, table or link definition before its next line; what ends a list item.
_ENDS_PARAGRAPH = re.compile(rf" {{0,3}}(?:{_OPENERS}|(?:[-+*]|0{{0,8}}1[.)])[ \t]+[^ \t\n])", re.MULTILINE)
_ENDS_QUOTE = re.compile(rf" {{0,3}}(?:{_OPENERS}|{_ANY_ITEM})", re.MULTILINE)
_ENDS_ITEM = re.compile(rf"[ \t]*(?:{_OPENERS})| {{0,3}}{_ANY_ITEM}", re.MULTILINE)
_MARKER_FAR_IN = re.compile(rf"[ \t]*{_ANY_ITEM}")


def _scan(s: str, depth: int) -> tuple[list[Span], int]:
    """Return the blocks of `s` and where scanning stopped: len(s), or a lazy line that no paragraph is open for."""
    trimmed = s.rstrip(" \t")
    if len(trimmed) < len(s) and (not trimmed or trimmed[-1] == "\n"):
        s = trimmed  # blanks after the last line end are no line
    n = len(s)
    out: list[Span] = []
    tables = "|" in s and bool(_MAYBE_TABLE.search(s))
    pos = 0
    while True:
        m = _BLANKS.match(s, pos)
        pos = m.end() if m else pos
        if pos >= n:
            return out, n
        if s[pos] == "\0":
            return out, pos
        span = _block_at(s, pos, n, depth, tables)
        out.append(span)
        pos = span[2]


def _block_at(s: str, pos: int, n: int, depth: int, tables: bool) -> Span:
    """Return the block that begins with the line at `pos`, which is not blank."""
    first = s[pos]
    at = pos
    if first in " \t":
        if _INDENTED.match(s, pos):
            return ("code", pos, _end_of_code(s, pos), 0, "")
        while s[at] == " ":
            at += 1
        first = s[at]
    if tables and _is_table(s, pos):
        return ("table", pos, _end_of_table(s, pos, n), 0, "")
    if first == "#":
        m = _ATX.match(s, pos)
        if m:
            return ("heading", pos, m.end(), len(m[1]), _atx_text(m[2] or ""))
    elif first in "`~":
        m = _FENCE.match(s, pos)
        if m:
            return ("fence", pos, _end_of_fence(s, m, n, depth), 0, (m[2] or m[4] or "").strip(WHITESPACE))
    elif first == ">":
        return ("quote", pos, _end_of_quote(s, pos, n, depth), 0, "")
    elif first in "*-_+0123456789":
        if first in "*-_" and (m := _RULE.match(s, pos)):
            return ("rule", pos, _line_after(s, pos, n), 0, "")
        if first != "_" and (m := _ITEM.match(s, pos)):
            return ("list", pos, _end_of_list(s, m, n, depth), 0, "")
    elif first == "[":
        end = _end_of_definition(s, pos, n)
        if end:
            return ("definition", pos, end, 0, "")
    elif first == "<":
        end = _end_of_html(s, pos, at, n, depth)
        if end:
            return ("html", pos, end, 0, "")
    return _paragraph(s, pos, n, tables)


def _line_after(s: str, pos: int, n: int) -> int:
    """Return where the line after the one at `pos` begins."""
    end = s.find("\n", pos)
    return n if end < 0 else end + 1


def _atx_text(text: str) -> str:
    text = text.rstrip(" \t")
    bare = text.rstrip("#")
    if not bare or bare[-1] in " \t":
        text = bare
    return text.strip(WHITESPACE)


def _paragraph(s: str, start: int, n: int, tables: bool) -> Span:
    """Return the paragraph, or the setext heading, that begins at `start`."""
    pos = second = _line_after(s, start, n)
    while True:
        m = _PLAIN_RUN.match(s, pos)
        pos = m.end() if m else pos
        if pos >= n or _BLANK_LINE.match(s, pos):
            break
        if tables and pos > second:
            header = s.rfind("\n", 0, pos - 1) + 1
            if not s.startswith("\0q", header) and not _INDENTED.match(s, header) and _is_table(s, header):
                pos = header
                break
        if s[pos] != "\0" and not _INDENTED.match(s, pos):
            if m := _SETEXT.match(s, pos):
                level = 1 if m[1][0] == "=" else 2
                return ("heading", start, _line_after(s, pos, n), level, s[start:pos].strip(WHITESPACE))
            if _ENDS_PARAGRAPH.match(s, pos):
                break
        pos = _line_after(s, pos, n)
    return ("paragraph", start, pos, 0, "")


def _end_of_code(s: str, pos: int) -> int:
    m = _CODE_RUN.match(s, pos)
    return _without_blank_tail(s, m.end()) if m else pos


def _without_blank_tail(s: str, end: int) -> int:
    """Return where the blank lines that end at `end` begin."""
    while end:
        before = s.rfind("\n", 0, end - 1) + 1
        if not _BLANK_LINE.match(s, before):
            break
        end = before
    return end


def _end_of_fence(s: str, opening: re.Match[str], n: int, depth: int) -> int:
    run = opening[1] or opening[3]
    m = _closing_fence(run[0], len(run)).search(s, opening.end())
    return _before_lazy(s, opening.end() - 1, _line_after(s, m.start(), n) if m else n, depth)


@lru_cache(maxsize=16)
def _closing_fence(char: str, length: int) -> re.Pattern[str]:
    return re.compile(rf"^ {{0,3}}{char}{{{length},}}[ \t]*$", re.MULTILINE)


def _before_lazy(s: str, pos: int, end: int, depth: int) -> int:
    """Return `end`, or the start of the first lazy line between `pos` and `end`."""
    lazy = s.find("\n\0", pos, end) if depth else -1
    return end if lazy < 0 else lazy + 1


def _end_of_html(s: str, pos: int, at: int, n: int, depth: int) -> int:
    """Return the end of the HTML block whose `<` is at `at`, or 0 when it is none."""
    after = _line_after(s, pos, n)
    line = s[at:after].rstrip("\n")
    kind = next((k for k in _HTML_KINDS if k[0].match(line)), None)
    if kind is None:
        return 0
    closing = kind[1]
    if closing:
        m = closing.search(s, at)
        end = _line_after(s, m.start(), n) if m else n
    else:
        m = _BLANK_AFTER.search(s, at)
        end = m.start() + 1 if m else n
    return _before_lazy(s, after - 1, end, depth)


# Tables.


def _is_table(s: str, pos: int) -> bool:
    """Return whether the line at `pos` is a table's header: a delimiter row with as many cells follows."""
    after = s.find("\n", pos) + 1
    if not after or not (m := _DELIMITER_ROW.match(s, after)):
        return False
    header = s[pos + 2 if s[pos] == "\0" else pos : after].strip(WHITESPACE)
    if "|" not in header:
        return False
    row = m[0].strip(" \t")
    n_delimiters = row.count("|") + 1 - row.startswith("|") - row.endswith("|")
    n_pipes = len(_PIPE.findall(header))
    return n_pipes + 1 - header.startswith("|") - bool(_PIPE.match(header, len(header) - 1)) == n_delimiters


def _end_of_table(s: str, pos: int, n: int) -> int:
    pos = _line_after(s, _line_after(s, pos, n), n)
    while True:
        m = _PIPE_ROWS.match(s, pos)
        pos = m.end() if m else pos
        if pos >= n or s[pos] == "\0" or _INDENTED.match(s, pos) or _ENDS_QUOTE.match(s, pos):
            return pos
        after = _line_after(s, pos, n)
        if not s[pos:after].strip(WHITESPACE):
            return pos
        pos = after


# Containers: quotes and lists.


def _end_of_quote(s: str, pos: int, n: int, depth: int) -> int:
    m = _QUOTE_RUN.match(s, pos)
    end = m.end() if m else pos
    if end >= n or _BLANK_LINE.match(s, end) or _EMPTY_QUOTE.match(s, s.rfind("\n", 0, end - 1) + 1) or _quote_ends(s, end):
        return end
    return _end_of_lazy(_quote_lines(s, pos, n), pos, depth)


def _quote_ends(s: str, pos: int) -> bool:
    """Return whether the line at `pos`, not blank and without `>`, ends a quote before it whatever the quote holds."""
    if s[pos] != "\0":
        return bool(_ENDS_QUOTE.match(s, pos))
    return s[pos + 1] == "q" and bool(_ENDS_QUOTE.match(s, pos + 2))


def _quote_lines(s: str, pos: int, n: int) -> Iterator[tuple[str, int]]:
    """Yield (content, end) of the lines that may belong to the quote at `pos`."""
    empty = False
    while pos < n:
        after = _line_after(s, pos, n)
        line = s[pos:after].rstrip("\n")
        line = _expanded(line) if "\t" in line else line
        bare = line.lstrip(" ")
        if bare.startswith(">"):
            empty = not bare[1:].strip(" ")
            yield bare[2:] if bare[1:2] == " " else bare[1:], after
        elif not bare or empty or _quote_ends(s, pos):
            return
        else:
            yield "\0q" + (bare[2:] if bare[0] == "\0" else bare), after
        pos = after


def _end_of_list(s: str, m: re.Match[str] | None, n: int, depth: int) -> int:
    pos = m.start() if m else 0
    style = s[m.end() - 1] if m else ""
    while m and s[m.end() - 1] == style and not _RULE.match(s, pos):
        pos = _end_of_item(s, m, n, depth)
        m = _ITEM.match(s, pos)
    return _without_blank_tail(s, pos)


def _end_of_item(s: str, marker: re.Match[str], n: int, depth: int) -> int:
    """Return the start of the first line that is not part of the list item; blank only after an item that is empty."""
    start, after = marker.start(), _line_after(s, marker.end(), n)
    width, empty = _content_offset(s, marker)
    if empty and (after >= n or _BLANK_LINE.match(s, after)):
        return _line_after(s, after, n) if after < n else n
    m = _inside(width).match(s, after)
    pos = m.end() if m else after
    if pos >= n:
        return n
    if (pos == after and empty) or _BLANK_LINE.match(s, s.rfind("\n", 0, pos - 1) + 1) or _item_ends(s, pos):
        return pos
    return _end_of_lazy(_item_lines(s, start, width, n), start, depth)


def _content_offset(s: str, marker: re.Match[str]) -> tuple[int, bool]:
    """Return the column at which an item's content begins, and whether the marker's line has none."""
    n_marker = marker.end() - marker.start()
    m = _TABS_AND_SPACES.match(s, marker.end())
    at = m.end() if m else marker.end()
    if at >= len(s) or s[at] == "\n":
        return n_marker + 1, True
    n_blanks = len(s[marker.start() : at].expandtabs(4)) - n_marker
    return n_marker + (n_blanks if n_blanks <= 4 else 1), False


@lru_cache(maxsize=64)
def _inside(width: int) -> re.Pattern[str]:
    """Return a pattern for lines that are blank or indented by `width` columns or more."""
    fours, rest = divmod(width, 4)
    indent = f"(?: {{0,3}}\t| {{4}}){{{fours}}}" + (f"(?: {{{rest}}}| {{0,{rest - 1}}}\t)" if rest else "")
    return re.compile(rf"(?:{indent}[^\n]*(?:\n|\Z)|[ \t]*(?:\n|\Z))*")


def _item_ends(s: str, pos: int) -> bool:
    """Return whether the line at `pos`, not blank and too little indented, ends an item before it whatever the item holds."""
    if s[pos] != "\0":
        return bool(_ENDS_ITEM.match(s, pos))
    return s[pos + 1] == "m"


def _item_lines(s: str, pos: int, width: int, n: int) -> Iterator[tuple[str, int]]:
    """Yield (content, end) of the lines that may belong to the item at `pos`."""
    blank = False
    first = True
    while pos < n:
        after = _line_after(s, pos, n)
        line = s[pos:after].rstrip("\n")
        line = _expanded(line) if "\t" in line else line
        bare = line.lstrip(" ")
        if first or len(line) - len(bare) >= width or not bare:
            yield line[width:], after
        elif blank or _item_ends(s, pos):
            return
        elif bare[0] == "\0":
            yield bare, after
        else:
            yield ("\0m" if _MARKER_FAR_IN.match(s, pos) else "\0l") + bare, after
        first, blank, pos = False, not bare, after


def _expanded(line: str) -> str:
    """Return the line with the tabs as spaces that stand before its text and its list and quote markers."""
    m = _MARKERS.match(line)
    end = m.end() if m else 0
    return line[:end].expandtabs(4) + line[end:]


def _end_of_lazy(lines: Iterator[tuple[str, int]], start: int, depth: int) -> int:
    """Return the end of a container that begins at `start`, given the lines that may belong to it.

    They end where scanning its content stops: at a lazy line without an open paragraph. Lines are read in growing batches,
    or a row of containers that all end early would be read to the end of the document each.
    """
    texts: list[str] = []
    ends = [start]
    line = 0
    size = 32
    while batch := list(islice(lines, size)):
        texts += [text for text, _ in batch]
        ends += [end for _, end in batch]
        content = "\n".join(texts) + "\n"
        line = content.count("\n", 0, _scan(content, depth + 1)[1]) if depth < MAX_DEPTH else len(texts)
        # A table's header needs the line after it; a link definition may go on for any number of lines, in theory.
        if line + (16 if "]:" in content else 2) <= len(texts):
            return ends[line]
        if line == len(texts) and texts[-1][:1] == "\0" and "[" not in content:
            lines = _without_lazy_run(lines, ends)
        size *= 8
    return ends[line]


def _without_lazy_run(lines: Iterator[tuple[str, int]], ends: list[int]) -> Iterator[tuple[str, int]]:
    """Return the lines without those at the start that go on lazily with an open paragraph; the last of `ends` moves past them."""
    for text, end in lines:
        if text[:1] != "\0" or "[" in text or "|" in text:
            return chain([(text, end)], lines)
        ends[-1] = end
    return iter(())


# Link reference definitions.

_LINE_REST = re.compile(r"[ \t]*(?:\n|\Z)")
_TITLE_REST = {c: re.compile(rf"(?:[^\\{re.escape(c)}{'(' if c == ')' else ''}]|\\[\s\S]|\\\Z)*") for c in "\"')"}


class _Continued:
    """A line and, as they are asked for, the lines that may continue it, without their indentation. ends: where each ends."""

    def __init__(self, s: str, pos: int, n: int):
        self.s, self.n = s, n
        after = _line_after(s, pos, n)
        self.ends = [after]
        self.text = s[pos:after].lstrip(" ")

    def more(self) -> bool:
        """Join one more line to `text`; False when there is none."""
        s, pos = self.s, self.ends[-1]
        if pos >= self.n or _BLANK_LINE.match(s, pos):
            return False
        at = pos
        if s[pos] == "\0":
            at += 2
            if s[pos + 1] != "q" and _is_table(s, pos):
                return False
        elif not _INDENTED.match(s, pos) and (_ENDS_QUOTE.match(s, pos) or _is_table(s, pos)):
            return False
        self.ends.append(_line_after(s, pos, self.n))
        self.text += s[at : self.ends[-1]].lstrip(" \t")
        return True

    def after_blanks(self, at: int) -> int:
        """Return the offset of the next visible character, joining the next line where the text ends."""
        while at < len(self.text) and self.text[at] in " \t\n":
            if self.text[at] == "\n":
                self.more()
            at += 1
        return at

    def after_label(self) -> int:
        """Return the offset after `[label]:`, or 0."""
        at = 1
        while True:
            m = LABEL.match(self.text, at)
            at = m.end() if m else at
            if at < len(self.text) or not self.more():
                break
        if not self.text.startswith("]:", at) or not self.text[1:at].strip(WHITESPACE):
            return 0
        return at + 2

    def after_title(self, at: int) -> tuple[int, bool]:
        """Return the offset after the title that begins at `at` (0: there is none), and whether there is anything in it."""
        mark = self.text[at : at + 1]
        if mark not in ('"', "'", "("):
            return 0, False
        mark = ")" if mark == "(" else mark
        start = at = at + 1
        while True:
            m = _TITLE_REST[mark].match(self.text, at)
            at = m.end() if m else at
            if at < len(self.text) or not self.more():
                break
        return (at + 1, at > start) if self.text.startswith(mark, at) else (0, False)


def _end_of_definition(s: str, pos: int, n: int) -> int:
    """Return the end of the link reference definition at `pos`, or 0 when it is none."""
    lines = _Continued(s, pos, n)
    at = lines.after_label()
    if not at:
        return 0
    at = lines.after_blanks(at)
    at = after_destination(lines.text, at)
    if not at:
        return 0
    end = lines.ends[-1]
    title_at = lines.after_blanks(at)
    n_lines = len(lines.ends)
    after, filled = lines.after_title(title_at)
    if after and (title_at > at or len(lines.ends) > n_lines):
        if _LINE_REST.match(lines.text, after):
            return lines.ends[-1]
        if not filled:
            return 0
    return end if _LINE_REST.match(lines.text, at) else 0
