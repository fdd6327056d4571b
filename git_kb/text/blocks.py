"""Block structure of Markdown: CommonMark 0.31 with GFM tables, top-level blocks only.

A line scanner. Most lines are jumped over by one regular expression; what stands inside a quote or a list is looked
at only where it decides the end of that quote or list (a line that may continue a paragraph lazily).
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from functools import lru_cache
from itertools import chain, islice
from typing import NamedTuple

# Whether a lazy line goes on with a paragraph is looked up this many quotes and lists deep; deeper, it always does.
MAX_DEPTH = 10

MAX_HEADING = 10_000

# What CommonMark calls whitespace at the ends of a heading: not str.strip's set, which has U+001C..U+001F and U+0085 too.
WHITESPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)


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
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    blocks = _number_lines(text, _scan(text, 0)[0], 0)
    return [b._replace(start=starts[b.line], end=starts[b.end_line]) for b in blocks]


def line_starts(source: str) -> list[int]:
    """Return the offset of each line's first character. A line end at the very end starts no line."""
    starts = [0, *(m.end() for m in _LINE_END.finditer(source))]
    return starts[:-1] if starts[-1] == len(source) else starts


def list_items(source: str, block: Block) -> list[int]:
    """Return the offsets at which the items of a `list` block of this source begin."""
    text = source[block.start : block.end]
    lf = text.replace("\0", "\ufffd").replace("\r\n", "\n").replace("\r", "\n")
    found = []
    m = _ITEM.match(lf)
    while m:
        found.append(lf.count("\n", 0, m.start()))
        m = _ITEM.match(lf, _end_of_item(lf, m, len(lf), 0))
    starts = line_starts(text)
    return [block.start + starts[line] for line in found]


_LINE_END = re.compile(r"\r\n?|\n")

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
_PLAIN_RUN = re.compile(r"(?:[ \t]*+[^\s\0#>*+\-_=~`<|:0-9][^\n]*(?:\n|\Z))*+")
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
    return re.compile(rf"(?:{indent}[^\n]*(?:\n|\Z)|[ \t]*(?:\n|\Z))*+")


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

_LABEL = re.compile(r"(?:[^\[\]\\]|\\[\s\S])*+")
_POINTED = re.compile(r"<((?:[^\n<>\\]|\\[\s\S])*+)>")
_LINE_REST = re.compile(r"[ \t]*(?:\n|\Z)")
_TITLE_REST = {c: re.compile(rf"(?:[^\\{re.escape(c)}{'(' if c == ')' else ''}]|\\[\s\S]|\\\Z)*+") for c in "\"')"}
_BAD_SCHEME = re.compile(r"(?:vbscript|javascript|file|data):")
_GOOD_DATA = re.compile(r"data:image/(?:gif|png|jpeg|webp);")
_ESCAPE_OR_ENTITY = re.compile(r"\\([!-/:-@\[-`{-~])|&(?:#[xX]([0-9a-fA-F]{1,6})|#([0-9]{1,7})|([a-zA-Z][a-zA-Z0-9]{1,31}));")


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
            m = _LABEL.match(self.text, at)
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
    at = _after_destination(lines.text, at)
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


def _after_destination(text: str, at: int) -> int:
    """Return the offset after the link destination at `at`, or 0 when there is none or its scheme is not allowed."""
    if text.startswith("<", at):
        m = _POINTED.match(text, at)
        return m.end() if m and _allowed(m[1]) else 0
    end = _after_bare(text, at)
    return end if end > at and _allowed(text[at:end]) else 0


def _after_bare(text: str, at: int) -> int:
    """Return the offset after a destination without `<>`, or `at` when its parentheses do not match."""
    start, level, n = at, 0, len(text)
    while at < n:
        char = text[at]
        if char <= " " or char == "\x7f":
            break
        if char == "\\" and at + 1 < n:
            if text[at + 1] == " ":
                break
            at += 2
            continue
        if char == "(":
            level += 1
            if level > 32:
                return start
        elif char == ")":
            if not level:
                break
            level -= 1
        at += 1
    return start if level else at


def _allowed(destination: str) -> bool:
    url = _unescape(destination).strip().lower()
    return not _BAD_SCHEME.match(url) or bool(_GOOD_DATA.match(url))


def _unescape(text: str) -> str:
    """Return text with backslash escapes and entities resolved."""
    return _ESCAPE_OR_ENTITY.sub(_unescaped, text) if "\\" in text or "&" in text else text


def _unescaped(m: re.Match[str]) -> str:
    escaped, hexadecimal, decimal, name = m.groups()
    if escaped:
        return str(escaped)
    if name:
        from html.entities import html5

        return html5.get(name + ";", m[0])
    code = int(hexadecimal, 16) if hexadecimal else int(decimal)
    bad = code > 0x10FFFF or 0xD800 <= code < 0xE000 or code < 9 or code == 0x0B or 0x0E <= code < 0x20 or 0x7F <= code < 0xA0
    bad = bad or 0xFDD0 <= code <= 0xFDEF or code & 0xFFFE == 0xFFFE
    return "\ufffd" if bad else chr(code)


# Headings as plain text.

_ATTRIBUTES = re.compile(r"[ \t]*\{:?[ \t]*[#.][^\s{}]+(?:[ \t]+[#.]?[^\s{}]+)*[ \t]*\}\Z")
_MARKUP = re.compile(r"[\\`*_<&\[\]!\n]")
_TOKEN = re.compile(
    r"(?P<text>[^\\`*_<&\[\]!\n]+)|\\(?P<escape>[!-/:-@\[-`{-~])|(?P<ticks>`+)|(?P<run>\*+|_+)|(?P<open>!?\[)|(?P<close>\])"
    r"|<(?P<link>[a-zA-Z][a-zA-Z0-9+.\-]{1,31}:[^<>\x00-\x20]*|[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
    r"(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*)>"
    r"|(?P<entity>&(?:#[xX][0-9a-fA-F]{1,6}|#[0-9]{1,7}|[a-zA-Z][a-zA-Z0-9]{1,31});)|(?P<break>\\?\n[ \t]*)|(?P<other>[\s\S])"
)
_TAG = re.compile(
    r"<(?:/[A-Za-z][A-Za-z0-9-]*\s*"
    r"|[A-Za-z][A-Za-z0-9-]*(?:\s+[a-zA-Z_:][a-zA-Z0-9:._-]*(?:\s*=\s*(?:[^\"'=<>`\x00-\x20]+|'[^']*'|\"[^\"]*\"))?)*\s*/?"
    r"|!---?|!--[\s\S]*?--|\?[\s\S]*?\?|![A-Za-z][^>]*|!\[CDATA\[[\s\S]*?\]\])>"
)
_LINK_TITLE = re.compile(r"\"(?:[^\"\\]|\\[\s\S])*+\"|'(?:[^'\\]|\\[\s\S])*+'|\((?:[^()\\]|\\[\s\S])*+\)")
_LINK_BLANKS = re.compile(r"[ \t\n]*")


def plain_heading(raw: str, labels: Container[str] = ()) -> str:
    """Return the text of a heading: code, links and images give theirs, tags and emphasis go, escapes and entities are resolved.

    Attributes at the end (`{#id}`, `{.class}`, `{: #id key=value}`) go; shortcodes (`{{< x >}}`) are text and stay.
    Longer than MAX_HEADING characters, it stays as it is.
    labels: the document's link labels as `link_label` gives them; a reference to another one is text, as in CommonMark.
    """
    raw = raw.strip(WHITESPACE).replace("\0", "\ufffd")
    raw = _ATTRIBUTES.sub("", raw) if raw.endswith("}") else raw
    return _Inline(raw, labels).text() if len(raw) <= MAX_HEADING and _MARKUP.search(raw) else raw


def link_label(text: str) -> str:
    """Return a link label in the form in which labels are compared."""
    return " ".join(text.split()).lower().upper()


def definition_label(source: str) -> str:
    """Return the label of a `definition` block, given its source text, as `link_label` gives it."""
    text = source.lstrip(" ")
    m = _LABEL.match(text, 1)
    return link_label(text[1 : m.end()]) if m else ""


class _Run:
    """A run of `*` or `_`: the piece it stands in, and whether it can open and close emphasis."""

    __slots__ = ("char", "closes", "length", "n", "opens", "piece")

    def __init__(self, piece: int, run: str, before: str, after: str):
        self.piece, self.char, self.n, self.length = piece, run[0], len(run), len(run)
        left = not _is_space(after) and (not _is_punctuation(after) or _is_space(before) or _is_punctuation(before))
        right = not _is_space(before) and (not _is_punctuation(before) or _is_space(after) or _is_punctuation(after))
        if self.char == "*":
            self.opens, self.closes = left, right
        else:
            self.opens = left and (not right or _is_punctuation(before))
            self.closes = right and (not left or _is_punctuation(after))


class _Inline:
    """One pass over inline text. pieces: the plain text so far. brackets: open `[`s as (piece, offset after it, n runs, image)."""

    def __init__(self, source: str, labels: Container[str]):
        self.source, self.labels = source, labels
        self.pieces: list[str] = []
        self.runs: list[_Run] = []
        self.brackets: list[tuple[int, int, int, bool]] = []
        self.links_from = 0  # open brackets below this index may not become links: there is one inside already
        self.ticks: dict[int, list[int]] | None = None
        self.no_tag_before = 0
        self.code_end = -1

    def text(self) -> str:
        at = 0
        while at < len(self.source):
            m = _TOKEN.match(self.source, at)
            if not m:
                break
            at = self._take(m)
        self._emphasis(0)
        return "".join(self.pieces).strip(WHITESPACE)

    def _take(self, m: re.Match[str]) -> int:
        """Take one token; return where the next begins."""
        kind, token, end = m.lastgroup, m[0], m.end()
        if kind == "ticks":
            return self._code(token, end)
        if kind == "run":
            before, after = self.source[m.start() - 1 : m.start()], self.source[end : end + 1]
            self.runs.append(_Run(len(self.pieces), token, before, after))
            self.pieces.append(token)
        elif kind == "open":
            self.brackets.append((len(self.pieces), end, len(self.runs), token[0] == "!"))
            self.pieces.append(token)
        elif kind == "close":
            return self._close(end)
        elif kind == "break":
            if token[0] == "\n" and self.pieces and m.start() > self.code_end:
                self.pieces[-1] = self.pieces[-1].rstrip(" ")
            self.pieces.append(" ")
        elif token == "<":
            return self._tag(m.start())
        else:
            self.pieces.append(m[kind] if kind in ("escape", "link") else _unescape(token) if kind == "entity" else token)
        return end

    def _code(self, ticks: str, at: int) -> int:
        if self.ticks is None:
            self.ticks = {}
            for m in re.finditer("`+", self.source):
                self.ticks.setdefault(len(m[0]), []).append(m.start())
            for starts in self.ticks.values():
                starts.reverse()
        starts = self.ticks.get(len(ticks), [])
        while starts and starts[-1] < at:
            starts.pop()
        if not starts:
            self.pieces.append(ticks)
            return at
        code = self.source[at : starts[-1]].replace("\n", " ")
        if code.strip(" ") and code[0] == code[-1] == " ":
            code = code[1:-1]
        self.pieces.append(code)
        self.code_end = starts[-1] + len(ticks)
        return self.code_end

    def _tag(self, at: int) -> int:
        m = _TAG.match(self.source, at) if at >= self.no_tag_before else None
        if m:
            return m.end()
        if ">" not in self.source[at:]:
            self.no_tag_before = len(self.source)
        self.pieces.append("<")
        return at + 1

    def _close(self, end: int) -> int:
        """Take a `]`: a link or image when it has a target, else text."""
        if not self.brackets:
            self.pieces.append("]")
            return end
        piece, inner, n_runs, image = self.brackets.pop()
        target = self._target(inner, end) if image or len(self.brackets) >= self.links_from else 0
        if not target:
            self.links_from = min(self.links_from, len(self.brackets))
            self.pieces.append("]")
            return end
        self.pieces[piece] = ""
        self._emphasis(n_runs)
        self.links_from = len(self.brackets) if not image else min(self.links_from, len(self.brackets))
        return target

    def _target(self, inner: int, end: int) -> int:
        """Return where the target of the link text that ends before `end` ends, or 0."""
        source = self.source
        if source.startswith("(", end) and (after := _after_inline_target(source, end + 1)):
            return after
        m = _LABEL.match(source, end + 1) if source.startswith("[", end) else None
        if m and source.startswith("]", m.end()):
            label = source[end + 1 : m.end()] or source[inner : end - 1]
            return m.end() + 1 if link_label(label) in self.labels else 0
        return end if link_label(source[inner : end - 1]) in self.labels else 0

    def _emphasis(self, bottom: int) -> None:
        """Drop the delimiters that match each other, of the runs from index `bottom` on."""
        stack: list[_Run] = []
        floors: dict[tuple[str, bool, int], int] = {}
        for run in self.runs[bottom:]:
            key = (run.char, run.opens, run.n % 3)
            while run.closes and run.length:
                i = len(stack) - 1
                while i >= floors.get(key, 0) and not _match(stack[i], run):
                    i -= 1
                if i < floors.get(key, 0):
                    floors[key] = len(stack)
                    break
                opener = stack[i]
                used = 2 if opener.length > 1 and run.length > 1 else 1
                opener.length -= used
                run.length -= used
                del stack[i + bool(opener.length) :]
                floors = {k: min(v, len(stack)) for k, v in floors.items()}
            if run.opens and run.length:
                stack.append(run)
        for run in self.runs[bottom:]:
            self.pieces[run.piece] = run.char * run.length
        del self.runs[bottom:]


def _match(opener: _Run, closer: _Run) -> bool:
    if opener.char != closer.char:
        return False
    odd = (opener.closes or closer.opens) and (opener.n + closer.n) % 3 == 0
    return not odd or (opener.n % 3 == 0 and closer.n % 3 == 0)


def _after_inline_target(source: str, at: int) -> int:
    """Return the offset after `(destination "title")`, given the one after its `(`, or 0."""
    at = _skip_blanks(source, at)
    if source.startswith("<", at):
        m = _POINTED.match(source, at)
        if not m or not _allowed(m[1]):
            return 0
        after = m.end()
    else:
        after = _after_bare(source, at)
        if not _allowed(source[at:after]):
            return 0
    at = _skip_blanks(source, after)
    m = _LINK_TITLE.match(source, at) if at > after else None
    if m:
        at = _skip_blanks(source, m.end())
    return at + 1 if source.startswith(")", at) else 0


def _skip_blanks(source: str, at: int) -> int:
    m = _LINK_BLANKS.match(source, at)
    return m.end() if m else at


def _is_space(char: str) -> bool:
    return not char or char in WHITESPACE


def _is_punctuation(char: str) -> bool:
    if not char or char.isalnum():
        return False
    from unicodedata import category

    return category(char)[0] in "PS"
