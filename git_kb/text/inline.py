"""Inline text of Markdown: headings as plain text, link labels and destinations. CommonMark 0.31."""

from __future__ import annotations

import re
from collections.abc import Container

MAX_HEADING = 10_000

# What CommonMark calls whitespace at the ends of a heading: not str.strip's set, which has U+001C..U+001F and U+0085 too.
WHITESPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)

LABEL = re.compile(r"(?:[^\[\]\\]|\\[\s\S])*")
_POINTED = re.compile(r"<((?:[^\n<>\\]|\\[\s\S])*)>")
_BAD_SCHEME = re.compile(r"(?:vbscript|javascript|file|data):")
_GOOD_DATA = re.compile(r"data:image/(?:gif|png|jpeg|webp);")
_ESCAPE_OR_ENTITY = re.compile(r"\\([!-/:-@\[-`{-~])|&(?:#[xX]([0-9a-fA-F]{1,6})|#([0-9]{1,7})|([a-zA-Z][a-zA-Z0-9]{1,31}));")
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
_LINK_TITLE = re.compile(r"\"(?:[^\"\\]|\\[\s\S])*\"|'(?:[^'\\]|\\[\s\S])*'|\((?:[^()\\]|\\[\s\S])*\)")
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
    m = LABEL.match(text, 1)
    return link_label(text[1 : m.end()]) if m else ""


def after_destination(text: str, at: int) -> int:
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
        m = LABEL.match(source, end + 1) if source.startswith("[", end) else None
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
